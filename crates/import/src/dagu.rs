//! Dagu workflows.

use super::dagu_call::{Call, outputs, parallel};
use super::dagu_command::Command;
use super::dagu_condition::condition;
use super::dagu_documents::Documents;
use super::dagu_params::{add, declare};
use super::dagu_references::{Readable, resolved};
use super::draft::{Draft, literal, reference, step_id};
use super::fields::{Fields, flag, words};
use super::output::Out;
use super::shell::Variables;
use kb_language::definition::Positioned;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of a workflow for pages and logs.
const SHOWN: [&str; 6] = ["tags", "labels", "group", "histRetentionDays", "logDir", "logOutput"];

/// Keys of a workflow for mails.
const MAILS: [&str; 4] = ["mailOn", "errorMail", "infoMail", "smtp"];

/// What the steps of a document can read.
struct Known<'d> {
    documents: &'d Documents,
    /// What references in shell texts can read.
    name: &'d str,
    params: Vec<(String, String)>,
    /// The values of variables of parameters and steps.
    values: Vec<(String, String)>,
    /// The values of variables that calls can pass: these and the environment of the workflow.
    passable: Vec<(String, String)>,
    /// The ids of the steps that run other workflows, by the variables of their results.
    calls: Vec<(String, String)>,
    /// The steps by the names that references use.
    steps: Vec<String>,
}

/// Translates one document of a file.
pub(super) fn convert_document(
    root: &Positioned,
    index: usize,
    documents: &Documents,
    draft: &mut Draft,
) {
    let fields = Fields::of(root, "", draft);
    fields.left_out(&SHOWN, "it has no effect on what runs", draft);
    fields.left_out(&MAILS, "`notify` of the settings tells of runs", draft);
    fields.title(draft);
    draft.id = documents.at(index).id.clone();
    let order = order(&fields, draft);
    if let Some(schedule) = fields.take("schedule") {
        if index > 0 {
            draft.left_out(schedule.line, "`schedule` of a document after the first is not mapped");
        }
        let crons: Vec<String> = schedule.items().iter().filter_map(Positioned::words).collect();
        if crons.len() < schedule.items().len() {
            draft.left_out(schedule.line, "`schedule` with start and stop is not mapped");
        }
        if !crons.is_empty() && index == 0 {
            draft.set("on", Out::map(vec![("schedule", Out::texts(&crons))]));
            if !crons.iter().any(|cron| cron.contains("TZ=")) {
                let text =
                    "`schedule` is in UTC here, and in the zone of the server in Dagu: add `zone`";
                draft.hint(schedule.line, text);
            }
        }
    }
    let mut known = Known {
        documents,
        name: &documents.at(index).name,
        params: Vec::new(),
        values: fields.take("params").map(|params| declare(params, draft)).unwrap_or_default(),
        passable: Vec::new(),
        calls: Vec::new(),
        steps: Vec::new(),
    };
    passed(documents, index, &mut known, draft);
    known.params.clone_from(&known.values);
    if let Some(env) = fields.take("env") {
        let variables = environment(env, draft);
        known.passable = variables.texts();
        draft.head.extend(variables.out().map(|env| ("env", env)));
    }
    let mut limits = Vec::new();
    if let Some(limit) = fields.take("maxActiveSteps") {
        limits.push(("maxParallel", limit.json().into()));
    }
    if let Some(seconds) = fields.text("timeoutSec") {
        limits.push(("timeout", Out::from(format!("{seconds}s"))));
    }
    if !limits.is_empty() {
        draft.set("limits", Out::map(limits));
    }
    let steps = fields.take("steps");
    if let Some(steps) = steps {
        results(steps, index, &mut known, draft);
        known.passable.extend(known.values.iter().cloned());
        known.steps =
            steps.items().iter().filter_map(|step| Fields::ahead(step).text("id")).collect();
        let mut previous: Option<String> = None;
        for (id, step) in named(steps) {
            let after = previous.as_deref().filter(|_| order == Order::Chain);
            draft.scope(&id, Some(step), |draft| self::step(&id, after, step, &known, draft));
            previous = Some(id);
        }
    }
    if let Some(handlers) = fields.take("handlerOn") {
        let on = Fields::of(handlers, "handlerOn.", draft);
        let mut hooks = Vec::new();
        for (key, hook) in [
            ("success", "onSuccess"),
            ("failure", "onFailure"),
            ("cancel", "onCancel"),
            ("abort", "onCancel"),
        ] {
            if let Some(handler) = on.take(key) {
                hooks.push((hook, Out::List(self::handler(key, handler, &known, draft))));
            }
        }
        if let Some(handler) = on.take("exit") {
            let made = self::handler("exit", handler, &known, draft);
            draft.finally.extend(made);
        }
        if !hooks.is_empty() {
            draft.set("hooks", Out::map(hooks));
        }
    }
}

