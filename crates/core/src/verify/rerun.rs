//! Test runs whose exit code the shell hid, repeated by the gate.
//!
//! Only a recognised test command that the specialist itself ran is repeated, only as it stood alone in
//! its script, so that the repetition executes nothing else and nothing new.

use super::command_claim::CommandClaim;
use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::observation::{CommandEnd, CommandRun, Observation, ObservationQuery, Observations};
use super::program_place::other_program;
use super::recorded_runs::{CommandResult, RecordedRun, RecordedRuns};
use super::runner::TestCommands;
use super::sourced_files::SourcedFiles;
use crate::evidence::{Invocation, TestCounts};
use kb_base::value::Json;
use std::time::Duration;

/// Time limit of a repetition; the timeout of the gate applies as well.
const LIMIT: Duration = Duration::from_secs(600);

/// A test command to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rerun {
    pub(super) argv: Vec<String>,
    /// Whether it runs all tests, so that its success proves that they pass.
    whole: bool,
    /// Whether the settings name it, so that its exit code is enough.
    named: bool,
    /// The call whose script hid the exit code.
    call: String,
}

impl Rerun {
    /// The test command of a step whose report says that the tests passed, if no recorded run shows its
    /// exit code and one hid it.
    pub(super) fn of(
        trace: &[Invocation],
        root: &str,
        claims: &[CommandClaim],
        known: &TestCommands,
    ) -> Option<Rerun> {
        let nothing = Observations::new();
        let sources = SourcedFiles::new(trace, &nothing, root);
        let runs = RecordedRuns::of(trace, &sources);
        let last = runs.iter().rev().find_map(|run| Some((run, hidden(run, claims, known)?)));
        let (run, hidden) = last?;
        let argv = hidden?;
        // Nothing is observed yet: a program outside of the project is not known to be the one of its name.
        let edits = LaterEdits::new(trace, &nothing, root);
        if other_program(&argv, "", &edits).is_some() {
            return None;
        }
        // A part of the tests that passes does not show that all of them do.
        let (whole, named) = known.read(&argv).map_or((false, false), |test| {
            (test.selection().is_none() && test.hiding_option().is_none(), test.named)
        });
        is_alone(run.call).then(|| Rerun { whole, named, argv, call: run.call.id.clone() })
    }

    pub(super) fn query(&self) -> ObservationQuery {
        ObservationQuery::Command { argv: self.argv.clone(), timeout: Some(LIMIT) }
    }

    /// What the repetition shows; `None` if it could not be made or did not end.
    pub(super) fn finding(
        &self,
        observations: &Observations,
        claimed: (Option<u64>, Option<u64>),
    ) -> Option<Finding> {
        let Some(Observation::Command(run)) = observations.get(&self.query()) else { return None };
        let CommandRun { ended, process, .. } = run;
        let name = self.argv.join(" ");
        let failed = |what: String| {
            Some(Finding::failed(format!(
                "tests are claimed to have passed, but the script of call `{}` hid the exit code of \
                 `{name}`, and when the gate repeated it, {what}",
                self.call
            )))
        };
        match ended {
            CommandEnd::Code(0) => {}
            CommandEnd::Code(code) => return failed(format!("it exited with code {code}")),
            CommandEnd::Signal(signal) => {
                return failed(format!("it was killed by signal {signal}"));
            }
            CommandEnd::TimedOut
            | CommandEnd::Stopped
            | CommandEnd::NotStarted(_)
            | CommandEnd::Unknown(_)
            | CommandEnd::Forbidden(_) => return None,
        }
        let counts = process.as_ref().and_then(|process| process.tests);
        let differs = |claimed: Option<u64>, found: u64| claimed.is_some_and(|n| n != found);
        match counts {
            Some(TestCounts { failed: 1.., .. }) => {
                failed("its output reported failures".to_owned())
            }
            Some(counts) if counts.ran() == 0 => failed("it ran 0 tests".to_owned()),
            Some(counts) if differs(claimed.0, counts.passed) => {
                failed(format!("{} tests passed", counts.passed))
            }
            // Without numbers the exit code of the repetition shows no more than that of the run.
            None if claimed != (None, None) || !self.named => None,
            _ if !self.whole => None,
            Some(counts) if counts.deselected > 0 && !self.named => None,
            _ => Some(Finding::passed()),
        }
    }
}

/// Whether a run executed tests: then the command to repeat, if its exit code is hidden and the command
/// is known.
fn hidden(
    run: &RecordedRun<'_>,
    claims: &[CommandClaim],
    known: &TestCommands,
) -> Option<Option<Vec<String>>> {
    let mut tests = run.script.commands.iter().filter(|used| known.contains(&used.argv));
    if let Some(test) = tests.next_back() {
        let is_masked = matches!(run.result(test), CommandResult::Masked(_));
        return Some(is_masked.then(|| test.argv.clone()));
    }
    let text = run.script.unparsed.as_ref().filter(|text| known.may_be_in(text))?;
    let claimed = claims.iter().filter_map(CommandClaim::only_command);
    let mut claimed = claimed.filter(|argv| known.contains(argv));
    Some(claimed.find(|argv| text.contains(&argv.join(" "))).map(<[String]>::to_vec))
}

/// Whether the script of a call runs its commands in the environment of the step: without assignments,
/// other folders and sourced files.
fn is_alone(call: &Invocation) -> bool {
    let texts = |key: &str| match call.args.get(key) {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(words)) => {
            words.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    let text = format!("{} {}", texts("command"), texts("argv"));
    let words = || text.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c));
    let moves = ["cd", "pushd", "source", ".", "export", "env", "exec", "eval", "trap", "timeout"];
    call.args.get("cwd").is_none()
        && call.args.get("env").is_none()
        && !words().any(|word| word.contains('=') || moves.contains(&word))
}
