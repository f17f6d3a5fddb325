//! Each key of every definition file, black-box: a value that loads, and a value that is refused with its
//! code at the line where the key is written. Both follow from the declaration of the key; the files in
//! `tests/conformance/keys/` say where the map of a table stands, and what else a key needs.

use crate::scratch::{Said, Scratch};
use kb::definition::{DefinitionFile, KeySpec, KeyTable, KeyType};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

/// The cases of the keys of one map.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableCases {
    /// Name of the table of keys.
    table: String,
    /// Path of the file. `ID` stands for an id that no other case has, here and in all texts.
    file: String,
    /// The file; `@` stands for the entries of the map.
    text: String,
    /// Entries that the map has beside the key.
    #[serde(default)]
    others: Map<String, Value>,
    /// The keys with values or entries that do not follow from the declaration.
    #[serde(default)]
    keys: BTreeMap<String, KeyCase>,
}

#[derive(Debug, Deserialize, Default, Clone, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct KeyCase {
    /// A value that loads. Absent: the key is allowed nowhere in this map.
    valid: Option<Value>,
    /// A value that is refused. Absent: the key takes any value, so it is written twice.
    refused: Option<Value>,
    /// The code that refuses it.
    code: String,
    /// Further entries of the map; null removes an entry of the table.
    others: Map<String, Value>,
}

impl KeyCase {
    /// The case that follows from the declaration of a key, with what its row says in place of it.
    fn of(key: &KeySpec, row: Option<&KeyCase>) -> KeyCase {
        let row = row.cloned().unwrap_or_default();
        let refused = refused(&key.ty);
        let code = refused.as_ref().map_or("KB0107", |(_, code)| code);
        KeyCase {
            valid: row.valid.or_else(|| valid(key)),
            code: if row.code.is_empty() { code.to_owned() } else { row.code },
            refused: row.refused.or(refused.map(|(value, _)| value)),
            others: row.others,
        }
    }
}

/// The example of a key, its default, or a value of its type. `None`: the key takes none.
fn valid(key: &KeySpec) -> Option<Value> {
    let written = [key.example, key.default].into_iter().filter(|text| !text.is_empty());
    let written = written.filter_map(|text| serde_yaml::from_str::<Value>(text).ok());
    written.chain(of_type(&key.ty)).find(|value| is_of_type(value, &key.ty))
}

fn of_type(ty: &KeyType) -> Option<Value> {
    Some(match ty {
        KeyType::Forbidden => return None,
        KeyType::Boolean => json!(true),
        KeyType::Integer(least, most) => json!((*least).max(1).min(*most)),
        KeyType::Number(least, most) => {
            json!(if least.is_finite() { least.max(0.5).min(*most) } else { 0.5 })
        }
        KeyType::Duration => json!("90s"),
        KeyType::Choice(names) => json!(names[names.len() - 1]),
        KeyType::Constant(text) => json!(text),
        _ => json!("words"),
    })
}

/// Whether a text of the reference is a value of a type, and not a description of one.
fn is_of_type(value: &Value, ty: &KeyType) -> bool {
    match ty {
        KeyType::Forbidden => false,
        KeyType::Boolean => value.is_boolean(),
        KeyType::Integer(..) | KeyType::Number(..) => value.is_number(),
        KeyType::Duration => {
            value.as_str().is_some_and(|text| kb::value::parse_duration(text).is_ok())
        }
        KeyType::Choice(names) => value.as_str().is_some_and(|text| names.contains(&text)),
        KeyType::Map(_) | KeyType::MapOf(_) | KeyType::AnyMap => value.is_object(),
        _ => true,
    }
}

/// A value that no key of a type takes, with the code that refuses it. `None`: any value is of the type.
fn refused(ty: &KeyType) -> Option<(Value, &'static str)> {
    Some(match ty {
        KeyType::Any | KeyType::Forbidden => return None,
        KeyType::Boolean => (json!("perhaps"), "KB0105"),
        KeyType::Integer(0, _) => (json!(-1), "KB0112"),
        KeyType::Integer(..) => (json!(0), "KB0112"),
        KeyType::Number(..) => (json!("much"), "KB0105"),
        KeyType::Duration => (json!("soon"), "KB0112"),
        KeyType::Choice(_) => (json!("quick"), "KB0112"),
        KeyType::Constant(_) => (json!("kb.other/9"), "KB0113"),
        KeyType::Schema => (json!(["string", "integer"]), "KB0215"),
        KeyType::Map(_) | KeyType::MapOf(_) | KeyType::AnyMap => (json!("words"), "KB0105"),
        KeyType::OneOf(_) => (json!([[]]), "KB0105"),
        KeyType::Steps | KeyType::List(_) => (json!(7), "KB0105"),
        KeyType::Text
        | KeyType::Scalar
        | KeyType::Template
        | KeyType::ScalarTemplate
        | KeyType::Expression
        | KeyType::Pattern(_)
        | KeyType::ListOrOne(_) => (json!({"a": "b"}), "KB0105"),
    })
}

