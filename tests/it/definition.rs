//! Definitions: what loads, and what is said about what does not.

use kb::definition::{self, Catalog, FileRole, InputFile};
use kb::diagnostic::{Diagnostic, Severity};

fn file(path: &str, role: FileRole, text: impl AsRef<[u8]>) -> InputFile {
    InputFile { path: path.to_owned(), bytes: text.as_ref().to_vec(), role }
}

/// What `load` says, a line each: `severity code line:column message | help`.
fn lines(catalog: &Catalog, found: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in found {
        let severity = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let at = d.span.map(|span| catalog.sources.place(span.source, span.start));
        let at = at.map(|at| format!("{}:{}", at.line, at.column)).unwrap_or_default();
        out += &format!("{severity} {} {at} {}", d.code, d.message);
        if let Some(help) = &d.help {
            out += &format!(" | {help}");
        }
        out.push('\n');
    }
    out
}

#[test]
fn smoke() {
    for (name, role) in [
        ("add-feature.yml", FileRole::Playbook),
        ("codebase-expert.yml", FileRole::Specialist),
        ("researcher-11-1.yml", FileRole::Specialist),
        ("implementer-11-2.yml", FileRole::Specialist),
        ("researcher-19-2.yml", FileRole::Specialist),
        ("writer-003.yml", FileRole::Specialist),
        ("escalation.yml", FileRole::Settings),
        ("inconclusive.yml", FileRole::Settings),
        ("security-003-4-5.yml", FileRole::Settings),
        ("security-003-12-3.yml", FileRole::Settings),
        ("research-pipeline.md", FileRole::Workflow),
        ("chain.md", FileRole::Workflow),
        ("fan-out.md", FileRole::Workflow),
        ("debate.md", FileRole::Workflow),
        ("review-loop.md", FileRole::Workflow),
        ("test-agent.md", FileRole::AgentProfile),
    ] {
        let bytes = std::fs::read(format!("tests/definitions/documents/{name}")).unwrap();
        let (catalog, found) = definition::load(vec![file(name, role, bytes)]);
        println!(
            "=== {name}: {} playbooks, {} specialists\n{}",
            catalog.playbooks.len(),
            catalog.specialists.len(),
            lines(&catalog, &found)
        );

        for p in catalog.specialists.values() {
            println!("{:?}", p);
        }
    }
}
