//! The definitions that a file becomes, while it is read, and names in them.

use super::output::Out;
use kb_base::diagnostic::Diagnostic;
use kb_base::value::Json;
use kb_language::expression::RESERVED_ROOTS;
use std::collections::BTreeSet;

/// Something that was not mapped, or that a person should check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// Line of the file, from 1.
    pub line: u32,
    /// Whether something of the file is missing in the result; else it is a hint.
    pub unmapped: bool,
    /// The text, a lower-case fragment.
    pub text: String,
}

/// The definitions that a file becomes.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// Playbooks by id, with their texts; the main one is first.
    pub playbooks: Vec<(String, String)>,
    /// Specialists by id, with their texts.
    pub specialists: Vec<(String, String)>,
    /// What was not mapped, and hints, in the order of lines.
    pub notes: Vec<ImportNote>,
    /// What makes the file unusable. There are no definitions then.
    pub problems: Vec<Diagnostic>,
    /// Playbooks by id that the definitions run and that must exist, with the problem if they do not.
    pub needs: Vec<(String, Diagnostic)>,
}

/// The definitions while a file is read.
pub(super) struct Draft {
    /// Id of the playbook.
    pub(super) id: String,
    /// Keys of the playbook before `steps`, in order.
    pub(super) head: Vec<(&'static str, Out)>,
    pub(super) params: Vec<Out>,
    pub(super) steps: Vec<Out>,
    pub(super) finally: Vec<Out>,
    others: Vec<(String, String)>,
    /// The ids of the specialists.
    known: BTreeSet<String>,
    specialists: Vec<(String, String)>,
    /// The texts of the hints.
    hints: BTreeSet<String>,
    notes: Vec<ImportNote>,
    needs: Vec<(String, Diagnostic)>,
}

impl Draft {
    pub(super) fn new(name: &str) -> Draft {
        let (head, params, steps, finally) = Default::default();
        let (others, known, specialists, hints, notes, needs) = Default::default();
        let id = playbook_id(name);
        Draft { id, head, params, steps, finally, others, known, specialists, hints, notes, needs }
    }

    pub(super) fn unmapped(&mut self, line: u32, text: impl Into<String>) {
        self.notes.push(ImportNote { line, unmapped: true, text: text.into() });
    }

    pub(super) fn hint(&mut self, line: u32, text: impl Into<String>) {
        let text = text.into();
        if self.hints.insert(text.clone()) {
            self.notes.push(ImportNote { line, unmapped: false, text });
        }
    }

    /// Requires a playbook that the file does not have. The first 20 are kept.
    pub(super) fn need(&mut self, id: &str, problem: Diagnostic) {
        if !self.needs.iter().any(|(known, _)| known == id) && self.needs.len() < 20 {
            self.needs.push((id.to_owned(), problem));
        }
    }

    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Out>) {
        self.head.push((key, value.into()));
    }

    /// Reports a step without work, which becomes one that only orders the others.
    pub(super) fn without_work(
        &mut self,
        line: u32,
        why: String,
        map: &mut Vec<(&'static str, Out)>,
    ) {
        self.unmapped(line, why);
        map.push(("set", Out::map(vec![("done", Json::Bool(true).into())])));
    }

    /// Adds a specialist unless one of that id was added.
    pub(super) fn specialist(
        &mut self,
        id: &str,
        role: &str,
        tools: &[String],
        more: Vec<(&'static str, Out)>,
    ) {
        if !self.known.insert(id.to_owned()) {
            return;
        }
        let mut map = vec![
            ("schema", Out::from("kb.specialist/1")),
            ("id", Out::from(id)),
            ("role", Out::from(role)),
        ];
        map.extend(more);
        map.push(("tools", Out::List(tools.iter().map(|tool| Out::from(tool.as_str())).collect())));
        self.specialists.push((id.to_owned(), Out::map(map).file()));
    }

    pub(super) fn finish(mut self) -> Conversion {
        let map = vec![("schema", Out::from("kb.playbook/1")), ("id", Out::from(self.id.as_str()))];
        let mut map = [map, self.head].concat();
        for (key, list) in
            [("params", self.params), ("steps", self.steps), ("finally", self.finally)]
        {
            if !list.is_empty() || key == "steps" {
                map.push((key, Out::List(list)));
            }
        }
        let mut playbooks = vec![(self.id, Out::map(map).file())];
        playbooks.append(&mut self.others);
        self.notes.sort_by_key(|note| (note.line, !note.unmapped));
        let Draft { specialists, notes, needs, .. } = self;
        Conversion { playbooks, specialists, notes, needs, problems: Vec::new() }
    }
}

/// A text as the id of a playbook.
pub(super) fn playbook_id(text: &str) -> String {
    let id: String = slug(&text.to_lowercase(), '-').chars().take(60).collect();
    match id.chars().next() {
        Some(first) if first.is_ascii_lowercase() => id,
        _ => format!("imported-{id}").trim_end_matches('-').to_owned(),
    }
}

/// A text as the id of a step.
pub(super) fn step_id(text: &str) -> String {
    let id = slug(text, '-');
    match id.chars().next() {
        Some(_) if RESERVED_ROOTS.contains(&id.as_str()) => format!("{id}-1"),
        Some(first) if first.is_ascii_alphabetic() => id,
        _ => format!("step-{id}").trim_end_matches('-').to_owned(),
    }
}

/// A text as the name of a parameter or variable.
pub(super) fn name(text: &str) -> String {
    let name = slug(text, '_');
    match name.chars().next() {
        Some(_) if RESERVED_ROOTS.contains(&name.as_str()) => format!("{name}_1"),
        Some(first) if first.is_ascii_alphabetic() => name,
        _ => format!("p_{name}").trim_end_matches('_').to_owned(),
    }
}

fn slug(text: &str, gap: char) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            '_' => slug.push('_'),
            _ if slug.ends_with(gap) || slug.is_empty() => {}
            _ => slug.push(gap),
        }
    }
    slug.trim_end_matches(gap).to_owned()
}

/// A reference to a step in an expression.
pub(super) fn reference(id: &str) -> String {
    format!("steps['{id}']")
}

/// Text that must not be read as placeholders.
pub(super) fn literal(text: &str) -> String {
    text.replace("{{", "\\{{")
}
