//! Writes definitions as YAML.

use kb_base::value::Json;

/// A value of a definition, with its keys in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Out {
    /// A scalar, or a value that is written in flow style.
    Value(Json),
    List(Vec<Out>),
    Map(Vec<(String, Out)>),
    /// A value with comments above it.
    Noted(Vec<String>, Box<Out>),
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
        match self {
            Out::Map(entries) => map(entries, 0, &mut text),
            Out::Noted(comments, inner) => {
                write_comments(comments, 0, &mut text);
                text.push_str(&inner.file());
            }
            Out::Value(Json::String(words)) => text.push_str(words),
            Out::Value(value) => text.push_str(&value.to_string()),
            Out::List(items) => write_items(items, 0, &mut text),
        }
        text
    }

    /// The value of a key of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Out> {
        match self {
            Out::Map(entries) => entries.iter().find(|(own, _)| own == key).map(|(_, value)| value),
            Out::Noted(_, inner) => inner.get(key),
            Out::Value(_) | Out::List(_) => None,
        }
    }

    /// Sets the value of a key of a map.
    pub(super) fn put(&mut self, key: &str, value: Out) {
        match self {
            Out::Map(entries) => match entries.iter_mut().find(|(own, _)| own == key) {
                Some((_, old)) => *old = value,
                // The id stays first.
                None => entries.insert(entries.len().min(1), (key.to_owned(), value)),
            },
            Out::Noted(_, inner) => inner.put(key, value),
            Out::Value(_) | Out::List(_) => {}
        }
    }

    /// The lists that are values of a map.
    pub(super) fn lists(&mut self) -> impl Iterator<Item = &mut Vec<Out>> {
        let entries = match self {
            Out::Map(entries) => &mut entries[..],
            Out::Value(_) | Out::List(_) | Out::Noted(..) => &mut [],
        };
        entries.iter_mut().filter_map(|(_, value)| match value {
            Out::List(items) => Some(items),
            Out::Value(_) | Out::Map(_) | Out::Noted(..) => None,
        })
    }

    /// A text.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Out::Value(Json::String(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// The texts of a list.
    pub(super) fn listed(&self) -> Vec<String> {
        match self {
            Out::Value(Json::Array(items)) => {
                items.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
            }
            Out::List(items) => items.iter().filter_map(Out::words).collect(),
            Out::Value(_) | Out::Map(_) | Out::Noted(..) => Vec::new(),
        }
    }
}

/// Comments, each line of which is a line of its own.
fn write_comments(comments: &[String], depth: usize, text: &mut String) {
    for line in comments.iter().flat_map(|comment| comment.lines()) {
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        text.push_str(&format!("{}# {}\n", "  ".repeat(depth), line.trim_end()));
    }
}

fn write_items(items: &[Out], depth: usize, text: &mut String) {
    for mut item in items {
        while let Out::Noted(comments, inner) = item {
            write_comments(comments, depth, text);
            item = inner;
        }
        text.push_str(&"  ".repeat(depth));
        text.push('-');
        match item {
            Out::Map(entries) if !entries.is_empty() => {
                text.push(' ');
                map(entries, depth + 1, text);
            }
            item => write(item, depth, text),
        }
    }
}

fn map(entries: &[(String, Out)], depth: usize, text: &mut String) {
    for (index, (name, value)) in entries.iter().enumerate() {
        // The first entry of an item follows the dash, so its comments have no line.
        if let Out::Noted(comments, _) = value
            && text.ends_with('\n')
        {
            write_comments(comments, depth, text);
        }
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
            write_items(items, depth + 1, text);
        }
        // Comments stand above the items of lists and the keys of maps.
        Out::Noted(_, inner) => write(inner, depth, text),
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