/// A definition file with one key, and what must become of it.
struct Written {
    name: String,
    path: String,
    text: String,
    /// The line of the key.
    line: u32,
    /// The code that refuses it; `None`: it loads.
    code: Option<String>,
}

fn cases() -> Vec<TableCases> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/keys");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| -> Vec<TableCases> {
        let text = std::fs::read_to_string(path).unwrap();
        serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().flat_map(read).collect()
}

impl TableCases {
    fn written(&self, key: &str, case: &KeyCase, value: &Value, refused: bool) -> Written {
        let mut entries = self.others.clone();
        entries.extend(case.others.clone());
        let kept = entries.iter().filter(|(name, value)| *name != key && !value.is_null());
        let entry = |name: &str, value: &Value| format!("{}: {value}", Value::from(name));
        let mut list: Vec<String> = kept.map(|(name, value)| entry(name, value)).collect();
        // The key has a line of its own.
        list.push(format!("\n{}", entry(key, value)));
        if refused && case.refused.is_none() {
            list.push(entry(key, value));
        }
        // Short enough for names of servers.
        let form = if refused { "bad" } else { "ok" };
        let id = format!("{}-{}-{form}", self.table, key.trim_matches('$')).to_lowercase();
        let text = self.text.replace('@', &format!("{}\n", list.join(", "))).replace("ID", &id);
        let start = text.find(&format!("\n{}: ", Value::from(key))).unwrap();
        let line = 2 + text[..start].matches('\n').count() as u32;
        Written {
            name: format!("`{key}: {value}` of {}", self.table),
            path: self.file.replace("ID", &id),
            text,
            line,
            code: refused.then(|| case.code.clone()),
        }
    }

    fn all(&self) -> Vec<Written> {
        let both = tables().filter(|table| table.name == self.table).flat_map(KeyTable::keys);
        let both = both.flat_map(|key| {
            let (name, case) = (key.name, KeyCase::of(key, self.keys.get(key.name)));
            let valid = case.valid.iter().map(|value| self.written(name, &case, value, false));
            let refused = case.refused.as_ref().or(case.valid.as_ref());
            let refused = refused.map(|value| self.written(name, &case, value, true));
            valid.chain(refused).collect::<Vec<_>>()
        });
        both.collect()
    }
}

/// A file with this entry in a map of a table: the path, and the text of the case of the table.
pub(crate) fn file_with(table: &str, key: &str, value: &str) -> (String, String) {
    static CASES: LazyLock<Vec<TableCases>> = LazyLock::new(cases);
    let found = CASES.iter().find(|cases| cases.table == table);
    let cases = found.unwrap_or_else(|| panic!("`{table}` has no cases"));
    let others = cases.others.iter().filter(|(name, _)| *name != key);
    let others = others.map(|(name, value)| format!("{}: {value}", Value::from(name.as_str())));
    let entries: Vec<String> = others.chain([format!("{}: {value}", Value::from(key))]).collect();
    let text = cases.text.replace('@', &format!("{}\n", entries.join(", ")));
    (cases.file.replace("ID", "x"), text.replace("ID", "x"))
}

/// What the files of the cases refer to.
const PROJECT: &[(&str, &str)] = &[
    (".kb/kb.config.yml", "{secrets: {HOOK: env:HOOK, TOKEN: env:TOKEN}}\n"),
    (
        ".kb/specialists/implementer.yml",
        "{schema: kb.specialist/1, id: implementer, role: You write., tools: [fs:read, fs:write], \
         capabilities: [{name: write_article}]}\n",
    ),
    (
        ".kb/specialists/second.yml",
        "{schema: kb.specialist/1, id: second, role: You write., tools: [fs:read, fs:write]}\n",
    ),
    ("agents/reviewer.md", "---\nname: Reviewer\n---\nYou review.\n"),
    ("tasks/implement.md", "Do it.\n"),
    (
        "playbooks/child.yml",
        "{schema: kb.playbook/1, id: child, version: \"1.2\", params: [{name: target, default: x}], \
         steps: [{id: a, set: {x: 1}}]}\n",
    ),
];

