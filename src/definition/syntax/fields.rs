//! [`Fields`]: the keys of one map, resolved to their canonical names.

use super::{Decoder, Key, Node};
use crate::diagnostic::{Code, Diagnostic, Span};

/// The keys of one map under their canonical names, each at most once.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'n> {
    found: Vec<(&'static str, &'n Key, &'n Node)>,
    /// What unknown keys were probably meant to be; their absence is no second problem.
    meant: Vec<&'static str>,
    /// Where the map is, for what it lacks.
    pub(crate) span: Span,
}

impl<'n> Fields<'n> {
    /// The value of a key; a key with nothing after it counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|(_, node)| node).filter(|node| !node.is_null())
    }

    /// A key with its value, present even where there is nothing after it.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'n Key, &'n Node)> {
        self.found.iter().find(|(own, ..)| *own == name).map(|(_, key, node)| (*key, *node))
    }

    /// Whether an unknown key was probably meant to be one of these.
    pub(crate) fn was_meant(&self, names: &[&str]) -> bool {
        self.meant.iter().any(|meant| names.contains(meant))
    }

    /// All keys that are there, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &'n Key, &'n Node)> + '_ {
        self.found.iter().copied()
    }

    /// Takes over the keys of another map that are not here, where `wanted` says so.
    pub(crate) fn inherit(&mut self, other: &Fields<'n>, wanted: impl Fn(&str) -> bool) {
        for entry in &other.found {
            if wanted(entry.0) && self.entry(entry.0).is_none() {
                self.found.push(*entry);
            }
        }
    }
}

/// Words of other tools that mean one of our keys.
const SYNONYMS: &[(&str, &str)] = &[
    ("needs", "dependsOn"),
    ("depends", "dependsOn"),
    ("after", "dependsOn"),
    ("if", "condition"),
    ("when", "condition"),
    ("command", "run"),
    ("cmd", "run"),
    ("script", "run"),
    ("shell", "run"),
    ("exec", "run"),
    ("uses", "tool"),
    ("retries", "retry"),
    ("loop_over", "forEach"),
    ("each", "forEach"),
    ("matrix", "forEach"),
    ("environment", "env"),
    ("workdir", "cwd"),
    ("workingDirectory", "cwd"),
    ("working_directory", "cwd"),
    ("continueOnError", "onError"),
    ("continue_on_error", "onError"),
    ("parameters", "params"),
    ("inputs", "params"),
    ("jobs", "steps"),
    ("tasks", "steps"),
    ("system", "role"),
    ("systemPrompt", "role"),
    ("system_prompt", "role"),
];

impl Decoder {
    /// The keys of a map; each must be one of `known` (in camelCase or snake_case) and stand once.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let Some(entries) = node.as_map() else {
            self.wrong_type(node, what, "a map");
            return None;
        };
        let found = Vec::with_capacity(entries.len());
        let mut fields = Fields { found, meant: Vec::new(), span: node.span };
        for (key, value) in entries {
            match canonical(&key.text, known) {
                Some(name) => self.note(&mut fields, name, key, value),
                None => fields.meant.extend(self.unknown_key(key, what, known)),
            }
        }
        Some(fields)
    }

    fn note<'n>(
        &mut self,
        fields: &mut Fields<'n>,
        name: &'static str,
        key: &'n Key,
        value: &'n Node,
    ) {
        let Some((first, _)) = fields.entry(name) else {
            fields.found.push((name, key, value));
            return;
        };
        let message = format!("`{}` and `{}` are the same key", first.text, key.text);
        self.push(
            Diagnostic::error(Code::DUPLICATE_KEY, key.span, message)
                .label(first.span, "first written here")
                .help(format!("keep one of the two; `{name}` is the usual spelling")),
        );
    }

    /// Complains, and gives the key that was probably meant.
    fn unknown_key(
        &mut self,
        key: &Key,
        what: &str,
        known: &[&'static str],
    ) -> Option<&'static str> {
        let message = format!("unknown key `{}` in {what}", key.text);
        let meant = self.suggestion(&key.text, known);
        let help = match meant {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known keys: {}", known.join(", ")),
        };
        self.push(Diagnostic::error(Code::UNKNOWN_KEY, key.span, message).help(help));
        meant
    }

    /// A key that must be there.
    pub(crate) fn required<'n>(
        &mut self,
        fields: &Fields<'n>,
        name: &str,
        what: &str,
    ) -> Option<&'n Node> {
        let found = fields.get(name);
        if found.is_none() && !fields.was_meant(&[name]) {
            let at = fields.entry(name).map_or(fields.span, |(key, _)| key.span);
            let message = match fields.entry(name) {
                Some(_) => format!("`{name}` of {what} is empty"),
                None => format!("{what} has no `{name}`"),
            };
            let help = match fields.entry(name) {
                Some(_) => "write its value".to_owned(),
                None => format!("add `{name}:`"),
            };
            self.push(Diagnostic::error(Code::MISSING_KEY, at, message).help(help));
        }
        found
    }
}

/// The canonical name that a key is a spelling of.
fn canonical(text: &str, known: &[&'static str]) -> Option<&'static str> {
    known.iter().copied().find(|name| *name == text).or_else(|| {
        let camel = text.contains('_').then(|| camel_case(text))?;
        known.iter().copied().find(|name| *name == camel)
    })
}

fn camel_case(snake: &str) -> String {
    let mut words = snake.split('_');
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out
}

impl Decoder {
    fn suggestion(&mut self, text: &str, known: &[&'static str]) -> Option<&'static str> {
        let synonym = SYNONYMS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        if let Some((_, name)) = synonym
            && let Some(name) = known.iter().find(|own| *own == name)
        {
            return Some(name);
        }
        let same = known.iter().copied().find(|name| name.eq_ignore_ascii_case(text));
        same.or_else(|| self.nearest(&camel_case(text), known.iter().copied()))
    }
}
