//! Random inputs of everything that reads files of users: definitions, front matter, expressions, scripts, test
//! files, values, and files of other tools.
//!
//! `KB_FUZZ=600 KB_SEED=7 cargo test --test it -- fuzz:: --nocapture` runs for 600 seconds and prints the figures
//! as JSON; without `KB_FUZZ`, a few hundred inputs are tried.

use crate::processor_time;
use kb::definition::{self, Documents, FileRole, InputFile};
use kb::diagnostic::{Diagnostic, Sources, Span};
use kb::expression::{Names, Origin, Root, Scope, Style, Template};
use kb::import::{Format, convert};
use kb::value::Json;
use serde_json::json;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Inputs without `KB_FUZZ`.
const FEW: u64 = 400;
/// Maximum size of an input, in bytes: the limit of definitions.
const LARGEST: usize = 1 << 20;
/// The longest time of one input.
const LIMIT: Duration = Duration::from_secs(1);

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n.max(1) as u64) as usize
    }
}

/// What reads an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reader {
    Definition(u8),
    Script,
    Tests,
    Value,
    Expression,
    Import,
}

const ROLES: [FileRole; 7] = [
    FileRole::Playbook,
    FileRole::Workflow,
    FileRole::Specialist,
    FileRole::AgentProfile,
    FileRole::Plugin,
    FileRole::McpLock,
    FileRole::Settings,
];

const EXPRESSIONS: &[&str] = &[
    "{{topic}}",
    "{{ a.output.x | default('none') }} and {{ steps['a-b'].output[0] }}",
    "{{ [1, 2, 3] | map('string') | join(', ') if topic else none }}",
    "{{ (topic ~ 'x') | split('x') | length * 2 ** 3 - 1 }} == 4 and not false",
    "{% if topic %}x{% endif %}{# comment #}",
    "{{ range(10) | batch(3) | list | tojson }}",
    "{{ {'a': 1, 'b': [2]} | dictsort }}",
    "{{ topic | replace('a', 'b') | urlencode | upper | indent(4) }}",
];

/// Parts of definitions and of expressions, which are inserted.
const PARTS: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "|",
    ">",
    "&a ",
    "*a",
    "\t",
    "\n",
    "\n  ",
    "#",
    "!x ",
    "<<",
    "~",
    "é",
    "🔍",
    "---\n",
    "-1",
    "null",
    "true",
    "1e99",
    "..",
    "\u{0}",
    "\u{feff}",
    "\\",
    "$",
    "${{ x }}",
    "(",
    ")",
    " | ",
    "steps:",
    "run:",
    "forEach:",
    "matrix:",
    "schema:",
    "loop:",
    "999999999999999999999",
    "0x7f",
    "1h30m",
    "range(9999999)",
    "a.b.c",
    ".kb/../..",
    "\r\n",
    "| default(",
    "if ",
    " else ",
    " and ",
    "not ",
    "**",
];

/// Texts that are repeated up to the size limit, to find inputs that take long.
const LONG: &[&str] = &[
    "[",
    "{a: ",
    "- ",
    "- - ",
    "(",
    "{{",
    "{{ (",
    "a.",
    "| list ",
    " ~ 'x'",
    "not ",
    "1 + ",
    "&a [*a] ",
    "\n",
    "  \n",
    "'",
    "x",
    "- {id: a, run: echo}\n",
    "{topic}",
    "*",
    "\"\\u0041\"",
    "steps: [",
    "? ",
    "a: ",
    "#",
    "{{topic}}",
    "**/",
    "[[",
    "(a|b)*",
    "{a.b}",
    "$a.output ",
    "é",
];

struct World;

impl Scope for World {
    fn lookup(&self, _: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let value = json!({"output": {"x": [1, "two", null]}, "topic": "tea", "x": {"y": 3}});
        Some(Arc::new(match field {
            Some(field) => value.get(field).cloned().unwrap_or(Json::Null),
            None => value,
        }))
    }
}

