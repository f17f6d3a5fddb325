//! The public forms: what the journal's events say to scripts, and the schema that they keep.

use crate::journals::{masked_event, masked_text};
use crate::simulate::{plan, playbook, step};
use kb::definition::{OutputParse, RecoveryKind, RunCommand, RunStep, StepKind};
use kb::diagnostic::{Code, Diagnostic, SourceId, Sources, Span};
use kb::evidence::*;
use kb::evidence::{CallRequest, Payload, Record};
use kb::plan::Plan;
use kb::run::{Event, InstanceIx, Rules, RunStatus, State, StepStatus};
use kb::value::*;
use kb::wire::{self, Problem, RunHead, RunView, Translator};
use serde_json::json;

const A: InstanceIx = InstanceIx(0);
const B: InstanceIx = InstanceIx(1);

/// `a` runs a shell, `b` waits for it.
fn two_steps() -> Plan {
    let mut a = step("a");
    a.kind = StepKind::Run(RunStep {
        command: RunCommand::Shell("true".into()),
        parse: OutputParse::Text,
    });
    let mut b = step("b");
    b.depends_on = [(StepId::new("a").unwrap(), Span::new(SourceId(0), 0, 0))].into();
    plan(playbook(vec![a, b], Vec::new()))
}

/// A translator, and the lines that it said; each event comes 10 ms after the one before.
struct Stream {
    translator: Translator,
    seq: u64,
    head: Option<Digest>,
    lines: Vec<Json>,
}

impl Stream {
    fn new() -> Stream {
        let translator =
            Translator::new(RunId::new("r1").unwrap(), std::sync::Arc::new(two_steps()));
        Stream { translator, seq: 0, head: None, lines: Vec::new() }
    }

    fn say(&mut self, event: Event) -> &[Json] {
        self.seq += 1;
        let at = Timestamp(1_000 + 10 * self.seq as i64);
        let from = self.lines.len();
        let said = self.translator.translate(self.seq, at, &masked_event(event), self.head);
        self.lines.extend(said.iter().map(|event| serde_json::to_value(event).unwrap()));
        &self.lines[from..]
    }

    /// The one line that an event becomes.
    #[track_caller]
    fn one(&mut self, event: Event) -> Json {
        let lines = self.say(event);
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines[0].clone()
    }
}

fn started(instance: InstanceIx, attempt: u32) -> Event {
    Event::Started { instance, attempt }
}

fn attempt_ended(instance: InstanceIx, attempt: u32, outcome: OutcomeKind, tokens: u64) -> Event {
    let failure = (outcome != OutcomeKind::Ok)
        .then(|| Failure::new(Code::SUBMITTED_OUTPUT_INVALID, "it ended with 1"));
    let usage =
        Usage { prompt_tokens: tokens, cost_usd: Some(Money::from_usd(0.5)), ..Usage::NONE };
    let output = Some(Payload::inline(json!({"n": attempt})));
    let handoff = None;
    Event::AttemptEnded {
        instance,
        attempt,
        outcome,
        output,
        streams: None,
        failure,
        usage,
        handoff,
    }
}

fn ended(instance: InstanceIx, status: StepStatus) -> Event {
    Event::Ended { instance, status, tolerated: false, output: None, failure: None }
}

fn run_started() -> Event {
    Event::RunStarted {
        definition: "demo".to_owned(),
        digest: Digest::of("frozen"),
        params: json!({"token": "env:TOKEN"}),
        environment: json!({"sandbox": "kernel", "process": "namespace", "kb": "0.1.0"}),
    }
}

fn run_ended(status: RunStatus) -> Event {
    Event::RunEnded { status, outputs: Payload::inline(json!({})), failure: None }
}

#[test]
fn every_line_begins_with_version_type_time_run_and_seq() {
    let mut stream = Stream::new();
    stream.say(run_started());
    let translator = &mut stream.translator;
    let event = masked_event(started(A, 1));
    let said = translator.translate(2, Timestamp(1_793_188_800_123), &event, None);
    assert_eq!(
        serde_json::to_string(&said[0]).unwrap(),
        r#"{"v":1,"type":"step:start","time":"2026-10-28T12:00:00.123Z","run":"r1","seq":2,"step":"a","instance":"a","iteration":1,"attempt":1,"kind":"run"}"#
    );
}

