//! Markdown with front matter: agentic workflows of GitHub, and slash commands of Claude Code.

use super::draft::{Draft, literal};
use super::fields::{Fields, words};
use super::output::Out;
use super::tools::{Grant, all, commands, grant, named, readers, writers};
use kb_language::definition::Positioned;

const ROLE: &str = "You do the task that you are given, and no other.";

/// A workflow of GitHub Agentic Workflows: one task for one specialist.
pub(super) fn agentic(root: &Positioned, body: (&str, u32), draft: &mut Draft) {
    let fields = Fields::of(root, "", draft);
    for (key, name) in [("name", "name"), ("description", "description")] {
        if let Some(text) = fields.text(key) {
            draft.set(name, literal(&text));
        }
    }
    if let Some(on) = fields.take("on") {
        on_events(on, draft);
    }
    let mut work = vec![("task", Out::from(body_task(body, draft)))];
    if let Some(minutes) = fields.text("timeout-minutes") {
        work.push(("timeout", format!("{minutes}m").into()));
    }
    let mut tools = readers();
    if let Some(found) = fields.take("tools") {
        tools.extend(granted(found, draft));
    }
    let mut more = Vec::new();
    if let Some(engine) = fields.take("engine") {
        let own = if engine.is_map() {
            Fields::of(engine, "engine.", draft)
        } else {
            Fields::ahead(engine)
        };
        let by = "the settings choose the provider of a model (`llm`)";
        own.replaced("id", by, draft);
        if let Some(words) = engine.words() {
            draft.left_out(engine.line, format!("`engine: {words}` is not mapped: {by}"));
        }
        if let Some(model) = own.text("model") {
            more.push(("llm", Out::map(vec![("model", model.into())])));
        }
    }
    let id = draft.specialist(&format!("{}-agent", draft.id), ROLE, &tools, more);
    let mut step = vec![("id", Out::from("task")), ("specialist", id.into())];
    step.append(&mut work);
    draft.steps.push(Out::map(step));
}

/// The tools that `tools` of an agentic workflow grants, apart from those that only read files.
fn granted(found: &Positioned, draft: &mut Draft) -> Vec<String> {
    let mut tools = Vec::new();
    if !found.is_map() && !found.items().is_empty() {
        draft.fails(found.line, "`tools` is no map and is not mapped");
    }
    for (tool, line, value) in found.entries() {
        // Without a value, `bash` is limited to a list of commands that only read.
        let of = match (grant(value), tool.as_str()) {
            (Grant::Whole, "bash") if value.json().is_null() => Grant::Part,
            (of, _) => of,
        };
        let own = match tool.as_str() {
            "edit" => writers(),
            "bash" => commands(),
            "web-fetch" => named("WebFetch"),
            _ => Vec::new(),
        };
        match of {
            Grant::Nothing => {}
            _ if own.is_empty() => {
                draft.left_out(*line, format!("the tool `{tool}` is not mapped"));
            }
            Grant::Part => draft.left_out(
                *line,
                format!("the limit of `{tool}` is not mapped: the tool is not granted"),
            ),
            Grant::Whole => {
                if tool == "bash" {
                    draft.hint(*line, "`bash` may run any command in the sandbox");
                }
                tools.extend(own);
            }
        }
    }
    tools
}

/// Schedules without a time.
const KNOWN: [&str; 3] = ["hourly", "daily", "weekly"];

fn on_events(on: &Positioned, draft: &mut Draft) {
    let mut events: Vec<(String, u32, Option<&Positioned>)> =
        on.entries().iter().map(|(key, line, value)| (key.clone(), *line, Some(value))).collect();
    if !on.is_map() {
        events = on.items().iter().filter_map(|e| Some((e.words()?, e.line, None))).collect();
    }
    for (event, line, value) in events {
        let crons: Vec<String> = value
            .map(Positioned::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|item| Fields::ahead(item).text("cron").or_else(|| item.words()))
            .collect();
        let sign = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase() || "*/,-#?".contains(c);
        let is_cron = |text: &String| {
            let fields: Vec<&str> = text.split_whitespace().collect();
            fields.len() == 5 && fields.iter().all(|field| field.chars().all(sign))
        };
        match event.as_str() {
            "workflow_dispatch" => {
                if let Some(value) = value {
                    drop(Fields::of(value, "on.workflow_dispatch.", draft));
                }
            }
            "schedule" if !crons.is_empty() && crons.iter().all(is_cron) => {
                draft.set("on", Out::map(vec![("schedule", Out::texts(&crons))]));
            }
            "schedule" if matches!(crons.as_slice(), [word] if KNOWN.contains(&word.as_str())) => {
                let word = &crons[0];
                draft.hint(line, format!("`schedule: {word}` became `@{word}`"));
                draft.set("on", Out::map(vec![("schedule", format!("@{word}").into())]));
            }
            "schedule" => {
                draft.left_out(
                    line,
                    format!("the schedule `{}` is not a cron expression", crons.join(", ")),
                );
            }
            other => draft.left_out(line, format!("the trigger `{other}` is not mapped")),
        }
    }
}

