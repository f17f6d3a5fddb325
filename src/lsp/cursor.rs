//! Where the cursor is in a YAML file: the keys around it, and whether it is at a key or a value.
//!
//! The text may be incomplete while it is typed, so it is not parsed: lines above the cursor with a smaller
//! indentation are its parents, and flow collections are read on the line of the cursor.

/// A part of the path to the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// The value of a key.
    Key(String),
    /// An item of a list.
    Item,
}

impl Segment {
    /// The name of a key.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Segment::Key(name) => Some(name),
            Segment::Item => None,
        }
    }
}

/// The place of the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The keys and lists around the cursor, from the root. At a value, the last one is its key.
    pub(super) path: Vec<Segment>,
    /// What the cursor is at.
    pub(super) at: Place,
    /// The part of the key, value or expression before the cursor.
    pub(super) prefix: String,
    /// Keys of the same map.
    pub(super) siblings: Vec<String>,
}

/// What the cursor is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A key, or where a key can be written.
    Key,
    /// A value, or where one can be written.
    Value,
    /// An expression inside of `{{ }}`, or of `{ }` in a workflow.
    Expression,
}

/// An entry of a line: its column and what it is.
type Entry = (usize, Segment);

/// The place of a byte offset in a text.
pub(super) fn cursor(text: &str, offset: usize) -> Cursor {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let (above, before) = (&text[..start], &text[start..offset]);
    let (entries, rest) = entries(before);
    let (column, mut path_of_line) = own(&entries, before);
    let flow = read_flow(rest, is_key(&entries));
    let mut siblings = flow.siblings;
    let mut path = parents(above, column, &mut siblings, !flow.is_open);
    path.append(&mut path_of_line);
    path.extend(flow.path);
    Cursor { path, at: flow.at, prefix: flow.prefix, siblings }
}

fn is_key(entries: &[Entry]) -> bool {
    matches!(entries.last(), Some((_, Segment::Key(_))))
}

/// The list markers and the key at the start of a line, with their columns, and the rest of the line.
fn entries(line: &str) -> (Vec<Entry>, &str) {
    let mut found = Vec::new();
    let mut at = line.len() - line.trim_start_matches(' ').len();
    while line[at..].starts_with("- ") || &line[at..] == "-" {
        found.push((at, Segment::Item));
        at += 1;
        at += line[at..].len() - line[at..].trim_start_matches(' ').len();
    }
    if let Some((key, length)) = key_at(&line[at..]) {
        found.push((at, Segment::Key(key)));
        at += length;
    }
    (found, &line[at.min(line.len())..])
}

/// The key at the start of a text, and its length with the colon.
fn key_at(text: &str) -> Option<(String, usize)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_-.#/[]*\"'".contains(c)))?;
    let rest = &text[end..];
    let is_key =
        end > 0 && rest.starts_with(':') && rest[1..].chars().next().is_none_or(|c| c == ' ');
    is_key.then(|| (text[..end].trim_matches(['"', '\'']).to_owned(), end + 1))
}

/// The column below which lines above are parents, and the path of the entries of the line.
fn own(entries: &[Entry], before: &str) -> (usize, Vec<Segment>) {
    let first = entries.first().map(|(column, _)| *column);
    let column = first.unwrap_or(before.len() - before.trim_start_matches(' ').len());
    (column, entries.iter().map(|(_, segment)| segment.clone()).collect())
}

/// The path to the map at a column, and the keys of that map above the cursor.
fn parents(above: &str, column: usize, siblings: &mut Vec<String>, collect: bool) -> Vec<Segment> {
    let mut path = Vec::new();
    let mut limit = column;
    let mut same_map = collect;
    for line in above.lines().rev() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if line.starts_with("---") {
            break;
        }
        for (at, segment) in entries(line).0.into_iter().rev() {
            // A list may stand at the column of its key.
            let below = at < limit
                || (at == limit
                    && path.last() == Some(&Segment::Item)
                    && matches!(segment, Segment::Key(_)));
            if at == column
                && same_map
                && let Segment::Key(key) = &segment
            {
                siblings.push(key.clone());
            }
            if below {
                same_map &= at >= column;
                path.push(segment);
                limit = at;
            }
        }
        if limit == 0 && path.last().is_none_or(|last| matches!(last, Segment::Key(_))) {
            break;
        }
    }
    path.reverse();
    path
}

/// What the rest of the line of the cursor contains before the cursor.
struct Flow {
    /// The path inside of flow collections.
    path: Vec<Segment>,
    at: Place,
    prefix: String,
    /// The keys of the innermost flow map.
    siblings: Vec<String>,
    /// Whether a flow collection is open.
    is_open: bool,
}

