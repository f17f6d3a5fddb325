//! Reads the short form of schemas, such as `files: "string[]"`, as JSON Schema.

use super::recognise::is_json_schema;
use crate::definition::syntax::{Decoder, Key, Node, Scalar, ScalarKind, Value};
use kb_base::diagnostic::{Code, Diagnostic, edit_distance};
use kb_base::value::{Json, JsonMap};
use serde_json::json;

/// Decodes the short form as JSON Schema.
pub(super) fn read(node: &Node, decoder: &mut Decoder) -> Option<Json> {
    match &node.value {
        Value::Invalid => None,
        Value::Map(_) if is_property_schema(node) => {
            super::checked::Schema::json_schema(node, decoder).map(|schema| schema.json().clone())
        }
        Value::Map(entries) => {
            let mut object = ObjectSchema::default();
            let mut complete = true;
            for (key, value) in entries {
                match read(value, decoder) {
                    Some(schema) => object.add(&key.text, schema),
                    None => complete = false,
                }
            }
            complete.then(|| object.finish())
        }
        Value::Seq(items) => match items.as_slice() {
            [item] => read(item, decoder).map(|item| json!({"type": "array", "items": item})),
            _ => {
                decoder.push(
                    Diagnostic::error(
                        Code::BAD_SCHEMA,
                        node.span,
                        "a list in a schema has exactly one entry, the type of its items",
                    )
                    .help("write `[string]`, or `a | b | c` for one of several"),
                );
                None
            }
        },
        Value::Scalar(Scalar { kind: ScalarKind::Null, .. }) => Some(json!({})),
        Value::Scalar(Scalar { kind: ScalarKind::Text, text, .. }) => {
            expression(text, node, decoder)
        }
        Value::Scalar(_) => Some(json!({"const": node.to_json()})),
    }
}

/// Whether a nested map is the JSON Schema of a property, as in `size: {type: integer, minimum: 1}`.
/// If another key has a type as its value, as in `{type: string, description: string}`, the map
/// describes an object.
fn is_property_schema(node: &Node) -> bool {
    let entries = node.as_map().unwrap_or_default();
    let is_key = |(key, value): &(Key, Node)| {
        key.text != "type" && value.as_text().is_some_and(|text| simple_type(text.trim()).is_some())
    };
    !entries.is_empty() && is_json_schema(node) && !entries.iter().any(is_key)
}

fn expression(text: &str, node: &Node, decoder: &mut Decoder) -> Option<Json> {
    let mut parser = TypeParser { rest: text, depth: 0 };
    let parsed = parser.union().and_then(|schema| match parser.rest.trim_start() {
        "" => Ok(schema),
        rest => Err(format!("unexpected `{}`", first_word(rest))),
    });
    match parsed {
        Ok(schema) => {
            warn_near_miss(text, node, decoder);
            Some(schema)
        }
        Err(fault) => {
            let message = format!("`{text}` is not a type: {fault}");
            decoder.push(Diagnostic::error(Code::BAD_SCHEMA, node.span, message).help(
                "write a type such as `string`, `string[]`, `\"{name: string}[]\"`, `\"Record<string, string>\"` or `a | b`",
            ));
            None
        }
    }
}

/// Warns about a single word that is a misspelled type and would become a literal.
fn warn_near_miss(text: &str, node: &Node, decoder: &mut Decoder) {
    let word = text.trim().trim_end_matches("[]");
    let is_word = word.len() > 3 && word.chars().all(char::is_alphanumeric);
    if !is_word || simple_type(word).is_some() {
        return;
    }
    let lower = word.to_ascii_lowercase();
    let near = ["string", "number", "integer", "boolean", "object"]
        .into_iter()
        .find(|name| edit_distance(&lower, name) <= 2);
    if let Some(name) = near {
        let message = format!("`{word}` is not a type, so it means the literal text `{word}`");
        decoder.push(
            Diagnostic::warning(Code::BAD_SCHEMA, node.span, message)
                .help(format!("did you mean `{name}`?")),
        );
    }
}

fn simple_type(word: &str) -> Option<Json> {
    Some(match word {
        "string" | "number" | "integer" | "boolean" | "null" | "object" => json!({"type": word}),
        "int" => json!({"type": "integer"}),
        "bool" => json!({"type": "boolean"}),
        "float" => json!({"type": "number"}),
        "array" | "list" => json!({"type": "array"}),
        "any" | "unknown" => json!({}),
        "true" => json!({"const": true}),
        "false" => json!({"const": false}),
        _ => return None,
    })
}

/// Collects the keys of an object schema; other keys stay allowed.
#[derive(Default)]
struct ObjectSchema {
    properties: JsonMap,
    required: Vec<String>,
}

