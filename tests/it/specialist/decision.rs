use kb::specialist::turn::{Ask, Mode, Next, Offer, Pending, Standing, Why, next};

fn standing() -> Standing {
    Standing { max_steps: 5, max_tool_calls: 5, ..Standing::default() }
}

#[test]
fn decides_from_numbers() {
    let work = Next::Ask(Ask { mode: Mode::Work, offer: Offer::All });
    let s = standing();
    let cases = [
        (s, work),
        (Standing { submitted: true, denials: 9, ..s }, Next::Done),
        (Standing { pending: Pending::Started, ..s }, Next::Recover),
        (Standing { pending: Pending::Fresh, ..s }, Next::Call),
        (Standing { pending: Pending::Fresh, tool_calls: 5, ..s }, Next::Decline),
        (Standing { pending: Pending::Fresh, turns: 5, ..s }, Next::Decline),
        (Standing { pending: Pending::Fresh, turns: 5, reply_submits: true, ..s }, Next::Call),
        (Standing { messages: 6, tokens: 1_999, foldable: 6, ..s }, work),
        (Standing { messages: 6, tokens: 2_001, foldable: 3, ..s }, work),
        (Standing { messages: 6, tokens: 2_001, foldable: 4, ..s }, Next::Compress),
        (Standing { messages: 3, tokens: 8_001, foldable: 1, ..s }, Next::Compress),
        (Standing { max_steps: 0, ..s }, Next::Fail(Why::Steps)),
        (Standing { invalid: 3, ..s }, Next::Fail(Why::Unfit)),
    ];
    for (standing, expected) in cases {
        assert_eq!(next(&standing), expected, "{standing:?}");
    }
}
