//! `judge` checks: a larger model reviews the answer, by script and through the binary.

use crate::running::Start;
use crate::scratch::{Said, Scratch};
use serde_json::{Value, json};
use wiremock::matchers::{body_string_contains, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

const AGENT: &str =
    "schema: kb.specialist/1\nid: dev\nrole: Research.\nllm: {tier: small}\ntools: [fs:read]\n";

/// An answer over 50 characters.
const ANSWER: &str =
    "The project has src/a.rs, the package mind-engine and the class Orchestrator.";

/// A project with one research step, whose judge has these keys.
fn project(judge: &str, reworks: u32) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    specialist: dev\n    task: Describe the \
         packages.\n    verify: {{checks: [{{judge: {judge}}}], maxReworks: {reworks}}}\n"
    );
    Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/dev.yml", AGENT),
        ("src/a.rs", "fn a() {}\n"),
    ])
}

/// A complete assessment with some values changed.
fn assessment(changes: Value) -> Value {
    let mut all = json!({
        "mentions": ["src/a.rs", "mind-engine", "Orchestrator"], "verified": ["src/a.rs"],
        "unverified": [], "confidence": 0.9, "completeness": 0.9, "gaps": [], "warnings": [],
        "reasoning": "as recorded",
    });
    for (key, value) in changes.as_object().unwrap() {
        all[key] = value.clone();
    }
    all
}

fn submit(args: &Value) -> Value {
    json!([{"calls": [{"tool": "submit_verification", "args": args}], "usage": {"prompt": 900, "completion": 100}}])
}

fn run(scratch: &Scratch, answers: &[&str], judges: &Value) -> Said {
    let mut steps = serde_json::Map::new();
    for (attempt, answer) in answers.iter().enumerate() {
        steps.insert(format!("a#{}", attempt + 1), json!([{"output": {"summary": answer}}]));
    }
    for (key, turns) in judges.as_object().unwrap() {
        steps.insert(key.clone(), turns.clone());
    }
    let script = json!({"schema": "kb.script/1", "steps": steps});
    scratch.write("script.yml", &script.to_string());
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--json"])
}

