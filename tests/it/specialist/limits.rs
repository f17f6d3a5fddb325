//! Limits of an attempt: steps, tool calls, time, forced reasoning.

use super::bench::*;
use serde_json::json;

#[tokio::test]
async fn the_same_call_with_the_same_result_three_times_is_a_loop() {
    let look = || call("t:look", json!({"path": "a"}));
    let ran = check([look(), look(), look(), done()], "stuck KB0504").await;
    assert_eq!(ran.made.len(), 3);
    let touch = |path: &str| call("t:touch", json!({"path": path}));
    check([look(), look(), touch("a"), look(), look(), done()], DONE).await;
    check([touch("a"), touch("a"), touch("a"), done()], "stuck KB0504").await;
}

#[tokio::test]
async fn steps_are_bounded_and_the_last_one_asks_for_the_output() {
    let look = |n: u32| call("t:look", json!({"n": n}));
    let limited = |replies| bench(replies).with(|s| s.limits.max_steps = 3);
    let ran = limited([look(1), look(2), look(3), done()]).run().await;
    assert_eq!(ran.end(), "stuck KB0505");
    assert_eq!(ran.made.len(), 2);
    assert_eq!(ran.tools_of(3), ["submit_output"]);
    let ran = limited([look(1), look(2), done(), done()]).run().await;
    assert_eq!(ran.end(), DONE);
}

#[tokio::test]
async fn tool_calls_are_bounded_and_files_changed_are_reported() {
    let touch = |n: u32| call("t:touch", json!({"path": format!("f{n}")}));
    let limited = |replies| bench(replies).with(|s| s.limits.max_tool_calls = 2);
    let ran = limited([touch(1), touch(2), touch(3), touch(4), done()]).run().await;
    assert_eq!(ran.end(), "stuck KB0506");
    assert_eq!(ran.made.len(), 2);
    assert_eq!(ran.details()["partial"]["changed"], json!(["f1", "f2"]));
    let ran = limited([touch(1), touch(2), touch(3), done(), done()]).run().await;
    assert_eq!(ran.end(), DONE);
    assert!(ran.sent(4).contains("not executed: the limit of 2 tool calls"));
}

#[tokio::test(start_paused = true)]
async fn time_is_bounded_for_models_and_tools() {
    let ran = check([Reply::Hang], "timeout KB0507").await;
    assert!(ran.outcome.failure.unwrap().message.contains("5m00s"));
    let ran = check([call("t:wait", json!({}))], "timeout KB0507").await;
    // What the stopped tool did is evidence all the same.
    assert_eq!(ran.records.iter().map(kind).collect::<Vec<_>>(), ["model", "call", "result"]);
}

#[tokio::test]
async fn every_n_calls_the_model_thinks_without_tools() {
    let look = |n: u32| call("t:look", json!({"n": n}));
    let replies = [look(1), look(2), Reply::Say("I know enough."), done()];
    let ran = bench(replies).with(|s| s.limits.forced_reasoning_interval = Some(2)).run().await;
    assert_eq!(ran.end(), DONE);
    assert!(ran.tools_of(3).is_empty());
    assert!(ran.sent(3).contains("without calling a tool"));
    assert!(ran.sent(4).contains("assistant: I know enough."));
    assert!(ran.tools_of(4).contains(&"t:look"));
}

#[tokio::test]
async fn cancelling_ends_a_waiting_attempt() {
    for replies in [[Reply::Hang], [call("t:wait", json!({}))]] {
        let bench = bench(replies);
        let cancel = bench.cancel.clone();
        let (ran, ()) = tokio::join!(bench.run(), async move {
            tokio::task::yield_now().await;
            cancel.cancel();
        });
        assert_eq!(ran.end(), "cancelled KB0510");
    }
}

#[tokio::test]
async fn a_closed_journal_ends_it_before_anything_is_done() {
    let replies = [call("t:touch", json!({"path": "a"})), done()];
    let ran = Bench { until: 1, ..bench(replies) }.run().await;
    assert_eq!(ran.end(), "cancelled KB0510");
    assert!(ran.made.is_empty());
}
