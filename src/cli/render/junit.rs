//! Results of tests as a JUnit report.

use kb_base::diagnostic::{self, Sources};
use kb_service::service::TestReport;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A JUnit report: one suite for each test file.
pub(in crate::cli) fn report(reports: &[TestReport], sources: &Sources) -> String {
    let mut suites: BTreeMap<&str, Vec<&TestReport>> = BTreeMap::new();
    for report in reports {
        suites.entry(&report.test.file).or_default().push(report);
    }
    let failures = |of: &[&TestReport]| of.iter().filter(|report| !report.passed()).count();
    let seconds = |of: &[&TestReport]| of.iter().map(|r| r.duration.as_secs_f64()).sum::<f64>();
    let all: Vec<&TestReport> = reports.iter().collect();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites name=\"kb\" tests=\"{}\" failures=\"{}\" time=\"{:.3}\">",
        all.len(),
        failures(&all),
        seconds(&all)
    );
    for (file, suite) in suites {
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" time=\"{:.3}\">",
            attribute(file),
            suite.len(),
            failures(&suite),
            seconds(&suite)
        );
        for report in suite {
            case(report, sources, &mut text);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn case(report: &TestReport, sources: &Sources, text: &mut String) {
    let case = &report.test.case;
    let (class, name) = (attribute(&case.playbook.value), attribute(&case.name.value));
    let time = report.duration.as_secs_f64();
    let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{time:.3}\"");
    if report.passed() {
        text.push_str("/>\n");
        return;
    }
    text.push_str(">\n");
    for problem in &report.problems {
        let message = attribute(problem.message.lines().next().unwrap_or_default());
        let body = content(&diagnostic::render(problem, sources, false, None));
        let _ = writeln!(text, "      <failure message=\"{message}\">{body}</failure>");
    }
    text.push_str("    </testcase>\n");
}

/// A text as the value of an attribute in double quotes.
fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// A text as the content of an element, without characters that XML does not allow.
fn content(text: &str) -> String {
    let allowed = |c: char| match c {
        '\t' | '\n' => Some(c),
        c if c < ' ' || ('\u{fffe}'..='\u{ffff}').contains(&c) => Some('\u{fffd}'),
        '\r' => None,
        c => Some(c),
    };
    let text: String = text.chars().filter_map(allowed).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