/// The `judge` check of the last verdict, and the event itself.
fn judged(said: &Said) -> (String, Value) {
    let events = said.events();
    let event = events.iter().rfind(|event| event["type"] == "verification:complete");
    let event = event.unwrap_or_else(|| panic!("{}", said.err));
    let checks = event["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == "judge").unwrap();
    let reason = check["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
    (format!("{}{reason}", check["verdict"].as_str().unwrap()), event.clone())
}

#[test]
fn thresholds_lower_a_verdict_and_never_raise_one() {
    let many = json!(["mind-engine", "Orchestrator", "src/a.rs"]);
    for (judge, changes, expected) in [
        ("{}", json!({}), "passed"),
        (
            "{}",
            json!({"confidence": 0.5}),
            "inconclusive: the answer is uncertain: confidence 0.5, below 0.6",
        ),
        ("{uncertainBelow: 0.5}", json!({"confidence": 0.5}), "passed"),
        (
            "{}",
            json!({"confidence": 0.3}),
            "failed: the confidence is 0.3, below 0.4; take another approach: as recorded",
        ),
        (
            "{minConfidence: 0.2}",
            json!({"confidence": 0.3}),
            "inconclusive: the answer is uncertain: confidence 0.3, below 0.6",
        ),
        (
            "{}",
            json!({"completeness": 0.5}),
            "inconclusive: the completeness is 0.5, below 0.6; the judge names no gaps",
        ),
        (
            "{}",
            json!({"completeness": 0.5, "gaps": ["versions", "licenses", "tests"]}),
            "inconclusive: the completeness is 0.5, below 0.6; also cover: versions; licenses",
        ),
        (
            "{}",
            json!({"warnings": ["invented facts"]}),
            "inconclusive: the judge warns about the answer: invented facts",
        ),
        ("{}", json!({"unverified": many}), "passed"),
        // The runtime knows that src/a.rs exists, and the answer does not name the fourth.
        (
            "{maxUnverified: 2}",
            json!({"unverified": ["src/a.rs", "mind-engine", "Orchestrator", "x-y-z"]}),
            "passed",
        ),
        (
            "{maxUnverified: 1}",
            json!({"unverified": ["mind-engine", "Orchestrator"]}),
            "failed: the answer names what no tool result confirms: `mind-engine`, `Orchestrator`; only name what tool calls returned",
        ),
    ] {
        let scratch = project(judge, 0);
        let said =
            run(&scratch, &[ANSWER], &json!({"a#judge": submit(&assessment(changes.clone()))}));
        assert_eq!(judged(&said).0, expected, "{judge} {changes}");
        scratch.kb(&["run", "verify", "@last"]).code(0);
    }
}

#[test]
fn the_event_has_the_assessment_with_codes_and_the_call_is_paid() {
    let scratch = project("{}", 0);
    let changes = json!({"unverified": ["mind-engine", "Orchestrator"], "confidence": 0.5});
    let said = run(&scratch, &[ANSWER], &json!({"a#judge": submit(&assessment(changes))}));
    let (_, event) = judged(&said);
    let found = &event["assessment"];
    assert_eq!(found["unverifiedMentions"], json!(["mind-engine", "Orchestrator"]));
    assert_eq!(found["verifiedMentions"], json!(["src/a.rs"]));
    let codes: Vec<&str> =
        found["warnings"].as_array().unwrap().iter().filter_map(|w| w["code"].as_str()).collect();
    assert_eq!(codes, ["UNVERIFIED_PACKAGE", "UNVERIFIED_CLASS", "LOW_CONFIDENCE"]);
    assert_eq!((&found["completeness"], &found["gaps"]), (&json!(0.9), &json!([])));
    assert_eq!(event["usage"]["promptTokens"], 900);
    // The judge is one tier above the specialist, and its cost is part of the run.
    let calls: Vec<_> = said
        .events()
        .into_iter()
        .filter(|e| e["type"] == "model:call")
        .map(|e| e["tier"].clone())
        .collect();
    assert_eq!(calls, [json!("small"), json!("medium")]);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["usage"]["promptTokens"], 900, "{shown:#}");
}

#[test]
fn a_judge_that_does_not_judge_is_inconclusive() {
    let broken = |changes: Value| submit(&assessment(changes));
    for (turns, reason) in [
        (
            json!([{"say": "All good!"}, {"say": "Still good."}]),
            "the model did not call `submit_verification`",
        ),
        (json!([{"error": {"status": 401}}]), "status 401"),
        (
            json!([{"error": {"status": 503}}, {"error": {"status": 503}}, {"error": {"status": 503}}]),
            "status 503",
        ),
        (json!([]), "the script has no turn 1"),
        (
            {
                let of = |confidence: f64| {
                    let args = assessment(json!({"confidence": confidence}));
                    json!({"tool": "submit_verification", "args": args})
                };
                let two = json!({"calls": [of(0.9), of(0.3)]});
                json!([two, two])
            },
            "the model submitted several different assessments",
        ),
        (broken(json!({"confidence": 1.5})), "`confidence` is 1.5, not a number from 0 to 1"),
        (broken(json!({"gaps": null})), "`gaps` is no list"),
        (broken(json!({"reasoning": "x".repeat(600_000)})), "bytes, and 262144 are allowed"),
    ] {
        let scratch = project("{}", 0);
        let said = run(&scratch, &[ANSWER], &json!({ "a#judge": turns }));
        let (found, _) = judged(&said);
        assert!(found.starts_with("inconclusive: the answer was not judged: "), "{found}");
        assert!(found.contains(reason), "{found}\n{reason}");
    }
}

#[test]
fn a_refuted_answer_is_reworked_with_the_names_not_to_use() {
    let scratch = project("{maxUnverified: 0}", 2);
    let judges = json!({
        "a#judge#1": submit(&assessment(json!({"unverified": ["mind-engine"]}))),
        "a#judge#2": submit(&assessment(json!({}))),
    });
    let said = run(&scratch, &[ANSWER, ANSWER], &judges).code(0);
    assert_eq!(judged(&said).0, "passed");
    let prompts = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0);
    prompts.says(&["only name what tool calls returned", "`mind-engine`"]);
}