#[test]
fn a_run_starts_with_its_definition_and_its_levels() {
    let line = Stream::new().one(run_started());
    assert_eq!(line["type"], "run:start");
    assert_eq!(line["definition"], "demo");
    assert_eq!(line["digest"], Digest::of("frozen").to_string());
    assert_eq!(line["params"], json!({"token": "env:TOKEN"}));
    assert_eq!((&line["sandbox"], &line["process"]), (&json!("kernel"), &json!("namespace")));
    assert!(line.get("step").is_none());
}

#[test]
fn a_retried_step_tells_each_attempt_and_the_row_that_was_taken() {
    let mut stream = Stream::new();
    stream.say(run_started());
    assert_eq!(stream.one(Event::Ready { instance: A })["type"], "step:ready");
    stream.say(started(A, 1));
    let end = stream.one(attempt_ended(A, 1, OutcomeKind::Exit(1), 100));
    assert_eq!(end["type"], "attempt:end");
    assert_eq!((&end["outcome"], &end["attempt"]), (&json!("exit:1"), &json!(1)));
    assert_eq!(end["error"]["code"], "KB0502");
    assert_eq!(end["durationMs"], 10);
    let recovered = stream
        .say(Event::Recovered {
            row: 0,
            instance: A,
            outcome: OutcomeKind::Exit(1),
            action: RecoveryKind::Retry,
            taken: 1,
            max: 2,
            reason: "it ended with 1".to_owned(),
            due: Timestamp(9_000),
            tier: None,
            specialist: None,
        })
        .to_vec();
    assert_eq!(recovered[0]["type"], "recovery:applied");
    assert_eq!(recovered[0]["row"], "retry");
    assert_eq!(recovered[1]["type"], "step:waiting");
    assert_eq!(recovered[1]["until"], "1970-01-01T00:00:09.000Z");
    assert_eq!(recovered[0]["seq"], recovered[1]["seq"]);
    assert_eq!(stream.one(started(A, 2))["attempt"], 2);
    stream.say(attempt_ended(A, 2, OutcomeKind::Ok, 20));
    let end = stream.one(ended(A, StepStatus::Succeeded));
    assert_eq!(end["type"], "step:end");
    assert_eq!(end["output"], json!({"n": 2}));
    assert_eq!(end["usage"]["promptTokens"], 120);
    assert_eq!(end["usage"]["costUsd"], 1.0);
    assert_eq!(end["durationMs"], 50);
    assert!(end.get("error").is_none());
}

#[test]
fn a_step_that_never_started_has_no_attempt_and_no_duration() {
    let mut stream = Stream::new();
    stream.say(run_started());
    let end = stream.one(ended(B, StepStatus::Skipped));
    assert!(end.get("attempt").is_none());
    assert_eq!((&end["status"], &end["durationMs"]), (&json!("skipped"), &json!(0)));
}

#[test]
fn a_large_output_is_named_by_its_digest() {
    let mut stream = Stream::new();
    let output = Some(Payload::Blob { digest: Digest::of("big"), bytes: 9_000 });
    let status = StepStatus::Succeeded;
    let end =
        stream.one(Event::Ended { instance: A, status, tolerated: false, output, failure: None });
    assert_eq!(end["outputBlob"], json!({"sha256": Digest::of("big"), "bytes": 9_000}));
    assert!(end.get("output").is_none());
}

