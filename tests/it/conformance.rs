//! The language sentence by sentence, black-box: every case of `tests/conformance/` runs through the
//! binary and says what must happen. The cases are data, so that a reader of the language can check
//! them without reading Rust.

mod keys;
pub(crate) use keys::file_with;
mod sentences;

use crate::scratch::{Said, Scratch};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One definition and what must become of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    /// What is shown; unique in its file.
    name: String,
    /// The playbook, without `schema` and `id`.
    #[serde(default)]
    playbook: Option<String>,
    /// A whole markdown workflow instead, without `id`: the file's name is the id.
    #[serde(default)]
    workflow: Option<String>,
    /// Other files of the project, specialists and settings among them.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The model's turns: the map below `steps:` of a script.
    #[serde(default)]
    script: Option<String>,
    /// `--param`s.
    #[serde(default)]
    params: BTreeMap<String, String>,
    /// Further arguments of `kb playbook run`.
    #[serde(default)]
    args: Vec<String>,
    /// Variables that `kb` is started with.
    #[serde(default)]
    env: BTreeMap<String, String>,
    expect: Expectation,
    /// Commands after the run, one after the other in the same project.
    #[serde(default)]
    then: Vec<Further>,
}

/// A command after the run, and what must become of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Further {
    /// Files that are written before the command; null removes one.
    #[serde(default)]
    write: BTreeMap<String, Option<String>>,
    /// The arguments of `kb`; `@last` is the run. The events are checked only if it prints them (`--json`).
    kb: Vec<String>,
    /// Variables that this command is started with, beside those of the case.
    #[serde(default)]
    env: BTreeMap<String, String>,
    expect: Expectation,
}

/// What must happen; what is not named may be anything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Expectation {
    /// The exit code of the command.
    exit: i32,
    /// How steps and items end.
    #[serde(default)]
    steps: BTreeMap<String, String>,
    /// Codes of failures and diagnostics that the run names.
    #[serde(default)]
    codes: Vec<String>,
    /// Codes that `kb playbook validate` gives, errors and warnings, all of them.
    #[serde(default)]
    validate: Option<BTreeSet<String>>,
    /// The outputs of the run, all of them; of a command that ends no run: none.
    #[serde(default)]
    outputs: Option<Value>,
    /// What the error of a step says, in part; its code among it.
    #[serde(default)]
    errors: BTreeMap<String, String>,
    /// What a gate of a step said, attempt by attempt.
    #[serde(default)]
    verdicts: BTreeMap<String, Vec<String>>,
    /// How often a step began an attempt.
    #[serde(default)]
    attempts: BTreeMap<String, usize>,
    /// Texts of files afterwards; null where there must be none.
    #[serde(default)]
    files: BTreeMap<String, Option<String>>,
    /// What is said on either stream, in part.
    #[serde(default)]
    says: Vec<String>,
    /// What is said on neither stream.
    #[serde(default)]
    never: Vec<String>,
}

impl Case {
    fn project(&self) -> Scratch {
        let scratch = Scratch::new(&[]);
        if let Some(text) = &self.playbook {
            let text = format!("schema: kb.playbook/1\nid: it\n{text}");
            scratch.write(".kb/playbooks/it.yml", &text);
        }
        if let Some(text) = &self.workflow {
            scratch.write(".kb/workflows/it.md", text);
        }
        scratch.write(".kb/specialists/researcher.yml", RESEARCHER);
        scratch.write(".kb/specialists/implementer.yml", IMPLEMENTER);
        scratch.write(".kb/specialists/writer.yml", WRITER);
        scratch.write(".kb/specialists/reader.yml", READER);
        if let Some(turns) = &self.script {
            scratch
                .write("script.yml", &format!("schema: kb.script/1\nsteps:\n{}", indented(turns)));
        }
        self.files.iter().for_each(|(path, text)| scratch.write(path, text));
        scratch
    }

    fn run(&self, scratch: &Scratch) -> Said {
        let mut args: Vec<String> = ["playbook", "run", "it", "--json"].map(str::to_owned).to_vec();
        if self.script.is_some() {
            args.extend(["--script".to_owned(), "script.yml".to_owned()]);
        }
        for (name, value) in &self.params {
            args.extend(["--param".to_owned(), format!("{name}={value}")]);
        }
        args.extend(self.args.iter().cloned());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        scratch.kb_with(&args, |command| {
            command.envs(&self.env);
        })
    }

    /// Everything that is not as it must be.
    fn problems(&self) -> Vec<String> {
        let scratch = self.project();
        let mut problems = self.expect.holds(&scratch, || self.run(&scratch));
        for further in &self.then {
            if problems.is_empty() {
                problems = further.expect.holds(&scratch, || further.run(&scratch, &self.env));
                problems.extend((!problems.is_empty()).then(|| format!("of {:?}", further.kb)));
            }
        }
        problems
    }
}

impl Further {
    fn run(&self, scratch: &Scratch, env: &BTreeMap<String, String>) -> Said {
        for (path, text) in &self.write {
            match text {
                Some(text) => scratch.write(path, text),
                None => std::fs::remove_file(scratch.root().join(path)).unwrap(),
            }
        }
        let args: Vec<&str> = self.kb.iter().map(String::as_str).collect();
        scratch.kb_with(&args, |command| {
            command.envs(env).envs(&self.env);
        })
    }
}

