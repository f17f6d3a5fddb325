use super::file_check::files;
use super::gate::{Criterion, FileCriterion, Gate};
use super::observation::{CommandEnd, CommandRun, Observation, ObservationQuery, Observations};
use super::reconcile::Finding;
use super::recorded::Recorded;
use crate::definition::Schema;
use crate::evidence::CheckDetail;
use crate::value::{Failure, Json};
use globset::{GlobBuilder, GlobMatcher};
use serde_json::json;

/// What a criterion has to have looked at.
pub(super) fn query_of(criterion: &Criterion) -> Option<ObservationQuery> {
    match criterion {
        Criterion::Files(FileCriterion { pattern, count, .. }) => Some(ObservationQuery::Files {
            pattern: pattern.clone(),
            count: count.as_ref().map(|count| count.pattern.clone()),
        }),
        Criterion::Command { argv, timeout, .. } => {
            Some(ObservationQuery::Command { argv: argv.clone(), timeout: *timeout })
        }
        _ => None,
    }
}

/// The verdict over one check.
pub(super) fn check(
    criterion: &Criterion,
    gate: &Gate,
    recorded: &Recorded<'_>,
    seen: &Observations,
) -> CheckDetail {
    let seen =
        query_of(criterion).map(|ask| seen.get(&ask).cloned().unwrap_or(Observation::Stopped));
    let (finding, evidence) = match (criterion, &seen) {
        (_, Some(Observation::Stopped)) => (Finding::inconclusive("the gate was stopped"), None),
        (Criterion::Files(criterion), Some(Observation::Files(found))) => {
            let evidence = found.as_ref().ok().map(|found| {
                let paths: Vec<&str> = found.iter().take(20).map(|f| f.path.as_str()).collect();
                json!({"matched": found.len(), "files": paths})
            });
            (files(criterion, found, recorded), evidence)
        }
        (Criterion::Command { inputs, must_fail_before, .. }, Some(Observation::Command(ran))) => {
            (command(inputs, *must_fail_before, ran, recorded), Some(evidence_of(ran)))
        }
        (Criterion::Schema(schema), _) => fits(schema, &gate.output),
        (Criterion::Expression { truth, .. }, _) => (holds(truth), None),
        (Criterion::Unresolved { failure, .. }, _) => (unresolved(failure), None),
        (Criterion::NotYet(name), _) => {
            let reason =
                format!("`{name}` checks are known, but this version cannot carry them out");
            (Finding::inconclusive(reason), None)
        }
        (Criterion::Files(_) | Criterion::Command { .. }, _) => {
            (Finding::inconclusive("it was not looked at"), None)
        }
    };
    let Finding { verdict, reason } = finding;
    CheckDetail { check: name_of(criterion), verdict, reason, evidence }
}

fn name_of(criterion: &Criterion) -> String {
    match criterion {
        Criterion::Schema(_) => "schema".to_owned(),
        Criterion::Files(files) => format!("file {}", files.pattern),
        Criterion::Command { argv, .. } => format!("command {}", argv.join(" ")),
        Criterion::Expression { source, .. } => format!("expr {source}"),
        Criterion::Unresolved { check, .. } => check.clone(),
        Criterion::NotYet(name) => (*name).to_owned(),
    }
}

/// Whether the output fits a schema, with every violation.
pub(super) fn fits(schema: &Schema, output: &Json) -> (Finding, Option<Json>) {
    let violations = schema.violations(output);
    let Some(first) = violations.first() else { return (Finding::passed(), None) };
    let place = match first.pointer.as_str() {
        "" => "the output".to_owned(),
        pointer => format!("`{pointer}` of the output"),
    };
    let more = match violations.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let listed: Vec<Json> = violations
        .iter()
        .take(20)
        .map(|v| json!({"pointer": v.pointer, "message": v.message}))
        .collect();
    let reason = format!("{place} does not fit: {}{more}", first.message);
    (Finding::failed(reason), Some(json!({ "violations": listed })))
}

fn holds(truth: &Result<bool, Failure>) -> Finding {
    match truth {
        Ok(true) => Finding::passed(),
        Ok(false) => Finding::failed("it is false"),
        Err(failure) => unresolved(failure),
    }
}

fn unresolved(failure: &Failure) -> Finding {
    let help = failure.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
    Finding::failed(format!("{}{help}", failure.message))
}

fn command(
    inputs: &[String],
    must_fail_before: bool,
    ran: &CommandRun,
    recorded: &Recorded<'_>,
) -> Finding {
    let words = match ran.last_words.as_str() {
        "" => String::new(),
        words => format!(": {words}"),
    };
    match &ran.ended {
        CommandEnd::Code(0) => passed_command(inputs, must_fail_before, recorded),
        CommandEnd::Code(code) => Finding::failed(format!("exit code {code}{words}")),
        CommandEnd::Signal(signal) => {
            Finding::failed(format!("it was ended by signal {signal}{words}"))
        }
        CommandEnd::TimedOut => Finding::inconclusive(format!(
            "it was stopped after {} ms, because its time was up{words}",
            ran.duration_ms
        )),
        CommandEnd::Stopped => Finding::inconclusive("the gate was stopped"),
        CommandEnd::NotStarted(reason) => {
            Finding::inconclusive(format!("it did not start: {reason}"))
        }
    }
}

/// A command that ended with 0 proves nothing where the step changed what decides.
fn passed_command(inputs: &[String], must_fail_before: bool, recorded: &Recorded<'_>) -> Finding {
    if let Some(reason) = doubt(inputs, recorded) {
        return Finding::inconclusive(format!("exit code 0, but {reason}"));
    }
    match must_fail_before {
        true => Finding::inconclusive(
            "exit code 0, but whether it failed before the step is not looked at yet",
        ),
        false => Finding::passed(),
    }
}

/// Why the step may have decided the check itself.
fn doubt(inputs: &[String], recorded: &Recorded<'_>) -> Option<String> {
    const NAMED: usize = 20;
    if inputs.is_empty() {
        return None;
    }
    let inputs: Vec<Input> = inputs.iter().map(|glob| Input::new(glob)).collect();
    let decides = |path: &&str| inputs.iter().any(|input| input.speaks_of(path));
    let changed: Vec<String> =
        recorded.differing().filter(decides).map(|path| format!("`{path}`")).collect();
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match changed.is_empty() {
        true => recorded.gap().map(str::to_owned),
        false => {
            let named = changed[..changed.len().min(NAMED)].join(", ");
            Some(format!("the step itself changed what decides this check: {named}{more}"))
        }
    }
}

/// A glob of files that decide.
struct Input<'g> {
    text: &'g str,
    /// `None` where it cannot be read: it decides nothing, so that every change might matter.
    matcher: Option<GlobMatcher>,
}

impl<'g> Input<'g> {
    fn new(glob: &'g str) -> Self {
        let text = glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/');
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        Input { text, matcher: glob.ok().map(|glob| glob.compile_matcher()) }
    }

    /// Whether it names a path, or a folder that holds it.
    fn speaks_of(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.text).is_some_and(|rest| rest.starts_with('/'));
        below || self.matcher.as_ref().is_none_or(|matcher| matcher.is_match(path))
    }
}

fn evidence_of(ran: &CommandRun) -> Json {
    let code = match ran.ended {
        CommandEnd::Code(code) => Some(code),
        _ => None,
    };
    json!({"exitCode": code, "durationMs": ran.duration_ms, "lastWords": ran.last_words})
}

/// How good a proof a check gives at its best.
pub(super) fn is_seen(criterion: &Criterion) -> bool {
    matches!(criterion, Criterion::Files(_) | Criterion::Command { .. })
}
