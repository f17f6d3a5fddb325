//! Builds a [`Node`] tree from YAML, within the size limits of definitions.

use super::scalar::resolve;
use super::syntax_error::describe;
use super::{Key, Node, Scalar, ScalarKind, Value};
use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag};
use kb_base::diagnostic::{Code, Diagnostic, SourceId, Span};
use kb_base::value::limits;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// Parses one YAML document that starts at byte `base` of its source. The tree is `None` if the text is
/// not YAML or exceeds the limits; other problems are returned with the tree.
pub(crate) fn read_yaml(
    text: &str,
    base: usize,
    source: SourceId,
) -> (Option<Node>, Vec<Diagnostic>) {
    let (trees, found) = read_documents(text, base, source, 1);
    (trees.into_iter().next(), found)
}

/// Parses up to `most` YAML documents, which begin at byte `base` of their source. Without a tree, the text
/// is empty, not YAML, or exceeds the limits; other problems are returned with the trees.
pub(crate) fn read_documents(
    text: &str,
    base: usize,
    source: SourceId,
    most: usize,
) -> (Vec<Node>, Vec<Diagnostic>) {
    let mut options = granit_parser::Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder::new(text, base, source, most);
    for event in Parser::new_from_str_with_options(text, options) {
        let step = match event {
            Ok((event, span)) => builder.event(event, span.byte_range().unwrap_or(0..0)),
            Err(error) => Err(Box::new(describe(&error, text, base, source))),
        };
        if let Err(diagnostic) = step {
            // Earlier diagnostics are usually consequences of this one.
            return (Vec::new(), vec![*diagnostic]);
        }
    }
    (builder.roots, builder.diagnostics)
}

type Step = Result<(), Box<Diagnostic>>;
type Bytes = std::ops::Range<usize>;

/// Builds a tree from the events of the parser, without recursion.
struct Builder<'t> {
    text: &'t str,
    base: usize,
    source: SourceId,
    open: Vec<Frame>,
    /// Items of all open lists and entries of all open maps. A collection takes its own when it ends,
    /// so that it is allocated with its exact size.
    items: Vec<Node>,
    entries: Vec<(Key, Node)>,
    /// The trees of the documents that have ended.
    roots: Vec<Node>,
    documents: usize,
    permitted: usize,
    anchors: BTreeMap<usize, Node>,
    expanded: Size,
    diagnostics: Vec<Diagnostic>,
}

/// A collection that has not ended.
struct Frame {
    content: Content,
    /// Its first byte; for block collections the first byte of the content.
    start: usize,
    flow: bool,
    anchor: usize,
}

enum Content {
    /// Its items start at index `first`.
    Seq { first: usize },
    /// Its entries start at index `first`. `broken`: one of its keys is invalid and was reported.
    Map { first: usize, key: Option<Option<Key>>, seen: KeySet, broken: bool },
}

/// The keys of a map so far. Small maps are scanned; the set is used from [`KeySet::SMALL`] keys on.
#[derive(Default)]
struct KeySet(BTreeSet<String>);

