//! Dagu workflows.

use super::draft::{Draft, literal, name, playbook_id, reference, step_id};
use super::fields::Fields;
use super::output::Out;
use super::shell::{Variables, look_at};
use crate::definition::Positioned;
use crate::value::Json;

pub(super) fn convert(root: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(root, "");
    fields.title(draft);
    match fields.take("type").map(|kind| (kind.line, kind.words().unwrap_or_default())) {
        Some((_, kind)) if kind == "chain" => draft.set("order", "sequential"),
        Some((line, kind)) if kind != "graph" => {
            draft.unmapped(line, format!("`type: {kind}` is not mapped"));
        }
        _ => {}
    }
    if let Some(schedule) = fields.take("schedule") {
        let crons: Vec<String> = schedule.items().iter().filter_map(Positioned::words).collect();
        if crons.len() < schedule.items().len() {
            draft.unmapped(schedule.line, "`schedule` with start and stop is not mapped");
        }
        if !crons.is_empty() {
            draft.set("on", Out::map(vec![("schedule", Out::texts(&crons))]));
        }
    }
    let mut known =
        fields.take("params").map(|params| parameters(params, draft)).unwrap_or_default();
    if let Some(env) = fields.take("env") {
        let variables = environment(env, draft);
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
    known.extend(steps.map(outputs).unwrap_or_default());
    if let Some(steps) = steps {
        for (index, (id, step)) in named(steps).into_iter().enumerate() {
            let made = self::step(&id, index, step, &known, draft);
            draft.steps.extend(made);
        }
    }
    if let Some(handlers) = fields.take("handlerOn") {
        let on = Fields::of(handlers, "handlerOn.");
        let mut hooks = Vec::new();
        for (key, hook) in [
            ("success", "onSuccess"),
            ("failure", "onFailure"),
            ("cancel", "onCancel"),
            ("abort", "onCancel"),
        ] {
            if let Some(handler) = on.take(key) {
                let made = step(&format!("on-{key}"), 0, handler, &known, draft);
                hooks.push((hook, Out::List(made.into_iter().collect())));
            }
        }
        if let Some(handler) = on.take("exit") {
            let made = step("on-exit", 0, handler, &known, draft);
            draft.finally.extend(made);
        }
        if !hooks.is_empty() {
            draft.set("hooks", Out::map(hooks));
        }
        on.finish(draft);
    }
    fields.finish(draft);
}

/// The parameters, as pairs of the variable in shell texts and its value.
fn parameters(params: &Positioned, draft: &mut Draft) -> Vec<(String, String)> {
    let mut found: Vec<(String, Json)> = Vec::new();
    for item in params.items() {
        match item.words() {
            Some(words) => {
                for word in words.split_whitespace() {
                    match word.split_once('=') {
                        Some((name, value)) => {
                            found.push((name.to_owned(), value.trim_matches('"').into()))
                        }
                        None => draft.unmapped(
                            item.line,
                            format!("the positional parameter `{word}` is not mapped"),
                        ),
                    }
                }
            }
            None => found
                .extend(item.entries().iter().map(|(name, _, value)| (name.clone(), value.json()))),
        }
    }
    let mut known = Vec::new();
    for (written, default) in found {
        let default = match default {
            Json::Null => Json::from(""),
            Json::String(_) | Json::Number(_) | Json::Bool(_) => {
                Json::from(crate::value::json_text(&default).to_string())
            }
            other => other,
        };
        let own = name(&written);
        draft
            .params
            .push(Out::map(vec![("name", own.clone().into()), ("default", default.into())]));
        known.push((written, format!("{{{{{own}}}}}")));
    }
    known
}

fn environment(env: &Positioned, draft: &mut Draft) -> Variables {
    let mut variables = Variables::default();
    for item in env.items() {
        let pairs: Vec<(String, u32, String)> = match item.words() {
            Some(words) => match words.split_once('=') {
                Some((name, value)) => vec![(name.to_owned(), item.line, value.to_owned())],
                None => {
                    draft.unmapped(item.line, format!("the variable `{words}` has no value"));
                    Vec::new()
                }
            },
            None => item
                .entries()
                .iter()
                .map(|(name, line, value)| (name.clone(), *line, value.words().unwrap_or_default()))
                .collect(),
        };
        for (name, line, value) in pairs {
            if value.contains('$') || value.contains('`') {
                draft.unmapped(
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
fn named(steps: &Positioned) -> Vec<(String, &Positioned)> {
    if steps.is_map() {
        return steps.entries().iter().map(|(id, _, step)| (step_id(id), step)).collect();
    }
    let id = |(index, step): (usize, &Positioned)| {
        let fields = Fields::of(step, "");
        let written = fields.text("id").or_else(|| fields.text("name"));
        written.map_or_else(|| format!("step-{}", index + 1), |text| step_id(&text))
    };
    steps.items().iter().enumerate().map(|(index, step)| (id((index, step)), step)).collect()
}

/// The variables that `output` of steps sets.
fn outputs(steps: &Positioned) -> Vec<(String, String)> {
    let of = |(id, step): (String, &Positioned)| {
        let variable = Fields::of(step, "").text("output")?;
        Some((
            variable.trim_start_matches('$').to_owned(),
            format!("{{{{{}.output}}}}", reference(&id)),
        ))
    };
    named(steps).into_iter().filter_map(of).collect()
}

fn step(
    id: &str,
    index: usize,
    step: &Positioned,
    known: &[(String, String)],
    draft: &mut Draft,
) -> Option<Out> {
    let fields = Fields::of(step, format!("steps.{id}."));
    let mut map: Vec<(&'static str, Out)> = vec![("id", id.into())];
    for key in ["id", "name", "output"] {
        fields.text(key);
    }
    if let Some(text) = fields.text("description") {
        map.push(("name", literal(&text).into()));
    }
    map.extend(fields.depends_on("depends"));
    let mut variables = fields.take("env").map(|env| environment(env, draft)).unwrap_or_default();
    let text = command(&fields, step);
    if let Some((text, line)) = &text {
        look_at(text, *line, draft);
        variables.provide(text, known);
        // A reference orders the steps by itself.
        map.push(("run", text.clone().into()));
    } else if let Some(child) = fields.text("call") {
        map.push(("playbook", playbook_id(&child).into()));
        if let Some(params) = fields.take("params") {
            let values = params.entries().iter();
            let given =
                values.map(|(key, _, value)| (name(key), Out::Value(value.json()))).collect();
            match params.is_map() {
                true => map.push(("with", Out::Map(given))),
                false => draft.unmapped(params.line, "`params` of a child as a text is not mapped"),
            }
        }
    } else {
        let label = if id.is_empty() { (index + 1).to_string() } else { id.to_owned() };
        draft.without_work(step.line, format!("the step `{label}` has no command"), &mut map);
    }
    map.extend(variables.out().map(|env| ("env", env)));
    if let Some(folder) = fields.text("dir").or_else(|| fields.text("workingDir")) {
        match folder.contains('$') {
            true => draft.unmapped(
                step.line,
                format!("the folder `{folder}` of `{id}` is computed and is not mapped"),
            ),
            false => map.push(("cwd", literal(&folder).into())),
        }
    }
    policies(&fields, &mut map, draft);
    fields.finish(draft);
    Some(Out::map(map))
}

fn command(fields: &Fields<'_>, step: &Positioned) -> Option<(String, u32)> {
    if let Some(words) = step.words() {
        return Some((words, step.line));
    }
    let command = ["run", "command"].iter().find_map(|key| fields.take(key));
    let script = fields.text("script");
    let line = command.map_or(step.line, |command| command.line);
    let command = command.map(|command| {
        let parts: Vec<String> = command.items().iter().filter_map(Positioned::words).collect();
        parts.join("\n")
    });
    match (command, script) {
        (Some(program), Some(script)) if ["bash", "sh"].contains(&program.as_str()) => {
            Some((script, line))
        }
        (Some(program), Some(script)) => {
            Some((format!("{program} <(cat <<'SCRIPT'\n{script}\nSCRIPT\n)"), line))
        }
        (Some(command), None) => Some((command, line)),
        (None, Some(script)) => Some((script, line)),
        (None, None) => None,
    }
}

fn policies(fields: &Fields<'_>, map: &mut Vec<(&'static str, Out)>, draft: &mut Draft) {
    if let Some(seconds) = fields.text("timeoutSec") {
        map.push(("timeout", format!("{seconds}s").into()));
    }
    if let Some(retry) = fields.take("retryPolicy") {
        let own = Fields::of(retry, "retryPolicy.");
        let mut policy = Vec::new();
        if let Some(limit) = own.take("limit") {
            policy.push(("max", limit.json().into()));
        }
        if let Some(seconds) = own.text("intervalSec") {
            policy.push(("initial", Out::from(format!("{seconds}s"))));
        }
        own.finish(draft);
        map.push(("retry", Out::map(policy)));
    }
    if let Some(on) = fields.take("continueOn") {
        let own = Fields::of(on, "continueOn.");
        let any = own.text("failure").as_deref() == Some("true") || on.text() == Some("failed");
        if let Some(words) = on.words().filter(|words| words != "failed") {
            draft.unmapped(on.line, format!("`continueOn: {words}` is not mapped"));
        }
        own.finish(draft);
        if any {
            map.push(("onError", "continue".into()));
        }
    }
    if let Some(parallel) = fields.take("parallel") {
        let own = Fields::of(parallel, "parallel.");
        let items = own.take("items").unwrap_or(parallel);
        let mut each = vec![("in", Out::Value(items.json()))];
        if let Some(limit) = own.take("maxConcurrent") {
            each.push(("maxParallel", limit.json().into()));
        }
        own.finish(draft);
        if items.words().is_some_and(|text| text.contains('$')) {
            draft.unmapped(items.line, "`parallel` over a variable is not mapped");
        } else {
            draft.hint(items.line, "`${ITEM}` is the variable `ITEM` with `{{item}}`");
            map.push(("forEach", Out::map(each)));
            let env = map.iter_mut().find(|(key, _)| *key == "env");
            let item = ("ITEM".to_owned(), Out::from("{{item}}"));
            match env {
                Some((_, Out::Map(entries))) => entries.push(item),
                _ => map.push(("env", Out::Map(vec![item]))),
            }
        }
    }
}
