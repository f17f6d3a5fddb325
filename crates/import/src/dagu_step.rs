//! Steps of Dagu.

use super::dagu_call::{Call, outputs, parallel};
use super::dagu_command::Command;
use super::dagu_condition::{self, Checks, checks};
use super::dagu_documents::Documents;
use super::dagu_environment::of_step;
use super::dagu_http;
use super::dagu_order::{Before, Order};
use super::dagu_outputs::written;
use super::dagu_references::{Readable, resolved};
use super::dagu_script::{Surroundings, path};
use super::dagu_version::Dagu;
use super::draft::{Draft, literal, reference};
use super::fields::{Fields, texts};
use super::output::Out;
use super::shell::{Variables, reads};
use kb_language::definition::Positioned;

/// What the steps of a document can read.
pub(super) struct Known<'d> {
    pub(super) documents: &'d Documents,
    pub(super) dagu: Dagu,
    /// The values of outputs of steps, by their paths.
    pub(super) outputs: Vec<(String, String)>,
    /// The values of constants, by their names with `consts.`.
    pub(super) consts: Vec<(String, String)>,
    /// What references in shell texts can read.
    pub(super) name: &'d str,
    pub(super) params: Vec<(String, String)>,
    /// The values of variables of parameters and steps.
    pub(super) values: Vec<(String, String)>,
    /// The values of variables that calls can pass: these and the environment of the workflow.
    pub(super) passable: Vec<(String, String)>,
    /// The ids of the steps that run other workflows, by the variables of their results.
    pub(super) calls: Vec<(String, String)>,
    /// The steps by the names that references use.
    pub(super) steps: Vec<String>,
    /// The variables with outputs of steps that may fail: Dagu has them, and here they are lost then.
    pub(super) lost: Vec<String>,
    /// The steps that compute values before all others.
    pub(super) first: Vec<String>,
    /// The variables that each step gets.
    pub(super) computed: Vec<(String, String)>,
    /// The folder of the workflow, as a word of a shell.
    pub(super) folder: Option<String>,
    pub(super) shell: Option<&'d Positioned>,
    /// The preconditions of the workflow, as a condition of each step.
    pub(super) condition: Option<String>,
    pub(super) before: Before,
}

/// The keys that say when a step runs: after those that it depends on, or after the one above it.
fn place(
    fields: &Fields<'_>,
    (after, order): (Option<&str>, Order),
    known: &Known<'_>,
    draft: &mut Draft,
) -> Vec<(&'static str, Out)> {
    let written = fields.take("depends").map(|on| texts(on, "depends", draft));
    let is_above = written.is_none();
    let on: Vec<String> = match written {
        Some(on) => on.iter().map(|on| known.before.id(on)).collect(),
        None => after.iter().map(|after| (*after).to_owned()).collect(),
    };
    let (mut on, may_skip) = known.before.waits(&on);
    let is_first = on.is_empty() && order != Order::Handler;
    if is_first {
        on.clone_from(&known.first);
    }
    let mut map = Vec::new();
    // The key `order` says it too.
    if !(is_above && (on.is_empty() || order == Order::Sequential && !is_first)) {
        map.push(("dependsOn", Out::texts(&on)));
    }
    let of_whole = known.condition.iter().filter(|_| order != Order::Handler);
    let mut conditions: Vec<String> = of_whole.cloned().collect();
    if let Some(needed) = may_skip {
        map.push(("runIf", "noneFailed".into()));
        conditions.extend(needed.iter().map(|id| format!("{}.status != 'skipped'", reference(id))));
    }
    if !conditions.is_empty() {
        map.push(("condition", joined(&conditions).into()));
    }
    map
}

/// Conditions that must all be true.
fn joined(conditions: &[String]) -> String {
    match conditions {
        [one] => one.clone(),
        all => all.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" and "),
    }
}