fn read(reader: Reader, bytes: &[u8]) {
    match reader {
        Reader::Definition(role) => {
            let role = ROLES[role as usize];
            let path = match role {
                FileRole::Workflow | FileRole::AgentProfile => "x.md",
                _ => "x.yml",
            };
            let file = InputFile { path: path.to_owned(), bytes: bytes.into(), role };
            let (catalog, found) = definition::load(vec![file]);
            points_inside(&found, &catalog.sources);
            for playbook in catalog.playbooks.values() {
                let _ = kb::plan::Plan::build(playbook, &catalog);
            }
        }
        Reader::Script => {
            let (_, sources, found) = definition::load_script("s.yml", bytes);
            points_inside(&found, &sources);
        }
        Reader::Tests => {
            let mut sources = Sources::default();
            let (_, found) = definition::load_tests("x.test.yml", bytes, &mut sources);
            points_inside(&found, &sources);
        }
        Reader::Value => {
            let (_, sources, found) = definition::load_value("params.yml", bytes);
            points_inside(&found, &sources);
        }
        Reader::Expression => {
            let text = String::from_utf8_lossy(bytes);
            let source = Sources::default().add("s.yml", text.as_ref());
            let names = Names { params: ["topic".to_owned()].into(), ..Names::default() };
            for style in [Style::Playbook, Style::Workflow] {
                let origin = Origin { span: Span::new(source, 0, text.len()), verbatim: None };
                if let Ok(template) = Template::parse(&text, origin, &names, style) {
                    let _ = template.evaluate(&World);
                }
            }
        }
        Reader::Import => {
            for path in ["x.yml", "x.md"] {
                let (Some(file), ..) = definition::load_positioned(path, bytes, Documents::Several)
                else {
                    continue;
                };
                let detected = Format::detect(path, &file);
                for (_, format) in
                    Format::ALL.iter().filter(|(_, f)| detected.is_none_or(|d| d == *f))
                {
                    let made = convert(*format, "x", &file, &Default::default());
                    let definitions = |role: FileRole, texts: Vec<(String, String)>| {
                        texts.into_iter().map(move |(id, text)| InputFile {
                            path: format!("{id}.yml"),
                            bytes: text.as_bytes().into(),
                            role,
                        })
                    };
                    let playbooks = definitions(FileRole::Playbook, made.playbooks);
                    let files =
                        playbooks.chain(definitions(FileRole::Specialist, made.specialists));
                    let _ = definition::load(files.collect());
                }
            }
        }
    }
}

fn points_inside(found: &[Diagnostic], sources: &Sources) {
    for diagnostic in found {
        let Some(span) = diagnostic.span else { continue };
        let text = &sources.get(span.source).text;
        assert!(span.start <= span.end && span.end as usize <= text.len(), "{diagnostic:?}");
        assert!(text.is_char_boundary(span.start as usize), "{diagnostic:?}");
    }
}

/// Valid files to start from.
fn seeds() -> Vec<(Reader, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = Vec::new();
    let mut add = |folder: &str, reader: fn(&str) -> Option<Reader>| {
        for entry in walkdir(&root.join(folder)) {
            let name = entry.to_string_lossy().into_owned();
            if let (Some(reader), Ok(bytes)) = (reader(&name), std::fs::read(&entry)) {
                seeds.push((reader, bytes));
            }
        }
    };
    add("tests/definitions/documents", |name| {
        Some(Reader::Definition(match name {
            name if name.ends_with(".md") => 1,
            name if name.contains("add-feature") => 0,
            name if name.contains("escalation") || name.contains("security") => 5,
            _ => 2,
        }))
    });
    for folder in ["templates", "workflows", "agents", ".kb"] {
        add(folder, |name| {
            Some(match name {
                name if name.ends_with(".test.yml") => Reader::Tests,
                name if name.contains("/specialists/") => Reader::Definition(2),
                name if name.contains("/agents/") => Reader::Definition(3),
                name if name.ends_with(".md") => Reader::Definition(1),
                name if name.contains("config") => Reader::Definition(5),
                name if name.contains("/playbooks/") => Reader::Definition(0),
                _ => return None,
            })
        });
    }
    add("playbooks", |_| Some(Reader::Definition(0)));
    add("assets/demo", |name| name.ends_with("script.yml").then_some(Reader::Script));
    for text in crate::importing::SAMPLES.iter().chain(crate::import_published::SAMPLES) {
        seeds.push((Reader::Import, text.as_bytes().to_vec()));
    }
    for text in EXPRESSIONS {
        seeds.push((Reader::Expression, text.as_bytes().to_vec()));
    }
    seeds.push((Reader::Value, b"{\"a\": [1, {\"b\": null}], \"c\": \"x\"}".to_vec()));
    seeds.push((Reader::Tests, crate::playbook_faults::SAMPLE.as_bytes().to_vec()));
    seeds
}

