//! [`Fields`]: the keys of one map, resolved to the keys of its table.

use super::{Decoder, Key, Node, usual_key};
use crate::definition::keys::{Choice, KeyRule, KeySpec, KeyTable};
use kb_base::diagnostic::{Code, Diagnostic, Span};

/// The keys of one map under their canonical names, each at most once.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'n> {
    table: &'static KeyTable,
    found: Vec<(&'static KeySpec, &'n Key, &'n Node)>,
    /// Suggestions for unknown keys; a missing key among them is not reported again.
    meant: Vec<&'static str>,
    /// Whether there is a key that the table does not have.
    has_unknown: bool,
    /// The map as messages about missing keys name it.
    called: String,
    /// Position of the map, for missing keys.
    pub(crate) span: Span,
}

impl<'n> Fields<'n> {
    /// The value of a key; a key without a value counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|(_, node)| node).filter(|node| !node.is_null())
    }

    /// A key with its value, even if the value is empty.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'n Key, &'n Node)> {
        debug_assert!(
            self.table.key(name).is_some(),
            "{name} is in no table of {}",
            self.table.name
        );
        self.found.iter().find(|(own, ..)| own.name == name).map(|(_, key, node)| (*key, *node))
    }

    /// Whether an unknown key was probably meant to be one of these.
    pub(crate) fn was_meant(&self, names: &[&str]) -> bool {
        self.meant.iter().any(|meant| names.contains(meant))
    }

    /// Whether there is an unknown key, which is reported.
    pub(crate) fn has_unknown(&self) -> bool {
        self.has_unknown
    }

    /// All keys that are present, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static KeySpec, &'n Key, &'n Node)> + '_ {
        self.found.iter().copied()
    }

    /// The map as messages name it.
    pub(crate) fn what(&self) -> &'static str {
        self.table.what
    }

    /// Which keys of the map can occur together.
    pub(crate) fn rule(&self) -> KeyRule {
        self.table.rule
    }

    /// Adds the keys of another map that are absent here and for which `wanted` is true.
    pub(crate) fn inherit(&mut self, other: &Fields<'n>, wanted: impl Fn(&str) -> bool) {
        for entry in &other.found {
            let absent = !self.found.iter().any(|(own, ..)| own.name == entry.0.name);
            if absent && wanted(entry.0.name) {
                self.found.push(*entry);
            }
        }
    }

    /// Only the keys for which `wanted` is true, as keys of another table.
    pub(crate) fn only(
        &self,
        table: &'static KeyTable,
        wanted: impl Fn(&str) -> bool,
    ) -> Fields<'n> {
        let found = self.found.iter().filter(|(own, ..)| wanted(own.name)).copied().collect();
        let (called, has_unknown) = (table.what.to_owned(), self.has_unknown);
        Fields { table, found, called, meant: Vec::new(), has_unknown, span: self.span }
    }

    /// Decodes a text without placeholders.
    pub(crate) fn text(&self, name: &str, decoder: &mut Decoder) -> Option<String> {
        self.get(name).and_then(|node| decoder.text(node, name)).map(str::to_owned)
    }

    /// Decodes one of the texts of `T`.
    pub(crate) fn choice<T: Choice>(&self, name: &str, decoder: &mut Decoder) -> Option<T> {
        self.one_of(name, T::CHOICES, decoder)
    }

    /// Decodes one of `choices`.
    pub(crate) fn one_of<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
        decoder: &mut Decoder,
    ) -> Option<T> {
        self.get(name).and_then(|node| decoder.one_of(node, name, choices))
    }
}

