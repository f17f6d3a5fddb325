//! One gate from its definition to its verdict: values in, a look at the world, the pure verdict.

use super::GateRequest;
use super::observer::Observer;
use crate::clock;
use crate::definition::Check;
use crate::evidence::Verification;
use crate::expression::{EvalError, Scope, Template};
use crate::tool::Toolbox;
use crate::value::Failure;
use crate::verify::{Criterion, FileCriterion, Gate, asks, judge};
use tokio_util::sync::CancellationToken;

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
    let observer =
        Observer { toolbox: &toolbox, env: &request.env, cwd: &request.cwd, deadline, cancel };
    let seen = observer.observe(asks(&gate)).await;
    judge(&gate, &seen)
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
        Check::Command { argv, inputs, must_fail_before, timeout } => {
            let words: Result<Vec<String>, EvalError> =
                argv.iter().map(|word: &Template| word.render(scope)).collect();
            match words {
                Ok(argv) => Criterion::Command {
                    argv,
                    inputs: inputs.clone(),
                    must_fail_before: *must_fail_before,
                    timeout: *timeout,
                },
                Err(failure) => unresolved("command", *failure),
            }
        }
        Check::Expr(expression) => Criterion::Truth {
            source: expression.source().to_owned(),
            truth: expression.truth(scope).map_err(|failure| *failure),
        },
        Check::NotYet(name) => Criterion::NotYet(name),
    }
}

fn unresolved(check: &str, failure: Failure) -> Criterion {
    Criterion::Unresolved { check: check.to_owned(), failure }
}
