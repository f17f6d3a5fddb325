//! Definitions: valid files load, invalid files are reported with code, position and help.

use kb::definition::{self, Catalog, FileRole, InputFile, Playbook, Settings, Specialist};
use kb::diagnostic::{Diagnostic, Severity};
use std::sync::Arc;

mod broken;
mod documents;
mod files;
mod keys;
mod mutation;
mod oracles;
mod schema;
mod settings;
mod steps;
mod triggers;
mod unsupported;
mod workflows;

fn file(path: &str, role: FileRole, text: impl AsRef<[u8]>) -> InputFile {
    InputFile { path: path.to_owned(), bytes: text.as_ref().into(), role }
}

/// The diagnostics as lines: `severity code line:column message | help`.
fn lines(catalog: &Catalog, found: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in found {
        let severity = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let at = d.span.map(|span| catalog.sources.position(span.source, span.start));
        let at = at.map(|at| format!("{}:{}", at.line, at.column)).unwrap_or_default();
        out += &format!("{severity} {} {at} {}", d.code, d.message);
        if let Some(help) = &d.help {
            out += &format!(" | {help}");
        }
        out.push('\n');
    }
    out
}

/// Loads one file; returns the catalog and its diagnostics as lines.
fn said(role: FileRole, path: &str, text: impl AsRef<[u8]>) -> (Catalog, String) {
    let (catalog, found) = definition::load(vec![file(path, role, text)]);
    let said = lines(&catalog, &found);
    (catalog, said)
}

/// Loads a playbook that must have no diagnostics.
fn playbook(text: &str) -> Arc<Playbook> {
    let (catalog, said) = said(FileRole::Playbook, "playbooks/p.yml", text);
    assert_eq!(said, "", "{text}");
    catalog.playbooks.values().next().expect("it loaded").clone()
}

/// The text of a playbook with these steps.
fn with_steps(steps: &str) -> String {
    format!("schema: kb.playbook/1\nid: p\nparams: [{{name: topic}}]\nsteps:\n{steps}\n")
}

/// The diagnostics of a playbook with these steps; the first step is on line 5.
fn steps_said(steps: &str) -> String {
    said(FileRole::Playbook, "playbooks/p.yml", with_steps(steps)).1
}

fn specialist(role: FileRole, path: &str, text: &str) -> (Arc<Specialist>, String) {
    let (catalog, said) = said(role, path, text);
    let found = catalog.specialists.values().next();
    (found.unwrap_or_else(|| panic!("it did not load: {said}")).clone(), said)
}

fn settings(text: &str) -> (Arc<Settings>, String) {
    let (catalog, said) = said(FileRole::Settings, ".kb/kb.config.yml", text);
    (catalog.settings, said)
}

/// A sample of the older documents, byte for byte.
fn document(name: &str) -> String {
    let path = format!("{}/tests/definitions/documents/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
