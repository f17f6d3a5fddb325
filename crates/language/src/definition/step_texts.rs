//! The written form of a definition file, to compare two versions of it: its steps one by one, or the
//! file as a whole. Comments, order of keys and layout do not matter.

use super::load::{FileRole, InputFile};
use super::syntax::{Node, read_text, read_yaml, split_front_matter};
use kb_base::diagnostic::{Sources, Span};
use kb_base::value::{Digest, Json, JsonMap};

/// The steps of a playbook or workflow as they are written, with the `defaults` of the file.
#[derive(Debug, Clone, Default)]
pub struct StepTexts {
    /// Position of the first byte of each entry of `steps` and `finally`, and its keys.
    entries: Vec<(u32, JsonMap)>,
    env: Json,
}

impl StepTexts {
    /// The steps of a file. A file that cannot be parsed has none.
    pub fn of(file: &InputFile) -> StepTexts {
        let Some((root, _)) = parsed(file) else { return StepTexts::default() };
        let defaults = root.get("defaults").map(Node::to_json);
        let lists = ["steps", "finally"].into_iter().filter_map(|key| root.get(key)?.as_seq());
        let mut entries: Vec<(u32, JsonMap)> = lists
            .flatten()
            .filter_map(|item| Some((item.span.start, with_defaults(item, defaults.as_ref())?)))
            .collect();
        entries.sort_by_key(|(start, _)| *start);
        let env = root.get("env").map(Node::to_json).unwrap_or_default();
        StepTexts { entries, env }
    }

    /// The keys of the entry that contains this position, such as the position of a step's id.
    pub fn step(&self, at: Span) -> Option<&JsonMap> {
        let after = self.entries.partition_point(|(start, _)| *start <= at.start);
        self.entries.get(after.checked_sub(1)?).map(|(_, keys)| keys)
    }

    /// `env` of the whole file; null without one.
    pub fn env(&self) -> &Json {
        &self.env
    }
}

/// The digest of what a definition file says. Of a file that cannot be parsed, the digest of its bytes.
pub fn content_digest(file: &InputFile) -> Digest {
    match parsed(file) {
        Some((root, body)) => Digest::of_json(&Json::Array(vec![root.to_json(), body.into()])),
        None => Digest::of(&*file.bytes),
    }
}

fn with_defaults(item: &Node, defaults: Option<&Json>) -> Option<JsonMap> {
    let Json::Object(own) = item.to_json() else { return None };
    let mut keys = defaults.and_then(Json::as_object).cloned().unwrap_or_default();
    keys.extend(own);
    Some(keys)
}

/// The tree of a file, and the text after its front matter.
fn parsed(file: &InputFile) -> Option<(Node, String)> {
    let mut sources = Sources::default();
    let text = read_text(&file.path, &file.bytes, &mut sources).ok()?;
    let (part, body) = match file.role {
        FileRole::Workflow | FileRole::AgentProfile => {
            let split = split_front_matter(&text.text, text.start).ok()?;
            (split.matter, text.text[split.body].to_owned())
        }
        FileRole::Playbook
        | FileRole::Specialist
        | FileRole::Plugin
        | FileRole::McpLock
        | FileRole::Script
        | FileRole::Settings => (text.start..text.text.len(), String::new()),
    };
    let (root, _) = read_yaml(&text.text[part.clone()], part.start, text.source);
    Some((root?, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> InputFile {
        let (path, role) = ("p.yml".to_owned(), FileRole::Playbook);
        InputFile { path, bytes: text.as_bytes().into(), role }
    }

    #[test]
    fn layout_and_comments_do_not_count() {
        let a = file("id: p\nsteps:\n  - id: a\n    run: x\n");
        let b = file("# a comment\nsteps: [{run: x, id: a}]\nid: p\n");
        let c = file("id: p\nsteps:\n  - id: a\n    run: y\n");
        assert_eq!(content_digest(&a), content_digest(&b));
        assert_ne!(content_digest(&a), content_digest(&c));
    }

    #[test]
    fn a_step_is_found_by_a_position_in_it_and_has_the_defaults() {
        let text = "id: p\ndefaults: {timeout: 1s, cwd: x}\nsteps:\n  - id: a\n    run: x\n  - {run: y, id: b, cwd: z}\nfinally:\n  - id: c\n    run: w\n";
        let texts = StepTexts::of(&file(text));
        let at = |needle: &str| {
            let start = text.find(needle).unwrap() as u32;
            texts.step(Span { start, ..Span::new(kb_base::diagnostic::SourceId(0), 0, 0) }).unwrap()
        };
        assert_eq!(at("a\n    run: x")["cwd"], "x");
        assert_eq!((&at("b, cwd")["cwd"], &at("b, cwd")["timeout"]), (&"z".into(), &"1s".into()));
        assert_eq!(at("c\n    run: w")["run"], "w");
        assert_eq!(*texts.env(), Json::Null);
    }
}