#[test]
fn short_answers_and_refuted_answers_are_not_judged() {
    let scratch = project("{}", 0);
    let said = run(&scratch, &["Nothing to do."], &json!({})).code(0);
    let (found, event) = judged(&said);
    let short = "unchecked: the answer is too short to be judged";
    assert_eq!((found.as_str(), &event["assessment"]), (short, &Value::Null));
    // Another check has failed, so that no call is paid.
    let scratch = project("{}}, {file: missing.txt", 0);
    let said = run(&scratch, &[ANSWER], &json!({})).code(1);
    let (found, event) = judged(&said);
    assert_eq!(found, "inconclusive: the answer was not judged, because another check decides");
    assert_eq!(event["verdict"], "failed");
}

#[test]
fn the_settings_have_defaults_and_only_specialists_have_judges() {
    let scratch = project("{}", 0);
    scratch.write(".kb/kb.config.yml", "verifier: {judge: {uncertainBelow: 0.95, tier: large}}\n");
    let said = run(&scratch, &[ANSWER], &json!({"a#judge": submit(&assessment(json!({})))}));
    assert_eq!(
        judged(&said).0,
        "inconclusive: the answer is uncertain: confidence 0.9, below 0.95"
    );
    let tiers: Vec<_> = said.events().into_iter().filter(|e| e["type"] == "model:call").collect();
    assert_eq!(tiers[1]["tier"], "large");
    let step = "schema: kb.playbook/1\nid: q\nsteps:\n  - {id: a, run: \"true\", verify: {checks: [{judge: {}}]}}\n";
    scratch.write(".kb/playbooks/q.yml", step);
    scratch.kb(&["playbook", "validate"]).code(2).says(&["reviews the answer of a specialist"]);
    let step = "schema: kb.playbook/1\nid: q\nsteps:\n  - {id: a, specialist: dev, task: x, verify: {checks: [{judge: {minConfidence: 4}}]}}\n";
    scratch.write(".kb/playbooks/q.yml", step);
    scratch.kb(&["playbook", "validate"]).code(2).says(&["minConfidence"]);
}

