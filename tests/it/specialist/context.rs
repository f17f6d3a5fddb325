//! Context compression.

use super::bench::*;
use kb::definition::{ContextProfile, Specialist};
use kb::evidence::Record;
use kb::specialist::ToolSet;
use kb::value::json_text;
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn long_results_are_cut_in_the_context_and_whole_in_the_record() {
    let ran = check([call("t:big", json!({})), done()], DONE).await;
    let sent = ran.sent(2);
    assert_eq!(sent.matches('é').count(), 800);
    let note = "[truncated: 1200 more characters, about 300 tokens; continue with `output:read` \
                {\"ref\": \"call_1_1_1\", \"offset\": 800}]";
    assert!(sent.ends_with(note), "{sent}");
    let Record::ToolResult { result, .. } = &ran.records[2] else { panic!("{:?}", ran.records) };
    assert_eq!(json_text(result.as_inline().unwrap()).chars().count(), 2_000);
}

#[tokio::test]
async fn a_long_context_is_shortened_and_keeps_its_task_and_its_pairs() {
    let big = |n: u32| ("t:big", json!({"n": n, "text": "x".repeat(2_000)}));
    let some = |n: u32| Reply::Calls((0..=n % 3).map(|k| big(10 * n + k)).collect());
    let replies: Vec<Reply> = (0..12).map(some).chain([done()]).collect();
    let limits = |s: &mut Specialist| (s.limits.max_steps, s.limits.max_tool_calls) = (20, 40);
    let ran = bench(replies).with(limits).run().await;
    assert_eq!(ran.end(), DONE);
    assert!(ran.records.iter().any(|record| kind(record) == "compression"));
    for (turn, request) in ran.requests.iter().enumerate() {
        assert!(ran.sent(turn + 1).contains("Say what is in `a`."));
        assert_paired(&request.messages);
    }
    let last = ran.sent(13);
    assert!(last.contains("- called `t:big` n=80 text=(2000 characters) -> "), "{last}");
    assert!(last.len() < 40_000, "{}", last.len());
}

/// Real tools over a folder with the files `0` to `19`, of 18,000 characters each.
fn large_files() -> crate::tools::bench::Bench {
    let files = crate::tools::bench::bench(&[]);
    for n in 0..20 {
        let text = format!("file {n}, one of its lines\n").repeat(18_000 / 25);
        crate::tools::bench::put(files.dir.path(), &n.to_string(), &text);
    }
    files
}

fn wide(s: &mut Specialist) {
    s.context = Some(ContextProfile::Standard);
    s.tools = ["fs:read", "fs:search"].map(|name| kb::toolspec::built_in().entry(name)).into();
    (s.limits.max_steps, s.limits.max_tool_calls) = (40, 40);
}

#[tokio::test]
async fn the_standard_profile_shows_files_and_both_ends_of_a_search() {
    let files = large_files();
    let replies = [
        call("fs:read", json!({"path": "3"})),
        call("fs:search", json!({"pattern": "file 7", "path": "7"})),
        done(),
    ];
    let toolbox: Option<Arc<dyn ToolSet>> = Some(Arc::new(files.tools.clone()));
    let ran = Bench { toolbox, ..bench(replies).with(wide) }.run().await;
    assert_eq!(ran.end(), DONE);
    let sent = ran.sent(2);
    let read = &sent[sent.rfind("tool call_1_1_1: ").unwrap()..];
    assert!((16_000..16_400).contains(&read.chars().count()), "{}", read.chars().count());
    assert!(
        read.contains("continue with `output:read` {\"ref\": \"call_1_1_1\", \"offset\": 16000}")
    );
    let sent = ran.sent(3);
    let found = &sent[sent.rfind("tool call_1_2_1: ").unwrap()..];
    assert!((4_000..4_300).contains(&found.chars().count()), "{}", found.chars().count());
    assert!(found.contains("characters left out here") && found.ends_with('}'), "{found}");
}

#[tokio::test]
async fn compression_keeps_the_task_the_plan_failures_and_unchanged_reads() {
    let files = large_files();
    let read = |n: usize| call("fs:read", json!({"path": n.to_string()}));
    let plan = "First I read all of the files, then I look for the line that matters.";
    let replies: Vec<Reply> = [Reply::CallsAnd(plan, vec![("fs:read", json!({"path": "gone"}))])]
        .into_iter()
        .chain((0..20).map(read))
        .chain([done()])
        .collect();
    let toolbox: Option<Arc<dyn ToolSet>> = Some(Arc::new(files.tools.clone()));
    let ran = Bench { toolbox, ..bench(replies).with(wide) }.run().await;
    assert_eq!(ran.end(), DONE);
    let compressions = ran.records.iter().filter(|record| kind(record) == "compression").count();
    assert!((1..=4).contains(&compressions), "{compressions}");
    for (turn, request) in ran.requests.iter().enumerate() {
        assert_paired(&request.messages);
        let sent = ran.sent(turn + 1);
        assert!(sent.contains("Say what is in `a`."));
        // 60 % of 64,000 tokens, and one more result.
        assert!(sent.len() / 4 < 38_400 + 5_000, "{}", sent.len() / 4);
    }
    let last = ran.sent(22);
    assert!(last.contains(plan) && last.contains("- called `fs:read` path=0 -> "), "{last}");
    assert!(last.contains("`gone` does not exist"), "the failure stays");
    // The newest reads are whole: an edit needs their text.
    let lines = |n: usize| last.matches(&format!("file {n}, one of")).count();
    assert!(lines(19) > 500 && lines(0) < 20, "{} {}", lines(19), lines(0));
}
