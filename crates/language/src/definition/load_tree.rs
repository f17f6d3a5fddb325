//! Loads a YAML or JSON file, or the front matter of a markdown file, as a value that knows the lines of
//! all its parts, for the import of files of other tools.

use super::syntax::{Decoder, Node, Value, read_documents, read_text, split_front_matter};
use kb_base::diagnostic::{Diagnostic, SourceId, Sources, Span};
use kb_base::value::{Json, json_text, limits};

/// A value and its line.
#[derive(Debug, Clone)]
pub struct Positioned {
    /// What the file has at this line.
    pub value: PositionedValue,
    /// Its line, from 1.
    pub line: u32,
    /// Its place.
    pub span: Span,
}

/// A scalar, or a list or map whose values have lines of their own.
#[derive(Debug, Clone)]
pub enum PositionedValue {
    /// Null, a boolean, a number or a text.
    Scalar(Json),
    /// The items in the order of the file.
    List(Vec<Positioned>),
    /// The entries in the order of the file, with the lines of the keys.
    Map(Vec<(String, u32, Positioned)>),
}

/// A file with its lines.
#[derive(Debug, Clone)]
pub struct PositionedFile {
    /// The value of the file, of its first document, or of its front matter.
    pub root: Positioned,
    /// The other documents of the file, in order; an empty document is null.
    pub more: Vec<Positioned>,
    /// The text after the front matter; `None` in a YAML file.
    pub body: Option<String>,
    /// The line of the first character of the body that is not a space; 1 without a body.
    pub body_line: u32,
}

/// How many YAML documents a file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Documents {
    /// One, as a definition.
    One,
    /// Several, separated by `---`.
    Several,
}

/// Loads a file within the size limits of definitions. A file whose first line is `---` and that has a
/// second fence is markdown with front matter if its name ends in `.md`.
pub fn load_positioned(
    path: &str,
    bytes: &[u8],
    documents: Documents,
) -> (Option<PositionedFile>, Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let text = match read_text(path, &bytes.into(), &mut sources) {
        Ok(text) => text,
        Err(diagnostic) => return (None, sources, vec![*diagnostic]),
    };
    let is_markdown = path.ends_with(".md");
    let split = split_front_matter(&text.text, text.start).ok().filter(|_| is_markdown);
    let (matter, body) = match (&split, is_markdown) {
        (Some(split), _) => (split.matter.clone(), Some(text.text[split.body.clone()].to_owned())),
        (None, true) => (text.start..text.start, Some(text.text[text.start..].to_owned())),
        (None, false) => (text.start..text.text.len(), None),
    };
    let before = body.as_deref().map_or(0, |body| text.text.len() - body.trim_start().len());
    let body_line = 1 + text.text[..before].matches('\n').count() as u32;
    let most = match documents {
        Documents::One => 1,
        Documents::Several => limits::DEFINITION_DOCUMENTS,
    };
    let start = matter.start;
    let (mut trees, problems) = read_documents(&text.text[matter], start, text.source, most);
    let mut decoder = Decoder::default();
    decoder.extend(problems);
    if decoder.has_errors() || trees.iter().all(Node::is_null) {
        trees.clear();
    }
    let found = decoder.finish();
    let mut roots = trees.iter().map(|tree| located(tree, text.source, &sources));
    let span = Span::new(text.source, start, start);
    let empty = Positioned { value: PositionedValue::Map(Vec::new()), line: 1, span };
    let root = roots.next().or_else(|| (body.is_some() && found.is_empty()).then_some(empty));
    let more = roots.collect();
    (root.map(|root| PositionedFile { root, more, body, body_line }), sources, found)
}

fn located(node: &Node, source: SourceId, sources: &Sources) -> Positioned {
    let line = |offset: u32| sources.position(source, offset).line;
    let value = match &node.value {
        Value::Seq(items) => {
            PositionedValue::List(items.iter().map(|item| located(item, source, sources)).collect())
        }
        Value::Map(entries) => {
            let entry = |(key, value): &(super::syntax::Key, Node)| {
                (key.text.to_string(), line(key.span.start), located(value, source, sources))
            };
            PositionedValue::Map(entries.iter().map(entry).collect())
        }
        Value::Scalar(_) | Value::Invalid => PositionedValue::Scalar(node.to_json()),
    };
    Positioned { value, line: line(node.span.start), span: node.span }
}

impl Positioned {
    /// The text of a scalar that is a text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            PositionedValue::Scalar(Json::String(text)) => Some(text),
            _ => None,
        }
    }

    /// A scalar as text; `None` for a list, a map or null.
    pub fn words(&self) -> Option<String> {
        match &self.value {
            PositionedValue::Scalar(Json::Null) => None,
            PositionedValue::Scalar(value) => Some(json_text(value).to_string()),
            _ => None,
        }
    }

    /// The items of a list; a scalar is a list of one.
    pub fn items(&self) -> &[Positioned] {
        match &self.value {
            PositionedValue::List(items) => items,
            PositionedValue::Scalar(Json::Null) => &[],
            PositionedValue::Scalar(_) | PositionedValue::Map(_) => std::slice::from_ref(self),
        }
    }

    /// The entries of a map.
    pub fn entries(&self) -> &[(String, u32, Positioned)] {
        match &self.value {
            PositionedValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Whether it is a map.
    pub fn is_map(&self) -> bool {
        matches!(self.value, PositionedValue::Map(_))
    }

    /// The whole value.
    pub fn json(&self) -> Json {
        match &self.value {
            PositionedValue::Scalar(value) => value.clone(),
            PositionedValue::List(items) => items.iter().map(Positioned::json).collect(),
            PositionedValue::Map(entries) => {
                let entry =
                    |(key, _, value): &(String, u32, Positioned)| (key.clone(), value.json());
                Json::Object(entries.iter().map(entry).collect())
            }
        }
    }
}
