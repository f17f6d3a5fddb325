//! The default recovery table of specialists: twelve kinds of failure, each followed by the rows of the
//! table in their order, until an attempt succeeds or no row is left.

use crate::proof;
use crate::scratch::Scratch;
use serde_json::{Value, json};

/// A kind of failure: the turns of an attempt that fails so, and the rows that follow without and with a
/// ladder, in order, while the attempts keep failing with a different message each time.
struct Kind {
    name: &'static str,
    turns: fn(usize) -> Value,
    limits: &'static str,
    plain: &'static [&'static str],
    ladder: &'static [&'static str],
    recoverable: bool,
}

const RETRIES: &[&str] = &["retry", "retry"];
const REWORKS: &[&str] = &["rework", "rework"];
const REWORKS_THEN_UP: &[&str] = &["rework", "rework", "escalateModel"];
/// A row that led to the same failure again is not used a second time.
const REWORK: &[&str] = &["rework"];
const REWORK_THEN_UP: &[&str] = &["rework", "escalateModel"];

fn same(path: String) -> Value {
    let call = json!({"calls": [{"tool": "fs:exists", "args": {"path": path}}]});
    json!([call, call, call, call])
}

fn claims(n: usize) -> Value {
    let created = vec![format!("missing-{n}.txt")];
    json!([{"output": {"summary": "done", "created": created}}])
}

fn kinds() -> Vec<Kind> {
    vec![
        Kind {
            name: "rate limit",
            turns: |n| json!([{"error": {"status": 429, "message": format!("slow down {n}")}}]),
            limits: "",
            plain: RETRIES,
            ladder: RETRIES,
            recoverable: true,
        },
        Kind {
            name: "server error",
            turns: |n| json!([{"error": {"status": 503, "message": format!("busy {n}")}}]),
            limits: "",
            plain: RETRIES,
            ladder: RETRIES,
            recoverable: true,
        },
        Kind {
            name: "interrupted response",
            turns: |n| json!([{"error": {"status": 0, "message": format!("cut {n}")}}]),
            limits: "",
            plain: RETRIES,
            ladder: RETRIES,
            recoverable: true,
        },
        Kind {
            name: "invalid output",
            turns: |n| {
                let bad = json!({"output": {"summary": n}});
                json!([bad, bad, bad])
            },
            limits: "",
            plain: REWORK,
            ladder: REWORK_THEN_UP,
            recoverable: true,
        },
        Kind {
            name: "no output",
            turns: |_| {
                let say = json!({"say": "I think about it."});
                json!([say, say, say])
            },
            limits: "",
            plain: REWORK,
            ladder: REWORK_THEN_UP,
            recoverable: true,
        },
        Kind {
            name: "refuted claim",
            turns: claims,
            limits: "",
            plain: REWORKS,
            ladder: REWORKS_THEN_UP,
            recoverable: true,
        },
        Kind {
            name: "failed check",
            turns: |n| {
                let path = format!("wrong-{n}.txt");
                json!([{"calls": [{"tool": "fs:write", "args": {"path": path, "content": "x"}}]},
                       {"output": {"summary": "done"}}])
            },
            limits: "",
            plain: REWORK,
            ladder: REWORK_THEN_UP,
            recoverable: true,
        },
        Kind {
            name: "repeated call",
            turns: |n| same(format!("a-{n}")),
            limits: "",
            plain: &["changeStrategy"],
            ladder: &["escalateModel", "changeStrategy"],
            recoverable: true,
        },
        Kind {
            name: "limit of steps",
            turns: |n| {
                let call = |k: usize| json!({"calls": [{"tool": "fs:exists", "args": {"path": format!("{n}-{k}")}}]});
                json!([call(1), call(2), call(3), call(4), call(5), call(6)])
            },
            limits: "maxSteps: 4",
            plain: &["changeStrategy"],
            ladder: &["escalateModel", "changeStrategy"],
            recoverable: true,
        },
        Kind {
            name: "limit of tool calls",
            turns: |n| {
                let call = |k: usize| json!({"calls": [{"tool": "fs:exists", "args": {"path": format!("{n}-{k}")}}]});
                json!([call(1), call(2), call(3), call(4), call(5), call(6)])
            },
            limits: "maxToolCalls: 2",
            plain: &["changeStrategy"],
            ladder: &["escalateModel", "changeStrategy"],
            recoverable: true,
        },
        Kind {
            name: "timeout",
            turns: |_| json!([{"say": "slow", "delayMs": 20_000}]),
            limits: "timeoutMs: 1500",
            plain: &[],
            ladder: &["escalateModel"],
            recoverable: true,
        },
        Kind {
            name: "denied calls",
            turns: |n| {
                let call = |k: usize| json!({"calls": [{"tool": "shell:exec", "args": {"command": format!("{n} {k}")}}]});
                json!([call(1), call(2), call(3), call(4)])
            },
            limits: "",
            plain: &[],
            ladder: &[],
            recoverable: false,
        },
    ]
}

