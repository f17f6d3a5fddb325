//! `docs/diagnostics.md` is generated from the pages of the diagnostic codes.

use crate::generated;
use kb::diagnostic::Code;
use std::fmt::Write;

/// The subjects of the code ranges, by the first four characters of a code.
const RANGES: [(&str, &str); 16] = [
    ("KB01", "Files and YAML"),
    ("KB02", "Definitions"),
    ("KB03", "Expressions and templates"),
    ("KB04", "Plan"),
    ("KB05", "Steps and attempts"),
    ("KB06", "Tools, policies and processes"),
    ("KB07", "Models"),
    ("KB08", "Journal, runs and environment"),
    ("KB09", "Not supported yet"),
    ("KB10", "Triggers and kb serve"),
    ("KB11", "HTTP server"),
    ("KB12", "Language server"),
    ("KB13", "MCP server"),
    ("KB14", "Coding agents"),
    ("KB15", "Planning"),
    ("KB16", "Memory"),
];

const INTRODUCTION: &str = "# Diagnostics

Every problem that `kb` reports has a stable code. `kb explain CODE` prints the page of a code in the
terminal; this page has all of them. [Troubleshooting](troubleshooting.md) starts from symptoms instead.

This page is generated from `crates/base/src/diagnostic/pages/` by the test `docs::diagnostics`.
";

#[test]
fn the_page_of_all_codes_is_fresh() {
    let mut page = INTRODUCTION.to_owned();
    for (range, subject) in RANGES {
        let codes = || Code::all().filter(|code| code.as_str().starts_with(range));
        let _ = writeln!(page, "\n## {subject}\n\n| code | meaning |\n|---|---|");
        for code in codes() {
            let anchor = code.as_str().to_lowercase();
            let _ = writeln!(page, "| [`{code}`](#{anchor}) | {} |", code.title());
        }
        for code in codes() {
            let _ = write!(page, "\n### {code}\n\n**{}**\n\n{}", code.title(), fenced(code.page()));
        }
    }
    assert_eq!(Code::all().count(), page.matches("\n### KB").count(), "a code is in no range");
    generated::file("docs/diagnostics.md", &page);
}

/// The text with its indented lines as fenced blocks.
fn fenced(text: &str) -> String {
    let (mut out, mut block) = (String::new(), Vec::new());
    for line in text.lines() {
        if line.starts_with("  ") || line.is_empty() && !block.is_empty() {
            block.push(line);
            continue;
        }
        close(&mut out, &mut block);
        out.push_str(line);
        out.push('\n');
    }
    close(&mut out, &mut block);
    out
}

/// Writes the collected lines as a fenced block; empty lines at its end stay outside.
fn close(out: &mut String, block: &mut Vec<&str>) {
    let used = block.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let empty = block.len() - used;
    let indent = |line: &&&str| line.len() - line.trim_start().len();
    let lines = &block[..used];
    let shared = lines.iter().filter(|line| !line.is_empty()).map(|line| indent(&line)).min();
    if used > 0 {
        out.push_str("```text\n");
        for line in lines {
            out.push_str(line.get(shared.unwrap_or(0)..).unwrap_or_default());
            out.push('\n');
        }
        out.push_str("```\n");
    }
    out.push_str(&"\n".repeat(empty));
    block.clear();
}