impl ObjectSchema {
    fn add(&mut self, key: &str, schema: Json) {
        match key.strip_suffix('?') {
            Some(key) => {
                self.properties.insert(key.to_owned(), schema);
            }
            None => {
                self.properties.insert(key.to_owned(), schema);
                self.required.push(key.to_owned());
            }
        }
    }

    fn finish(self) -> Json {
        json!({"type": "object", "properties": self.properties, "required": self.required})
    }
}

/// A recursive-descent parser for one type expression.
struct TypeParser<'t> {
    rest: &'t str,
    depth: u32,
}

type Parsed = Result<Json, String>;

impl<'t> TypeParser<'t> {
    const DEEPEST: u32 = 24;

    /// Reads alternatives: `a | b | c`.
    fn union(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > Self::DEEPEST {
            return Err("nested too deeply".to_owned());
        }
        let mut choices = vec![self.postfix()?];
        while self.take("|") {
            choices.push(self.postfix()?);
        }
        self.depth -= 1;
        Ok(join(choices))
    }

    /// Reads a type with any number of `[]` after it.
    fn postfix(&mut self) -> Parsed {
        let mut schema = self.primary()?;
        let mut dimensions = 0;
        while self.take("[") {
            dimensions += 1;
            if dimensions > Self::DEEPEST {
                return Err("nested too deeply".to_owned());
            }
            self.expect("]")?;
            schema = json!({"type": "array", "items": schema});
        }
        Ok(schema)
    }

    fn primary(&mut self) -> Parsed {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            None => Err("expected a type, found the end".to_owned()),
            Some('{') => self.object(),
            Some('(') => {
                self.expect("(")?;
                let schema = self.union()?;
                self.expect(")")?;
                Ok(schema)
            }
            Some(quote @ ('\'' | '"')) => self.literal(quote),
            Some(_) => {
                let word = self.word()?;
                match word {
                    "Record" => self.record(),
                    "Array" | "List" if self.take("<") => {
                        let item = self.union()?;
                        self.expect(">")?;
                        Ok(json!({"type": "array", "items": item}))
                    }
                    _ => Ok(simple_type(word).unwrap_or_else(|| constant(word))),
                }
            }
        }
    }

    /// `Record<string, T>`
    fn record(&mut self) -> Parsed {
        self.expect("<")?;
        let key = self.word()?;
        if key != "string" {
            return Err(format!("the keys of a `Record` are `string`, not `{key}`"));
        }
        self.expect(",")?;
        let value = self.union()?;
        self.expect(">")?;
        Ok(json!({"type": "object", "additionalProperties": value}))
    }

    /// `{name: string, size?: integer}`
    fn object(&mut self) -> Parsed {
        self.expect("{")?;
        let mut object = ObjectSchema::default();
        while !self.take("}") {
            let key = self.key()?.to_owned();
            self.expect(":")?;
            let schema = self.union()?;
            object.add(&key, schema);
            if !self.take(",") && !self.take(";") {
                self.expect("}")?;
                break;
            }
        }
        Ok(object.finish())
    }

    fn key(&mut self) -> Result<&'t str, String> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find([':', ',', '{', '}']).unwrap_or(self.rest.len());
        let key = self.rest[..end].trim();
        if key.is_empty() || key == "?" {
            return Err("a key is missing".to_owned());
        }
        self.rest = &self.rest[end..];
        Ok(key)
    }

    fn literal(&mut self, quote: char) -> Parsed {
        let inner = &self.rest[1..];
        let end = inner.find(quote).ok_or_else(|| format!("{quote} is not closed"))?;
        self.rest = &inner[end + 1..];
        Ok(json!({"const": inner[..end]}))
    }

    fn word(&mut self) -> Result<&'t str, String> {
        self.rest = self.rest.trim_start();
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')))
            .unwrap_or(self.rest.len());
        if end == 0 {
            return Err(format!("unexpected `{}`", first_word(self.rest)));
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(word)
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) {
            return Ok(());
        }
        match first_word(self.rest) {
            "" => Err(format!("expected `{token}`, found the end")),
            found => Err(format!("expected `{token}`, found `{found}`")),
        }
    }
}

/// A literal: an integer if the word is one, else a text.
fn constant(word: &str) -> Json {
    match word.parse::<i64>() {
        Ok(number) => json!({"const": number}),
        Err(_) => json!({"const": word}),
    }
}

/// Combines alternatives: a single type, an `enum` of literals, or `anyOf`.
fn join(mut choices: Vec<Json>) -> Json {
    if choices.len() == 1 {
        return choices.remove(0);
    }
    let literals: Option<Vec<Json>> =
        choices.iter().map(|choice| choice.get("const").cloned()).collect();
    match literals {
        Some(literals) => json!({"enum": literals}),
        None => json!({"anyOf": choices}),
    }
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.char_indices().nth(1).map_or(text.len(), |(at, _)| at);
    &text[..end]
}