#[test]
fn items_have_names_and_what_they_take_counts_for_their_step() {
    let mut stream = Stream::new();
    stream.say(run_started());
    let expanded = stream.one(Event::Expanded {
        instance: B,
        first: InstanceIx(2),
        keys: vec!["src/a.rs".to_owned(), "b".to_owned()],
        items: Payload::inline(json!([1, 2])),
        keyed: true,
    });
    assert_eq!(expanded["count"], 2);
    let item = stream.one(started(InstanceIx(2), 1));
    assert_eq!((&item["step"], &item["instance"]), (&json!("b"), &json!("b[src/a.rs]")));
    stream.say(attempt_ended(InstanceIx(2), 1, OutcomeKind::Ok, 7));
    stream.say(attempt_ended(InstanceIx(3), 1, OutcomeKind::Ok, 5));
    assert_eq!(stream.one(ended(B, StepStatus::Succeeded))["usage"]["promptTokens"], 12);
}

#[test]
fn a_reset_starts_the_next_iteration_and_the_run_keeps_what_it_took() {
    let mut stream = Stream::new();
    stream.say(run_started());
    stream.say(started(A, 1));
    stream.say(attempt_ended(A, 1, OutcomeKind::Exit(1), 100));
    stream.say(ended(A, StepStatus::Failed));
    stream.say(run_ended(RunStatus::Failed));
    let reset = stream.one(Event::Reset {
        roots: vec![A],
        closure: vec![A, B],
        reason: "retry".to_owned(),
    });
    assert_eq!((&reset["type"], &reset["iteration"]), (&json!("step:reset"), &json!(2)));
    assert_eq!(reset["closure"], json!(["a", "b"]));
    assert_eq!(stream.one(started(A, 1))["iteration"], 2);
    stream.say(attempt_ended(A, 1, OutcomeKind::Ok, 1));
    assert_eq!(stream.one(ended(A, StepStatus::Succeeded))["usage"]["promptTokens"], 1);
    let end = stream.one(run_ended(RunStatus::Succeeded));
    assert_eq!(end["usage"]["promptTokens"], 101);
    assert_eq!(end["counts"], json!({"succeeded": 1, "pending": 1}));
    assert_eq!(end["status"], "succeeded");
}

fn invocation() -> Invocation {
    let state = FileState {
        kind: FileKind::File,
        size: 1,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 1,
        mode: 0,
        sha256: Some(Digest::of("x")),
    };
    Invocation {
        output: None,
        id: "c1".to_owned(),
        tool: "fs:write".to_owned(),
        args: json!({"path": "a.txt"}),
        args_hash: Digest::of("args"),
        at: Timestamp(0),
        duration_ms: 3,
        purpose: Purpose::Execution,
        status: InvocationStatus::Success,
        changes: vec![Change::new("a.txt".to_owned(), None, Some(state))],
        evidence: vec![EvidenceRef {
            kind: kb::evidence::EvidenceKind::File,
            reference: "a.txt".to_owned(),
            sha256: None,
            status: None,
        }],
        process: None,
        bytes: 12,
    }
}

fn record(record: Record) -> Event {
    Event::Recorded { instance: A, attempt: 1, record: Box::new(record) }
}

fn model_call() -> Record {
    Record::ModelCall {
        reasoning: None,
        turn: 1,
        model: "m".to_owned(),
        tier: Some(Tier::Small),
        request: Digest::of("request"),
        digests: None,
        prompt: None,
        usage: Usage { completion_tokens: 4, cost_usd: None, ..Usage::NONE },
        text: Payload::inline(json!("hello")),
        calls: vec![CallRequest {
            id: "c1".to_owned(),
            tool: "fs:write".to_owned(),
            args: json!({}),
        }],
        cut_short: false,
    }
}

#[test]
fn models_and_tools_tell_what_they_did() {
    let mut stream = Stream::new();
    stream.say(run_started());
    stream.say(started(A, 1));
    let call = stream.one(record(model_call()));
    assert_eq!(
        (&call["type"], &call["model"], &call["tier"]),
        (&json!("model:call"), &json!("m"), &json!("small"))
    );
    assert_eq!((&call["costUsd"], &call["usage"]["completionTokens"]), (&Json::Null, &json!(4)));
    let result = stream.one(record(Record::ToolResult {
        turn: 1,
        invocation: invocation(),
        result: Payload::inline(json!(null)),
    }));
    assert_eq!(result["type"], "tool:result");
    assert_eq!(result["argsHash"], Digest::of("args").to_string());
    assert_eq!(result["evidence"], json!([{"kind": "file", "ref": "a.txt"}]));
    assert_eq!(result["changes"][0]["change"], "created");
    assert!(result.get("error").is_none(), "{result}");
}

