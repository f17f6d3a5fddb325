//! Dagu workflows.

use super::dagu_call::Call;
use super::dagu_condition::{self, Checks, checks};
use super::dagu_continue::ContinueOn;
use super::dagu_documents::Documents;
use super::dagu_environment::{of_workflow, template_text};
use super::dagu_order::{Before, Order, named, order};
use super::dagu_outputs::readable;
use super::dagu_params::{add, declare};
use super::dagu_script::{Surroundings, path};
use super::dagu_step::{Known, step};
use super::dagu_version::Dagu;
use super::draft::{Draft, reference};
use super::fields::Fields;
use super::output::Out;
use super::shell::Variables;
use kb_language::definition::Positioned;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of a workflow for pages and logs.
const SHOWN: [&str; 9] = [
    "tags",
    "labels",
    "group",
    "histRetentionDays",
    "logDir",
    "logOutput",
    "otel",
    "runConfig",
    "restartWaitSec",
];

/// Keys of a workflow for mails.
const MAILS: [&str; 4] = ["mailOn", "errorMail", "infoMail", "smtp"];

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
    schedule(&fields, index, draft);
    runs_at_once(&fields, draft);
    let dagu = version(&fields, documents);
    let mut known = Known {
        documents,
        dagu,
        outputs: fields.peek("steps").map(|steps| readable(&named(steps))).unwrap_or_default(),
        consts: consts(&fields, draft),
        name: &documents.at(index).name,
        params: Vec::new(),
        values: fields
            .take("params")
            .map(|params| declare(params, dagu, draft))
            .unwrap_or_default(),
        passable: Vec::new(),
        calls: Vec::new(),
        steps: Vec::new(),
        computed: Vec::new(),
        first: Vec::new(),
        lost: Vec::new(),
        folder: folder(&fields, draft),
        shell: fields.take("shell"),
        condition: None,
        before: fields.peek("steps").map(Before::of).unwrap_or_default(),
    };
    passed(documents, index, &mut known, draft);
    known.params.clone_from(&known.values);
    if let Some(env) = fields.take("env") {
        let readable = [&known.values[..], &known.consts].concat();
        let variables = of_workflow(env, &readable, dagu, draft);
        known.passable = [&variables.texts.texts()[..], &variables.computed].concat();
        known.computed = variables.computed;
        draft.head.extend(variables.texts.out().map(|env| ("env", env)));
    }
    // Dagu starts nothing if a value cannot be computed.
    let ids = draft.steps.iter().filter_map(|step| step.get("id").and_then(Out::words));
    known.first = ids.collect();
    known.condition = of_whole(&fields, index, &known, draft);
    let mut limits = Vec::new();
    if let Some(limit) = fields.take("maxActiveSteps") {
        limits.push(("maxParallel", limit.json().into()));
    }
    if let Some(seconds) = fields.text("timeoutSec").filter(|seconds| seconds != "0") {
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
            let after = previous.as_deref().filter(|_| order != Order::Graph);
            draft.scope(&id, Some(step), |draft| {
                self::step(&id, (after, order), step, &known, draft);
            });
            previous = Some(id);
        }
    }
    handlers(&fields, &known, draft);
}

/// Takes `handlerOn`: hooks, and what runs at the end.
fn handlers(fields: &Fields<'_>, known: &Known<'_>, draft: &mut Draft) {
    let Some(handlers) = fields.take("handlerOn") else { return };
    let on = Fields::of(handlers, "handlerOn.", draft);
    let mut hooks = Vec::new();
    for (key, hook) in [
        ("success", "onSuccess"),
        ("failure", "onFailure"),
        ("cancel", "onCancel"),
        ("abort", "onCancel"),
    ] {
        if let Some(handler) = on.take(key) {
            hooks.push((hook, Out::List(self::handler(key, handler, known, draft))));
        }
    }
    if let Some(handler) = on.take("exit") {
        let made = self::handler("exit", handler, known, draft);
        draft.finally.extend(made);
    }
    if !hooks.is_empty() {
        draft.set("hooks", Out::map(hooks));
    }
}

/// The step of a handler, which is not among those of the playbook.
fn handler(event: &str, handler: &Positioned, known: &Known<'_>, draft: &mut Draft) -> Vec<Out> {
    let id = format!("on-{event}");
    let failing = draft.report.failing();
    let steps = draft.apart(|draft| {
        draft.scope(&id, Some(handler), |draft| {
            step(&id, (None, Order::Handler), handler, known, draft)
        });
    });
    // What fails after the work does not change how a run ends.
    if draft.report.failing() > failing {
        let text = format!("no step runs before the handler `{event}` is translated");
        draft.fails(handler.line, text);
    }
    steps
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
        } else if ContinueOn::ahead(&fields).is_tolerated() {
            known.lost.push(variable);
            continue;
        } else {
            all.insert(variable.clone(), Out::from(value.as_str()));
        }
        known.values.push((variable, value));
    }
    if index > 0 && !all.is_empty() {
        draft.set("outputs", Out::Map(all.into_iter().collect()));
    }
}