impl Decoder {
    /// The keys of a map; each must be in the table (in camelCase or snake_case) and occur once.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        table: &'static KeyTable,
    ) -> Option<Fields<'n>> {
        self.fields_of(node, table.what, table)
    }

    /// As [`Decoder::fields`], with a more precise name of the map for messages.
    pub(crate) fn fields_of<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        table: &'static KeyTable,
    ) -> Option<Fields<'n>> {
        let Some(entries) = node.as_map() else {
            self.wrong_type_with(node, what, "a map", || map_help(table));
            return None;
        };
        let (found, called) = (Vec::with_capacity(entries.len()), what.to_owned());
        let (meant, has_unknown) = (Vec::new(), false);
        let mut fields = Fields { table, found, called, meant, has_unknown, span: node.span };
        for (key, value) in entries {
            match canonical(&key.text, table) {
                Some(spec) => self.add(&mut fields, spec, key, value),
                None => {
                    fields.has_unknown = true;
                    fields.meant.extend(self.unknown_key((key, value), entries, what, table));
                }
            }
        }
        Some(fields)
    }

    fn add<'n>(
        &mut self,
        fields: &mut Fields<'n>,
        spec: &'static KeySpec,
        key: &'n Key,
        value: &'n Node,
    ) {
        let name = spec.name;
        let Some((first, _)) = fields.entry(name) else {
            fields.found.push((spec, key, value));
            return;
        };
        let message = format!("`{}` and `{}` are the same key", first.text, key.text);
        self.push(
            Diagnostic::error(Code::DUPLICATE_KEY, key.span, message)
                .label(first.span, "first written here")
                .help(format!("keep one of the two; `{name}` is the usual spelling")),
        );
    }

    /// Reports an unknown key, and returns the key that was probably meant.
    fn unknown_key(
        &mut self,
        (key, value): (&Key, &Node),
        entries: &[(Key, Node)],
        what: &str,
        table: &'static KeyTable,
    ) -> Option<&'static str> {
        let message = format!("unknown key `{}` in {what}", key.text);
        let meant = self.suggestion(&key.text, table);
        let help = match (usual_key::of_key(&key.text, what), meant) {
            (Some(help), _) => help.replace(usual_key::VALUE, value.as_text().unwrap_or("…")),
            (None, Some(name)) => format!("did you mean `{name}`?"),
            (None, None) if let Some(only) = missing_key(table, entries) => {
                format!("the only key is `{only}`: write `{only}: {{{}: …}}`", key.text)
            }
            (None, None) => format!("known keys: {}", names(table).collect::<Vec<_>>().join(", ")),
        };
        self.push(Diagnostic::error(Code::UNKNOWN_KEY, key.span, message).help(help));
        meant
    }

    /// The value of a key that must be present.
    pub(crate) fn required<'n>(&mut self, fields: &Fields<'n>, name: &str) -> Option<&'n Node> {
        self.required_in(fields, name, &fields.called)
    }

    /// As [`Decoder::required`], with a more precise name of the map for messages.
    pub(crate) fn required_in<'n>(
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

    fn suggestion(&mut self, text: &str, table: &'static KeyTable) -> Option<&'static str> {
        if let Some(key) = usual_key::meant_by(text).and_then(|name| table.key(name)) {
            return Some(key.name);
        }
        let same = names(table).find(|name| name.eq_ignore_ascii_case(text));
        same.or_else(|| self.nearest(&camel_case(text), names(table)))
    }
}

/// The help for a value that should be a map with the keys of a table.
fn map_help(table: &'static KeyTable) -> String {
    let shown = table.keys().filter(|key| key.required && !key.example.is_empty());
    let mut shown: Vec<&KeySpec> = shown.collect();
    if let KeyRule::ExactlyOne(names)
    | KeyRule::OneOrInherited(names)
    | KeyRule::AtLeastOne(names) = table.rule
    {
        let one = names.iter().filter_map(|name| table.key(name));
        shown.extend(one.filter(|key| !key.required && !key.example.is_empty()).take(1));
    }
    if shown.is_empty() {
        shown.extend(table.keys().find(|key| !key.example.is_empty()));
    }
    let entry = |key: &&KeySpec| format!("{}: {}", key.name, key.example);
    if shown.is_empty() {
        format!("write its keys: {}", names(table).collect::<Vec<_>>().join(", "))
    } else {
        let entries = shown.iter().map(entry).collect::<Vec<_>>().join(", ");
        format!("write its keys, as in `{{{entries}}}`")
    }
}

fn names(table: &'static KeyTable) -> impl Iterator<Item = &'static str> {
    table.keys().map(|key| key.name)
}

/// The key that a text is a spelling of.
fn canonical(text: &str, table: &'static KeyTable) -> Option<&'static KeySpec> {
    table.key(text).or_else(|| {
        let camel = text.contains('_').then(|| camel_case(text))?;
        table.key(&camel)
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

/// The one key of a table, if a map does not have it.
fn missing_key(table: &'static KeyTable, entries: &[(Key, Node)]) -> Option<&'static str> {
    let mut keys = table.keys();
    let only = keys.next().filter(|_| keys.next().is_none() && table.others.is_none())?;
    let is_there = entries.iter().any(|(key, _)| canonical(&key.text, table).is_some());
    (!is_there).then_some(only.name)
}