/// The step of a handler, which is not among those of the playbook.
fn handler(event: &str, handler: &Positioned, known: &Known<'_>, draft: &mut Draft) -> Vec<Out> {
    let id = format!("on-{event}");
    let failing = draft.report.failing();
    let steps = draft.apart(|draft| {
        draft.scope(&id, Some(handler), |draft| step(&id, None, handler, known, draft));
    });
    // What fails after the work does not change how a run ends.
    if draft.report.failing() > failing {
        let text = format!("no step runs before the handler `{event}` is translated");
        draft.fails(handler.line, text);
    }
    steps
}

fn environment(env: &Positioned, draft: &mut Draft) -> Variables {
    let mut variables = Variables::default();
    for item in env.items() {
        let pairs: Vec<(String, u32, String)> = match item.words() {
            Some(words) => match words.split_once('=') {
                Some((name, value)) => vec![(name.to_owned(), item.line, value.to_owned())],
                None => {
                    draft.fails(item.line, format!("the variable `{words}` has no value"));
                    Vec::new()
                }
            },
            None => item
                .entries()
                .iter()
                .map(|(name, line, value)| {
                    let what = format!("env.{name}");
                    (name.clone(), *line, words(value, &what, draft).unwrap_or_default())
                })
                .collect(),
        };
        for (name, line, value) in pairs {
            if value.contains('$') || value.contains('`') {
                draft.fails(
                    line,
                    format!("the value of the variable `{name}` is computed and is not mapped"),
                );
            } else {
                variables.set(&name, literal(&value));
            }
        }
    }
    variables
}

/// The steps with their ids: a list, or a map by name.
pub(super) fn named(steps: &Positioned) -> Vec<(String, &Positioned)> {
    if steps.is_map() {
        return steps.entries().iter().map(|(id, _, step)| (step_id(id), step)).collect();
    }
    let id = |(index, step): (usize, &Positioned)| {
        let fields = Fields::ahead(step);
        let written = fields.text("id").or_else(|| fields.text("name"));
        written.map_or_else(|| format!("step-{}", index + 1), |text| step_id(&text))
    };
    steps.items().iter().enumerate().map(|(index, step)| (id((index, step)), step)).collect()
}

/// How the steps of a workflow are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// By their `depends`, or one after another by the key `order`.
    Written,
    /// A step without `depends` waits for the one above it.
    Chain,
}

/// Takes `type`. Without it, and with `chain`, Dagu runs a step without `depends` after the one above it.
fn order(fields: &Fields<'_>, draft: &mut Draft) -> Order {
    let kind = fields.take("type").map(|kind| (kind.line, words(kind, "type", draft)));
    let is_chain = match &kind {
        None => true,
        Some((_, kind)) if kind.as_deref() == Some("chain") => true,
        Some((_, kind)) if kind.as_deref() == Some("graph") => false,
        Some((line, other)) => {
            let other = other.as_deref().unwrap_or_default();
            draft.fails(*line, format!("`type: {other}` is not mapped"));
            false
        }
    };
    let Some(steps) = fields.peek("steps").filter(|_| is_chain) else { return Order::Written };
    let all = named(steps);
    let ordered = |(_, step): &(String, &Positioned)| Fields::ahead(step).peek("depends").is_some();
    if all.iter().any(ordered) {
        let text =
            "without `type: graph`, Dagu runs a step without `depends` after the one above it";
        draft.hint(steps.line, text);
        return Order::Chain;
    }
    if all.len() > 1 {
        draft.set("order", "sequential");
        let text =
            "without `type` and `depends`, Dagu runs steps one after another: `order: sequential`";
        draft.hint(steps.line, text);
    }
    Order::Written
}

/// Declares the parameters that calls pass and the document does not declare.
fn passed(documents: &Documents, index: usize, known: &mut Known<'_>, draft: &mut Draft) {
    let document = documents.at(index);
    let declared: BTreeSet<&String> = document.declared.iter().collect();
    for (name, line) in &document.given {
        if !declared.contains(name) {
            let text = format!(
                "`{}` does not declare `{name}`, which this call passes: it became a parameter",
                document.name
            );
            draft.hint(*line, text);
            known.values.push(add(name, "".into(), draft));
        }
    }
}