/// The amount of nodes and bytes that aliases have added.
#[derive(Default, Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str, base: usize, source: SourceId, most: usize) -> Self {
        Builder {
            text,
            base,
            source,
            open: Vec::new(),
            items: Vec::new(),
            entries: Vec::new(),
            roots: Vec::new(),
            documents: 0,
            permitted: most,
            anchors: BTreeMap::new(),
            expanded: Size::default(),
            diagnostics: Vec::new(),
        }
    }

    fn span(&self, bytes: &Bytes) -> Span {
        Span::new(self.source, self.base + bytes.start, self.base + bytes.end)
    }

    fn event(&mut self, event: Event<'_>, bytes: Bytes) -> Step {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let kind = self.scalar_kind(&text, style, tag.as_deref(), &bytes)?;
                let text = if kind == ScalarKind::Null
                    && style == ScalarStyle::Plain
                    && bytes.is_empty()
                {
                    SmolStr::from("")
                } else {
                    SmolStr::from(&*text)
                };
                let verbatim = self.verbatim(&text, style, &bytes);
                let value = Value::Scalar(Scalar { text, kind, verbatim });
                self.place(
                    Node { value, span: self.span(&bytes) },
                    anchor,
                    style == ScalarStyle::Plain,
                )
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.no_tag(tag.as_deref(), "seq", &bytes)?;
                self.start(Content::Seq { first: self.items.len() }, style, anchor, bytes)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.no_tag(tag.as_deref(), "map", &bytes)?;
                let (first, seen) = (self.entries.len(), KeySet::default());
                let content = Content::Map { first, key: None, seen, broken: false };
                self.start(content, style, anchor, bytes)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(bytes),
            Event::Alias(anchor) => self.alias(anchor, bytes),
            Event::DocumentStart(..) => self.document(bytes),
            _ => Ok(()),
        }
    }

    fn document(&mut self, bytes: Bytes) -> Step {
        self.documents += 1;
        self.anchors.clear();
        let (code, message, help) = match self.permitted {
            most if self.documents <= most => return Ok(()),
            1 => (
                Code::UNSUPPORTED_YAML,
                "a second document in one file".to_owned(),
                "write one definition per file: move the text after `---` to another file",
            ),
            most => (
                Code::TOO_LARGE,
                format!("more than {most} documents in one file"),
                "split the file",
            ),
        };
        Err(Box::new(Diagnostic::error(code, self.span(&bytes), message).help(help)))
    }

    fn start(
        &mut self,
        content: Content,
        style: StructureStyle,
        anchor: usize,
        bytes: Bytes,
    ) -> Step {
        if self.open.len() >= limits::DEFINITION_DEPTH {
            let message = format!("nested more than {} levels deep", limits::DEFINITION_DEPTH);
            return Err(Box::new(
                Diagnostic::error(Code::TOO_LARGE, self.span(&bytes), message)
                    .help("nest less deeply"),
            ));
        }
        let flow = style == StructureStyle::Flow;
        self.open.push(Frame { content, start: bytes.start, flow, anchor });
        Ok(())
    }

    fn end(&mut self, bytes: Bytes) -> Step {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let (value, first) = match frame.content {
            Content::Seq { first } => {
                let items = taken(&mut self.items, first);
                let first = items.first().map(|item| item.span);
                (Value::Seq(items), first)
            }
            Content::Map { broken: true, first, .. } => {
                self.entries.truncate(first);
                (Value::Invalid, None)
            }
            Content::Map { first, .. } => {
                let entries = taken(&mut self.entries, first);
                let first = entries.first().map(|(key, _)| key.span);
                (Value::Map(entries), first)
            }
        };
        let whole = self.span(&(frame.start..bytes.end.max(frame.start)));
        let span = if frame.flow { whole } else { first.unwrap_or(whole) };
        self.place(Node { value, span }, frame.anchor, false)
    }

    /// Puts a finished node where it belongs: a key, a value, an item, or the root.
    fn place(&mut self, node: Node, anchor: usize, plain: bool) -> Step {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|frame| &mut frame.content) {
            None => self.roots.push(node),
            Some(Content::Seq { .. }) => self.items.push(node),
            Some(Content::Map { key: None, .. }) => {
                let key = self.key(node, plain);
                if let Some(Content::Map { key: slot, .. }) =
                    self.open.last_mut().map(|frame| &mut frame.content)
                {
                    *slot = Some(key);
                }
            }
            Some(Content::Map { key, .. }) => {
                if let Some(Some(key)) = key.take() {
                    self.entries.push((key, node));
                }
            }
        }
        Ok(())
    }

    /// A node as a key; `None` for an invalid key, which was reported and is left out with its value.
    fn key(&mut self, node: Node, plain: bool) -> Option<Key> {
        let span = node.span;
        let Value::Scalar(scalar) = node.value else {
            if !matches!(node.value, Value::Invalid) {
                self.diagnostics.push(self.complex_key(span));
            }
            self.mark_broken();
            return None;
        };
        if scalar.text == *"<<" && plain {
            self.diagnostics.push(
                Diagnostic::error(
                    Code::UNSUPPORTED_YAML,
                    span,
                    "merge keys (`<<`) are not supported",
                )
                .help("write the keys out, or use `defaults:` for keys that all steps share"),
            );
            return None;
        }
        let Some(Frame { content: Content::Map { first, seen, .. }, .. }) = self.open.last_mut()
        else {
            return None;
        };
        let entries = &self.entries[*first..];
        if seen.insert(&scalar.text, entries) {
            return Some(Key { text: scalar.text, span });
        }
        let first =
            entries.iter().find(|(key, _)| key.text == scalar.text).map(|(key, _)| key.span);
        let message = format!("the key `{}` is written twice", scalar.text);
        let mut diagnostic =
            Diagnostic::error(Code::DUPLICATE_KEY, span, message).help("keep one of the two");
        if let Some(first) = first {
            diagnostic = diagnostic.label(first, "first written here");
        }
        self.diagnostics.push(diagnostic);
        None
    }

    fn mark_broken(&mut self) {
        if let Some(Frame { content: Content::Map { broken, .. }, .. }) = self.open.last_mut() {
            *broken = true;
        }
    }

    fn complex_key(&self, span: Span) -> Diagnostic {
        let start = (span.start as usize).saturating_sub(self.base);
        // `{{ x }}` without quotes is a map whose only key is a map; the outer brace is just before.
        if let Some(found) = super::syntax_error::unquoted_placeholder(self.text, start) {
            return super::syntax_error::quote_it(self.text, found, self.base, self.source);
        }
        Diagnostic::error(Code::UNSUPPORTED_YAML, span, "a key must be a text, not a list or map")
            .help("quote the value if it starts with a literal `{` or `[`")
    }

    fn alias(&mut self, anchor: usize, bytes: Bytes) -> Step {
        let span = self.span(&bytes);
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(Box::new(Diagnostic::error(
                Code::UNSUPPORTED_YAML,
                span,
                "an alias inside its own anchor",
            )));
        };
        let node = node.clone();
        self.expanded.add(&node);
        if self.expanded.nodes > limits::DEFINITION_NODES
            || self.expanded.bytes > limits::DEFINITION_BYTES
        {
            let message =
                format!("aliases expand to more than {} nodes or 1 MiB", limits::DEFINITION_NODES);
            let found = Diagnostic::error(Code::TOO_LARGE, span, message);
            return Err(Box::new(found.help("use fewer aliases")));
        }
        self.place(node, 0, false)
    }

    fn scalar_kind(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        bytes: &Bytes,
    ) -> Result<ScalarKind, Box<Diagnostic>> {
        let plain = style == ScalarStyle::Plain;
        match tag.map(|tag| (tag.core_suffix(), tag.parts())) {
            None if plain && bytes.is_empty() => Ok(ScalarKind::Null),
            None if plain => Ok(resolve(text)),
            None | Some((Some("str"), _)) | Some((_, ("" | "!", ""))) => Ok(ScalarKind::Text),
            Some((Some("int" | "float" | "bool" | "null"), _)) => Ok(resolve(text)),
            Some(_) => Err(Box::new(self.unknown_tag(bytes))),
        }
    }

    fn no_tag(&self, tag: Option<&Tag>, own: &str, bytes: &Bytes) -> Step {
        match tag {
            Some(tag) if tag.core_suffix() != Some(own) => Err(Box::new(self.unknown_tag(bytes))),
            _ => Ok(()),
        }
    }

    fn unknown_tag(&self, bytes: &Bytes) -> Diagnostic {
        Diagnostic::error(Code::UNSUPPORTED_YAML, self.span(bytes), "tags are not supported")
            .help("quote the value if it starts with a literal `!`")
    }

    fn verbatim(&self, text: &str, style: ScalarStyle, bytes: &Bytes) -> Option<u8> {
        let quote = match style {
            ScalarStyle::Plain => 0,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => 1,
            _ => return None,
        };
        let raw = self.text.get(bytes.start + quote..bytes.end.checked_sub(quote)?)?;
        (raw == text).then_some(quote as u8)
    }
}

/// The elements from `first` on, allocated with their exact size.
fn taken<T>(all: &mut Vec<T>, first: usize) -> Vec<T> {
    match first {
        0 => {
            let mut taken = std::mem::take(all);
            taken.shrink_to_fit();
            taken
        }
        first => all.drain(first..).collect(),
    }
}

impl KeySet {
    const SMALL: usize = 24;

    /// Adds a key; returns whether it is new.
    fn insert(&mut self, key: &str, entries: &[(Key, Node)]) -> bool {
        if entries.len() < Self::SMALL {
            return !entries.iter().any(|(own, _)| own.text == *key);
        }
        if self.0.is_empty() {
            self.0.extend(entries.iter().map(|(own, _)| own.text.to_string()));
        }
        self.0.insert(key.to_owned())
    }
}

impl Size {
    fn add(&mut self, node: &Node) {
        self.nodes += 1;
        match &node.value {
            Value::Scalar(scalar) => self.bytes += scalar.text.len(),
            Value::Seq(items) => items.iter().for_each(|item| self.add(item)),
            Value::Map(entries) => entries.iter().for_each(|(key, item)| {
                self.bytes += key.text.len();
                self.add(item);
            }),
            Value::Invalid => {}
        }
    }
}
