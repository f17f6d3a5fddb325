use super::fencing::fenced;
use crate::evidence::{CheckDetail, Feedback, Verdict, Verification};
use crate::value::Failure;

/// What a rework is told of the try before: what failed, and what the runtime saw.
pub(super) fn in_words(feedback: &Feedback) -> String {
    let mut out = String::from(
        "# Your last try was not accepted\n\nIts changes to files are still there. Look at them, \
         then mend what follows; do not start over where it is not needed.\n",
    );
    if let Some(verification) = &feedback.verification {
        out.push_str(&gate(verification));
    }
    if let Some(failure) = &feedback.failure {
        out.push_str(&ending(failure));
    }
    out
}

fn gate(verification: &Verification) -> String {
    let open = verification.checks.iter().filter(|check| check.verdict != Verdict::Passed);
    let lines: String = open.map(check).collect();
    format!("\nThe checks say `{}`:\n{lines}", verification.verdict)
}

fn check(check: &CheckDetail) -> String {
    let reason = check.reason.as_deref().unwrap_or("no reason given");
    let seen =
        check.evidence.as_ref().map(|seen| format!("  Seen: {}\n", short(&seen.to_string())));
    format!("- {} `{}`: {reason}\n{}", check.verdict, check.check, seen.unwrap_or_default())
}

fn ending(failure: &Failure) -> String {
    let help = failure.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
    let partial = failure.details.as_ref().and_then(|details| details.get("partial"));
    let partial = partial.map(|partial| {
        format!("What it left:\n{}\n", fenced("json", &short(&partial.to_string())))
    });
    format!("\nIt ended with: {}{help}\n{}", failure.message, partial.unwrap_or_default())
}

fn short(text: &str) -> String {
    match text.char_indices().nth(1_000) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