/// The body as a task. Expressions of GitHub stay as text and are reported.
fn body_task((body, first): (&str, u32), draft: &mut Draft) -> String {
    let body = body.trim();
    for (index, line) in body.lines().enumerate() {
        let number = first + index as u32;
        for opening in ["${{", "{{#if"] {
            for rest in line.split(opening).skip(1) {
                let found = rest.split("}}").next().unwrap_or_default();
                let text = format!("`{opening}{found}}}}}` in the text is not mapped");
                draft.fails(number, text);
            }
        }
        if line.trim_start().starts_with("@include") || line.trim_start().starts_with("{{#import") {
            draft.fails(number, format!("`{}` is not mapped", line.trim()));
        }
    }
    literal(body)
}

/// A markdown file whose `argument-hint` is quoted: `[issue] [priority]` is what Claude Code shows, and no YAML.
pub fn with_quoted_hint(text: &str) -> String {
    const KEY: &str = "argument-hint:";
    let quoted = |line: &str| {
        let value = line.strip_prefix(KEY)?.trim();
        let is_plain = !value.is_empty() && !value.starts_with(['"', '\'']);
        is_plain.then(|| format!("{KEY} '{}'\n", value.replace('\'', "''")))
    };
    let line = |line: &str| quoted(line).unwrap_or_else(|| line.to_owned());
    text.split_inclusive('\n').map(line).collect()
}

/// A slash command of Claude Code: a playbook with the arguments as a parameter.
pub(super) fn command(root: &Positioned, (body, first): (&str, u32), draft: &mut Draft) {
    let fields = Fields::of(root, "", draft);
    if let Some(text) = fields.text("description") {
        draft.set("description", text);
    }
    let mut param = vec![("name", Out::from("arguments")), ("default", "".into())];
    if let Some(hint) = fields.text("argument-hint") {
        param.push(("prompt", hint.into()));
    }
    let mut tools: Vec<String> = Vec::new();
    let allowed = fields.take("allowed-tools");
    for entry in allowed.map(Positioned::items).unwrap_or_default() {
        for word in split_tools(&words(entry, "allowed-tools", draft).unwrap_or_default()) {
            let (tool, limit) = word.split_once('(').unwrap_or((&word, ""));
            if !limit.is_empty() {
                let text = format!("the limit of `{word}` is not mapped: the tool is not granted");
                draft.left_out(entry.line, text);
                continue;
            }
            let known = match tool.trim() {
                "MultiEdit" => named("Edit"),
                other => named(other),
            };
            if known.is_empty() {
                let text = format!("the tool `{}` is not mapped", tool.trim());
                draft.left_out(entry.line, text);
            } else {
                tools.extend(known)
            }
        }
    }
    if allowed.is_none() {
        tools = all();
    }
    let mut seen = std::collections::BTreeSet::new();
    tools.retain(|tool| seen.insert(tool.clone()));
    let mut more = Vec::new();
    if let Some(model) = fields.take("model") {
        let words = words(model, "model", draft).unwrap_or_default();
        let tier = match words.as_str() {
            "inherit" => None,
            words if words.contains("haiku") => Some("small"),
            words if words.contains("sonnet") => Some("medium"),
            words if words.contains("opus") => Some("large"),
            _ => {
                draft.left_out(model.line, format!("the model `{words}` is not mapped"));
                None
            }
        };
        more.extend(tier.map(|tier| ("llm", Out::map(vec![("tier", tier.into())]))));
    }
    let mut text = literal(body.trim()).replace("$ARGUMENTS", "{{arguments}}");
    for (index, line) in body.trim().lines().enumerate() {
        let line_number = first + index as u32;
        if line.contains("!`") {
            draft.fails(line_number, "a command in `!`…`` is not run before the task");
        }
        if line.split_whitespace().any(|word| word.starts_with('@') && word.len() > 1) {
            draft.hint(line_number, "`@FILE` stays as text; the specialist reads the file itself");
        }
    }
    for position in 1..=9 {
        let written = format!("${position}");
        // `$150` is an amount.
        let reads = |text: &str| {
            let ends = |at: usize| !text[at..].starts_with(|c: char| c.is_ascii_digit());
            text.match_indices(&written).any(|(at, _)| ends(at + written.len()))
        };
        let line = body.trim().lines().position(reads);
        if let Some(line) = line {
            draft.hint(
                first + line as u32,
                format!("`{written}` is word {position} of the parameter `arguments`"),
            );
            let index = position - 1;
            let word = format!("{{{{(arguments | split)[{index}] | default('')}}}}");
            text = replaced_word(&text, &written, &word);
        }
    }
    let id = draft.specialist(&format!("{}-agent", draft.id), ROLE, &tools, more);
    draft.params.push(Out::map(param));
    draft.steps.push(Out::map(vec![
        ("id", "task".into()),
        ("specialist", id.into()),
        ("task", text.into()),
    ]));
}

/// The text with another text in the place of `$N`, where no digit follows.
fn replaced_word(text: &str, written: &str, by: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(written) {
        let after = &rest[at + written.len()..];
        out.push_str(&rest[..at]);
        out.push_str(if after.starts_with(|c: char| c.is_ascii_digit()) { written } else { by });
        rest = after;
    }
    out + rest
}

/// Splits `Read, Bash(git add:*), Grep` outside of parentheses.
fn split_tools(text: &str) -> Vec<String> {
    let (mut words, mut depth) = (vec![String::new()], 0i32);
    for c in text.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        match (c, words.last_mut()) {
            (',', _) if depth <= 0 => words.push(String::new()),
            (c, Some(word)) => word.push(c),
            (_, None) => {}
        }
    }
    words.iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}
