//! The evidence of a failed attempt as text for the next one.

use super::fencing::fenced;
use kb_base::value::Failure;
use kb_core::evidence::{Approach, CheckDetail, Feedback, Verdict, Verification};

/// The section of the task that describes the previous attempt.
pub(super) fn to_text(feedback: &Feedback) -> String {
    let (title, instruction) = match feedback.approach {
        Approach::Another => (
            "Your previous attempt was rejected",
            "Do not repeat the same approach. First state in one sentence what you will change, then \
             use a different approach.",
        ),
        Approach::Correct => (
            "Your previous attempt was rejected",
            "Read the changed files, then fix only the problems listed below. Do not start over.",
        ),
        Approach::Same => (
            "Your previous attempt was interrupted",
            "Read the changed files and continue from them.",
        ),
    };
    let mut out = format!(
        "# {title}\n\nThe file changes of that attempt are still in the working directory. \
         {instruction}\n",
    );
    if let Some(verification) = &feedback.verification {
        out.push_str(&gate(verification));
    }
    if let Some(failure) = &feedback.failure {
        out.push_str(&ending(failure));
    }
    if let Some(advice) = &feedback.advice {
        let quoted = fenced("text", &advice_of(advice));
        out.push_str(&format!(
            "\nA person permitted another attempt, with this comment:\n{quoted}\n"
        ));
    }
    out
}

/// Maximum length of a comment, in characters.
const ADVICE: usize = 4_000;

fn advice_of(comment: &str) -> String {
    match comment.char_indices().nth(ADVICE) {
        Some((end, _)) => format!("{}…", &comment[..end]),
        None => comment.to_owned(),
    }
}

fn gate(verification: &Verification) -> String {
    let open = verification.checks.iter().filter(|check| check.verdict != Verdict::Passed);
    let lines: String = open.map(check).collect();
    // What a specialist cannot do, it may take back: the step then fails with its reason, and nothing is refuted.
    let way_out = match verification.verdict {
        Verdict::Failed => "If the work cannot be done, claim nothing and say why in `summary`.\n",
        Verdict::Passed | Verdict::Unchecked | Verdict::Inconclusive => "",
    };
    let verdict = verification.verdict;
    format!("\nVerification result: `{verdict}`. Checks that did not pass:\n{lines}{way_out}")
}

fn check(check: &CheckDetail) -> String {
    let reason = check.reason.as_deref().unwrap_or("no reason given");
    let observed =
        check.evidence.as_ref().map(|seen| format!("  Observed: {}\n", bounded(&seen.to_string())));
    format!("- {} `{}`: {reason}\n{}", check.verdict, check.check, observed.unwrap_or_default())
}

fn ending(failure: &Failure) -> String {
    let help = failure.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
    let partial = failure.details.as_ref().and_then(|details| details.get("partial"));
    let partial = partial.map(|partial| {
        format!("Partial results:\n{}\n", fenced("json", &bounded(&partial.to_string())))
    });
    format!(
        "\nThe attempt ended with an error: {}{help}\n{}",
        failure.message,
        partial.unwrap_or_default()
    )
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(1_000) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
