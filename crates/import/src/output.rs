//! Writes definitions as YAML.

use kb_base::value::Json;

/// A value of a definition, with its keys in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Out {
    /// A scalar, or a value that is written in flow style.
    Value(Json),
    List(Vec<Out>),
    Map(Vec<(String, Out)>),
}

impl From<&str> for Out {
    fn from(text: &str) -> Out {
        Out::Value(Json::from(text))
    }
}

impl From<String> for Out {
    fn from(text: String) -> Out {
        Out::Value(Json::from(text))
    }
}

impl From<Json> for Out {
    fn from(value: Json) -> Out {
        Out::Value(value)
    }
}

impl Out {
    pub(super) fn map(entries: Vec<(&'static str, Out)>) -> Out {
        Out::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// A list of texts in flow style.
    pub(super) fn texts(texts: &[String]) -> Out {
        Out::Value(Json::from(texts))
    }

    /// The text of a file.
    pub(super) fn file(&self) -> String {
        let mut text = String::new();
        if let Out::Map(entries) = self {
            map(entries, 0, &mut text);
        }
        text
    }
}

fn map(entries: &[(String, Out)], depth: usize, text: &mut String) {
    for (index, (name, value)) in entries.iter().enumerate() {
        // The first entry of an item follows the dash.
        if index > 0 || text.ends_with('\n') || text.is_empty() {
            text.push_str(&"  ".repeat(depth));
        }
        text.push_str(&key(name));
        text.push(':');
        write(value, depth, text);
    }
}

fn write(value: &Out, depth: usize, text: &mut String) {
    match value {
        Out::Value(Json::String(words)) => scalar(words, depth + 1, text),
        Out::Value(value) => text.push_str(&format!(" {value}\n")),
        Out::List(items) if items.is_empty() => text.push_str(" []\n"),
        Out::Map(entries) if entries.is_empty() => text.push_str(" {}\n"),
        Out::List(items) => {
            text.push('\n');
            for item in items {
                text.push_str(&"  ".repeat(depth + 1));
                text.push('-');
                match item {
                    Out::Map(entries) if !entries.is_empty() => {
                        text.push(' ');
                        map(entries, depth + 2, text);
                    }
                    item => write(item, depth + 1, text),
                }
            }
        }
        Out::Map(entries) => {
            text.push('\n');
            map(entries, depth + 1, text);
        }
    }
}

fn key(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !["on", "off", "yes", "no", "true", "false", "null", "y", "n"].contains(&name);
    if plain || name == "on" { name.to_owned() } else { Json::from(name).to_string() }
}

/// A text: a block for several lines, plain or quoted for one.
fn scalar(words: &str, depth: usize, text: &mut String) {
    let block = words.contains('\n')
        && !words.chars().any(|c| c.is_control() && c != '\n')
        && words.lines().next().is_some_and(|line| !line.starts_with(' ') && !line.is_empty());
    if !block {
        let plain = !words.is_empty()
            && words.chars().all(|c| c.is_ascii_alphanumeric() || "_-./ ".contains(c))
            && words.starts_with(|c: char| c.is_ascii_alphabetic())
            && !words.ends_with(' ')
            && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
                .contains(&words.to_lowercase().as_str());
        let word = if plain { words.to_owned() } else { Json::from(words).to_string() };
        text.push_str(&format!(" {word}\n"));
        return;
    }
    let end = match words.len() - words.trim_end_matches('\n').len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    text.push_str(&format!(" |{end}\n"));
    for line in words.strip_suffix('\n').unwrap_or(words).split('\n') {
        if !line.is_empty() {
            text.push_str(&"  ".repeat(depth));
            text.push_str(line);
        }
        text.push('\n');
    }
}