/// Finds the variables that `output` of steps sets. They are outputs of the playbook if others call it.
fn results(steps: &Positioned, index: usize, known: &mut Known<'_>, draft: &mut Draft) {
    let mut all = BTreeMap::new();
    for (id, step) in named(steps) {
        let fields = Fields::ahead(step);
        let Some(variable) = fields.text("output") else { continue };
        let variable = variable.trim_start_matches('$').to_owned();
        let value = format!("{{{{{}.output}}}}", reference(&id));
        if Call::of(&fields, known.documents).is_some() {
            known.calls.push((variable.clone(), id));
        } else if fields.peek("continueOn").is_none() {
            all.insert(variable.clone(), Out::from(value.as_str()));
        }
        known.values.push((variable, value));
    }
    if index > 0 && !all.is_empty() {
        draft.set("outputs", Out::Map(all.into_iter().collect()));
    }
}

/// `after`: the step that this one waits for without `depends` of its own.
fn step(id: &str, after: Option<&str>, step: &Positioned, known: &Known<'_>, draft: &mut Draft) {
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
    let after = || Some(("dependsOn", Out::texts(&[after?.to_owned()])));
    map.extend(fields.depends_on("depends", draft).or_else(after));
    map.extend(condition(&fields, &known.passable, draft));
    draft.place(&map);
    fields.left_out(&["mailOnError"], "`notify` of the settings tells of runs", draft);
    let mut variables = fields.take("env").map(|env| environment(env, draft)).unwrap_or_default();
    let call = Call::of(&fields, known.documents);
    let mut is_translated = true;
    if let Some(call) = &call {
        call.convert(step, &known.passable, known.documents, &mut map, draft);
        for (name, _) in std::mem::take(&mut variables.0) {
            draft.fails(call.line, format!("the variable `{name}` of a child is not mapped"));
        }
    } else if let Some(elsewhere) = runs_elsewhere(&fields) {
        fields.take_rest();
        is_translated = false;
        let why = format!("`steps.{id}.{elsewhere}` is not mapped: the command does not run here");
        draft.without_work(step.line, why, step, &mut map);
    } else if let Some(command) = Command::of(&fields, step, draft) {
        let line = command.line;
        let (text, read) = outputs(&command.text, line, &known.calls, draft);
        let (params, steps) = (&known.params, &known.steps);
        let readable = Readable { workflow: known.name, params, steps };
        let text = resolved(&text, line, &readable, &mut variables, draft);
        let about_run = about_run(known.name, names.into_iter().flatten().last());
        let values = [&known.values[..], &read, &about_run].concat();
        let text = command.script(&text, &mut variables, &values, &known.passable, draft);
        // A reference orders the steps by itself.
        map.push(("run", text.into()));
    } else {
        fields.take_rest();
        is_translated = false;
        draft.without_work(step.line, format!("the step `{id}` has no command"), step, &mut map);
    }
    map.extend(variables.out().map(|env| ("env", env)));
    if let Some(folder) = fields.text("dir").or_else(|| fields.text("workingDir")) {
        if folder.contains('$') {
            draft.fails(
                step.line,
                format!("the folder `{folder}` of `{id}` is computed and is not mapped"),
            )
        } else {
            map.push(("cwd", literal(&folder).into()))
        }
    }
    // What stands for an untranslated step fails the run, whatever the step tolerates.
    if is_translated {
        policies(&fields, &mut map, draft);
    }
    parallel(&fields, call.is_some(), &mut map, draft);
    draft.steps.push(Out::map(map));
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

fn policies(fields: &Fields<'_>, map: &mut Vec<(&'static str, Out)>, draft: &mut Draft) {
    if let Some(seconds) = fields.text("timeoutSec") {
        map.push(("timeout", format!("{seconds}s").into()));
    }
    if let Some(retry) = fields.take("retryPolicy") {
        let own = Fields::of(retry, "retryPolicy.", draft);
        let mut policy = Vec::new();
        if let Some(limit) = own.take("limit") {
            policy.push(("max", limit.json().into()));
        }
        if let Some(seconds) = own.text("intervalSec") {
            policy.push(("initial", Out::from(format!("{seconds}s"))));
        }
        map.push(("retry", Out::map(policy)));
    }
    if let Some(on) = fields.take("continueOn") {
        let any = match on.words() {
            Some(words) if words != "failed" => {
                draft.fails(on.line, format!("`continueOn: {words}` is not mapped"));
                false
            }
            Some(_) => true,
            None => flag(&Fields::of(on, "continueOn.", draft), "failure", draft) == Some(true),
        };
        map.extend(any.then(|| ("onError", "continue".into())));
    }
}
