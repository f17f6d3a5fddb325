//! Archon workflows.

use super::draft::{Draft, literal, name, playbook_id, reference, step_id};
use super::fields::{Fields, words};
use super::output::Out;
use super::shell::{Quoted, Variables, look_at, quoted_after};
use super::shell_code::{as_code, is_code};
use super::tools::{all, named};
use kb_base::value::Json;
use kb_language::definition::Positioned;

/// The agent of all nodes.
const AGENT: &str = "archon-agent";
const ROLE: &str =
    "You are a careful software engineer. Do the task that you are given and no other.";

pub(super) fn convert(root: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(root, "", draft);
    fields.title(draft);
    fields.replaced("provider", "the settings choose the provider of a model (`llm`)", draft);
    let model = tier_of(&fields, draft);
    let nodes = fields.take("nodes").map(Positioned::items).unwrap_or_default();
    let ids: Vec<String> = nodes.iter().filter_map(|node| Fields::ahead(node).text("id")).collect();
    draft.params.push(Out::map(vec![
        ("name", "arguments".into()),
        ("default", "".into()),
        ("description", "What the workflow is asked to do".into()),
    ]));
    draft.specialist(AGENT, ROLE, &all(), llm(model));
    for node in nodes {
        let id = Fields::ahead(node).text("id").unwrap_or_else(|| "node".to_owned());
        draft.scope(&id, Some(node), |draft| self::node(node, &ids, model, draft));
    }
}

type Tier = Option<&'static str>;

/// The tier that `model` names; another model is reported.
fn tier_of(fields: &Fields<'_>, draft: &mut Draft) -> Tier {
    let model = fields.take("model")?;
    match words(model, "model", draft).unwrap_or_default().as_str() {
        "small" | "haiku" => Some("small"),
        "medium" | "sonnet" => Some("medium"),
        "large" | "opus" => Some("large"),
        words => {
            draft.left_out(model.line, format!("`model: {words}` is not mapped: it is no tier"));
            None
        }
    }
}

fn llm(tier: Tier) -> Vec<(&'static str, Out)> {
    tier.map(|tier| ("llm", Out::map(vec![("tier", tier.into())]))).into_iter().collect()
}

/// The specialist of a node: that of all nodes, or one with the tools and the tier of the node.
fn agent(fields: &Fields<'_>, id: &str, tier: Tier, draft: &mut Draft) -> String {
    fields.replaced("provider", "the settings choose the provider of a model (`llm`)", draft);
    let (allowed, denied) = (fields.take("allowed_tools"), fields.take("denied_tools"));
    let own = tier_of(fields, draft);
    if allowed.is_none() && denied.is_none() && (own.is_none() || own == tier) {
        return AGENT.to_owned();
    }
    let mut tools = allowed.map_or_else(all, |allowed| tools_of(allowed, draft));
    let denied = denied.map(|denied| tools_of(denied, draft)).unwrap_or_default();
    tools.retain(|tool| !denied.contains(tool));
    let name = playbook_id(&format!("{AGENT}-{id}"));
    draft.specialist(&name, ROLE, &tools, llm(own.or(tier)));
    name
}

fn tools_of(list: &Positioned, draft: &mut Draft) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    for item in list.items() {
        let words = words(item, "tools", draft).unwrap_or_default();
        let found = named(&words);
        if found.is_empty() {
            draft.left_out(item.line, format!("the tool `{words}` is not mapped"));
        }
        let new = found.into_iter().filter(|tool| !tools.contains(tool)).collect::<Vec<_>>();
        tools.extend(new);
    }
    tools
}

/// `timeout` and `idle_timeout`, which are milliseconds if they have no unit.
fn timeout(fields: &Fields<'_>) -> Option<Out> {
    let value = |key: &str| {
        let text = fields.text(key)?;
        Some(if text.parse::<u64>().is_ok() { format!("{text}ms") } else { text })
    };
    match (value("timeout"), value("idle_timeout")) {
        (None, None) => None,
        (Some(attempt), None) => Some(attempt.into()),
        (attempt, Some(idle)) => {
            let attempt = attempt.map(|attempt| ("attempt", attempt.into()));
            Some(Out::map(attempt.into_iter().chain([("idle", idle.into())]).collect()))
        }
    }
}