#[test]
fn a_written_assessment_counts_like_a_submitted_one() {
    let scratch = project("{}", 0);
    let text = assessment(json!({"confidence": 0.5})).to_string();
    let turns = json!([{"say": "I cannot call tools."}, {"say": text}]);
    let said = run(&scratch, &[ANSWER], &json!({ "a#judge": turns }));
    assert_eq!(judged(&said).0, "inconclusive: the answer is uncertain: confidence 0.5, below 0.6");
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

/// The judge is a real model behind a real server, and its structured answer decides. The model is far
/// too small to judge: whatever it says is within the thresholds.
#[test]
#[ignore = "two long replies of a model on the processor: minutes on a free machine, with a model server"]
fn a_real_model_judges() {
    let Some(server) = crate::real_model::lab() else { return };
    let scratch = Scratch::new(&[
        (".kb/specialists/dev.yml", "schema: kb.specialist/1\nid: dev\nrole: You are brief.\nllm: {tier: small, temperature: 0, maxTokens: 96}\nlimits: {timeoutMs: 900000}\n"),
        (".kb/playbooks/p.yml", "schema: kb.playbook/1
id: p
steps:
  - id: a
    specialist: dev
    task: Describe tea.
    timeout: 15m
    output: {schema: {type: object, properties: {summary: {type: string, minLength: 60, maxLength: 120}}, required: [summary], additionalProperties: false}}
    verify:
      checks: [{judge: {maxUnverified: 1000, minConfidence: 0, uncertainBelow: 0, minCompleteness: 0}}]
      maxReworks: 0
"),
    ]);
    let mut command = scratch.command();
    command.env("KB_LLM_ENDPOINT", &server.endpoint).env("KB_LLM_MODEL", "smollm2");
    let output = command.args(["playbook", "run", "p", "--json"]).finish();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = Said { code: 0, out: text(&output.stdout), err: text(&output.stderr) };
    let (found, event) = judged(&said);
    println!("{}", event["assessment"]);
    assert_eq!(event["assessment"]["judged"], true, "{found}\n{event:#}");
}

/// With a limited cost, a person is asked before the attempt whether a judge without a price may be called.
#[test]
fn a_judge_without_a_price_is_called_only_with_permission() {
    let reply = |message: Value| {
        let finish = if message["tool_calls"].is_null() { "stop" } else { "tool_calls" };
        ResponseTemplate::new(200).set_body_json(json!({"id": "r", "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}))
    };
    let output = json!({"summary": "a summary that is long enough to be judged by another model"});
    let submits = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "submit_output", "arguments": output.to_string()}}]});
    let judgement = assessment(json!({"mentions": [], "verified": []}));
    let judges = json!({"role": "assistant", "content": judgement.to_string()});
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let judge =
            Mock::given(method("POST")).and(body_string_contains("\"model\":\"judge-model\""));
        judge.respond_with(reply(judges)).with_priority(1).mount(&server).await;
        let worker = Mock::given(method("POST")).respond_with(reply(submits));
        worker.with_priority(2).mount(&server).await;
        server
    });
    // Servers on this machine are free; in this spelling it is not known as one.
    let uri = server.uri().replace("127.0.0.1", "[::ffff:127.0.0.1]");
    let calls_of_judge = || {
        let requests = runtime.block_on(server.received_requests()).unwrap();
        let of_judge =
            |body: &[u8]| String::from_utf8_lossy(body).contains("\"model\":\"judge-model\"");
        requests.iter().filter(|request| of_judge(&request.body)).count()
    };
    let tier = |name: &str, price: &str| {
        format!("{name}: {{endpoint: \"{uri}/v1\", stream: false, contextWindow: 32000, {price}}}")
    };
    let settings = format!(
        "llm: {{tiers: {{{}, {}}}}}\n",
        tier("medium", "model: m, price: {input: 1, output: 1}"),
        tier("large", "model: judge-model")
    );
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    specialist: reader\n    task: Look.\n    verify: {checks: [{judge: {}}]}\n";
    let again = "schema: kb.playbook/1\nid: again\nsteps:\n  - id: a\n    specialist: reader\n    task: Look.\n    verify: {onInconclusive: fail, checks: [{judge: {}}]}\n    recovery: [{on: [gate_inconclusive], do: rework, max: 2}]\n";
    let scratch = Scratch::new(&[
        (".kb/specialists/reader.yml", "schema: kb.specialist/1\nid: reader\nrole: You read.\n"),
        (".kb/playbooks/p.yml", playbook),
        (".kb/playbooks/again.yml", again),
        (".kb/kb.config.yml", &settings),
    ]);
    let begun = || {
        let said = scratch.kb(&["playbook", "run", "p", "--budget", "1000"]).code(3);
        said.says(&["the price of the model `judge-model` of the judge is unknown"]);
    };
    begun();
    scratch.kb(&["run", "reject", "@last", "a"]).says(&["no person permitted its calls"]);
    assert_eq!(calls_of_judge(), 0);
    // The rejection holds for the attempts that follow.
    scratch.kb(&["playbook", "run", "again", "--budget", "1000"]).code(3);
    scratch.kb(&["run", "reject", "@last", "a"]).code(1);
    let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("ask:opened"), calls_of_judge()), (1, 0));
    assert!(count("attempt:end") > 1);
    begun();
    scratch.kb(&["run", "approve", "@last", "a"]).code(0);
    assert_eq!(calls_of_judge(), 1);
    let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
    assert_eq!(events.iter().filter(|event| event["type"] == "ask:opened").count(), 1);
    // Without a limit of the cost nobody is asked.
    scratch.kb(&["playbook", "run", "p"]).code(0);
}

