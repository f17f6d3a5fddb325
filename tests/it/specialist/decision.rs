//! The decision table of the agent loop.

use kb::specialist::turn::{GiveUpReason, LoopState, Mode, Next, Offer, Pending, Turn, next};

fn state() -> LoopState {
    LoopState { max_steps: 5, max_tool_calls: 5, ..LoopState::default() }
}

#[test]
fn decides_from_numbers() {
    let work = Next::CallModel(Turn { mode: Mode::Continue, offer: Offer::All });
    let s = state();
    let cases = [
        (s, work),
        (LoopState { submitted: true, denials: 9, ..s }, Next::Done),
        (LoopState { pending: Pending::Started, ..s }, Next::Recover),
        (LoopState { pending: Pending::Fresh, ..s }, Next::CallTool),
        (LoopState { pending: Pending::Fresh, tool_calls: 5, ..s }, Next::Decline),
        (LoopState { pending: Pending::Fresh, turns: 5, ..s }, Next::Decline),
        (LoopState { pending: Pending::Fresh, turns: 5, reply_submits: true, ..s }, Next::CallTool),
        (LoopState { messages: 6, tokens: 1_999, foldable: 6, ..s }, work),
        (LoopState { messages: 6, tokens: 2_001, foldable: 3, ..s }, work),
        (LoopState { messages: 6, tokens: 2_001, foldable: 4, ..s }, Next::Compress),
        (LoopState { messages: 3, tokens: 8_001, foldable: 1, ..s }, Next::Compress),
        (LoopState { max_steps: 0, ..s }, Next::Fail(GiveUpReason::Steps)),
        (LoopState { invalid: 3, ..s }, Next::Fail(GiveUpReason::InvalidOutput)),
    ];
    for (standing, expected) in cases {
        assert_eq!(next(&standing), expected, "{standing:?}");
    }
}
