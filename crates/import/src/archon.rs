//! Archon workflows.

use super::draft::{Draft, literal, name, playbook_id, reference, step_id};
use super::fields::{Fields, words};
use super::output::Out;
use super::shell::{Quoted, Variables, look_at, quoted_after};
use super::shell_code::{as_code, is_code};
use super::tools::{all, named, without};
use kb_base::value::Json;
use kb_language::definition::Positioned;
use std::collections::BTreeSet;

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
    let known = Nodes::of(nodes);
    draft.params.push(Out::map(vec![
        ("name", "arguments".into()),
        ("default", "".into()),
        ("description", "What the workflow is asked to do".into()),
    ]));
    for node in nodes {
        let id = Fields::ahead(node).text("id").unwrap_or_else(|| "node".to_owned());
        draft.scope(&id, Some(node), |draft| self::node(node, &known, model, draft));
    }
}

type Tier = Option<&'static str>;

/// The nodes that texts can refer to.
struct Nodes {
    ids: BTreeSet<String>,
    /// Those whose output is the text that a command prints, which has no fields here.
    texts: BTreeSet<String>,
}

impl Nodes {
    fn of(nodes: &[Positioned]) -> Nodes {
        let fields = || nodes.iter().map(Fields::ahead);
        let id = |fields: Fields<'_>| fields.text("id");
        let texts = fields().filter(|fields| fields.peek("bash").is_some()).filter_map(id);
        Nodes { ids: fields().filter_map(id).collect(), texts: texts.collect() }
    }

    /// Reports references to fields of texts. Returns whether there is none.
    fn reads_no_field(&self, text: &str, line: u32, draft: &Draft) -> bool {
        let is_field =
            |(id, path): &(&str, &str)| path.starts_with("output.") && self.texts.contains(*id);
        let found = words_after_dollar(text).filter_map(|(_, word)| word.split_once('.'));
        let found: Vec<(&str, &str)> = found.filter(is_field).collect();
        for (id, path) in &found {
            let why = format!(
                "`${id}.{path}` is not mapped: the output of `{id}` is a text without fields"
            );
            draft.fails(line, why);
        }
        found.is_empty()
    }
}

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
        return draft.specialist(AGENT, ROLE, &all(), llm(tier));
    }
    let mut tools = allowed.map_or_else(all, |allowed| tools_of(allowed, draft));
    if let Some(denied) = denied {
        tools = without(denied, tools, draft);
    }
    let name = playbook_id(&format!("{AGENT}-{id}"));
    draft.specialist(&name, ROLE, &tools, llm(own.or(tier)))
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