#[test]
fn the_terminal_shows_confidence_completeness_and_gaps() {
    let scratch = project("{}", 0);
    let changes = json!({"completeness": 0.8, "gaps": ["versions", "tests"]});
    let script = json!({"schema": "kb.script/1", "steps": {
        "a": [{"output": {"summary": ANSWER}}], "a#judge": submit(&assessment(changes))}});
    scratch.write("script.yml", &script.to_string());
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
    let text = format!("{}{}", said.out, said.err);
    let found = "confidence 0.9, completeness 0.8; gaps: versions, tests";
    assert!(text.contains(&format!("judge {found}")), "{text}");
    assert!(text.contains(&format!("judge     a: {found}")), "{text}");
}

/// A project whose agent reads src/b.rs with the class `Orchestrator` before it answers, and what the judge says.
fn with_a_read(judge: &str, judgement: Value) -> (Scratch, Said) {
    let scratch = project(judge, 0);
    scratch.write("src/b.rs", &format!("class Orchestrator\n{}end\n", "filler ".repeat(2_000)));
    let script = json!({"schema": "kb.script/1", "steps": {
        "a": [
            {"calls": [{"tool": "fs:read", "args": {"path": "src/b.rs"}}]},
            {"calls": [{"tool": "fs:read", "args": {"path": "src/mind-engine.rs"}}]},
            {"output": {"summary": ANSWER}},
        ],
        "a#judge": submit(&judgement),
    }});
    scratch.write(".kb/script.yml", &script.to_string());
    let said = scratch.kb(&["playbook", "run", "p", "--script", ".kb/script.yml", "--json"]);
    (scratch, said)
}

#[test]
fn a_judge_sees_the_start_of_each_result() {
    let (scratch, _) = with_a_read("{}", assessment(json!({})));
    let prompts = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0).out;
    let question = prompts.split("# Recorded tool calls").nth(1).unwrap_or_default();
    let calls = question.split("# Files that were read").next().unwrap_or_default();
    assert!(calls.contains("src/b.rs"), "{prompts}");
    assert!(calls.contains("class Orchestrator"), "{calls}");
    assert!(!calls.contains("end\n") && calls.len() < 3_000, "{} {calls}", calls.len());
}

#[test]
fn a_name_in_a_result_is_no_invention_whatever_the_judge_says() {
    let unverified =
        json!({"verified": [], "unverified": ["mind-engine", "Orchestrator", "src/a.rs"]});
    let (_, said) = with_a_read("{maxUnverified: 0}", assessment(unverified));
    let (found, event) = judged(&said);
    // Only a call that failed names the package.
    assert_eq!(event["assessment"]["unverifiedMentions"], json!(["mind-engine"]));
    assert!(found.starts_with("failed"), "{found}");
    assert_eq!(event["assessment"]["verifiedMentions"], json!(["src/a.rs", "Orchestrator"]));
}

#[test]
fn a_command_does_not_show_a_name_that_it_was_given() {
    let scratch = project("{maxUnverified: 0}", 0);
    scratch
        .write(".kb/specialists/dev.yml", &AGENT.replace("[fs:read]", "[fs:read, 'shell:exec']"));
    let script = json!({"schema": "kb.script/1", "steps": {
        "a": [
            {"calls": [{"tool": "shell:exec", "args": {"command": "ls mind-engine || true; echo Orchestrator"}}]},
            {"output": {"summary": ANSWER}},
        ],
        "a#judge": submit(&assessment(json!({"unverified": ["the class `Orchestrator`", "mind-engine package"]}))),
    }});
    scratch.write(".kb/script.yml", &script.to_string());
    let said = scratch.kb(&["playbook", "run", "p", "--script", ".kb/script.yml", "--json"]);
    let unverified = &judged(&said).1["assessment"]["unverifiedMentions"];
    assert_eq!(unverified, &json!(["Orchestrator", "mind-engine"]));
}

#[test]
fn a_judge_passes_no_answer_that_it_did_not_read_to_the_end() {
    let scratch = project("{}", 0);
    for (length, expected) in
        [(15_000, "passed"), (17_000, "unchecked: the judge read the first 16000 characters")]
    {
        let answer = format!("{ANSWER} {}", "word ".repeat(length / 5));
        let said = run(&scratch, &[&answer], &json!({"a#judge": submit(&assessment(json!({})))}));
        let found = judged(&said).0;
        assert!(found.starts_with(expected), "{found}");
    }
}