#[test]
fn notes_are_told_and_warnings_are_marked() {
    let mut stream = Stream::new();
    stream.say(started(A, 1));
    let told = |line: Json| (line["type"].clone(), line["level"].clone(), line["text"].clone());
    for (note, level, text) in [
        (Note::info("repair 1 of 2: x"), "info", "repair 1 of 2: x"),
        (Note::warning("odd"), "warning", "odd"),
        (Note::info("warning: a quotation"), "info", "warning: a quotation"),
    ] {
        let recorded = Record::Note(note);
        let stored = serde_json::to_value(&recorded).unwrap();
        assert_eq!(serde_json::from_value::<Record>(stored).unwrap(), recorded);
        let line = stream.one(record(recorded));
        assert_eq!(told(line), (json!("step:note"), json!(level), json!(text)));
    }
}

#[test]
fn a_check_that_passed_with_a_warning_is_marked() {
    let check = CheckDetail {
        check: "claim created a".to_owned(),
        verdict: Verdict::Passed,
        warning: true,
        reason: Some("`a` is not on disk".to_owned()),
        evidence: None,
    };
    let new = Verification::of(Confidence::Low, vec![check]);
    let stored = serde_json::to_value(&new).unwrap();
    assert_eq!(serde_json::from_value::<Verification>(stored).unwrap(), new);
    let line = Stream::new().one(Event::Judged { instance: A, attempt: 1, verification: new });
    assert_eq!(line["reason"], "`a` is not on disk");
    assert_eq!(
        line["checks"],
        json!([{"check": "claim created a", "verdict": "passed", "warning": true, "reason": "`a` is not on disk"}])
    );
}

#[test]
fn a_denied_call_says_why_and_a_result_that_looks_like_an_error_does_not() {
    let error = json!({"error": {"code": "KB0601", "message": "no", "help": "ask"}});
    let said = |status: InvocationStatus| {
        let invocation = Invocation { status, ..invocation() };
        let result = Payload::inline(error.clone());
        Stream::new().one(record(Record::ToolResult { turn: 1, invocation, result }))
    };
    assert_eq!(said(InvocationStatus::Denied)["error"], error["error"]);
    assert_eq!(said(InvocationStatus::Failed)["error"], error["error"]);
    assert_eq!(said(InvocationStatus::Success).get("error"), None);
}

#[test]
fn a_cut_stdout_is_told_at_the_end_of_its_step() {
    let mut stream = Stream::new();
    stream.say(started(A, 1));
    let process = serde_json::from_value(json!({"exitCode": 0, "stdoutCut": 7, "stderrCut": 0}));
    let process = Some(process.unwrap());
    let invocation = Invocation { process, ..invocation() };
    let result = Payload::inline(Json::Null);
    stream.say(record(Record::ToolResult { turn: 0, invocation, result }));
    assert_eq!(stream.one(ended(A, StepStatus::Succeeded))["stdoutCut"], 7);
    stream.say(started(B, 1));
    assert_eq!(stream.one(ended(B, StepStatus::Succeeded)).get("stdoutCut"), None);
}

#[test]
fn a_verdict_has_its_checks() {
    let check = CheckDetail {
        check: "file a".to_owned(),
        verdict: Verdict::Failed,
        warning: false,
        reason: Some("no file".to_owned()),
        evidence: None,
    };
    let verification = Verification::of(Confidence::High, vec![check]);
    let mut stream = Stream::new();
    let line = stream.one(Event::Judged { instance: A, attempt: 1, verification });
    assert_eq!(line["type"], "verification:complete");
    assert_eq!((&line["verdict"], &line["confidence"]), (&json!("failed"), &json!("high")));
    assert_eq!(
        line["checks"],
        json!([{"check": "file a", "verdict": "failed", "reason": "no file"}])
    );
    assert_eq!(stream.one(ended(A, StepStatus::Failed))["verdict"], "failed");
}

