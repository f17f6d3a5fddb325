//! Structured outputs that would exhaust a validator, through the binary: values that a recursive schema
//! takes exponential time for, schemas whose references multiply, and large outputs of a model.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A schema in which each level of a value matches two alternatives, and neither at the last one.
fn recursive_choice() -> Value {
    let again = json!({"type": "object", "properties": {"n": {"$ref": "#"}, "summary": {}}, "required": ["n"]});
    json!({"type": "object", "anyOf": [again, again]})
}

fn deep_chain(depth: usize) -> String {
    format!("{}{{}}{}", "{\"n\":".repeat(depth), "}".repeat(depth))
}

/// References that double at each of `depth` levels, for the same value or for a property of it.
fn fan_out(depth: usize, property: bool) -> Value {
    let mut defs = serde_json::Map::new();
    for n in 0..depth {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        let level = if property {
            json!({"anyOf": [{"properties": {"n": next}}, {"properties": {"n": next}}]})
        } else {
            json!({"anyOf": [next, next]})
        };
        defs.insert(format!("d{n}"), level);
    }
    defs.insert(format!("d{depth}"), json!({"type": "string"}));
    json!({"type": "object", "$defs": defs, "allOf": [{"$ref": "#/$defs/d0"}]})
}

/// A project with a step that prints a file as its output, and a specialist that submits it.
fn project(schema: &Value, value: &str) -> Scratch {
    Scratch::new(&[
        (
            "playbooks/p.yml",
            &format!(
                "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    run: [cat, value.json]\n    parse: json\n    output: {{schema: {schema}}}\n"
            ),
        ),
        (
            "playbooks/s.yml",
            "schema: kb.playbook/1\nid: s\nsteps:\n  - id: look\n    specialist: reader\n    task: Look.\n    verify: {claims: none, expectChanges: false}\n",
        ),
        (
            ".kb/specialists/reader.yml",
            &format!(
                "schema: kb.specialist/1\nid: reader\nrole: You read.\ntools: []\noutput: {{schema: {schema}}}\n"
            ),
        ),
        (
            "script.yml",
            &format!(
                "schema: kb.script/1\nsteps:\n  look:\n    - say: '{value}'\n    - say: '{value}'\n    - say: '{value}'\n"
            ),
        ),
        ("value.json", value),
    ])
}

/// A call ends within seconds and with that code.
fn ends(scratch: &Scratch, args: &[&str], code: i32, says: &[&str]) {
    let began = Instant::now();
    scratch.kb(args).code(code).says(says);
    assert!(began.elapsed() < Duration::from_secs(60), "{args:?} took {:?}", began.elapsed());
}

#[test]
fn a_deep_value_of_a_recursive_schema_is_refused_in_time() {
    let scratch = project(&recursive_choice(), &deep_chain(100));
    ends(&scratch, &["playbook", "run", "p"], 1, &["too large or too deep for this schema"]);
    ends(
        &scratch,
        &["playbook", "run", "s", "--script", "script.yml"],
        1,
        &["too large or too deep"],
    );
    ends(&scratch, &["run", "verify", "@last"], 0, &[]);
}

#[test]
fn a_shallow_value_of_a_recursive_schema_gets_its_violations() {
    let scratch = project(&recursive_choice(), &deep_chain(5));
    ends(&scratch, &["playbook", "run", "p"], 1, &["matches none of the alternatives"]);
}

#[test]
fn a_schema_whose_references_multiply_is_refused_at_load() {
    let scratch = project(&fan_out(40, false), "{}");
    ends(&scratch, &["playbook", "validate", "p"], 2, &["too complex", "KB0"]);
    let itself = json!({"type": "object", "anyOf": [{"$ref": "#"}, {"required": ["a"]}]});
    let scratch = project(&itself, "{}");
    ends(&scratch, &["playbook", "run", "p"], 2, &["refers to itself for the same value"]);
}