/// The errors as (path, line, code), from either form in which problems are printed.
fn errors(said: &Said) -> BTreeSet<(String, u32, String)> {
    let place = |text: &str| {
        let mut parts = text.rsplitn(3, ':');
        let (_, line, path) = (parts.next()?, parts.next()?, parts.next()?);
        Some((path.to_owned(), line.parse::<u32>().ok()?))
    };
    let all = format!("{}\n{}", said.out, said.err);
    let lines: Vec<&str> = all.lines().collect();
    let mut found = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        let (shown, rest) = match (line.strip_prefix("error["), line.split_once(": error[")) {
            (Some(rest), _) => (lines.get(at + 1).map(|next| next.trim_start()), rest),
            (None, Some((shown, rest))) => (Some(shown), rest),
            (None, None) => continue,
        };
        let code = rest.split(']').next().unwrap_or_default().to_owned();
        let shown = shown.map(|shown| shown.trim_start_matches("--> "));
        if let Some((path, line)) = shown.and_then(place) {
            found.insert((path, line, code));
        }
    }
    found
}

fn problem(written: &Written, errors: &BTreeSet<(String, u32, String)>) -> Option<String> {
    let own: Vec<_> = errors.iter().filter(|(path, ..)| *path == written.path).collect();
    let right = match &written.code {
        None => own.is_empty(),
        Some(code) => {
            !own.is_empty() && own.iter().all(|(_, at, own)| *at == written.line && own == code)
        }
    };
    let wanted = match &written.code {
        None => "no error".to_owned(),
        Some(code) => format!("{code} in line {}", written.line),
    };
    let Written { name, text, .. } = written;
    (!right).then(|| format!("{name}: {own:?}, not {wanted}\n{text}"))
}

/// Whether a project can have only one such file, or a command reads only one.
fn is_alone(path: &str) -> bool {
    path.starts_with(".kb/kb.config") || path.starts_with("script")
}

fn alone(written: &Written) -> Option<String> {
    let project = Scratch::new(PROJECT);
    project.write(&written.path, &written.text);
    let said = if written.path.starts_with("script") {
        project.kb(&["playbook", "run", "child", "--script", &written.path])
    } else {
        project.kb(&["playbook", "validate"])
    };
    problem(written, &errors(&said))
}

#[test]
fn a_value_of_each_key_loads_and_another_is_refused_where_it_is_written() {
    let all: Vec<Written> = cases().iter().flat_map(TableCases::all).collect();
    let (single, many): (Vec<_>, Vec<_>) = all.iter().partition(|file| is_alone(&file.path));
    let project = Scratch::new(PROJECT);
    many.iter().for_each(|file| project.write(&file.path, &file.text));
    let mut found = errors(&project.kb(&["playbook", "validate"]).code(2));
    found.extend(errors(&project.kb(&["playbook", "test", "--list"]).code(2)));
    let mut wrong: Vec<String> = many.iter().filter_map(|file| problem(file, &found)).collect();
    let (next, others) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(file) = single.get(next.fetch_add(1, Ordering::Relaxed)) {
                    others.lock().unwrap().extend(alone(file));
                }
            });
        }
    });
    wrong.extend(others.into_inner().unwrap());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// Every table, once.
fn tables() -> impl Iterator<Item = &'static KeyTable> {
    let all = DefinitionFile::ALL.into_iter().flat_map(DefinitionFile::all_tables);
    all.map(|table| (table.name, table)).collect::<BTreeMap<_, _>>().into_values()
}

#[test]
fn each_table_has_a_place_in_a_file_and_each_row_says_more_than_the_declaration() {
    let mut wrong = BTreeSet::new();
    let cases = cases();
    let named: BTreeSet<&str> = cases.iter().map(|cases| cases.table.as_str()).collect();
    assert_eq!(named.len(), cases.len(), "a table has two places");
    let tables: BTreeMap<&str, &KeyTable> = tables().map(|table| (table.name, table)).collect();
    assert_eq!(named, tables.keys().copied().collect());
    for (cases, (key, row)) in
        cases.iter().flat_map(|cases| cases.keys.iter().map(move |row| (cases, row)))
    {
        let Some(spec) = tables[cases.table.as_str()].key(key) else {
            wrong.insert(format!("`{key}` of {} is no key", cases.table));
            continue;
        };
        let derived = KeyCase::of(spec, None);
        if row.others.is_empty() && KeyCase::of(spec, Some(row)) == derived {
            wrong.insert(format!("`{key}` of {} needs no row", cases.table));
        }
    }
    for cases in &cases {
        for key in tables[cases.table.as_str()].keys() {
            let case = KeyCase::of(key, cases.keys.get(key.name));
            if case.valid.is_none() && case.refused.is_none() {
                wrong.insert(format!(
                    "`{}` of {} needs a row with `refused`",
                    key.name, cases.table
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tables.values().flat_map(|table| table.keys()).count() > 600);
}