#[test]
fn the_end_of_a_run_tells_the_head_of_its_chain_where_there_is_one() {
    let mut stream = Stream::new();
    assert_eq!(stream.one(run_ended(RunStatus::Failed)).get("traceHead"), None);
    stream.head = Some(Digest::of("x"));
    assert_eq!(stream.one(started(A, 1)).get("traceHead"), None);
    let told = stream.one(run_ended(RunStatus::Succeeded))["traceHead"].clone();
    assert_eq!(told, json!(Digest::of("x").to_string()));
}

#[test]
fn a_question_is_told_and_the_run_waits_for_it() {
    let mut stream = Stream::new();
    assert_eq!(stream.translator.waiting(Timestamp(0)), None);
    let asked = stream.say(Event::Waiting { instance: A, reason: "may it?".to_owned() }).to_vec();
    assert_eq!(asked[0]["type"], "step:waiting");
    assert_eq!(
        (&asked[1]["type"], &asked[1]["question"]),
        (&json!("ask:opened"), &json!("may it?"))
    );
    let waiting = serde_json::to_value(stream.translator.waiting(Timestamp(0))).unwrap();
    assert_eq!((&waiting["type"], &waiting["status"]), (&json!("run:waiting"), &json!("waiting")));
    assert!(waiting.get("seq").is_none());
    let answered = Event::Answered {
        instance: A,
        approved: true,
        by: "me".to_owned(),
        answer: None,
        comment: None,
        seen: None,
    };
    assert_eq!(stream.one(answered)["approved"], true);
    assert_eq!(stream.translator.waiting(Timestamp(0)), None);
    let drained = stream.one(Event::Draining { reason: "SIGINT".to_owned() });
    assert_eq!(
        (&drained["type"], &drained["status"]),
        (&json!("run:waiting"), &json!("interrupted"))
    );
}

#[test]
fn a_token_is_not_stored() {
    let stream = Stream::new();
    let place = stream.translator.place(A).unwrap();
    let token =
        wire::Event::token(Timestamp(0), RunId::new("r1").unwrap(), place, masked_text("hel"));
    let line = serde_json::to_value(token).unwrap();
    assert_eq!(
        (&line["type"], &line["text"], &line["step"]),
        (&json!("step:token"), &json!("hel"), &json!("a"))
    );
    assert!(line.get("seq").is_none());
}

