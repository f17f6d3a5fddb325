//! Tool calls and outputs that a model writes as text.
//!
//! Models without native tool calls write `Action:` and `Action Input:`, often in bold, and many
//! continue with an invented observation. Everything after an invented observation is ignored.

use kb_base::value::Json;

/// Maximum number of opening braces in prose that are tried as the start of an object.
const OBJECT_STARTS: usize = 50;

/// The tool calls of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextForm {
    /// The text up to the first invented observation.
    pub(super) text: String,
    /// Tool names and arguments, in order.
    pub(super) actions: Vec<(String, Json)>,
}

/// Parses the tool calls of a text.
pub(super) fn parse(text: &str) -> TextForm {
    let text = up_to_observation(text);
    let mut actions = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = next_action(rest) {
        let end = action_end(after);
        actions.push((name, arguments(&after[..end])));
        rest = &after[end..];
    }
    TextForm { text: text.trim_end().to_owned(), actions }
}

/// The JSON values of a text: the whole text, else its fenced blocks, else the first object in it.
pub(super) fn json_candidates(text: &str) -> Vec<Json> {
    let text = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer).trim();
    let text = text.strip_prefix("Final Answer:").unwrap_or(text).trim();
    if let Ok(whole) = serde_json::from_str(text) {
        return vec![whole];
    }
    let fenced = text.split("```").skip(1).step_by(2).filter_map(|block| {
        let body = block.split_once('\n').map_or(block, |(_, body)| body);
        serde_json::from_str(body.trim()).ok().or_else(|| serde_json::from_str(block.trim()).ok())
    });
    let mut found: Vec<Json> = fenced.collect();
    if found.is_empty() {
        let starts = text.match_indices('{').take(OBJECT_STARTS);
        found.extend(starts.filter_map(|(at, _)| leading_json(&text[at..])).take(1));
    }
    found
}

fn up_to_observation(text: &str) -> &str {
    let start = lines(text).find(|(_, line)| label(line, "observation").is_some());
    start.map_or(text, |(at, _)| &text[..at])
}

fn next_action(text: &str) -> Option<(String, &str)> {
    lines(text).find_map(|(at, line)| {
        let value = label(line, "action")?;
        let name_end = value.find(['(', '{', ' ']).unwrap_or(value.len());
        let name = value[..name_end].trim_matches(['`', '"', '*', '[', ']']);
        let rest = value[name_end..].trim_start();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic());
        let is_call = rest.is_empty() || rest.starts_with(['(', '{']);
        // What follows the name on its own line may be the arguments, so it is kept.
        let after = at + (value.as_ptr() as usize - line.as_ptr() as usize) + name_end;
        (is_name && is_call).then(|| (name.to_owned(), &text[after..]))
    })
}

fn action_end(text: &str) -> usize {
    lines(text).skip(1).find(|(_, l)| label(l, "action").is_some()).map_or(text.len(), |(at, _)| at)
}

fn arguments(text: &str) -> Json {
    let from = lines(text)
        .find_map(|(at, line)| {
            label(line, "action input").map(|_| at + line.find(':').unwrap_or(0))
        })
        .unwrap_or(0);
    let text = &text[from..];
    match text.find('{').map(|at| (leading_json(&text[at..]), &text[at..])) {
        Some((Some(value), _)) => value,
        // Broken JSON is passed on as text, so that the tool's refusal shows the model what it wrote.
        Some((None, broken)) => Json::String(broken.trim().to_owned()),
        None => Json::Object(Default::default()),
    }
}

/// The JSON value at the start of a text, whatever follows it.
fn leading_json(text: &str) -> Option<Json> {
    serde_json::Deserializer::from_str(text).into_iter::<Json>().next()?.ok()
}

/// Lines with their byte offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

/// The value of a `label: value` line, bold or not, as in `**Action:** fs:read`.
fn label<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let line = line.trim().trim_start_matches(['*', '#', '-', ' ']);
    let head = line.get(..name.len())?;
    let rest = head.eq_ignore_ascii_case(name).then(|| &line[name.len()..])?;
    let rest = rest.trim_start_matches(['*', ' ']).strip_prefix(':')?;
    Some(rest.trim_start_matches('*').trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: &[(&str, Json)]) {
        let expected: Vec<_> = expected.iter().map(|(n, a)| ((*n).to_owned(), a.clone())).collect();
        assert_eq!(parse(text).actions, expected, "{text}");
    }

    #[test]
    fn reads_both_forms_of_the_record() {
        let path = json!({"path": "a"});
        check(
            "Thought: look\nAction: fs:read\nAction Input: {\"path\": \"a\"}",
            &[("fs:read", path.clone())],
        );
        check(
            "**Thought:** x\n**Action:** fs:read\n**Action Input:**\n```json\n{\"path\": \"a\"}\n```",
            &[("fs:read", path.clone())],
        );
        check("Action: `fs:read`({\"path\": \"a\"})", &[("fs:read", path.clone())]);
        check("action: fs:list", &[("fs:list", json!({}))]);
        check(
            "Action: fs:read\nAction Input: {\"path\": \"a\"}\nAction: fs:list\nAction Input: {}",
            &[("fs:read", path), ("fs:list", json!({}))],
        );
    }

    #[test]
    fn invented_observations_and_prose_are_no_calls() {
        let text = "Action: fs:read\nAction Input: {}\nObservation: 42\nAction: fs:delete\nAction Input: {}";
        check(text, &[("fs:read", json!({}))]);
        assert!(!parse(text).text.contains("42"));
        check("Action: I will now read the file", &[]);
        check("The action was taken", &[]);
        check("Action:", &[]);
    }

    #[test]
    fn broken_arguments_stay_text() {
        check("Action: fs:read\nAction Input: {\"path\": ", &[("fs:read", json!("{\"path\":"))]);
    }

    #[test]
    fn outputs_are_found_whole_fenced_or_inside_prose() {
        for text in [
            "{\"a\": 1}",
            "Here:\n```json\n{\"a\": 1}\n```\nDone",
            "So {\"a\": 1} it is",
            "With {braces} before: {\"a\": 1}",
            "<think>{\"a\": 2}</think>{\"a\": 1}",
            "Final Answer: {\"a\": 1}",
        ] {
            assert_eq!(json_candidates(text), [json!({"a": 1})], "{text}");
        }
        assert!(json_candidates("no object here { at all").is_empty());
    }
}