fn node(node: &Positioned, ids: &[String], tier: Tier, draft: &mut Draft) {
    let fields = Fields::of(node, "nodes.", draft);
    let written = fields.text("id").unwrap_or_else(|| format!("node-{}", draft.steps.len() + 1));
    let id = step_id(&written);
    let mut map: Vec<(&'static str, Out)> = vec![("id", id.clone().into())];
    map.extend(fields.depends_on("depends_on", draft));
    if let Some(when) = fields.take("when") {
        let text = words(when, "when", draft).unwrap_or_default();
        map.push(("condition", expression(&text, ids).into()));
    }
    if let Some(rule) = fields.take("trigger_rule") {
        match words(rule, "trigger_rule", draft).unwrap_or_default().as_str() {
            "all_success" => {}
            "one_success" => map.push(("runIf", "anySucceeded".into())),
            "none_failed_min_one_success" | "none_failed" => {
                map.push(("runIf", "noneFailed".into()))
            }
            "all_done" => map.push(("runIf", "allDone".into())),
            other => draft.fails(rule.line, format!("`trigger_rule: {other}` is not mapped")),
        }
    }
    draft.place(&map);
    // Each step is a conversation of its own.
    fields.agrees("context", &["fresh"], draft);
    work(&fields, node, (&written, tier), ids, &mut map, draft);
    map.extend(timeout(&fields).map(|timeout| ("timeout", timeout)));
    draft.steps.push(Out::map(map));
}

fn work(
    fields: &Fields<'_>,
    node: &Positioned,
    (written, tier): (&str, Tier),
    ids: &[String],
    map: &mut Vec<(&'static str, Out)>,
    draft: &mut Draft,
) {
    if let Some(bash) = fields.take("bash") {
        let text = words(bash, "bash", draft).unwrap_or_default();
        look_at(&text, bash.line, draft);
        let mut variables = Variables::default();
        let text = with_variables(&text, bash.line, ids, &mut variables, draft);
        noted(&text, bash.line, draft);
        map.push(("run", text.into()));
        map.extend(variables.out().map(|env| ("env", env)));
        return;
    }
    if let Some(approval) = fields.take("approval") {
        let message = approval
            .words()
            .or_else(|| Fields::of(approval, "nodes.approval.", draft).text("message"));
        map.push((
            "approve",
            template(&message.unwrap_or_else(|| "Continue?".to_owned()), ids).into(),
        ));
        return;
    }
    let mut prompt = fields.text("prompt");
    if let Some(command) = fields.take("command") {
        let file = words(command, "command", draft).unwrap_or_default();
        draft.hint(command.line, format!(
            "the command `{file}` became `taskFile: .archon/commands/{file}.md`, which is taken literally"
        ));
        map.push(("specialist", agent(fields, written, tier, draft).into()));
        map.push(("taskFile", format!(".archon/commands/{file}.md").into()));
    } else {
        if let Some(repeat) = fields.take("loop") {
            let own = Fields::of(repeat, "nodes.loop.", draft);
            prompt = own.text("prompt").or(prompt);
            match again(&own, &step_id(written), draft) {
                Some(made) => map.push(("loop", made)),
                None => draft.fails(
                    repeat.line,
                    format!(
                        "the loop of `{written}` has no end that is mapped; its prompt runs once"
                    ),
                ),
            }
        }
        let Some(prompt) = prompt else {
            let why = format!("the node `{written}` has no prompt, command or bash");
            return draft.without_work(node.line, why, node, map);
        };
        noted(&prompt, node.line, draft);
        map.push(("specialist", agent(fields, written, tier, draft).into()));
        map.push(("task", template(&prompt, ids).into()));
    }
    if let Some(schema) = fields.take("output_format") {
        map.push(("output", Out::map(vec![("schema", schema.json().into())])));
    }
}

/// How a loop becomes passes of a step: until the output has the signal.
fn again(fields: &Fields<'_>, id: &str, draft: &mut Draft) -> Option<Out> {
    // Each pass is a conversation of its own.
    fields.agrees("fresh_context", &["true"], draft);
    let max = fields.take("max_iterations").map_or(Json::from(10), Positioned::json);
    let signal = fields.take("until")?;
    let words = words(signal, "until", draft)?;
    draft.hint(signal.line, format!("the loop ends when the output of `{id}` contains `{words}`"));
    let quoted = words.replace('\\', "\\\\").replace('\'', "\\'");
    let until = format!("'{quoted}' in ({}.output | tojson)", reference(id));
    Some(Out::map(vec![("until", until.into()), ("max", max.into())]))
}

fn noted(text: &str, line: u32, draft: &mut Draft) {
    for name in [
        "$ARTIFACTS_DIR",
        "$BASE_BRANCH",
        "$DOCS_DIR",
        "$LOOP_PREV_OUTPUT",
        "$LOOP_USER_INPUT",
        "$REJECTION_REASON",
        "$WORKFLOW_ID",
    ] {
        if text.contains(name) {
            draft.fails(line, format!("`{name}` has no counterpart"));
        }
    }
}

/// The `$node.output.key` references of a text, in order, with their ranges.
fn references(text: &str, ids: &[String]) -> Vec<(std::ops::Range<usize>, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
        let word = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '-']);
        if word == "ARGUMENTS" || word == "USER_MESSAGE" {
            found.push((at..at + 1 + word.len(), "arguments".to_owned()));
        } else if let Some((id, path)) = word.split_once('.')
            && ids.iter().any(|known| known == id)
            && (path == "output" || path.starts_with("output."))
        {
            found.push((at..at + 1 + word.len(), format!("{}.{path}", reference(&step_id(id)))));
        }
    }
    found
}

fn replaced(
    text: &str,
    ids: &[String],
    mut with: impl FnMut(&str, &str, &str) -> String,
) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (range, found) in references(text, ids) {
        out.push_str(&text[at..range.start]);
        let replaced = with(&out, &text[range.clone()], &found);
        out.push_str(&replaced);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn template(text: &str, ids: &[String]) -> String {
    replaced(&literal(text), ids, |_, _, found| format!("{{{{{found}}}}}"))
}

fn with_variables(
    text: &str,
    line: u32,
    ids: &[String],
    variables: &mut Variables,
    draft: &mut Draft,
) -> String {
    replaced(text, ids, |before, written, found| {
        let variable = name(&written[1..].to_uppercase());
        if is_code(before, "") {
            draft.fails(line, as_code(written));
            return format!("${{{variable}}}");
        }
        variables.set(&variable, format!("{{{{{found}}}}}"));
        // Values are quoted unless they stand in quotes already. In single quotes, the shell reads none.
        match quoted_after(before) {
            Quoted::Not => format!("\"${variable}\""),
            Quoted::Double => format!("${{{variable}}}"),
            Quoted::Single => format!("'\"${variable}\"'"),
        }
    })
}

fn expression(text: &str, ids: &[String]) -> String {
    let text = text.replace("&&", "and").replace("||", "or");
    replaced(&text, ids, |_, _, found| found.to_owned())
}