#[test]
fn every_event_keeps_the_published_schema() {
    let schema = wire::event_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut stream = Stream::new();
    let check = CheckDetail {
        check: "x".to_owned(),
        verdict: Verdict::Passed,
        warning: false,
        reason: None,
        evidence: Some(json!(1)),
    };
    let verification = Verification::of(Confidence::Low, vec![check]);
    let keys = vec!["k".to_owned()];
    let args = Payload::Blob { digest: Digest::of("a"), bytes: 1 };
    let result =
        Record::ToolResult { turn: 1, invocation: invocation(), result: Payload::inline(json!(1)) };
    let denied = Record::ToolResult {
        turn: 0,
        invocation: Invocation {
            output: None,
            status: InvocationStatus::Denied,
            process: Some(serde_json::from_value(json!({"stdoutCut": 3})).unwrap()),
            ..invocation()
        },
        result: Payload::inline(json!({"error": {"code": "KB0601", "message": "no"}})),
    };
    for event in [
        run_started(),
        Event::RunResumed {
            epoch: 2,
            in_flight: vec![A],
            lost_ms: 0,
            limits: RunLimits::default(),
        },
        Event::Ready { instance: A },
        started(A, 1),
        record(model_call()),
        record(Record::ToolCall {
            turn: 1,
            id: "c".to_owned(),
            tool: "t".to_owned(),
            args,
            percent_done: Some(20),
        }),
        record(result),
        record(denied),
        record(Record::Note(Note::warning("n"))),
        attempt_ended(A, 1, OutcomeKind::Timeout, 1),
        Event::Judged { instance: A, attempt: 1, verification },
        Event::Recovered {
            row: 0,
            instance: A,
            outcome: OutcomeKind::Timeout,
            action: RecoveryKind::Retry,
            taken: 1,
            max: 1,
            reason: "r".to_owned(),
            due: Timestamp(i64::MAX / 2),
            tier: None,
            specialist: None,
        },
        Event::Waiting { instance: A, reason: "r".to_owned() },
        Event::Answered {
            instance: A,
            approved: false,
            by: "me".to_owned(),
            answer: None,
            comment: None,
            seen: None,
        },
        Event::Expanded {
            instance: B,
            first: InstanceIx(2),
            keys,
            items: Payload::inline(json!([1])),
            keyed: false,
        },
        ended(A, StepStatus::Failed),
        Event::Reset { roots: vec![], closure: vec![A], reason: "r".to_owned() },
        Event::Draining { reason: "r".to_owned() },
        run_ended(RunStatus::Failed),
    ] {
        stream.say(event);
    }
    for line in &stream.lines {
        let faults: Vec<String> =
            validator.iter_errors(line).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{line}\n{faults:?}");
    }
    let types = schema.to_string();
    for line in &stream.lines {
        assert!(types.contains(line["type"].as_str().unwrap()), "{line}");
    }
    let mut wrong = stream.lines[0].clone();
    wrong["type"] = json!("run:begin");
    assert!(!validator.is_valid(&wrong));
    wrong["type"] = json!("run:start");
    wrong["definition"] = json!(7);
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn a_problem_has_its_place_in_lines_and_columns() {
    let mut sources = Sources::default();
    let id = sources.add("playbooks/a.yml", "steps:\n  - id: é word\n");
    let problem =
        Diagnostic::warning(Code::CIRCULAR_DEPENDENCY, Span::new(id, 18, 22), "odd").help("mend");
    assert_eq!(
        serde_json::to_value(Problem::of(&problem, &sources)).unwrap(),
        json!({
            "code": "KB0401", "severity": "warning", "message": "odd", "help": "mend",
            "path": "playbooks/a.yml", "line": 2, "column": 11, "endLine": 2, "endColumn": 15,
        })
    );
    let nowhere = Problem::of(&Diagnostic::error(Code::CIRCULAR_DEPENDENCY, None, "odd"), &sources);
    let nowhere = serde_json::to_value(nowhere).unwrap();
    assert_eq!((&nowhere["path"], &nowhere["line"]), (&Json::Null, &Json::Null));
}

#[test]
fn a_run_is_seen_with_its_steps() {
    let plan = two_steps();
    let mut state = State::new(&plan, Rules::default());
    let events = [
        run_started(),
        started(A, 1),
        attempt_ended(A, 1, OutcomeKind::Ok, 3),
        ended(A, StepStatus::Succeeded),
    ];
    for (i, event) in events.iter().enumerate() {
        state.apply(&plan, Timestamp(1_000 + 10 * i as i64), event);
    }
    let head = RunHead {
        run: RunId::new("r1").unwrap(),
        status: RunStatus::Interrupted,
        definition: "demo".to_owned(),
        started_at: Timestamp(1_000),
        ended_at: None,
        parent: None,
        base: None,
        params: serde_json::Map::new(),
    };
    let view = serde_json::to_value(RunView::of(&head, &plan, &state, Default::default())).unwrap();
    assert_eq!((&view["run"], &view["status"]), (&json!("r1"), &json!("interrupted")));
    assert_eq!(view["counts"], json!({"succeeded": 1, "pending": 1}));
    let a = &view["steps"][0];
    assert_eq!(
        (&a["instance"], &a["status"], &a["attempts"]),
        (&json!("a"), &json!("succeeded"), &json!(1))
    );
    assert_eq!((&a["durationMs"], &a["usage"]["promptTokens"]), (&json!(20), &json!(3)));
    assert_eq!(view["steps"][1]["status"], "pending");
}
