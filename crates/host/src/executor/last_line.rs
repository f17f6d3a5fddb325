//! The last line of output of a failed process, for messages.

use kb_core::redaction::Redactor;
use kb_process::ProcessResult;
use kb_process::Spawn;

/// What a process wrote last, the most telling text first: most programs print the cause of a failure to stderr.
pub(super) fn ends(exited: &ProcessResult) -> [&str; 4] {
    [&exited.stderr_tail, &exited.stderr, &exited.stdout_tail, &exited.stdout]
}

/// The last non-blank line of the first text that has one, masked and at most 200 characters long.
pub(super) fn last_line(redactor: &Redactor, ends: &[&str]) -> Option<String> {
    let last = |text: &&str| {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        // Masked before it is shortened; the capture may have shortened it already.
        Some(redactor.mask_cut_text(line).chars().take(200).collect())
    };
    ends.iter().find_map(last)
}

/// The end of a message about a failed command: its last line of [`ends`].
pub(super) fn output_suffix(redactor: &Redactor, argv: &[String], ends: &[&str]) -> String {
    match last_line(redactor, ends) {
        Some(line) => format!(": {line}"),
        None => format!("; no output from `{}`", first_line(redactor, argv)),
    }
}

/// The line and command of a script that failed, such as ` (line 2: ls /nonexistent)`.
pub(super) fn failed_line(redactor: &Redactor, exited: &ProcessResult) -> String {
    exited.failed.as_ref().map_or_else(String::new, |failed| {
        let command = shortened(redactor, &failed.command);
        format!(" (line {}: {command})", failed.line)
    })
}

/// The start of the command, masked, for messages about a process that printed nothing.
fn first_line(redactor: &Redactor, argv: &[String]) -> String {
    let text = match argv.last() {
        Some(script) if Spawn::is_script(argv) => script.clone(),
        _ => argv.join(" "),
    };
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shortened(redactor, line)
}

/// The start of a line, masked.
fn shortened(redactor: &Redactor, line: &str) -> String {
    const SHOWN: usize = 80;
    let masked = redactor.mask_cut_text(line).to_string();
    match masked.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &masked[..at]),
        None => masked,
    }
}
