//! goose recipes.

use super::draft::{Draft, name, playbook_id};
use super::fields::{Fields, texts, words};
use super::output::Out;
use super::placeholders::kept;
use super::tools::{all, commands, readers, writers};
use kb_base::value::Json;
use kb_language::definition::Positioned;

pub(super) fn convert(root: &Positioned, draft: &mut Draft) {
    let outer = Fields::ahead(root);
    // The desktop form nests the recipe.
    if let Some(recipe) = outer.take("recipe").filter(|recipe| recipe.is_map()) {
        return convert(recipe, draft);
    }
    let fields = Fields::of(root, "", draft);
    fields.take("version");
    fields.left_out(&["activities", "author"], "it is shown in goose only", draft);
    if let Some(title) = fields.text("title") {
        draft.id = playbook_id(&title);
        draft.set("name", title);
    }
    if let Some(text) = fields.text("description") {
        draft.set("description", text);
    }
    let params = fields.take("parameters").map(Positioned::items).unwrap_or_default();
    let keys: Vec<String> =
        params.iter().filter_map(|param| Fields::ahead(param).text("key")).collect();
    params.iter().for_each(|param| parameter(param, draft));
    let prompt = template(&fields, "prompt", &keys, draft);
    let instructions = template(&fields, "instructions", &keys, draft);
    let mut more = Vec::new();
    if let Some(settings) = fields.take("settings") {
        let own = Fields::of(settings, "settings.", draft);
        let mut llm = Vec::new();
        if let Some(model) = own.text("goose_model") {
            llm.push(("model", Out::from(model)));
        }
        if let Some(temperature) = own.take("temperature") {
            llm.push(("temperature", temperature.json().into()));
        }
        own.replaced(
            "goose_provider",
            "the settings choose the provider of a model (`llm`)",
            draft,
        );
        if let Some(turns) = own.take("max_turns") {
            more.push(("limits", Out::map(vec![("maxSteps", turns.json().into())])));
        }
        if !llm.is_empty() {
            more.push(("llm", Out::map(llm)));
        }
    }
    let tools = tools_of_extensions(&fields, draft);
    // Parameters in instructions are values of the task, because a role has no placeholders.
    let has_values =
        instructions.as_deref().is_some_and(|text| text.replace("\\{{", "").contains("{{"));
    // Text that only looks like a placeholder is plain text in a role.
    let instructions =
        instructions.map(|text| if has_values { text } else { text.replace("\\{{", "{{") });
    let (role, task) = match (instructions, prompt) {
        (Some(text), Some(prompt)) if has_values => {
            ("You do the task that you are given.".to_owned(), format!("{text}\n\n{prompt}"))
        }
        (Some(text), None) if has_values => {
            ("You do the task that you are given.".to_owned(), text)
        }
        (Some(text), Some(prompt)) => (text, prompt),
        (Some(text), None) => (text, "Follow your instructions.".to_owned()),
        (None, prompt) => {
            ("You do the task that you are given.".to_owned(), prompt.unwrap_or_default())
        }
    };
    let id = draft.specialist(&format!("{}-agent", draft.id), &role, &tools, more);
    // A step and a parameter cannot have one name.
    let is_parameter = |name: &str| {
        draft.params.iter().any(|p| p.get("name").and_then(Out::words).as_deref() == Some(name))
    };
    let own_id = if is_parameter("task") { "work" } else { "task" };
    let mut step =
        vec![("id", Out::from(own_id)), ("specialist", id.into()), ("task", task.into())];
    if let Some(response) = fields.take("response") {
        let own = Fields::of(response, "response.", draft);
        if let Some(schema) = own.take("json_schema") {
            step.push(("output", Out::map(vec![("schema", schema.json().into())])));
        }
    }
    if let Some(retry) = fields.take("retry") {
        step.extend(verify(retry, draft));
    }
    draft.steps.push(Out::map(step));
}

/// The tools that the extensions have.
fn tools_of_extensions(fields: &Fields<'_>, draft: &Draft) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    for extension in fields.take("extensions").map(Positioned::items).unwrap_or_default() {
        let own = Fields::of(extension, "extensions.", draft);
        let (kind, known) = (own.text("type"), own.text("name").unwrap_or_default());
        let built_in = matches!(kind.as_deref(), Some("builtin" | "platform") | None);
        if built_in && known == "developer" {
            tools = match own.take("available_tools") {
                Some(list) => tools_of(list, draft),
                None => all(),
            };
            own.left_out(
                &["timeout", "display_name", "description", "bundled"],
                "tools have limits of their own",
                draft,
            );
        } else {
            own.take_rest();
            draft.left_out(extension.line, format!("the extension `{known}` is not mapped"));
        }
    }
    tools
}

