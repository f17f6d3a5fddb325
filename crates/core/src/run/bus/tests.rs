//! Tests of channels and the blackboard.

use super::*;

const A: InstanceIx = InstanceIx(0);
const B: InstanceIx = InstanceIx(1);

/// Admits, folds and answers one call, as the state machine does.
fn call(bus: &mut Bus, ix: InstanceIx, call: &str, exchange: Exchange) -> Heard {
    let span = match bus.known(ix, call).map_or_else(|| bus.admit(ix, &exchange), Ok) {
        Ok(span) => span,
        Err(refused) => return Heard::Refused(refused),
    };
    if bus.known(ix, call).is_none() {
        bus.apply((ix, ["a", "b"][ix.at()]), call, &exchange, span.through);
    }
    let span = bus.known(ix, call).expect("the call is the last one");
    bus.answer(&exchange, span)
}

fn publish(bus: &mut Bus, id: &str, channel: &str, text: &str) -> Heard {
    let (channel, message) = (channel.to_owned(), text.to_owned());
    call(bus, A, id, Exchange::Publish { channel, message })
}

fn check(bus: &mut Bus, id: &str, ack: bool) -> (Vec<String>, usize) {
    let asked = Exchange::Subscribe { channel: "news".to_owned(), check: true, ack };
    let heard = call(bus, B, id, asked);
    let Heard::Messages { messages, more } = heard else { panic!("{heard:?}") };
    let text = |own: Message| format!("{}:{}:{}", own.seq, own.author, own.data);
    (messages.into_iter().map(text).collect(), more)
}

fn is_refused(heard: &Heard, why: &str) -> bool {
    matches!(heard, Heard::Refused(failure) if failure.message.contains(why))
}

#[test]
fn a_subscriber_receives_what_comes_after_its_subscription_once() {
    let mut bus = Bus::default();
    publish(&mut bus, "1", "news", "early");
    assert_eq!(check(&mut bus, "1", true), (vec![], 0));
    assert_eq!(publish(&mut bus, "2", "news", "one"), Heard::Published(2));
    assert_eq!(publish(&mut bus, "3", "other", "else"), Heard::Published(3));
    assert_eq!(publish(&mut bus, "4", "news", "two"), Heard::Published(4));
    assert_eq!(check(&mut bus, "2", false).0, ["2:a:one", "4:a:two"], "not acknowledged");
    assert_eq!(check(&mut bus, "3", true).0, ["2:a:one", "4:a:two"]);
    assert_eq!(check(&mut bus, "4", true).0, [""; 0]);
}

#[test]
fn acknowledgements_are_by_number_and_never_go_back() {
    let mut bus = Bus::default();
    check(&mut bus, "1", true);
    for (id, text) in [("1", "one"), ("2", "two"), ("3", "three")] {
        publish(&mut bus, id, "news", text);
    }
    let ack = |through| Exchange::Ack { channel: "news".to_owned(), through };
    assert_eq!(call(&mut bus, B, "2", ack(Some(2))), Heard::Acknowledged(2));
    assert_eq!(check(&mut bus, "3", false).0, ["3:a:three"]);
    assert_eq!(call(&mut bus, B, "4", ack(Some(1))), Heard::Acknowledged(2));
    assert_eq!(call(&mut bus, B, "5", ack(Some(99))), Heard::Acknowledged(3));
    let refused = call(&mut bus, A, "9", ack(None));
    assert!(is_refused(&refused, "not subscribed to `news`"), "{refused:?}");
    call(&mut bus, B, "6", Exchange::Unsubscribe { channel: "news".to_owned() });
    assert!(is_refused(&call(&mut bus, B, "7", ack(None)), "not subscribed"));
}

#[test]
fn a_repeated_call_has_one_effect_and_the_same_answer() {
    let mut bus = Bus::default();
    check(&mut bus, "1", true);
    assert_eq!(publish(&mut bus, "1", "news", "one"), Heard::Published(1));
    assert_eq!(publish(&mut bus, "1", "news", "one"), Heard::Published(1));
    assert_eq!(check(&mut bus, "2", true).0, ["1:a:one"]);
    publish(&mut bus, "2", "news", "two");
    assert_eq!(check(&mut bus, "2", true).0, ["1:a:one"], "the answer of the call that was killed");
    assert_eq!(check(&mut bus, "3", true).0, ["2:a:two"]);
}

#[test]
fn a_new_attempt_receives_again_what_the_last_one_acknowledged() {
    let mut bus = Bus::default();
    check(&mut bus, "1", true);
    publish(&mut bus, "1", "news", "one");
    assert_eq!(check(&mut bus, "2", true).0, ["1:a:one"]);
    bus.restart(B);
    assert_eq!(check(&mut bus, "2", true).0, ["1:a:one"]);
}

#[test]
fn a_subscriber_that_never_acknowledges_gets_pages_and_blocks_no_publisher() {
    let mut bus = Bus::default();
    check(&mut bus, "1", true);
    for n in 0..MESSAGES {
        assert_eq!(publish(&mut bus, &n.to_string(), "news", "x"), Heard::Published(n as u64 + 1));
    }
    assert!(is_refused(&publish(&mut bus, "more", "news", "x"), "1000 messages, its limit"));
    let (page, more) = check(&mut bus, "2", false);
    assert_eq!((page.len(), more), (PAGE, MESSAGES - PAGE));
    assert_eq!(check(&mut bus, "3", false), (page, more));
    let mut read = 0;
    for n in 4..40 {
        read += check(&mut bus, &n.to_string(), true).0.len();
    }
    assert_eq!(read, MESSAGES);
}

#[test]
fn large_messages_fill_a_page_and_the_run() {
    let mut bus = Bus::default();
    check(&mut bus, "1", true);
    let large = "x".repeat(PAGE_BYTES / 2);
    for n in 0..BYTES / large.len() {
        publish(&mut bus, &n.to_string(), "news", &large);
    }
    assert!(is_refused(&publish(&mut bus, "more", "news", &large), "exceed 1048576 bytes"));
    let (page, more) = check(&mut bus, "2", true);
    assert_eq!((page.len(), more), (2, BYTES / large.len() - 2));
}

#[test]
fn the_blackboard_replaces_values_and_is_bounded() {
    let mut bus = Bus::default();
    let write = |key: &str, value: &str| Exchange::Write { key: key.into(), value: value.into() };
    let read = |key: &str| Exchange::Read { key: Some(key.to_owned()) };
    assert_eq!(call(&mut bus, A, "1", read("port")), Heard::Value(None));
    call(&mut bus, A, "2", write("port", "8080"));
    call(&mut bus, B, "1", write("port", "9090"));
    assert_eq!(call(&mut bus, A, "3", read("port")), Heard::Value(Some("9090".into())));
    assert_eq!(bus.board_bytes, "port9090".len());
    let large = "x".repeat(BYTES);
    assert!(is_refused(&call(&mut bus, A, "4", write("port", &large)), "exceed"));
    for n in 1..KEYS {
        assert_eq!(call(&mut bus, A, &format!("k{n}"), write(&n.to_string(), "")), Heard::Written);
    }
    assert!(is_refused(&call(&mut bus, A, "5", write("new", "")), "200 keys"));
    assert_eq!(call(&mut bus, A, "6", write("port", "7")), Heard::Written);
}