fn node(node: &Positioned, nodes: &Nodes, tier: Tier, draft: &mut Draft) {
    let fields = Fields::of(node, "nodes.", draft);
    let written = fields.text("id").unwrap_or_else(|| format!("node-{}", draft.steps.len() + 1));
    let id = step_id(&written);
    let mut map: Vec<(&'static str, Out)> = vec![("id", id.clone().into())];
    map.extend(fields.depends_on("depends_on", draft));
    if let Some(when) = fields.take("when") {
        let text = words(when, "when", draft).unwrap_or_default();
        if nodes.reads_no_field(&text, when.line, draft) {
            map.push(("condition", expression(&text, nodes).into()));
        }
    }
    if let Some(rule) = fields.take("trigger_rule") {
        match words(rule, "trigger_rule", draft).unwrap_or_default().as_str() {
            "all_success" => {}
            "one_success" => map.push(("runIf", "anySucceeded".into())),
            "none_failed" => map.push(("runIf", "noneFailed".into())),
            "none_failed_min_one_success" => {
                map.push(("runIf", "noneFailed".into()));
                let on = map.iter().find(|(key, _)| *key == "dependsOn");
                let on = on.map(|(_, on)| on.listed()).unwrap_or_default();
                one_succeeded(&on, &mut map);
            }
            "all_done" => map.push(("runIf", "allDone".into())),
            other => draft.fails(rule.line, format!("`trigger_rule: {other}` is not mapped")),
        }
    }
    draft.place(&map);
    // Each step is a conversation of its own.
    fields.agrees("context", &["fresh"], draft);
    work(&fields, node, (&written, tier), nodes, &mut map, draft);
    map.extend(timeout(&fields).map(|timeout| ("timeout", timeout)));
    draft.steps.push(Out::map(map));
}

fn work(
    fields: &Fields<'_>,
    node: &Positioned,
    (written, tier): (&str, Tier),
    nodes: &Nodes,
    map: &mut Vec<(&'static str, Out)>,
    draft: &mut Draft,
) {
    if let Some(bash) = fields.take("bash") {
        let text = words(bash, "bash", draft).unwrap_or_default();
        look_at(&text, bash.line, draft);
        let mut variables = Variables::default();
        nodes.reads_no_field(&text, bash.line, draft);
        let text = with_variables(&text, bash.line, nodes, &mut variables, draft);
        noted(&text, bash.line, draft);
        map.push(("run", text.into()));
        map.extend(variables.out().map(|env| ("env", env)));
        return;
    }
    if let Some(approval) = fields.take("approval") {
        let message = approval
            .words()
            .or_else(|| Fields::of(approval, "nodes.approval.", draft).text("message"));
        let message = message.unwrap_or_else(|| "Continue?".to_owned());
        nodes.reads_no_field(&message, approval.line, draft);
        map.push(("approve", template(&message, nodes).into()));
        return;
    }
    let mut prompt = fields.text("prompt");
    if let Some(command) = fields.take("command") {
        let file = words(command, "command", draft).unwrap_or_default();
        let folders = [".archon/commands", ".archon/commands/defaults"];
        let mut paths = folders.iter().map(|folder| format!("{folder}/{file}.md"));
        let Some(path) = paths.find(|path| draft.around.has_file(path)) else {
            fields.take_rest();
            let why = format!("the command `{file}` is in no file of `.archon/commands`");
            return draft.without_work(command.line, why, node, map);
        };
        draft.hint(
            command.line,
            format!("the command `{file}` became `taskFile: {path}`, which is taken literally"),
        );
        map.push(("specialist", agent(fields, written, tier, draft).into()));
        map.push(("taskFile", path.into()));
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
        nodes.reads_no_field(&prompt, node.line, draft);
        map.push(("specialist", agent(fields, written, tier, draft).into()));
        map.push(("task", template(&prompt, nodes).into()));
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

/// The words that follow a `$` in a text, with the places of the signs.
fn words_after_dollar(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('$').map(|(at, _)| {
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
        (at, rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '-']))
    })
}

/// The `$node.output.key` references of a text, in order, with their ranges.
fn references(text: &str, nodes: &Nodes) -> Vec<(std::ops::Range<usize>, String)> {
    let mut found = Vec::new();
    for (at, word) in words_after_dollar(text) {
        if word == "ARGUMENTS" || word == "USER_MESSAGE" {
            found.push((at..at + 1 + word.len(), "arguments".to_owned()));
        } else if let Some((id, path)) = word.split_once('.')
            && nodes.ids.contains(id)
            && (path == "output" || path.starts_with("output.") && !nodes.texts.contains(id))
        {
            found.push((at..at + 1 + word.len(), format!("{}.{path}", reference(&step_id(id)))));
        }
    }
    found
}

fn replaced(text: &str, nodes: &Nodes, mut with: impl FnMut(&str, &str, &str) -> String) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (range, found) in references(text, nodes) {
        out.push_str(&text[at..range.start]);
        let replaced = with(&out, &text[range.clone()], &found);
        out.push_str(&replaced);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn template(text: &str, nodes: &Nodes) -> String {
    replaced(&literal(text), nodes, |_, _, found| format!("{{{{{found}}}}}"))
}

fn with_variables(
    text: &str,
    line: u32,
    nodes: &Nodes,
    variables: &mut Variables,
    draft: &mut Draft,
) -> String {
    replaced(text, nodes, |before, written, found| {
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

fn expression(text: &str, nodes: &Nodes) -> String {
    let text = text.replace("&&", "and").replace("||", "or");
    replaced(&text, nodes, |_, _, found| found.to_owned())
}

/// Adds the condition that one of these steps has succeeded.
fn one_succeeded(steps: &[String], map: &mut Vec<(&'static str, Out)>) {
    let one = |step: &String| format!("{}.status == 'succeeded'", reference(step));
    let any = steps.iter().map(one).collect::<Vec<_>>().join(" or ");
    if any.is_empty() {
        return;
    }
    let at = map.iter().position(|(key, _)| *key == "condition");
    let before = at.and_then(|at| map.remove(at).1.words());
    let all = before.map_or(any.clone(), |before| format!("({before}) and ({any})"));
    map.push(("condition", all.into()));
}
