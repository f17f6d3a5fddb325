//! Each key of every definition file, black-box: a value that loads, and a value that is refused with its
//! code at the line where the key is written. The cases are in `tests/conformance/keys/`; the tables of
//! keys say which cases there must be.

use crate::scratch::{Said, Scratch};
use kb::definition::{DefinitionFile, KeySpec, KeyType};
use serde::Deserialize;
use serde_json::{Map, Value};
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
    others: Map<String, Value>,
    keys: BTreeMap<String, KeyCase>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyCase {
    /// Absent: the key is allowed nowhere in this map.
    valid: Option<Value>,
    /// Absent: the key takes any value, so it is written twice.
    refused: Option<Value>,
    /// The code that refuses it.
    code: String,
    /// Further entries of the map; null removes an entry of the table.
    #[serde(default)]
    others: Map<String, Value>,
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
        let id = format!("{}-{}-{refused}", self.table, key.trim_matches('$')).to_lowercase();
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
        let both = self.keys.iter().flat_map(|(key, case)| {
            let valid = case.valid.iter().map(|value| self.written(key, case, value, false));
            let refused = case.refused.as_ref().or(case.valid.as_ref());
            valid.chain(refused.map(|value| self.written(key, case, value, true)))
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

/// Which forms of a case a key needs, from its type: a value that loads, and one that is refused.
fn needed(key: &KeySpec) -> (bool, bool) {
    match key.ty {
        KeyType::Forbidden => (false, true),
        KeyType::Any => (true, false),
        _ => (true, true),
    }
}

#[test]
fn each_key_of_each_table_has_a_valid_and_an_invalid_case() {
    let mut given = BTreeMap::new();
    for cases in cases() {
        for (key, case) in cases.keys {
            let name = (cases.table.clone(), key);
            assert!(given.insert(name.clone(), case).is_none(), "{name:?} has two cases");
        }
    }
    let mut wrong = BTreeSet::new();
    let mut known = BTreeSet::new();
    for table in DefinitionFile::ALL.into_iter().flat_map(DefinitionFile::all_tables) {
        for key in table.keys() {
            let name = (table.name.to_owned(), key.name.to_owned());
            let (valid, refused) = needed(key);
            match given.get(&name) {
                None => drop(wrong.insert(format!("{name:?} has no case"))),
                Some(case) if case.valid.is_some() != valid => {
                    wrong.insert(format!("{name:?} needs a valid case: {valid}"));
                }
                Some(case) if case.refused.is_none() && refused => {
                    wrong.insert(format!("{name:?} has no case that is refused"));
                }
                Some(_) => {}
            }
            known.insert(name);
        }
    }
    let extra = given.keys().filter(|name| !known.contains(name));
    wrong.extend(extra.map(|name| format!("{name:?} is no key")));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(known.len() > 600, "{} keys", known.len());
}
