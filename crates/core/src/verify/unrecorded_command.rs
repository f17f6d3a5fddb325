//! Claimed commands that no call ran as they are written.

use super::call_claim::names_tool;
use super::command_claim::CommandClaim;
use super::command_note::leaves_open;
use super::command_text::{has_in_order, is_question, plain};
use super::finding::Finding;
use super::named_commands::{definition_file, is_definition_file, is_in_file, word_pattern};
use super::observation::ObservationQuery;
use super::recorded_runs::{CommandRecord, RecordedRun};
use super::runner::{canonical, executed_file};
use super::shell::{CommandUse, Script};
use super::statement::{Meaning, means};
use super::unseen_work;
use crate::evidence::Invocation;
use std::collections::BTreeSet;

/// The queries whether scripts of the project that the step executed name the programs of claimed commands.
pub(super) fn script_queries(
    claims: &[CommandClaim],
    trace: &[Invocation],
) -> Vec<ObservationQuery> {
    let scripts = trace.iter().filter_map(Script::of_call);
    let executed: Vec<String> = scripts
        .flat_map(|script| script.commands)
        .filter_map(|used| own_script(&used).map(str::to_owned))
        .collect();
    let programs: BTreeSet<String> = claims.iter().filter_map(program_of).collect();
    let pairs =
        executed.iter().flat_map(|file| programs.iter().map(move |program| (file, program)));
    pairs.map(|(file, program)| names_program(file, program)).collect()
}

fn names_program(file: &str, program: &str) -> ObservationQuery {
    let program = word_pattern(program);
    // A target can execute a script that names the program.
    let other = if is_definition_file(file) { r"|\.sh\b" } else { "" };
    let count = Some(format!(r"\b{program}\b{other}"));
    ObservationQuery::Files { pattern: file.to_owned(), count }
}

/// The script of the project that a command executes, or the file that defines the target which it names.
fn own_script(used: &CommandUse) -> Option<&str> {
    let file = executed_file(&used.argv).map(|file| file.trim_start_matches("./"));
    let file = file.or(definition_file(&used.argv))?;
    let is_plain = !file.starts_with('/') && !file.contains(['*', '?', '[', '{', '!']);
    is_plain.then_some(file)
}

/// The program of a claim about one command.
fn program_of(claim: &CommandClaim) -> Option<String> {
    claim.only_command().map(canonical)?.into_iter().next()
}