impl Expectation {
    /// Everything that is not as it must be, before and after a command.
    fn holds(&self, scratch: &Scratch, run: impl FnOnce() -> Said) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(wanted) = &self.validate {
            let codes = validated(scratch);
            if codes != *wanted {
                problems.push(format!("`validate` gives {codes:?}, not {wanted:?}"));
            }
        }
        let said = run();
        self.check(&said, scratch, &mut problems);
        if !problems.is_empty() {
            problems.push(format!("stdout:\n{}stderr:\n{}", said.out, said.err));
        }
        problems
    }

    fn check(&self, said: &Said, scratch: &Scratch, problems: &mut Vec<String>) {
        let mut must = |holds: bool, text: String| {
            if !holds {
                problems.push(text);
            }
        };
        must(said.code == self.exit, format!("exit {}, not {}", said.code, self.exit));
        let told = Told::of(said);
        for (step, wanted) in &self.steps {
            let found = told.ends.get(step).map_or("nothing", |end| text(&end["status"]));
            must(found == wanted, format!("`{step}` ended as {found}, not {wanted}"));
        }
        for (step, wanted) in &self.errors {
            let error = told.ends.get(step).map(|end| end["error"].clone()).unwrap_or_default();
            let found = format!("{} {}", text(&error["code"]), text(&error["message"]));
            must(found.contains(wanted), format!("`{step}` says `{found}`, not `{wanted}`"));
        }
        for (step, wanted) in &self.verdicts {
            let found = told.verdicts.get(step).cloned().unwrap_or_default();
            must(found == *wanted, format!("the gate of `{step}` said {found:?}, not {wanted:?}"));
        }
        for (step, wanted) in &self.attempts {
            let found = told.starts.get(step).copied().unwrap_or_default();
            must(found == *wanted, format!("`{step}` had {found} attempts, not {wanted}"));
        }
        if let Some(wanted) = &self.outputs {
            must(told.outputs == *wanted, format!("outputs {}, not {wanted}", told.outputs));
        }
        for (path, wanted) in &self.files {
            let found = scratch.has(path).then(|| scratch.read(path));
            must(found == *wanted, format!("`{path}` holds {found:?}, not {wanted:?}"));
        }
        let all = format!("{}\n{}", said.out, said.err);
        for wanted in self.codes.iter().chain(&self.says) {
            must(all.contains(wanted), format!("nothing says `{wanted}`"));
        }
        for unwanted in &self.never {
            must(!all.contains(unwanted), format!("something says `{unwanted}`"));
        }
        must(!all.contains("panicked"), "a panic is a defect".to_owned());
    }
}

/// What the events of a run tell.
#[derive(Default)]
struct Told {
    ends: BTreeMap<String, Value>,
    verdicts: BTreeMap<String, Vec<String>>,
    starts: BTreeMap<String, usize>,
    outputs: Value,
}

impl Told {
    fn of(said: &Said) -> Told {
        let mut told = Told { outputs: json!({}), ..Told::default() };
        for line in said.out.lines() {
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
            let instance = text(&event["instance"]).to_owned();
            match text(&event["type"]) {
                "step:start" => *told.starts.entry(instance).or_default() += 1,
                "verification:complete" => {
                    let verdict = text(&event["verdict"]).to_owned();
                    told.verdicts.entry(instance).or_default().push(verdict);
                }
                "step:end" => drop(told.ends.insert(instance, event)),
                "run:end" => told.outputs = event["outputs"].clone(),
                _ => {}
            }
        }
        told
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// The codes of errors and warnings; what is only said for information does not count.
fn validated(scratch: &Scratch) -> BTreeSet<String> {
    let said = scratch.kb(&["playbook", "validate", "it", "--json"]);
    let problems: Vec<Value> = serde_json::from_str(&said.out).unwrap_or_default();
    let counts = |problem: &&Value| text(&problem["severity"]) != "info";
    problems.iter().filter(counts).map(|problem| text(&problem["code"]).to_owned()).collect()
}

const RESEARCHER: &str = include_str!("../../.kb/specialists/researcher.yml");
const IMPLEMENTER: &str = include_str!("../../.kb/specialists/implementer.yml");

const WRITER: &str = "schema: kb.specialist/1
id: writer
role: You write files.
tools: [fs:read, fs:write, fs:edit, fs:delete]
output:
  schema:
    created?: string[]
    modified?: string[]
    deleted?: string[]
    summary: string
";

const READER: &str = "schema: kb.specialist/1
id: reader
role: You read files.
tools: [fs:read, fs:list]
output:
  schema:
    facts?: string[]
    summary: string
";

fn cases() -> Vec<(String, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files.iter().filter(|path| path.extension().is_some_and(|e| e == "yml")) {
        let area = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).unwrap();
        let cases: Vec<Case> =
            serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{area}: {error}"));
        all.extend(cases.into_iter().map(|case| (format!("{area}: {}", case.name), case)));
    }
    all
}

#[test]
fn every_case_of_the_language_holds() {
    const THREADS: usize = 4;
    let cases = cases();
    let names: BTreeSet<&String> = cases.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), cases.len(), "each case has a name of its own");
    // One area or case alone: `KB_CASE=joins cargo test conformance`.
    let only = std::env::var("KB_CASE").unwrap_or_default();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((name, case)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let problems = if name.contains(&only) { case.problems() } else { Vec::new() };
                    if !problems.is_empty() {
                        failures.lock().unwrap().insert(name.clone(), problems.join("\n  "));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let report: Vec<String> =
        failures.iter().map(|(name, text)| format!("{name}\n  {text}")).collect();
    assert!(
        report.is_empty(),
        "{} of {} fail:\n\n{}",
        report.len(),
        cases.len(),
        report.join("\n\n")
    );
}
