//! One gate from its definition to its verdict: values in, a look at the world, the pure verdict.

use super::observer::Observer;
use super::{Argument, GateRequest};
use crate::clock;
use crate::definition::Check;
use crate::evidence::{CheckDetail, Confidence, Verdict, Verification};
use crate::expression::{EvalError, Scope, Template};
use crate::tool::Toolbox;
use crate::value::Failure;
use crate::verify::{Basis, Criterion, FileCriterion, Gate, Observations, evaluate, queries};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// From so many recorded changes on, the verdict is found away from the threads that wait for events.
const LARGE: usize = 1_000;

/// Looks at the world and says whether the gate holds. Always ends: by what it sees, by the
/// request's timeout, or by being cancelled, after which what was not seen is `inconclusive`.
pub async fn run_gate(
    request: GateRequest,
    scope: &(dyn Scope + Sync),
    toolbox: &Toolbox,
    cancel: &CancellationToken,
) -> Verification {
    let deadline = request.timeout.map(|timeout| clock::instant() + timeout);
    let gate = Gate {
        criteria: request.checks.iter().map(|check| criterion(check, scope)).collect(),
        claims: request.claims,
        expect_changes: request.expect_changes,
        output: request.output,
        output_schema: request.output_schema,
        trace: request.trace,
        root: toolbox.workspace().root().to_string_lossy().into_owned(),
    };
    let toolbox = toolbox.for_verification();
    let observer = Observer {
        toolbox: &toolbox,
        env: &request.env,
        cwd: &request.cwd,
        sandboxed: request.sandboxed,
        deadline,
        cancel,
    };
    let seen = observer.observe(queries(&gate)).await;
    let changes: usize = gate.trace.iter().map(|call| call.changes.len()).sum();
    if changes < LARGE {
        return evaluated(&gate, &seen);
    }
    let evaluated = tokio::task::spawn_blocking(move || evaluated(&gate, &seen)).await;
    evaluated.unwrap_or_else(|_| stopped())
}

/// The verdict with what it was found from.
fn evaluated(gate: &Gate, seen: &Observations) -> Verification {
    let basis = serde_json::to_value(Basis::of(gate, seen)).ok().map(Arc::new);
    Verification { basis, ..evaluate(gate, seen) }
}

/// The verdict of a gate whose evaluation was stopped.
fn stopped() -> Verification {
    let detail = CheckDetail {
        check: "gate".to_owned(),
        verdict: Verdict::Inconclusive,
        reason: Some("the gate was stopped".to_owned()),
        evidence: None,
    };
    Verification::of(Confidence::Low, vec![detail])
}

/// A check with its values in place. Values never reach the program that is started, nor a pattern's
/// meaning as code: they are words of an argv and paths for the guard.
fn criterion(check: &Check, scope: &(dyn Scope + Sync)) -> Criterion {
    match check {
        Check::Schema(schema) => Criterion::Schema(schema.clone()),
        Check::File { path, min_count, count, changed, absent } => match path.render(scope) {
            Ok(pattern) => Criterion::Files(FileCriterion {
                pattern,
                min_count: *min_count,
                count: count.clone(),
                changed: *changed,
                absent: *absent,
            }),
            Err(failure) => unresolved("file", *failure),
        },
        Check::Command { argv, inputs, must_fail_before, timeout } => match words(argv, scope) {
            Ok(argv) => Criterion::Command {
                argv,
                inputs: inputs.clone(),
                must_fail_before: *must_fail_before,
                timeout: *timeout,
            },
            Err(failure) => unresolved("command", *failure),
        },
        Check::Expr(expression) => Criterion::Expression {
            source: expression.source().to_owned(),
            truth: expression.truth(scope).map_err(|failure| *failure),
        },
        Check::NotYet(name) => Criterion::NotYet(name),
    }
}

/// The words of a command, none of which is code that a value made.
fn words(argv: &[Template], scope: &(dyn Scope + Sync)) -> Result<Vec<String>, EvalError> {
    let word = |word: &Template| {
        Ok(Argument { text: word.render(scope)?, computed: word.as_literal().is_none() })
    };
    let words: Vec<Argument> = argv.iter().map(word).collect::<Result<_, EvalError>>()?;
    super::argv::check(&words)?;
    Ok(words.into_iter().map(|word| word.text).collect())
}

fn unresolved(check: &str, failure: Failure) -> Criterion {
    Criterion::Unresolved { check: check.to_owned(), failure }
}