fn read_flow(rest: &str, after_key: bool) -> Flow {
    if let Some(expression) = open_expression(rest) {
        let (path, siblings, prefix) = (Vec::new(), Vec::new(), expression.to_owned());
        return Flow { path, at: Place::Expression, prefix, siblings, is_open: false };
    }
    let mut open: Vec<(char, Option<String>, Vec<String>)> = Vec::new();
    let mut token = String::new();
    let mut quote: Option<char> = None;
    for letter in rest.chars() {
        match (letter, quote) {
            (letter, Some(end)) if letter == end => quote = None,
            ('"' | '\'', None) if token.trim().is_empty() => quote = Some(letter),
            ('{' | '[', None) => {
                open.push((letter, None, Vec::new()));
                token.clear();
                continue;
            }
            ('}' | ']', None) => {
                open.pop();
                token.clear();
                continue;
            }
            (',', None) => {
                if let Some(last) = open.last_mut() {
                    last.1 = None;
                }
                token.clear();
                continue;
            }
            (':', None) if open.last().is_some_and(|last| last.0 == '{' && last.1.is_none()) => {
                if let Some(last) = open.last_mut() {
                    let key = token.trim().trim_matches(['"', '\'']).to_owned();
                    last.2.push(key.clone());
                    last.1 = Some(key);
                }
                token.clear();
                continue;
            }
            _ => {}
        }
        token.push(letter);
    }
    let mut path = Vec::new();
    for (kind, key, _) in &open {
        match (kind, key) {
            ('[', _) => path.push(Segment::Item),
            (_, Some(key)) => path.push(Segment::Key(key.clone())),
            _ => {}
        }
    }
    let prefix = token.trim_start().trim_start_matches(['"', '\'']).to_owned();
    let at = match open.last() {
        Some(('{', None, _)) => Place::Key,
        Some(_) => Place::Value,
        None if after_key => Place::Value,
        None => Place::Key,
    };
    let is_open = !open.is_empty();
    let siblings = open.pop().map(|(_, _, keys)| keys).unwrap_or_default();
    Flow { path, at, prefix, siblings, is_open }
}

/// The text of an expression that is open at the end of a line.
fn open_expression(rest: &str) -> Option<&str> {
    let start = rest.rfind("{{")?;
    let inside = &rest[start + 2..];
    (!inside.contains("}}")).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path to `|` as `steps[].run`, the place and the prefix.
    fn at(text: &str) -> (String, Place, String) {
        let offset = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let found = cursor(&text, offset);
        let path = found.path.iter().fold(String::new(), |path, segment| match segment {
            Segment::Key(key) if path.is_empty() => key.clone(),
            Segment::Key(key) => format!("{path}.{key}"),
            Segment::Item => path + "[]",
        });
        (path, found.at, found.prefix)
    }

    #[test]
    fn indentation_gives_the_path() {
        let steps =
            "id: a\nsteps:\n  - id: x\n    run: y\n    verify:\n      checks:\n        - file: z\n";
        let case = |text: &str| at(&format!("{steps}{text}"));
        assert_eq!(at("i|"), (String::new(), Place::Key, "i".into()));
        assert_eq!(case("    re|"), ("steps[]".into(), Place::Key, "re".into()));
        assert_eq!(case("    retry:\n      |"), ("steps[].retry".into(), Place::Key, "".into()));
        assert_eq!(case("  - sp|"), ("steps[]".into(), Place::Key, "sp".into()));
        assert_eq!(case("        - |"), ("steps[].verify.checks[]".into(), Place::Key, "".into()));
        assert_eq!(case("          |"), ("steps[].verify.checks[]".into(), Place::Key, "".into()));
        assert_eq!(case("    runIf: no|"), ("steps[].runIf".into(), Place::Value, "no".into()));
        assert_eq!(at("steps:\n- id: a\n  |"), ("steps[]".into(), Place::Key, "".into()));
    }

    #[test]
    fn flow_collections_are_read_on_their_line() {
        let case = |text: &str| at(&format!("steps:\n  {text}"));
        assert_eq!(case("- {id: a, ru|"), ("steps[]".into(), Place::Key, "ru".into()));
        assert_eq!(case("- {id: a, runIf: a|"), ("steps[].runIf".into(), Place::Value, "a".into()));
        assert_eq!(
            case("- id: a\n    retry: {max: 2, |"),
            ("steps[].retry".into(), Place::Key, "".into())
        );
        assert_eq!(
            case("- id: a\n    dependsOn: [b, |"),
            ("steps[].dependsOn[]".into(), Place::Value, "".into())
        );
        let expression = case("- id: a\n    task: \"see {{a}} and {{b.ou|");
        assert_eq!(expression, ("steps[].task".into(), Place::Expression, "b.ou".into()));
    }

    #[test]
    fn siblings_are_the_keys_of_the_same_map() {
        let text = "steps:\n  - id: a\n    run: x\n  - id: b\n    tool: y\n    ";
        let mut found = cursor(text, text.len()).siblings;
        found.sort();
        assert_eq!(found, ["id", "tool"]);
        let text = "steps:\n  - {id: b, tool: y, ";
        assert_eq!(cursor(text, text.len()).siblings, ["id", "tool"]);
    }
}
