//! Plans of definition files: the documents' own samples, and what is shipped.

use kb::definition::{self, FileRole, InputFile};
use kb::diagnostic::{Diagnostic, render};
use kb::plan::{Plan, graph};
use std::path::Path;

fn read(path: &str, role: FileRole) -> InputFile {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let bytes = std::fs::read(&at).unwrap_or_else(|e| panic!("{}: {e}", at.display()));
    InputFile { path: path.to_owned(), bytes: bytes.into(), role }
}

/// The names in a folder that is shipped, in order.
fn folder(path: &str) -> Vec<String> {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let entries = std::fs::read_dir(at).expect("it is shipped");
    let name = |e: std::fs::DirEntry| format!("{path}/{}", e.file_name().to_string_lossy());
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

/// The shipped ones.
fn specialists() -> Vec<InputFile> {
    folder(".kb/specialists").iter().map(|path| read(path, FileRole::Specialist)).collect()
}

/// The plan of the only playbook among these files, and what was said about it.
#[track_caller]
fn plan_of(files: Vec<InputFile>) -> (Plan, Vec<Diagnostic>) {
    let (catalog, found) = definition::load(files);
    let told = |all: &[Diagnostic]| {
        let drawn =
            all.iter().filter(|d| d.is_error()).map(|d| render(d, &catalog.sources, false, None));
        drawn.collect::<Vec<_>>().join("\n\n")
    };
    assert_eq!(catalog.playbooks.len(), 1, "{}", told(&found));
    let playbook = catalog.playbooks.values().next().unwrap();
    let (plan, problems) = Plan::build(playbook, &catalog);
    (plan.unwrap_or_else(|| panic!("{}", told(&problems))), problems)
}

#[test]
fn the_sample_of_the_orchestrator_document_decides_for_itself_whether_to_fix() {
    let mut files = specialists();
    files.push(read("tests/definitions/documents/add-feature.yml", FileRole::Playbook));
    let (plan, problems) = plan_of(files);
    assert_eq!(problems, []);
    insta::assert_snapshot!(graph::text(&plan), @r#"
    add-feature · Добавление новой фичи · 6 steps, at most 6 one after the other

      ─ research   specialist researcher
      ─ plan       specialist researcher   ← research
      ─ implement  specialist implementer  ← research, plan
      ─ test       specialist implementer  ← implement
      ─ debug      specialist researcher   ← test (may-skip)  if {{test.output.testResult}} == 'failed'
      ─ fix        specialist implementer  ← debug (may-skip)  if {{debug.output}}
    "#);
}

#[test]
fn every_shipped_playbook_has_a_plan_without_a_word_against_it() {
    let playbooks = folder("playbooks");
    assert!(!playbooks.is_empty());
    for path in playbooks {
        let mut files = specialists();
        files.push(read(&path, FileRole::Playbook));
        let (plan, problems) = plan_of(files);
        assert_eq!(problems, [], "{path}\n{}", graph::text(&plan));
    }
}
