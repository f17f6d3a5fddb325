//! [`hints`]: what can follow a failure, for people and for steps that read it.
//!
//! A specialist reports suggestions of its own. Those of every other failure follow from its code, the
//! outcome and the kind of the step, so they are not stored.

use kb_base::diagnostic::Code;
use kb_base::value::HintAction::{AskUser, ChangeStrategy, EscalateModel, Retry, SwitchSpecialist};
use kb_base::value::{Failure, HintAction, OutcomeKind, RecoveryHint};
use kb_language::definition::Step;

type Note = (HintAction, &'static str);

const REFUTED_WORK: &[Note] = &[
    (ChangeStrategy, "the task can name what the failed checks ask for"),
    (EscalateModel, "a larger model may do what the checks ask for"),
    (SwitchSpecialist, "another specialist may have the tools that the work needs"),
];
const REFUTED_RESULT: &[Note] =
    &[(AskUser, "correct the work or the check that failed, then `kb run retry`")];
const UNDECIDED: &[Note] =
    &[(AskUser, "decide whether the work is accepted, and add a check that can prove it")];
const REJECTED: &[Note] = &[(AskUser, "change what was rejected, then `kb run retry`")];
const ITEMS: &[Note] = &[(Retry, "`kb run retry` repeats the items that failed")];
const LOOP: &[Note] =
    &[(AskUser, "raise `max` of the loop, or correct the step that never makes `until` true")];
const MERGE: &[Note] = &[(AskUser, "combine both sides by hand; the files of the step are kept")];
const CHILD: &[Note] = &[(Retry, "`kb run retry` continues the child run where it failed")];
const EVALUATION: &[Note] = &[(AskUser, "correct the expression or the value that it reads")];
const DEFECT: &[Note] = &[(Retry, "a defect of `kb` may not happen again; please report it")];

const LATER: &[Note] = &[(Retry, "the cause is temporary")];
const NOT_FOUND: &[Note] =
    &[(AskUser, "install the program, or correct its name or its permissions")];
/// 128 and the signal KILL, which the kernel sends when memory is short.
const EXIT_KILLED: i32 = 137;
/// 128 and the signal PIPE.
const EXIT_CLOSED_PIPE: i32 = 141;
const KILLED: &[Note] = &[
    (Retry, "a signal ended the process"),
    (AskUser, "check whether it needs more memory than there is"),
];
const CLOSED_PIPE: &[Note] = &[(
    AskUser,
    "a command of a pipe ended before it read all of its input (`… | head -1`): let it read on, or write to a file",
)];
const SIGNALLED: &[Note] =
    &[(Retry, "a signal ended the process"), (AskUser, "read what it wrote before: `kb run logs`")];
const EXIT: &[Note] = &[
    (AskUser, "correct what its output reports: `kb run logs`"),
    (Retry, "if the command can succeed without a change"),
];
const SLOW: &[Note] = &[
    (Retry, "with a higher `timeout`, or less to do"),
    (AskUser, "check whether it waits for something that never comes"),
];
const SLOW_MODEL: &[Note] = &[
    (Retry, "with more time or a smaller task"),
    (EscalateModel, "a larger model may need fewer turns"),
];
const TOOL: &[Note] =
    &[(AskUser, "correct what the message names"), (Retry, "if the cause was temporary")];
const TOOL_OF_SPECIALIST: &[Note] = &[
    (ChangeStrategy, "the task can name another way"),
    (AskUser, "correct what the message names"),
];
const BAD_OUTPUT: &[Note] = &[(AskUser, "correct the output of the step, or relax its schema")];
const BAD_ANSWER: &[Note] = &[(EscalateModel, "a larger model may follow the output schema")];
const NO_PROGRESS: &[Note] = &[
    (ChangeStrategy, "state in the task what to do instead"),
    (EscalateModel, "a larger model repeats itself less"),
];
const DENIED: &[Note] = &[(AskUser, "allow it in the settings, or take it out of the step")];
const UNKNOWN: &[Note] = &[(AskUser, "read the message and the log: `kb run logs`")];

/// What can follow a failure of a step whose last attempt had this outcome, most promising first. Empty after a
/// cancellation.
pub fn hints(step: &Step, outcome: Option<OutcomeKind>, failure: &Failure) -> Vec<RecoveryHint> {
    let reported = failure.reported_hints();
    if !reported.is_empty() {
        return reported;
    }
    let specialist = step.kind.is_specialist();
    let notes = by_code(failure.code, specialist)
        .unwrap_or_else(|| by_outcome(outcome.unwrap_or(OutcomeKind::Unknown), specialist));
    notes.iter().map(|(action, note)| RecoveryHint::new(*action, *note)).collect()
}

/// The suggestions of failures whose code says more than their outcome.
fn by_code(code: Code, specialist: bool) -> Option<&'static [Note]> {
    const TABLE: &[(Code, &[Note])] = &[
        (Code::GATE_INCONCLUSIVE, UNDECIDED),
        (Code::GATE_UNCHECKED, UNDECIDED),
        (Code::APPROVAL_REJECTED, REJECTED),
        (Code::ITEMS_FAILED, ITEMS),
        (Code::LOOP_EXHAUSTED, LOOP),
        (Code::MERGE_CONFLICT, MERGE),
        (Code::CHILD_RUN_FAILED, CHILD),
        (Code::NOT_A_LIST, EVALUATION),
        (Code::NOT_A_TIME, EVALUATION),
        (Code::INTERNAL_ERROR, DEFECT),
        (Code::NOT_STARTED, NOT_FOUND),
    ];
    match code {
        Code::GATE_FAILED if specialist => Some(REFUTED_WORK),
        Code::GATE_FAILED => Some(REFUTED_RESULT),
        _ => TABLE.iter().find(|(known, _)| *known == code).map(|(_, notes)| *notes),
    }
}

