//! Which line and command of a bash script failed, as bash itself reports it.
//!
//! Bash reads a file of `kb` before the script, which sets an `ERR` trap for functions and subshells too. The trap
//! writes to the same file, which is in memory: nothing of it is on the streams of the script. A script that could
//! see the trap, or that sets traps itself, gets none, so it does what it would do without it.

use super::Spawn;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

/// The descriptor of the file in a process at the level `pid-namespace`. Scripts number theirs from 3.
pub(super) const DESCRIPTOR: i32 = 219;

/// The most bytes of reports. A script with more had many failures that it ignored.
const REPORTS: u64 = 1 << 20;

/// What a script contains that could see or replace the trap, or that runs text which could.
const WORDS: [&str; 4] = ["trap", "eval", "source", "."];
const PARTS: [&str; 5] = ["$-", "${-", "SHELLOPTS", "errtrace", "BASH_ENV"];

/// The command that ended a script of several lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCommand {
    /// The line of the script, from 1.
    pub line: usize,
    /// The first line of the command; of a pipeline, the line of the script.
    pub command: String,
}

/// The file that bash reads and writes.
pub(super) struct FailureReport {
    file: File,
    begin: u64,
    script: String,
}

impl FailureReport {
    /// Prepares the process to report, if it is a script of several lines that cannot notice it.
    pub(super) fn prepare(spawn: &mut Spawn, is_in_namespace: bool) -> Option<FailureReport> {
        let script = spawn
            .argv
            .last()
            .filter(|script| Spawn::is_script(&spawn.argv) && can_report(script))?
            .clone();
        if spawn.env.iter().any(|(name, _)| name == "BASH_ENV") {
            return None;
        }
        let file = memory_file()?;
        let (path, target) = if is_in_namespace {
            (format!("/proc/self/fd/{DESCRIPTOR}"), format!(">&{DESCRIPTOR}"))
        } else {
            let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
            (path.clone(), format!(">>{path}"))
        };
        let mut file = File::from(file);
        let prelude = prelude(&target);
        file.write_all(prelude.as_bytes()).ok()?;
        "-Eeuo".clone_into(&mut spawn.argv[1]);
        spawn.env.push(("BASH_ENV".to_owned(), path));
        Some(FailureReport { file, begin: prelude.len() as u64, script })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The command that ended the script with this exit code.
    pub(super) fn failed(&self, exit_code: i32) -> Option<FailedCommand> {
        let length = self.file.metadata().ok()?.len().checked_sub(self.begin)?;
        let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= REPORTS)?];
        self.file.read_exact_at(&mut bytes, self.begin).ok()?;
        failed_command(&String::from_utf8_lossy(&bytes), exit_code, &self.script)
    }
}

/// What bash reads before the script.
fn prelude(target: &str) -> String {
    let report = r#"builtin printf "%s\0%s\0%s\0%s\0%s\0" "$?" "$$ $BASHPID" "${#PIPESTATUS[@]}" "$LINENO" "$BASH_COMMAND""#;
    format!(
        "trap 'case $- in *e*) {{ {report} {target}; }} 2>/dev/null || :;; esac' ERR\nunset BASH_ENV\n"
    )
}

fn can_report(script: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    script.trim().contains('\n')
        && !script.split(|c| !is_word(c)).any(|word| WORDS.contains(&word))
        && !PARTS.iter().any(|part| script.contains(part))
}

/// One failure that ended a shell.
struct Report<'a> {
    status: &'a str,
    is_main: bool,
    is_pipeline: bool,
    line: usize,
    command: &'a str,
}

/// The innermost command of the last failure of the main shell.
fn failed_command(reports: &str, exit_code: i32, script: &str) -> Option<FailedCommand> {
    let fields: Vec<&str> = reports.split('\0').collect();
    let reports = fields.chunks_exact(5).filter_map(|fields| {
        let [status, processes, elements, line, command] = fields else { return None };
        let (main, own) = processes.split_once(' ')?;
        let (is_main, is_pipeline) = (main == own, *elements != "1");
        Some(Report { status, is_main, is_pipeline, line: line.parse().ok()?, command })
    });
    let mut reports = reports.collect::<Vec<_>>().into_iter().rev().skip_while(|one| !one.is_main);
    let mut last = reports.next().filter(|main| main.status == exit_code.to_string())?;
    for inner in reports {
        // The report of a subshell, whose text is part of that of the command outside it.
        if inner.is_main || inner.status != last.status || !last.command.contains(inner.command) {
            break;
        }
        last = inner;
    }
    let written = script.lines().nth(last.line.checked_sub(1)?)?.trim();
    let command = if last.is_pipeline && written.contains('|') {
        written.to_owned()
    } else if last.is_pipeline {
        format!("… | {}", last.command)
    } else {
        last.command.lines().next().unwrap_or_default().to_owned()
    };
    Some(FailedCommand { line: last.line, command })
}

#[cfg(target_os = "linux")]
fn memory_file() -> Option<OwnedFd> {
    let file = rustix::fs::memfd_create("kb-failed", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND).ok()?;
    Some(file)
}

#[cfg(not(target_os = "linux"))]
fn memory_file() -> Option<OwnedFd> {
    None
}
