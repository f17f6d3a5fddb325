//! GitHub Actions workflows: jobs become chains of steps.

use super::actions_events::{concurrency, triggers};
use super::actions_expression::{Scope, expression, template, without_placeholders};
use super::draft::{Draft, literal, name, step_id};
use super::fields::Fields;
use super::output::Out;
use super::shell::{Variables, look_at};
use crate::definition::Positioned;
use crate::value::Json;
use std::collections::BTreeMap;

pub(super) fn convert(root: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(root, "");
    if let Some(text) = fields.text("name") {
        draft.set("name", literal(&text));
    }
    if let Some(on) = fields.take("on").or_else(|| fields.take("true")) {
        triggers(on, draft);
    }
    let scope = Scope { matrix: "matrix" };
    if let Some(env) = fields.take("env") {
        let variables = environment(env, &scope, draft);
        draft.head.extend(variables.out().map(|env| ("env", env)));
    }
    let cwd = run_defaults(&fields, "", draft);
    if let Some(group) = fields.take("concurrency") {
        concurrency(group, draft);
    }
    let jobs = fields.take("jobs").map(Positioned::entries).unwrap_or_default();
    let names: Vec<&str> = jobs.iter().map(|(id, _, _)| id.as_str()).collect();
    let mut ends: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, line, job) in jobs {
        let found = self::job(id, *line, job, cwd.as_deref(), &names, draft);
        ends.insert(id.clone(), found);
    }
    fields.finish(draft);
    depend(draft, &ends);
}

/// Replaces `needs` of jobs by the last steps of these jobs.
fn depend(draft: &mut Draft, ends: &BTreeMap<String, Vec<String>>) {
    for step in &mut draft.steps {
        let Out::Map(entries) = step else { continue };
        for (key, value) in entries.iter_mut().filter(|(key, _)| key == "needs") {
            let Out::Value(Json::Array(jobs)) = &*value else { continue };
            let jobs = jobs.iter().filter_map(Json::as_str);
            let steps: Vec<String> =
                jobs.flat_map(|job| ends.get(job).cloned().unwrap_or_default()).collect();
            *key = "dependsOn".to_owned();
            *value = Out::texts(&steps);
        }
        entries.retain(|(key, value)| {
            key != "dependsOn" || *value != Out::Value(Json::Array(Vec::new()))
        });
    }
}

/// The working directory of `defaults.run`.
fn run_defaults(fields: &Fields<'_>, path: &str, draft: &mut Draft) -> Option<String> {
    let outer = Fields::of(fields.take("defaults")?, format!("{path}defaults."));
    let run = outer.take("run").map(|run| Fields::of(run, format!("{path}defaults.run.")));
    outer.finish(draft);
    let run = run?;
    let cwd = run.text("working-directory");
    bash(&run, draft);
    run.finish(draft);
    cwd
}

/// Reports a shell other than bash.
fn bash(fields: &Fields<'_>, draft: &mut Draft) {
    if let Some(shell) = fields.take("shell") {
        let words = shell.words().unwrap_or_default();
        if words != "bash" && words != "sh" {
            draft.unmapped(
                shell.line,
                format!("`shell: {words}` is not mapped; the text runs with bash"),
            );
        }
    }
}

fn environment(env: &Positioned, scope: &Scope<'_>, draft: &mut Draft) -> Variables {
    let mut variables = Variables::default();
    for (name, line, value) in env.entries() {
        let text = value.words().unwrap_or_default();
        match template(&text, scope) {
            Ok(text) => variables.set(name, text),
            Err(unknown) => {
                draft
                    .unmapped(*line, format!("`{unknown}` in the variable `{name}` is not mapped"));
            }
        }
    }
    variables
}