/// The folder of a workflow.
fn folder(fields: &Fields<'_>, draft: &Draft) -> Option<String> {
    let line = fields.peek("workingDir")?.line;
    let text = fields.text("workingDir")?;
    let found = path(&text);
    if found.is_none() {
        draft.fails(line, format!("the folder `{text}` is computed and is not mapped"));
    }
    found
}

/// The preconditions of the workflow, as a condition of each step.
fn of_whole(
    fields: &Fields<'_>,
    index: usize,
    known: &Known<'_>,
    draft: &mut Draft,
) -> Option<String> {
    let line = fields.peek("preconditions").or_else(|| fields.peek("precondition"))?.line;
    let readable = [&known.passable[..], &known.params].concat();
    let checks = checks(fields, &readable, known.dagu, draft)?;
    let handlers = fields.peek("handlerOn").map(Fields::ahead);
    if index > 0 || handlers.is_some_and(|on| on.peek("success").is_some()) {
        let text = "the preconditions of a workflow with a handler for success, or that others call, are not mapped";
        draft.fails(line, text);
    }
    let text = "if the preconditions of the workflow do not hold, its steps are skipped and the run succeeds; Dagu says \
                that it was aborted";
    draft.hint(line, text);
    Some(match checks {
        Checks::Expression(text) => text,
        Checks::Script(text) => {
            let text = Surroundings::in_folder(known.folder.as_deref()).script(&text);
            let step =
                dagu_condition::step("preconditions", &text, &[], Variables::default(), &readable);
            draft.steps.push(step);
            "preconditions.output == 'true'".to_owned()
        }
    })
}

/// Takes `schedule`: a trigger for each time.
fn schedule(fields: &Fields<'_>, index: usize, draft: &mut Draft) {
    let Some(schedule) = fields.take("schedule") else { return };
    if index > 0 {
        let text = "`schedule` of a document after the first is not mapped";
        return draft.left_out(schedule.line, text);
    }
    let crons: Vec<String> = schedule.items().iter().filter_map(Positioned::words).collect();
    if crons.len() < schedule.items().len() {
        draft.left_out(schedule.line, "`schedule` with start and stop is not mapped");
    }
    let zoned = |cron: &String| {
        let rest = cron.strip_prefix("CRON_").unwrap_or(cron).strip_prefix("TZ=")?;
        rest.split_once(' ').map(|(zone, cron)| (zone.to_owned(), cron.trim().to_owned()))
    };
    let trigger = |(at, cron): (usize, &String)| {
        let (zone, own) = match zoned(cron) {
            Some((zone, cron)) => (Some(zone), cron),
            None => (None, cron.clone()),
        };
        let mut map = Vec::new();
        map.extend((crons.len() > 1).then(|| ("name", format!("schedule-{}", at + 1).into())));
        map.push(("cron", own.into()));
        map.extend(zone.map(|zone| ("zone", zone.into())));
        Out::map(map)
    };
    let triggers: Vec<Out> = crons.iter().enumerate().map(trigger).collect();
    if triggers.is_empty() {
        return;
    }
    draft.set("on", Out::map(vec![("schedule", Out::List(triggers))]));
    if crons.iter().any(|cron| zoned(cron).is_none()) {
        let text = "`schedule` is in UTC here, and in the zone of the server in Dagu: add `zone`";
        draft.hint(schedule.line, text);
    }
}

/// Takes `maxActiveRuns`: with 1, a run waits for the one before it.
fn runs_at_once(fields: &Fields<'_>, draft: &mut Draft) {
    match fields.peek("maxActiveRuns").and_then(Positioned::words).as_deref() {
        Some("1") => {
            fields.take("maxActiveRuns");
            draft.set("concurrency", Out::map(vec![("onConflict", "queue".into())]));
        }
        // No limit, as here.
        Some("-1") => {
            fields.take("maxActiveRuns");
        }
        _ => {}
    }
}

/// The constants of a workflow of Dagu 2, by their names with `consts.`.
fn consts(fields: &Fields<'_>, draft: &Draft) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some(consts) = fields.take("consts") else { return found };
    for item in consts.items() {
        if item.entries().is_empty() || (item.entries().len() > 1 && !consts.is_map()) {
            draft.fails(item.line, "a constant is no name with a value and is not mapped");
        }
        for (name, line, value) in item.entries() {
            // A fraction may be written in several ways.
            let json = value.json();
            let is_plain = json.is_string() || json.is_boolean() || json.is_i64();
            let text = value.words().filter(|_| is_plain);
            match text.and_then(|text| template_text(&text, &found)) {
                Some(text) => found.push((format!("consts.{name}"), text)),
                None => draft.fails(*line, format!("the constant `{name}` is not mapped")),
            }
        }
    }
    found
}

/// The version that a workflow is written for.
fn version(fields: &Fields<'_>, documents: &Documents) -> Dagu {
    let steps = fields.peek("steps").map(named).unwrap_or_default();
    let runs = |(_, step): &(String, &Positioned)| {
        let own = Fields::ahead(step);
        own.peek("run").is_some() && Call::of(&own, documents).is_none()
    };
    let is_two = steps.iter().any(runs) || fields.peek("consts").is_some();
    if is_two { Dagu::Two } else { Dagu::One }
}