impl CommandClaim {
    /// A recorded script of the project that names the program of the claim.
    fn script_with_it<'r>(
        &self,
        record: &CommandRecord<'r>,
    ) -> Option<(String, &'r RecordedRun<'r>)> {
        let program = program_of(self)?;
        let has_it =
            |script: &&str| is_in_file(&names_program(script, &program), record.observations);
        record.runs.iter().rev().find_map(|run| {
            let mut scripts = run.script.commands.iter().filter_map(own_script);
            Some((scripts.find(has_it)?.to_owned(), run))
        })
    }

    /// A recorded command that can have executed the claimed one with operands from elsewhere: `xargs -n1 python3 -m
    /// py_compile`, `find -exec wc -l {} +`. Its last words are the first of the claim, and behind its name or an option.
    fn launched<'r>(&self, record: &CommandRecord<'r>) -> Option<(String, &'r RecordedRun<'r>)> {
        let claimed = self.only_command()?;
        let begins = |words: &[String]| {
            let ends = |word: &&String| word.as_str() != "+" && word.as_str() != ";";
            let mut pairs = words.iter().filter(ends).zip(claimed);
            let is_open = |word: &String| word.contains("{}");
            let fixed = words.iter().take_while(|word| !is_open(word)).count();
            words.len() <= claimed.len() + 1
                && fixed > 0
                && pairs.by_ref().take(fixed).all(|(own, said)| own == said)
        };
        let launches = |used: &&CommandUse| {
            let argv = &used.argv;
            let is_number = |word: &String| word.bytes().all(|c| c.is_ascii_digit());
            let is_option = |word: &String| word.starts_with('-') || is_number(word);
            let is_place = |at: &usize| *at == 1 || is_option(&argv[at - 1]);
            !used.is_neutral()
                && !is_question(&argv[0])
                && (1..argv.len()).filter(is_place).any(|at| begins(&argv[at..]))
        };
        record.runs.iter().rev().find_map(|run| {
            let used = run.script.commands.iter().find(launches)?;
            Some((used.argv.join(" "), run))
        })
    }

    /// The verdict over a command that no call ran. A text with more than the command, or with no command, refutes nothing.
    pub(super) fn unrecorded(&self, name: &str, record: &CommandRecord<'_>) -> Finding {
        let runs = record.runs;
        let reason = format!("`{name}` is claimed to have run, but no recorded call ran it");
        let claimed = plain(&self.text);
        // Words before the command, a note behind it, its last words, some of its words in order, or one of them alone.
        let is_part = |run: &RecordedRun<'_>| {
            run.script.commands.iter().any(|own| {
                let used = plain(&own.argv.join(" "));
                let note = claimed.strip_prefix(&used).map(str::trim_start);
                let is_mark = |c: char| !c.is_alphanumeric() && !"-/._".contains(c);
                let is_noted = note.is_some_and(|note| note.starts_with(is_mark));
                let is_in_part = || {
                    claimed.ends_with(&format!(" {used}"))
                        || has_in_order(&used, &claimed)
                        || used.ends_with(&format!(" {claimed}"))
                        || used.split(' ').any(|word| word == claimed)
                };
                is_noted || !own.is_neutral() && is_in_part()
            })
        };
        let first = name.split(' ').next().unwrap_or_default().to_lowercase();
        if let Some(run) = runs.iter().rev().find(|run| is_part(run)) {
            return Finding::inconclusive(format!("{reason}; it may mean call `{}`", run.call.id));
        }
        let mut calls = record.trace.iter();
        if let Some(call) = calls.find(|call| names_tool(&claimed, call, record.tools)) {
            let tool = &call.tool;
            return Finding::inconclusive(format!(
                "{reason}; it names a tool, which was called (`{tool}`)"
            ));
        }
        // A text that leaves something out may mean any command of its program.
        let is_cut = ["...", "…", "<<"].iter().any(|mark| self.text.contains(mark));
        let program = claimed.split(' ').next().unwrap_or_default();
        let runs_it = |run: &&RecordedRun<'_>| {
            let mut used = run.script.commands.iter();
            let unparsed = run.script.unparsed.as_deref().unwrap_or_default();
            used.any(|used| used.argv[0] == program) || unparsed.starts_with(program)
        };
        if is_cut && let Some(run) = runs.iter().rev().find(runs_it) {
            return Finding::inconclusive(format!("{reason}; it may mean call `{}`", run.call.id));
        }
        if let Some((launcher, run)) = self.launched(record) {
            return Finding::inconclusive(format!(
                "{reason} by itself; call `{}` ran `{launcher}`, which can have executed it",
                run.call.id
            ));
        }
        if let Some((script, run)) = self.script_with_it(record) {
            return Finding::inconclusive(format!(
                "{reason} by this name; call `{}` ran `{script}`, which names the program",
                run.call.id
            ));
        }
        if self.open || leaves_open(&self.text) {
            return Finding::failed(reason).doubted_as("did not run");
        }
        if means(&first, Meaning::Nothing) || means(&first, Meaning::Success) {
            return Finding::inconclusive(format!("{reason}; `{name}` may be no command"));
        }
        unseen_work::unrecorded(reason, record.trace)
    }

    /// The verdict over a claim whose text could not be analysed.
    pub(super) fn unparsed(&self, record: &CommandRecord<'_>) -> Finding {
        let words: Vec<String> = self.text.split_whitespace().map(str::to_owned).collect();
        if record.runs.iter().any(|run| run.may_contain(&words)) {
            return Finding::inconclusive(format!(
                "`{}` is claimed to have run, but its script could not be analysed",
                self.text
            ));
        }
        self.unrecorded(&self.text, record)
    }
}