fn by_outcome(outcome: OutcomeKind, specialist: bool) -> &'static [Note] {
    match outcome {
        OutcomeKind::Transient => LATER,
        OutcomeKind::Exit(126 | 127) => NOT_FOUND,
        OutcomeKind::Exit(EXIT_KILLED) => KILLED,
        OutcomeKind::Exit(EXIT_CLOSED_PIPE) => CLOSED_PIPE,
        // 128 and the number of a signal, 1 to 64.
        OutcomeKind::Exit(129..=192) => SIGNALLED,
        OutcomeKind::Exit(_) => EXIT,
        OutcomeKind::Timeout if specialist => SLOW_MODEL,
        OutcomeKind::Timeout => SLOW,
        OutcomeKind::ToolError if specialist => TOOL_OF_SPECIALIST,
        OutcomeKind::ToolError => TOOL,
        OutcomeKind::ValidationFailed if specialist => BAD_ANSWER,
        OutcomeKind::ValidationFailed => BAD_OUTPUT,
        OutcomeKind::GateFailed if specialist => REFUTED_WORK,
        OutcomeKind::GateFailed => REFUTED_RESULT,
        OutcomeKind::GateInconclusive | OutcomeKind::GateUnchecked => UNDECIDED,
        OutcomeKind::Stuck => NO_PROGRESS,
        OutcomeKind::PolicyDenied => DENIED,
        // The attempt succeeded; something after it failed.
        OutcomeKind::Unknown | OutcomeKind::Ok => UNKNOWN,
        OutcomeKind::Cancelled => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exit_code_of_a_kill_suggests_more_memory() {
        let suggests = |code: i32, word: &str| {
            by_outcome(OutcomeKind::Exit(code), false).iter().any(|(_, note)| note.contains(word))
        };
        assert!(suggests(137, "memory"));
        assert!(suggests(141, "a command of a pipe ended") && !suggests(141, "memory"));
        assert!(suggests(139, "signal") && !suggests(139, "memory"));
        assert!(!suggests(200, "signal") && !suggests(200, "memory"));
    }
}