/// Adds the steps of a job. Returns the ids that jobs after it depend on.
fn job(
    id: &str,
    line: u32,
    job: &Positioned,
    cwd: Option<&str>,
    jobs: &[&str],
    draft: &mut Draft,
) -> Vec<String> {
    let fields = Fields::of(job, format!("jobs.{id}."));
    let needs: Vec<String> = fields
        .take("needs")
        .map(|needs| needs.items().iter().filter_map(Positioned::words).collect())
        .unwrap_or_default();
    for missing in needs.iter().filter(|need| !jobs.contains(&need.as_str())) {
        draft.unmapped(line, format!("the job `{missing}` that `{id}` needs does not exist"));
    }
    let label = fields.text("name");
    if fields.take("runs-on").is_some() {
        draft.hint(
            line,
            "`runs-on` has no counterpart: steps run on this machine, in the project folder",
        );
    }
    let matrix = fields.take("strategy").and_then(|strategy| matrix(strategy, id, draft));
    let scope = Scope { matrix: "matrix" };
    let env = fields.take("env").map(|env| environment(env, &scope, draft)).unwrap_or_default();
    let cwd = run_defaults(&fields, &format!("jobs.{id}."), draft).or(cwd.map(str::to_owned));
    let mut common: Vec<(&'static str, Out)> = Vec::new();
    let condition = fields.take("if");
    if let Some(minutes) = fields.text("timeout-minutes") {
        draft.hint(line, "`timeout-minutes` of a job holds for each of its steps");
        common.push(("timeout", format!("{minutes}m").into()));
    }
    if fields.text("continue-on-error").as_deref() == Some("true") {
        common.push(("onError", "continue".into()));
    }
    let steps = fields.take("steps").map(Positioned::items).unwrap_or_default();
    fields.finish(draft);
    let runs =
        steps.iter().filter(|step| step.entries().iter().any(|(key, _, _)| key == "run")).count();
    let mut last: Option<String> = None;
    let mut used: Vec<String> = Vec::new();
    let whole = matrix.is_some() && runs > 1;
    if whole {
        draft.hint(line, format!(
            "the steps of the matrix job `{id}` run combination by combination one after the other only \
             within a step: each step waits for all combinations of the step before it"
        ));
    }
    for (index, step) in steps.iter().enumerate() {
        let wanted = step_name(step).unwrap_or_else(|| (index + 1).to_string());
        let own = if runs == 1 { step_id(id) } else { step_id(&format!("{id}-{wanted}")) };
        let own = match used.contains(&own) {
            true => format!("{own}-{}", index + 1),
            false => own,
        };
        let mut map: Vec<(&'static str, Out)> = vec![("id", own.clone().into())];
        match &last {
            Some(before) => map.push(("dependsOn", Out::texts(std::slice::from_ref(before)))),
            None if !needs.is_empty() => map.push(("needs", Out::texts(&needs))),
            None => {}
        }
        map.extend(matrix.clone().map(|matrix| ("matrix", matrix)));
        map.extend(common.clone());
        let label = label.as_deref().filter(|_| runs == 1);
        if self::step(step, id, (&env, cwd.as_deref(), condition, label), map, draft) {
            used.push(own.clone());
            last = Some(own);
        }
    }
    // A job without commands still orders the jobs around it.
    if last.is_none() {
        let own = step_id(id);
        draft.hint(line, format!("the job `{id}` has no command; it became a step without work"));
        let mut map = vec![("id".to_owned(), Out::from(own.clone()))];
        if !needs.is_empty() {
            map.push(("needs".to_owned(), Out::texts(&needs)));
        }
        map.push(("set".to_owned(), Out::map(vec![("done", Json::Bool(true).into())])));
        draft.steps.push(Out::Map(map));
        return vec![own];
    }
    last.into_iter().collect()
}

fn step_name(step: &Positioned) -> Option<String> {
    let fields = Fields::of(step, "");
    let text = fields.text("id").or_else(|| fields.text("name"))?;
    Some(text.chars().take(40).collect())
}

type Surroundings<'a> = (&'a Variables, Option<&'a str>, Option<&'a Positioned>, Option<&'a str>);

/// Adds a step with `run`; reports one with `uses`.
fn step(
    step: &Positioned,
    job: &str,
    (env, cwd, job_if, label): Surroundings<'_>,
    mut map: Vec<(&'static str, Out)>,
    draft: &mut Draft,
) -> bool {
    let fields = Fields::of(step, format!("jobs.{job}.steps."));
    fields.text("id");
    let name = fields.text("name").or_else(|| label.map(str::to_owned));
    if let Some(uses) = fields.text("uses") {
        let why = match uses.starts_with("actions/checkout@") {
            true => "a playbook runs in the project folder".to_owned(),
            false => "replace it by a command or a tool".to_owned(),
        };
        draft.unmapped(step.line, format!("`uses: {uses}` is not mapped: {why}"));
        return false;
    }
    let Some(run) = fields.take("run") else {
        draft
            .unmapped(step.line, format!("a step of the job `{job}` has neither `run` nor `uses`"));
        return false;
    };
    if let Some(name) = name {
        map.insert(1, ("name", literal(&name).into()));
    }
    let scope = Scope { matrix: "matrix" };
    for condition in [job_if, fields.take("if")].into_iter().flatten() {
        self::condition(condition, &scope, &mut map, draft);
    }
    let mut variables = env.clone();
    if let Some(own) = fields.take("env") {
        for (name, value) in environment(own, &scope, draft).0 {
            variables.set(&name, value);
        }
    }
    let text = run.words().unwrap_or_default();
    look_at(&text, run.line, draft);
    let text = without_placeholders(&text, run.line, &scope, &mut variables, draft);
    map.push(("run", text.into()));
    map.extend(variables.out().map(|env| ("env", env)));
    if let Some(cwd) = fields.text("working-directory").or_else(|| cwd.map(str::to_owned)) {
        map.push(("cwd", literal(&cwd).into()));
    }
    if let Some(minutes) = fields.text("timeout-minutes") {
        map.retain(|(key, _)| *key != "timeout");
        map.push(("timeout", format!("{minutes}m").into()));
    }
    if fields.text("continue-on-error").as_deref() == Some("true") {
        map.retain(|(key, _)| *key != "onError");
        map.push(("onError", "continue".into()));
    }
    bash(&fields, draft);
    fields.finish(draft);
    draft.steps.push(Out::map(map));
    true
}

fn condition(
    value: &Positioned,
    scope: &Scope<'_>,
    map: &mut Vec<(&'static str, Out)>,
    draft: &mut Draft,
) {
    let text = value.words().unwrap_or_default();
    let bare = text.trim().trim_start_matches("${{").trim_end_matches("}}").trim().to_owned();
    match bare.as_str() {
        "always()" | "!cancelled()" => map.push(("runIf", "allDone".into())),
        "success()" | "true" => {}
        _ => match expression(&bare, scope) {
            Ok(found) => {
                let both = map.iter().position(|(key, _)| *key == "condition");
                match both.map(|at| map.remove(at).1) {
                    Some(Out::Value(Json::String(first))) => {
                        map.push(("condition", format!("({first}) and ({found})").into()));
                    }
                    _ => map.push(("condition", found.into())),
                }
            }
            Err(unknown) => draft.unmapped(
                value.line,
                format!("`if: {text}` is not mapped (`{unknown}`): the step runs always"),
            ),
        },
    }
}

fn matrix(strategy: &Positioned, job: &str, draft: &mut Draft) -> Option<Out> {
    let fields = Fields::of(strategy, format!("jobs.{job}.strategy."));
    let limit = fields.take("max-parallel").map(Positioned::json);
    let tolerant = fields.text("fail-fast").as_deref() == Some("false");
    let found = fields.take("matrix");
    fields.finish(draft);
    let found = found?;
    if !found.is_map() {
        draft.unmapped(
            found.line,
            format!("the matrix of `{job}` is an expression and is not mapped"),
        );
        return None;
    }
    let mut axes = Vec::new();
    let mut map = Vec::new();
    for (axis, line, values) in found.entries() {
        match axis.as_str() {
            "include" | "exclude" => map.push((axis.clone(), Out::Value(values.json()))),
            _ if values.text().is_some_and(|text| text.contains("${{")) => {
                draft.unmapped(
                    *line,
                    format!("the axis `{axis}` is an expression and is not mapped"),
                );
            }
            _ => axes.push((name(axis), Out::Value(values.json()))),
        }
    }
    map.insert(0, ("axes".to_owned(), Out::Map(axes)));
    if let Some(limit) = limit {
        map.push(("maxParallel".to_owned(), limit.into()));
    }
    if tolerant {
        draft.hint(
            strategy.line,
            "`fail-fast: false` became `onItemError: continue`: failed items do not fail the run",
        );
        map.push(("onItemError".to_owned(), "continue".into()));
    }
    Some(Out::Map(map))
}