#[test]
fn references_that_multiply_with_the_depth_of_a_value_are_bounded() {
    let scratch = project(&fan_out(40, true), &deep_chain(40));
    ends(&scratch, &["playbook", "run", "p"], 1, &["too large or too deep"]);
    let scratch = project(&fan_out(40, true), &deep_chain(6));
    ends(&scratch, &["playbook", "run", "p"], 0, &["succeeded"]);
}

#[test]
fn a_megabyte_of_honest_output_is_accepted() {
    let item = json!({"path": "src/a.rs", "line": 7, "text": "x".repeat(80)});
    let value = json!({"items": vec![item; 8_600]});
    let schema = json!({"type": "object", "properties": {"items": {"type": "array", "items": {
        "type": "object",
        "properties": {"path": {"type": "string", "pattern": "^[a-z./]+$"}, "line": {"type": "integer"}},
        "required": ["path"]}}}, "required": ["items"]});
    assert!(value.to_string().len() > 1_000_000);
    let scratch = project(&schema, &value.to_string());
    ends(&scratch, &["playbook", "run", "p"], 0, &["succeeded"]);
    let wrong = value.to_string().replace("\"line\":7", "\"line\":\"7\"");
    let scratch = project(&schema, &wrong);
    ends(&scratch, &["playbook", "run", "p"], 1, &["output/items/0/line: expected integer"]);
}

/// The thread of the dispatcher does not validate: of the processor time of a run that validates, it uses a
/// small part. A step of the level `group` reads the times of `kb`.
#[test]
fn outputs_are_validated_on_other_threads_than_the_dispatcher_s() {
    let choices: Vec<Value> = (0..20)
        .map(|n| json!({"properties": {"id": {"maximum": n}}, "required": ["id"]}))
        .collect();
    let items: Vec<Value> = (0..60_000).map(|n| json!({"id": n})).collect();
    let schema = json!({"type": "object", "properties": {
        "items": {"type": "array", "items": {"anyOf": choices}}}});
    let scratch = project(&schema, &json!({"items": items}).to_string());
    scratch.write(".kb/kb.config.yml", "sandbox: {processes: group}\n");
    let times = "  - {id: times, dependsOn: a, runIf: allDone, run: 'cat /proc/$PPID/task/$PPID/stat /proc/$PPID/stat'}\n";
    let text = scratch
        .read("playbooks/p.yml")
        .replace("    output:", "    onError: continue\n    output:");
    scratch.write("playbooks/p.yml", &format!("{text}{times}"));
    scratch.kb(&["playbook", "run", "p", "--quiet"]).code(0);
    let printed = scratch.kb(&["run", "output", "@last", "times"]).code(0).out;
    // User and system time are fields 14 and 15; the name before them has no space.
    let ticks = |line: &str| -> u64 {
        line.split(' ').skip(13).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    };
    let all: Vec<u64> = printed.lines().filter(|line| !line.is_empty()).map(ticks).collect();
    let [dispatcher, process] = all[..] else { panic!("{printed}") };
    assert!(dispatcher * 2 < process, "{dispatcher} of {process} ticks");
}