/// The tools of the extension `developer` that a list names.
fn tools_of(list: &Positioned, draft: &Draft) -> Vec<String> {
    let mut found = Vec::new();
    for tool in texts(list, "extensions.available_tools", draft) {
        match tool.as_str() {
            "shell" => found.extend(commands()),
            "text_editor" => found.extend([readers(), writers()].concat()),
            other => draft.left_out(list.line, format!("the tool `{other}` is not mapped")),
        }
    }
    found
}

/// A text in which the parameters stay as placeholders, under their names.
fn template(fields: &Fields<'_>, key: &str, keys: &[String], draft: &mut Draft) -> Option<String> {
    let found = fields.take(key)?;
    let text = words(found, key, draft)?;
    Some(kept(&text, found.line, draft, |inner| {
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        let (word, rest) = inner.split_at(end.unwrap_or(inner.len()));
        keys.iter().any(|key| key == word).then(|| format!("{{{{{}{rest}}}}}", name(word)))
    }))
}

/// A default in the type of its parameter: goose accepts a text for each type.
fn typed(default: &Positioned, kind: &str) -> Json {
    let json = default.json();
    let found = json.as_str().and_then(|text| match kind {
        "number" => serde_json::from_str(text).ok().filter(Json::is_number),
        "boolean" => text.to_lowercase().parse().ok().map(Json::Bool),
        _ => None,
    });
    found.unwrap_or(json)
}

fn parameter(param: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(param, "parameters.", draft);
    let key = fields.text("key").unwrap_or_default();
    let own = name(&key);
    if own != key {
        draft.hint(param.line, format!("the parameter `{key}` is named `{own}`"));
    }
    let kind = match fields.text("input_type").as_deref() {
        Some("number") => "number",
        Some("boolean") => "boolean",
        Some("file") => {
            draft.fails(
                param.line,
                format!(
                    "`input_type: file` of `{key}`: pass the path; the content is not inserted"
                ),
            );
            "string"
        }
        None | Some("string" | "select") => "string",
        Some(other) => {
            let text = format!("`input_type: {other}` of `{key}` is not mapped: it is a text");
            draft.fails(param.line, text);
            "string"
        }
    };
    let mut map = vec![("name", Out::from(own)), ("type", kind.into())];
    let requirement = fields.text("requirement");
    if let Some(default) = fields.take("default") {
        map.push(("default", typed(default, kind).into()));
    } else if requirement.as_deref() != Some("optional") {
        map.push(("required", Json::Bool(true).into()));
    }
    if let Some(text) = fields.text("description") {
        let key =
            if requirement.as_deref() == Some("user_prompt") { "prompt" } else { "description" };
        map.push((key, text.into()));
    }
    if let Some(options) = fields.take("options") {
        map.push(("enum", options.json().into()));
    }
    draft.params.push(Out::map(map));
}

/// Checks by shell commands, and how often the work is repeated.
fn verify(retry: &Positioned, draft: &mut Draft) -> Option<(&'static str, Out)> {
    let fields = Fields::of(retry, "retry.", draft);
    let mut checks = Vec::new();
    for check in fields.take("checks").map(Positioned::items).unwrap_or_default() {
        let own = Fields::of(check, "retry.checks.", draft);
        own.agrees("type", &["shell"], draft);
        if let Some(command) = own.text("command") {
            if command.contains("{{") || command.contains("{%") {
                let text = format!("the check `{command}` reads a parameter and is not mapped");
                draft.fails(check.line, text);
                continue;
            }
            checks.push(Out::map(vec![(
                "command",
                Out::texts(&["bash".to_owned(), "-c".to_owned(), command]),
            )]));
        }
    }
    let mut map = vec![("checks", Out::List(checks)), ("onFailed", "rework".into())];
    if let Some(max) = fields.take("max_retries") {
        map.push(("maxReworks", max.json().into()));
    }
    Some(("verify", Out::map(map)))
}