fn walkdir(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(walkdir(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// A changed text: a few small changes, rarely a long repetition.
fn changed(text: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..1 + dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + 1 + dice.below(60)).min(bytes.len()).max(at);
        match dice.below(10) {
            0 | 1 => drop(bytes.drain(at..end)),
            2..=4 => {
                let part = PARTS[dice.below(PARTS.len())];
                bytes.splice(at..at, part.bytes());
            }
            5 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            6 if !other.is_empty() => {
                let from = dice.below(other.len());
                let part = &other[from..(from + dice.below(200)).min(other.len())];
                bytes.splice(at..at, part.iter().copied());
            }
            7 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = dice.roll() as u8;
                }
            }
            8 => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
                let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
                if !lines.is_empty() {
                    lines.swap(a, b);
                }
                bytes = lines.concat().into_bytes();
            }
            _ => {
                let part = PARTS[dice.below(PARTS.len())];
                bytes.splice(at..end, part.bytes());
            }
        }
    }
    if dice.below(50) == 0 {
        let part = LONG[dice.below(LONG.len())];
        let sizes = [100, 1_000, 10_000, 100_000, LARGEST - bytes.len().min(LARGEST) - 1];
        let count = sizes[dice.below(sizes.len())] / part.len();
        let at = dice.below(bytes.len() + 1);
        bytes.splice(at..at, part.repeat(count).bytes());
    }
    bytes.truncate(LARGEST);
    bytes
}

#[test]
fn no_input_panics_or_takes_long() {
    let seed: u64 = std::env::var("KB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let limit: Option<u64> = std::env::var("KB_FUZZ").ok().and_then(|n| n.parse().ok());
    let (mut dice, seeds) = (Dice(seed), seeds());
    let began = Instant::now();
    let (mut inputs, mut bytes_read, mut panics, mut slow) = (0u64, 0u64, Vec::new(), Vec::new());
    let mut counts: BTreeMap<Reader, (u64, Duration)> = BTreeMap::new();
    let mut slowest: (Duration, String) = (Duration::ZERO, String::new());
    loop {
        let done = match limit {
            Some(seconds) => began.elapsed() >= Duration::from_secs(seconds),
            None => inputs >= FEW,
        };
        if done {
            break;
        }
        let (reader, text) = &seeds[dice.below(seeds.len())];
        let (_, other) = &seeds[dice.below(seeds.len())];
        let input = changed(text, other, &mut dice);
        let start = processor_time::of_thread();
        let ended = catch_unwind(AssertUnwindSafe(|| read(*reader, &input)));
        let took = processor_time::of_thread().saturating_sub(start);
        inputs += 1;
        bytes_read += input.len() as u64;
        let count = counts.entry(*reader).or_default();
        *count = (count.0 + 1, count.1.max(took));
        let shown = || {
            let start: String = String::from_utf8_lossy(&input).chars().take(200).collect();
            format!("{reader:?}, {} bytes: {start}", input.len())
        };
        if took > slowest.0 {
            slowest = (took, shown());
        }
        if took > LIMIT {
            slow.push(json!({"ms": took.as_millis() as u64, "input": shown()}));
            keep("slow", &input, inputs);
        }
        if ended.is_err() {
            panics.push(shown());
            keep("panic", &input, inputs);
        }
    }
    let readers: BTreeMap<String, Json> = counts
        .iter()
        .map(|(reader, (count, most))| {
            (format!("{reader:?}"), json!({"inputs": count, "slowestMs": most.as_millis() as u64}))
        })
        .collect();
    let found = json!({
        "seed": seed,
        "seconds": began.elapsed().as_secs(),
        "inputs": inputs,
        "mib": bytes_read >> 20,
        "panics": panics.len(),
        "overOneSecond": slow.len(),
        "slowestMs": slowest.0.as_millis() as u64,
        "slowest": slowest.1,
        "readers": readers,
        "first": {"panics": panics.iter().take(5).collect::<Vec<_>>(), "slow": slow.iter().take(5).collect::<Vec<_>>()},
    });
    println!("{found:#}");
    assert!(panics.is_empty(), "{panics:#?}");
}

/// Keeps an input in the folder `KB_FUZZ_KEEP`.
fn keep(what: &str, input: &[u8], number: u64) {
    if let Some(folder) = std::env::var_os("KB_FUZZ_KEEP") {
        let _ = std::fs::write(Path::new(&folder).join(format!("{what}-{number}")), input);
    }
}
