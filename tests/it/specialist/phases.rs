//! Specialists with `agentLoop`: understand, plan, execute, critique, finish.

use super::bench::*;
use super::resume::check_every_prefix;
use crate::scratch::Scratch;
use kb::definition::{LoopPhases, Specialist};
use kb::evidence::Record;
use serde_json::json;

const SIMPLE: Reply = Reply::Say("{\"understanding\": \"touch a\", \"complex\": false}");
const COMPLEX: Reply = Reply::Say("{\"understanding\": \"touch a and b\", \"complex\": true}");
const PLAN: Reply = Reply::Say("```json\n{\"plan\": [\"touch a\", \"touch b\"]}\n```");
const WANTS_MORE: Reply =
    Reply::Say("{\"critique\": \"b is missing\", \"needsImprovement\": true}");
const CONTENT: Reply = Reply::Say("{\"critique\": \"complete\", \"needsImprovement\": false}");

fn draft(summary: &str) -> Reply {
    submit(json!({"summary": summary}))
}

fn ended(summary: &str) -> String {
    format!("ok {}", json!({"summary": summary}))
}

fn looped(rounds: u32, critique: bool) -> impl Fn(&mut Specialist) {
    move |specialist| {
        let phases = LoopPhases { rounds, critique };
        specialist.limits.phases = Some(phases);
        specialist.limits.max_steps = phases.model_calls(specialist.limits.max_tool_calls);
    }
}

/// The phases of an attempt, as `phase round: what the phase before gave`.
fn phases(records: &[Record]) -> Vec<String> {
    let phase = |record: &Record| match record {
        Record::Phase { phase, round, previous } => {
            Some(format!("{} {round}: {}", phase.as_str(), previous.as_deref().unwrap_or("")))
        }
        _ => None,
    };
    records.iter().filter_map(phase).collect()
}

fn story() -> Vec<Reply> {
    vec![
        COMPLEX,
        PLAN,
        call("t:touch", json!({"path": "a"})),
        Reply::Calls(vec![
            ("submit_output", json!({"summary": "one"})),
            ("t:look", json!({"path": "z"})),
        ]),
        WANTS_MORE,
        call("t:touch", json!({"path": "b"})),
        draft("both"),
        CONTENT,
    ]
}

#[tokio::test]
async fn phases_follow_each_other_and_a_review_can_ask_for_another_round() {
    let ran = bench(story()).with(looped(3, true)).run().await;
    assert_eq!(ran.end(), ended("both"));
    assert_eq!(
        phases(&ran.records),
        [
            "understand 1: ",
            "plan 1: touch a and b",
            "execute 1: 1. touch a\n2. touch b",
            "critique 1: ",
            "execute 2: b is missing",
            "critique 2: ",
            "finish 2: the review asks for no improvement",
        ]
    );
    // Questions are asked without tools and with a schema, the work with tools and without.
    let offered: Vec<bool> = ran.requests.iter().map(|request| !request.tools.is_empty()).collect();
    assert_eq!(offered, [false, false, true, true, false, true, true, false]);
    for request in &ran.requests {
        assert_eq!(request.response_schema.is_some(), request.tools.is_empty());
        if !request.tools.is_empty() {
            assert_paired(&request.messages);
        }
    }
    assert!(ran.sent(6).contains("b is missing"));
}

#[tokio::test]
async fn the_limit_of_iterations_counts_rounds_and_not_model_calls() {
    let touch = |path: &'static str| call("t:touch", json!({"path": path}));
    let replies = [
        SIMPLE,
        touch("a"),
        touch("b"),
        touch("c"),
        draft("one"),
        WANTS_MORE,
        draft("two"),
        WANTS_MORE,
    ];
    let ran = bench(replies).with(looped(2, true)).run().await;
    assert_eq!(ran.end(), ended("two"));
    assert_eq!(ran.requests.len(), 8);
    let last = phases(&ran.records).pop().unwrap();
    assert_eq!(
        last,
        "finish 2: the limit of 2 rounds is reached; the review asks for: b is missing"
    );
}

#[tokio::test]
async fn without_self_critique_the_first_output_is_the_result_and_a_simple_task_has_no_plan() {
    let ran = bench([SIMPLE, draft("one")]).with(looped(3, false)).run().await;
    assert_eq!(ran.end(), ended("one"));
    assert_eq!(phases(&ran.records), ["understand 1: ", "execute 1: touch a", "finish 1: "]);
}

