//! Triggers, inputs and the concurrency group of a GitHub Actions workflow.

use super::draft::{Draft, literal, name};
use super::fields::{Fields, flag, words};
use super::output::Out;
use kb_base::value::Json;
use kb_language::definition::Positioned;

/// Maps the triggers and inputs. Returns the outputs of a workflow that others call.
pub(super) fn triggers<'a>(on: &'a Positioned, draft: &mut Draft) -> Option<&'a Positioned> {
    if !on.is_map() {
        for event in on.items() {
            let words = words(event, "on", draft).unwrap_or_default();
            if !["workflow_dispatch", "workflow_call"].contains(&words.as_str()) {
                draft.left_out(event.line, format!("the trigger `{words}` is not mapped"));
            }
        }
        return None;
    }
    let mut outputs = None;
    for (event, line, value) in on.entries() {
        match event.as_str() {
            "schedule" => {
                let several = value.items().len() > 1;
                let mut crons = Vec::new();
                for (index, item) in value.items().iter().enumerate() {
                    let fields = Fields::of(item, "on.schedule.", draft);
                    if let Some(cron) = fields.text("cron") {
                        let mut map = vec![("cron", cron.into()), ("zone", "UTC".into())];
                        let name = format!("schedule-{}", index + 1);
                        map.extend(several.then(|| ("name", name.into())));
                        crons.push(Out::map(map));
                    }
                }
                draft.set("on", Out::map(vec![("schedule", Out::List(crons))]));
            }
            "workflow_dispatch" | "workflow_call" => {
                let fields = Fields::of(value, format!("on.{event}."), draft);
                if let Some(inputs) = fields.take("inputs") {
                    inputs
                        .entries()
                        .iter()
                        .for_each(|(id, _, input)| self::input(id, input, draft));
                }
                outputs = outputs.or_else(|| fields.take("outputs"));
                if let Some(secrets) = fields.take("secrets") {
                    draft.hint(
                        secrets.line,
                        "secrets that are used are parameters, whose values are variables",
                    );
                }
            }
            other => draft.left_out(*line, format!("the trigger `{other}` is not mapped")),
        }
    }
    outputs
}

fn input(id: &str, input: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(input, format!("inputs.{id}."), draft);
    let own = Out::from(name(id));
    let is_known =
        |param: &Out| matches!(param, Out::Map(keys) if keys.iter().any(|(_, v)| *v == own));
    if draft.params.iter().any(is_known) {
        let message =
            format!("the input `{id}` of several triggers is one parameter, as in the first");
        fields.take_rest();
        return draft.left_out(input.line, message);
    }
    let mut param = vec![("name", own.clone())];
    let kind = match fields.text("type").as_deref() {
        Some("boolean") => "boolean",
        Some("number") => "number",
        Some("environment") => {
            draft.hint(
                input.line,
                format!("the input `{id}` names an environment; it became a text"),
            );
            "string"
        }
        _ => "string",
    };
    param.push(("type", kind.into()));
    let options = fields.take("options").map(Positioned::json);
    let is_required = fields.text("required").as_deref() == Some("true");
    match fields.take("default") {
        Some(default) => {
            // GitHub accepts texts for all types.
            let written = default.json();
            let read = written.as_str().filter(|_| kind != "string");
            let read = read.and_then(|text| serde_json::from_str::<Json>(text).ok());
            param.push(("default", read.unwrap_or(written).into()));
        }
        None if is_required => param.push(("required", Json::Bool(true).into())),
        None => {
            let first = options.as_ref().and_then(|options| options.get(0)).cloned();
            let none = match kind {
                "boolean" => Json::Bool(false),
                "number" => Json::from(0),
                _ => Json::from(""),
            };
            param.push(("default", first.unwrap_or(none).into()));
        }
    }
    if let Some(text) = fields.text("description") {
        param.push(("description", text.into()));
    }
    param.extend(options.map(|options| ("enum", options.into())));
    draft.params.push(Out::map(param));
}

pub(super) fn concurrency(group: &Positioned, draft: &mut Draft) {
    let fields = if group.is_map() {
        Fields::of(group, "concurrency.", draft)
    } else {
        Fields::ahead(group)
    };
    let written = group.words().or_else(|| fields.text("group"));
    let cancels = flag(&fields, "cancel-in-progress", draft) == Some(true);
    let policy = if cancels { "cancelRunning" } else { "queue" };
    let mut map = Vec::new();
    match written {
        Some(group) if !group.contains("${{") => map.push(("group", Out::from(literal(&group)))),
        Some(_) => draft.left_out(group.line, "the concurrency group is the id of the playbook"),
        None => {}
    }
    map.push(("onConflict", policy.into()));
    draft.set("concurrency", Out::map(map));
}