/// Schemas that are accepted and expensive, each with a value of about a megabyte.
fn expensive() -> Vec<(&'static str, Value, String)> {
    let list = |items: Value| json!({"type": "array", "items": items});
    let objects = |n: usize| {
        json!((0..n).map(|n| json!({"id": n, "name": format!("n{n}")})).collect::<Vec<_>>())
    };
    let numbers = |n: usize| json!((0..n).collect::<Vec<_>>()).to_string();
    let long = format!("\"{}!\"", "a".repeat(1_000_000));
    let choices: Vec<Value> = (0..20)
        .map(|n| json!({"properties": {"id": {"maximum": n}}, "required": ["id"]}))
        .collect();
    let patterns = (0..20).map(|n| (format!("^k{n}[0-9]*(a|b)*$"), json!({"type": "integer"})));
    let patterns: serde_json::Map<String, Value> = patterns.collect();
    let keys: serde_json::Map<String, Value> =
        (0..60_000).map(|n| (format!("k{n}aabb"), json!(n))).collect();
    let keys = Value::Object(keys).to_string();
    vec![
        ("nested repetition", json!({"pattern": "^(a+)+$"}), long.clone()),
        ("alternation", json!({"pattern": "(a|aa)+$"}), long.clone()),
        ("length", json!({"type": "string", "maxLength": 10}), long),
        ("unique items", json!({"type": "array", "uniqueItems": true}), numbers(150_000)),
        (
            "unique objects",
            json!({"type": "array", "uniqueItems": true}),
            objects(30_000).to_string(),
        ),
        ("choices", list(json!({"anyOf": choices})), objects(30_000).to_string()),
        ("exclusive choices", list(json!({"oneOf": choices})), objects(30_000).to_string()),
        (
            "values",
            list(json!({"enum": (0..2_000).map(|n| format!("v{n}")).collect::<Vec<_>>()})),
            numbers(150_000),
        ),
        ("contains", json!({"contains": {"const": -1}, "minContains": 1}), numbers(150_000)),
        ("patterns of names", json!({"patternProperties": patterns}), keys.clone()),
        ("names", json!({"propertyNames": {"pattern": "^(k|kk)*$"}}), keys.clone()),
        ("unevaluated", json!({"anyOf": choices, "unevaluatedProperties": false}), keys),
        (
            "recursive choice",
            recursive_choice(),
            format!("{}{}{}", "{\"next\":".repeat(100_000), "1", "}".repeat(100_000)),
        ),
        ("depth", list(json!({})), format!("{}{}", "[".repeat(500_000), "]".repeat(500_000))),
        (
            "conditions",
            list(
                json!({"if": {"properties": {"id": {"maximum": 9}}}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}),
            ),
            objects(30_000).to_string(),
        ),
    ]
}

/// The code, the milliseconds of processor time and the peak memory in KiB of a run.
fn measured(scratch: &Scratch) -> (i32, u64, u64) {
    let script = "import resource, subprocess, sys; done = subprocess.run(sys.argv[2:]); \
        used = resource.getrusage(resource.RUSAGE_CHILDREN); \
        took = round((used.ru_utime + used.ru_stime) * 1000); \
        open(sys.argv[1], 'w').write(f'{took} {used.ru_maxrss}'); \
        sys.exit(done.returncode)";
    let peak = scratch.root().join("peak");
    let kb = scratch.command();
    let mut command = std::process::Command::new("python3");
    command.args(["-c", script]).arg(&peak).arg(kb.get_program());
    command.args(["playbook", "run", "p", "--quiet"]).current_dir(scratch.root());
    kb.get_envs().for_each(|(name, value)| _ = command.env(name, value.unwrap_or_default()));
    let done = command.finish();
    let used = scratch.read("peak");
    let (took, peak) = used.split_once(' ').unwrap();
    (done.status.code().unwrap_or(-1), took.parse().unwrap(), peak.parse().unwrap())
}

/// The goals are 1 s and 100 MiB above a run with a small value, for a release build. An unoptimised
/// build takes longer, so the bound of the processor time is twenty times that.
#[test]
fn a_megabyte_against_any_accepted_schema_ends_in_time() {
    let (_, base, small) = measured(&project(&json!({}), "1"));
    let (mut slowest, mut largest, mut count) = (0, 0, 0);
    for (name, schema, value) in expensive() {
        let (code, took, peak) = measured(&project(&schema, &value));
        println!("{name}: exit {code}, {took} ms, {peak} KiB");
        assert!((0..=2).contains(&code), "{name}: exit {code}");
        assert!(took < 20_000, "{name}: {took} ms");
        (slowest, largest) = (took.max(slowest), peak.max(largest));
        count += 1;
    }
    let figures = [
        ("schemas", count),
        ("slowest, ms of processor time above a small value", slowest.saturating_sub(base)),
        ("peak, MiB above a small value", largest.saturating_sub(small) >> 10),
    ];
    crate::proof::record("outputs of 1 MiB", None, figures);
    assert!((largest - small) >> 10 < 400, "{} MiB", (largest - small) >> 10);
}