#[tokio::test]
async fn an_improvement_that_fails_does_not_lose_the_output_before_it() {
    let silent = Reply::Say("I cannot.");
    let replies = [SIMPLE, draft("one"), WANTS_MORE, silent.clone(), silent.clone(), silent];
    let ran = bench(replies).with(looped(3, true)).run().await;
    assert_eq!(ran.end(), ended("one"));
    let last = phases(&ran.records).pop().unwrap();
    assert!(last.contains("the improvement was not submitted"), "{last}");
}

#[tokio::test]
async fn answers_that_are_no_json_are_taken_as_text_and_their_tool_calls_are_not_executed() {
    let replies = [
        Reply::CallsAnd("I touch a.", vec![("t:touch", json!({"path": "x"}))]),
        Reply::Say("First a, then b."),
        draft("one"),
        Reply::Say("Looks fine."),
    ];
    let ran = bench(replies).with(looped(3, true)).run().await;
    assert_eq!(ran.end(), ended("one"));
    assert!(ran.made.is_empty());
    let phases = phases(&ran.records);
    assert_eq!(phases[1..3], ["plan 1: I touch a.", "execute 1: First a, then b."]);
    // Servers without structured output refuse the schema; the question is asked again without it.
    let replies = [Reply::NoSchema("touch a"), Reply::NoSchema("a"), draft("one"), CONTENT];
    assert_eq!(bench(replies).with(looped(3, true)).run().await.end(), ended("one"));
}

#[tokio::test]
async fn few_model_calls_are_left_to_the_work() {
    for steps in 1..6 {
        let few = |specialist: &mut Specialist| {
            looped(3, true)(specialist);
            specialist.limits.max_steps = steps;
        };
        let replies = match steps {
            1 | 2 => vec![draft("one"), CONTENT],
            _ => vec![SIMPLE, draft("one"), WANTS_MORE, draft("two"), CONTENT],
        };
        let ran = bench(replies).with(few).run().await;
        assert!(ran.end().starts_with("ok "), "{steps} model calls: {}", ran.end());
        assert!(ran.requests.len() as u32 <= steps);
    }
}

#[tokio::test]
async fn calls_say_how_far_the_work_is() {
    let percents = |records: &[Record]| -> Vec<u8> {
        let percent = |record: &Record| match record {
            Record::ToolCall { percent_done, .. } => *percent_done,
            _ => None,
        };
        records.iter().filter_map(percent).collect()
    };
    let limited = |specialist: &mut Specialist| {
        specialist.limits.max_tool_calls = 10;
        looped(3, true)(specialist);
    };
    let ran = bench(story()).with(limited).run().await;
    assert_eq!(percents(&ran.records), [20, 71]);
    let work = ["a", "b", "c"].map(|path| call("t:touch", json!({"path": path})));
    let alone: Vec<Reply> = work.into_iter().chain([draft("three")]).collect();
    let ran = bench(alone).with(|specialist| specialist.limits.max_tool_calls = 10).run().await;
    assert_eq!(percents(&ran.records), [0, 10, 20]);
}

#[tokio::test]
async fn any_prefix_of_the_records_of_phases_leads_to_the_same_end() {
    check_every_prefix(|| bench(story()).with(looped(3, true))).await;
}

#[test]
fn phases_are_events_and_lines_of_the_run() {
    let script = json!({"schema": "kb.script/1", "steps": {"draft": [
        {"say": json!({"understanding": "a poem about \u{1b}[31mtea", "complex": false}).to_string()},
        {"output": {"summary": "four lines"}},
        {"say": "{\"critique\": \"it does not rhyme\", \"needsImprovement\": true}"},
        {"output": {"summary": "four rhyming lines"}},
        {"output": {"critique": "good", "needsImprovement": false}},
    ]}});
    let scratch = Scratch::new(&[
        (
            "playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: draft, specialist: poet, task: write}\n\
             outputs: {text: '{{draft.output.summary}}'}\n",
        ),
        (
            ".kb/specialists/poet.yml",
            "agent:\n  name: poet\n  agent_loop: {max_iterations: 2, max_tool_calls: 10, enable_self_critique: true}\n",
        ),
        ("script.json", &script.to_string()),
    ]);
    let run = scratch.kb(&["playbook", "run", "p", "--script", "script.json"]).code(0);
    let run = run.says(&[
        "four rhyming lines",
        "phase understand (0 %)",
        "phase execute, round 2 (70 %): it does not rhyme",
    ]);
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'));
    scratch.kb(&["run", "events", "@last", "--json"]).code(0).says(&[
        "\"agent:phase\"",
        "\"round\":2,\"progressPercent\":70,\"nextMilestone\":\"critique\"",
    ]);
}