/// Runs a step whose first `failing` attempts fail; the rows that were taken, and whether it succeeded.
fn run(kind: &Kind, ladder: bool, failing: usize) -> (Vec<String>, bool) {
    let up = if ladder { ", ladder: [small, medium]" } else { "" };
    let limits = match kind.limits {
        "" => String::new(),
        limits => format!("limits: {{{limits}}}\n"),
    };
    let specialist = format!(
        "schema: kb.specialist/1\nid: worker\nrole: You work.\nllm: {{tier: small{up}}}\n{limits}\
         tools: [fs:write, fs:exists]\noutput: {{schema: {{summary: string, \"created?\": \"string[]\"}}}}\n"
    );
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    specialist: worker\n    \
                    task: Write right.txt.\n    verify: {checks: [{file: right.txt}]}\n";
    let well = json!([
        {"calls": [{"tool": "fs:write", "args": {"path": "right.txt", "content": "right"}}]},
        {"output": {"summary": "done", "created": ["right.txt"]}},
    ]);
    let steps: serde_json::Map<String, Value> = (1..=12)
        .map(|n| (format!("a#{n}"), if n <= failing { (kind.turns)(n) } else { well.clone() }))
        .collect();
    let script = json!({"schema": "kb.script/1", "steps": steps}).to_string();
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/worker.yml", &specialist),
        ("script.json", &script),
    ]);
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.json", "--json"]);
    let events = said.events();
    let rows = events.iter().filter(|event| event["type"] == "recovery:applied");
    let rows = rows.map(|event| event["row"].as_str().unwrap_or_default().to_owned()).collect();
    (rows, said.code == 0)
}

#[test]
fn twelve_kinds_of_failure_follow_the_default_table_in_its_order() {
    let (mut cases, mut recovered, mut recoverable) = (0u64, 0u64, 0u64);
    let mut faults = Vec::new();
    let kinds = kinds();
    // They wait for delays most of the time, so the cases of all kinds run at the same time.
    let of_kind = |kind: &Kind, ladder: bool| {
        let rows = if ladder { kind.ladder } else { kind.plain };
        // The attempt after each of the rows succeeds; after the last row, none does.
        (1..=rows.len() + 1)
            .map(|failing| (failing, run(kind, ladder, failing)))
            .collect::<Vec<_>>()
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let pairs = kinds.iter().flat_map(|kind| [(kind, false), (kind, true)]);
        let started: Vec<_> = pairs
            .map(|(kind, ladder)| (kind, ladder, scope.spawn(move || of_kind(kind, ladder))))
            .collect();
        started.into_iter().map(|(kind, ladder, one)| (kind, ladder, one.join().unwrap())).collect()
    });
    for (kind, ladder, runs) in found {
        let rows = if ladder { kind.ladder } else { kind.plain };
        for (failing, (taken, succeeded)) in runs {
            let expected = &rows[..failing.min(rows.len())];
            let ends_well = failing <= rows.len();
            if taken != expected || succeeded != ends_well {
                faults.push(format!(
                    "{}, ladder {ladder}, {failing} failing: {taken:?} instead of {expected:?}, \
                     succeeded: {succeeded}",
                    kind.name
                ));
            }
            cases += 1;
            if kind.recoverable && ends_well {
                recoverable += 1;
                recovered += u64::from(succeeded);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(recovered * 100 >= recoverable * 95, "{recovered} of {recoverable}");
    proof::record(
        "recovery",
        None,
        [
            ("kinds of failure", kinds.len() as u64),
            ("cases", cases),
            ("recoverable", recoverable),
            ("recovered", recovered),
        ],
    );
}

#[test]
fn max_retries_of_a_specialist_limits_its_attempts() {
    let attempts = |limits: &str| {
        let specialist =
            format!("agent: {{name: worker, brain: {{system_prompt: Work.}}{limits}}}\n");
        let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    specialist: worker\n    \
                        task: Work.\n    retry: {max: 3, initial: 1ms, on: [transient]}\n";
        let busy = |n| (format!("a#{n}"), json!([{"error": {"status": 503, "message": "busy"}}]));
        let steps: serde_json::Map<String, Value> = (1..=5).map(busy).collect();
        let script = json!({"schema": "kb.script/1", "steps": steps}).to_string();
        let scratch = Scratch::new(&[
            ("playbooks/p.yml", playbook),
            (".kb/specialists/worker.yml", &specialist),
            ("script.json", &script),
        ]);
        let said = scratch.kb(&["playbook", "run", "p", "--script", "script.json", "--json"]);
        said.events().iter().filter(|event| event["type"] == "step:start").count()
    };
    assert_eq!(attempts(""), 4);
    assert_eq!(attempts(", limits: {max_retries: 1}"), 2);
    assert_eq!(attempts(", limits: {max_retries: 0}"), 1);
}
