//! Gates: checks and claims, compared with recorded tool calls and with the files on disk, give a
//! verdict.
//!
//! Pure. [`Criterion::resolve`] evaluates the placeholders of a check. [`ParsedGate::queries`] lists
//! what a [`Gate`] must observe, `executor` observes it, and [`ParsedGate::examine`] computes the
//! verdict from the observations alone. A [`Basis`] records the observations, so `kb run verify` can compute the verdict
//! again. Statements of a model are never proof, and a check that cannot decide is `inconclusive`.
//!
//! `check/` has one file per kind of check. Claims are in one file per kind as well: `claim_check` for
//! files, `command_claim` for commands, `test_claim` for test results, `test_numbers` for
//! numbers of tests alone, `number_source` for who printed them, `call_claim` for tool calls. `statement/` is the one
//! reader of sentences and other keys, and `support` compares what they say with the record. `reading` and `unread` find what
//! no check read: a gate that leaves something of its output unread does not pass. `shell/` decides what the exit code of a
//! script proves.

mod answer;
mod asked_work;
mod basis;
mod call_claim;
mod call_outcomes;
#[cfg(test)]
mod cases;
mod changed_lines;
mod check;
mod check_evidence;
mod claim;
mod claim_check;
mod claim_content;
mod claim_entry;
mod claim_kind;
mod claimed_digest;
mod claimed_result;
mod command_claim;
mod command_note;
mod command_text;
mod commands_before;
mod committed;
mod deciding;
mod definitions;
mod earlier_step;
mod evaluate;
mod examined;
mod expected_changes;
mod failed_commands;
mod failed_tests;
mod finding;
mod gate;
mod ignored_files;
mod judging;
mod kept;
mod keys;
mod later_edits;
mod listed_commands;
mod manifest;
mod named_commands;
mod names;
mod normalized_path;
mod number_source;
mod observation;
mod omission;
mod output_claims;
mod own_record;
mod path_glob;
mod program_place;
mod python_modules;
mod reading;
mod recheck;
mod recorded_changes;
mod recorded_runs;
mod relied;
mod replaced_text;
mod reported_failures;
mod rerun;
mod run_before;
mod runner;
mod sandbox_needs;
mod shell;
mod sourced_files;
mod statement;
mod statement_check;
mod suites;
mod support;
mod support_runs;
mod test_checks;
mod test_claim;
mod test_doubt;
mod test_numbers;
mod test_proof;
mod test_words;
mod tool_tier;
mod unclear_claim;
mod unread;
mod unread_key;
mod unrecorded_command;
mod unseen_work;
mod whole_run;

pub use asked_work::AskedWork;
pub use basis::{Basis, IncompleteBasis};
pub use check::*;
pub use commands_before::commands_before;
pub use earlier_step::{EarlierStep, can_decide};
pub use evaluate::ParsedGate;
pub use examined::Examined;
pub use gate::Gate;
pub use ignored_files::{IgnoredChange, IgnoredFiles, IgnoredFolder};
pub use judging::{JudgeQuestion, judge_question};
pub use names::asks_for_new;
pub use observation::{
    CommandEnd, CommandRun, DefinedName, JudgeReply, Location, MatchedFile, NamePlace, NamesSeen,
    Observation, ObservationError, ObservationQuery, Observations,
};
pub use relied::ReliedFact;
pub use run_before::{RUN_BEFORE, check_args};
pub use sandbox_needs::{SandboxNeed, commands_of, sandbox_needs};
pub use unread_key::{UnreadKey, unread_keys};