/// Adds the preconditions of a step to its place: as a condition, or as a step before it.
fn preconditions(
    id: &str,
    fields: &Fields<'_>,
    variables: &Variables,
    known: &Known<'_>,
    place: &mut Vec<(&'static str, Out)>,
    draft: &mut Draft,
) {
    let own = variables.texts();
    let readable = [&known.params[..], &known.values, &known.passable, &own].concat();
    match checks(fields, &readable, known.dagu, draft) {
        None => {}
        Some(Checks::Expression(text)) => {
            let at = place.iter().position(|(key, _)| *key == "condition");
            let before = at.map(|at| place.remove(at).1).and_then(|before| before.words());
            let all: Vec<String> = before.into_iter().chain([text]).collect();
            place.push(("condition", joined(&all).into()));
        }
        Some(Checks::Script(text)) => {
            let own = fields.peek("dir").or_else(|| fields.peek("workingDir"));
            if let Some(own) = own.filter(|_| known.dagu == Dagu::Two) {
                draft.fails(own.line, "a precondition in the folder of its step is not mapped");
            }
            let text = Surroundings::in_folder(known.folder.as_deref()).script(&text);
            let check = format!("{id}-if");
            let step = dagu_condition::step(&check, &text, place, variables.clone(), &readable);
            draft.steps.push(step);
            let condition = format!("{}.output == 'true'", reference(&check));
            *place = vec![("dependsOn", Out::texts(&[check])), ("condition", condition.into())];
        }
    }
}

/// Adds a step. `after`: the step above it.
pub(super) fn step(
    id: &str,
    after: (Option<&str>, Order),
    step: &Positioned,
    known: &Known<'_>,
    draft: &mut Draft,
) {
    let fields = match step.words() {
        Some(_) => Fields::ahead(step),
        None => Fields::of(step, format!("steps.{id}."), draft),
    };
    let mut map: Vec<(&'static str, Out)> = vec![("id", id.into())];
    let names = ["id", "name"].map(|key| fields.text(key));
    fields.text("output");
    if let Some(text) = fields.text("description") {
        map.push(("name", literal(&text).into()));
    }
    let readable = [&known.params[..], &known.passable, &known.consts].concat();
    let mut variables = variables_of(&fields, &readable, known, draft);
    let mut place = place(&fields, after, known, draft);
    // What stands for an untranslated part runs before the preconditions are checked.
    draft.place(&place);
    preconditions(id, &fields, &variables, known, &mut place, draft);
    map.extend(place);
    fields.left_out(&["mailOnError"], "`notify` of the settings tells of runs", draft);
    let mut around = Surroundings::of(&fields, known.folder.as_deref(), draft);
    let call = Call::of(&fields, known.documents);
    let mut is_translated = true;
    if let Some(call) = &call {
        call.convert(step, &known.passable, known.documents, &mut map, draft);
        for (name, _) in std::mem::take(&mut variables.0) {
            if !known.computed.iter().any(|(computed, _)| *computed == name) {
                draft.fails(call.line, format!("the variable `{name}` of a child is not mapped"));
            }
        }
        around.of_call(call.line, draft);
    } else if dagu_http::is_request(&fields) {
        let known = [&readable[..], &variables.texts()].concat();
        dagu_http::request(&fields, step.line, &known, &mut map, draft);
        variables = Variables::default();
        around.of_call(step.line, draft);
    } else if let Some(elsewhere) = runs_elsewhere(&fields) {
        fields.take_rest();
        is_translated = false;
        let why = format!("`steps.{id}.{elsewhere}` is not mapped: the command does not run here");
        draft.without_work(step.line, why, step, &mut map);
    } else if let Some(command) = Command::of(&fields, step, known.shell, draft) {
        let line = command.line;
        let (text, read) = outputs(&command.text, line, &known.calls, draft);
        for name in known.lost.iter().filter(|name| reads(&text, name)) {
            draft.fails(
                line,
                format!("`${{{name}}}`, the output of a step that may fail, is not mapped"),
            );
        }
        let (params, steps) = (&known.params, &known.steps);
        let reader = names.iter().flatten().next_back().map(String::as_str);
        let consts = &known.consts;
        let outputs = &known.outputs;
        let readable =
            Readable { workflow: known.name, params, consts, outputs, step: reader, steps };
        let text = resolved(&text, line, &readable, &mut variables, draft);
        let about_run = about_run(known.name, names.iter().flatten().next_back().cloned());
        let values = [&known.values[..], &read, &about_run].concat();
        let text = command.script(&text, &mut variables, &values, &known.passable, draft);
        let text = written(&fields, &text, &mut map, draft).unwrap_or(text);
        folder_of_step(id, step, &fields, &mut around, &mut map, draft);
        // A reference orders the steps by itself.
        map.push(("run", around.script(&text).into()));
    } else {
        fields.take_rest();
        is_translated = false;
        draft.without_work(step.line, format!("the step `{id}` has no command"), step, &mut map);
    }
    map.extend(variables.out().map(|env| ("env", env)));
    // What stands for an untranslated step fails the run, whatever the step tolerates.
    if is_translated {
        policies(&fields, &around, &mut map, draft);
    }
    parallel(&fields, call.is_some(), &known.values, &mut map, draft);
    draft.steps.push(Out::map(map));
    if is_translated {
        draft.steps.extend(around.on.ending(id));
    }
}

/// Takes the folder of a step.
fn folder_of_step(
    id: &str,
    step: &Positioned,
    fields: &Fields<'_>,
    around: &mut Surroundings,
    map: &mut Vec<(&'static str, Out)>,
    draft: &Draft,
) {
    let Some(folder) = fields.text("dir").or_else(|| fields.text("workingDir")) else { return };
    if path(&folder).is_none() {
        let text = format!("the folder `{folder}` of `{id}` is computed and is not mapped");
        draft.fails(step.line, text);
    } else if let Some(cwd) = around.cwd(&folder) {
        map.push(("cwd", literal(&cwd).into()));
    }
}

/// The variables of a step: the computed ones, and its own.
fn variables_of(
    fields: &Fields<'_>,
    readable: &[(String, String)],
    known: &Known<'_>,
    draft: &mut Draft,
) -> Variables {
    let computed = known.computed.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
    let mut variables = Variables(computed.collect());
    if let Some(env) = fields.take("env") {
        for (name, value) in of_step(env, readable, draft).0 {
            variables.set(&name, value);
        }
    }
    variables
}

/// The variables that Dagu sets for each command, and that have a counterpart.
fn about_run(workflow: &str, step: Option<String>) -> Vec<(String, String)> {
    let mut all = vec![
        ("DAG_NAME".to_owned(), literal(workflow)),
        ("DAG_RUN_ID".to_owned(), "{{run.id}}".to_owned()),
    ];
    all.extend(step.map(|step| ("DAG_RUN_STEP_NAME".to_owned(), literal(&step))));
    all
}

/// The key that lets a step run on another machine or by another program than the shell.
fn runs_elsewhere(fields: &Fields<'_>) -> Option<&'static str> {
    let local = |key: &&str| {
        let of = fields.peek(key)?;
        let kind = of.words().or_else(|| Fields::ahead(of).text("type"));
        let shell = ["command", "shell"].contains(&kind.as_deref().unwrap_or_default());
        Some(shell && of.entries().len() <= 1)
    };
    let kind = ["executor", "type"].into_iter().find(|key| local(key) == Some(false));
    let other = ["container", "action", "uses", "with", "workerSelector"];
    let found = kind.or_else(|| other.into_iter().find(|key| fields.peek(key).is_some()));
    if found.is_none() {
        fields.take("executor");
        fields.take("type");
    }
    found
}

fn policies(
    fields: &Fields<'_>,
    around: &Surroundings,
    map: &mut Vec<(&'static str, Out)>,
    draft: &mut Draft,
) {
    let ends_otherwise = fields.peek("timeoutSec").or_else(|| fields.peek("retryPolicy"));
    if let Some(other) = ends_otherwise.filter(|_| around.on.ends().is_some()) {
        let text = "`continueOn` with `markSuccess` or `output` beside `timeoutSec` or `retryPolicy` is not mapped";
        draft.fails(other.line, text);
    }
    // 0 is no limit.
    if let Some(seconds) = fields.text("timeoutSec").filter(|seconds| seconds != "0") {
        map.push(("timeout", format!("{seconds}s").into()));
    }
    if let Some(retry) = fields.take("retryPolicy") {
        map.push(("retry", self::retry(&Fields::of(retry, "retryPolicy.", draft), draft)));
    }
    map.extend(around.on.is_tolerated().then(|| ("onError", "continue".into())));
}

fn retry(own: &Fields<'_>, draft: &Draft) -> Out {
    let mut policy = Vec::new();
    if let Some(limit) = own.take("limit") {
        policy.push(("max", limit.json().into()));
    }
    if let Some(codes) = own.take("exitCode") {
        let codes = texts(codes, "retryPolicy.exitCode", draft);
        let codes: Vec<String> = codes.iter().map(|code| format!("exit:{code}")).collect();
        policy.push(("on", Out::texts(&codes)));
    }
    // Dagu doubles the interval with `true`.
    let grows = own.peek("backoff").and_then(Positioned::words);
    let grows = match grows.as_deref() {
        Some("true" | "2" | "2.0") => own.take("backoff").is_some(),
        Some("false") => own.take("backoff").is_none(),
        _ => false,
    };
    policy.push(("backoff", if grows { "exponential" } else { "fixed" }.into()));
    let seconds = own.text("intervalSec").map(|seconds| match seconds.as_str() {
        "0" => "0.001".to_owned(),
        _ => seconds,
    });
    if let Some(seconds) = seconds {
        policy.push(("initial", Out::from(format!("{seconds}s"))));
        let longest = own.text("maxIntervalSec").map(|seconds| format!("{seconds}s"));
        let longest = longest.or_else(|| grows.then(|| "24h".to_owned()));
        policy
            .extend(longest.or(Some(format!("{seconds}s"))).map(|time| ("maxDelay", time.into())));
    }
    Out::map(policy)
}
