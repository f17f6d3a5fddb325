//! `defaults.run` and `env` of GitHub Actions, as workflows, jobs and steps have them.

use super::actions_expression::{Scope, template};
use super::draft::Draft;
use super::fields::Fields;
use super::shell::Variables;
use crate::definition::Positioned;

/// The working directory of `defaults.run`.
pub(super) fn run_defaults(fields: &Fields<'_>, path: &str, draft: &mut Draft) -> Option<String> {
    let outer = Fields::of(fields.take("defaults")?, format!("{path}defaults."));
    let run = outer.take("run").map(|run| Fields::of(run, format!("{path}defaults.run.")));
    outer.finish(draft);
    let run = run?;
    let cwd = run.text("working-directory");
    bash(&run, draft);
    run.finish(draft);
    cwd
}

/// Reports a shell other than bash.
pub(super) fn bash(fields: &Fields<'_>, draft: &mut Draft) {
    if let Some(shell) = fields.take("shell") {
        let words = shell.words().unwrap_or_default();
        if words != "bash" && words != "sh" {
            draft.unmapped(
                shell.line,
                format!("`shell: {words}` is not mapped; the text runs with bash"),
            );
        }
    }
}

/// The variables of an `env`; what has no counterpart is reported.
pub(super) fn environment(env: &Positioned, scope: &Scope<'_>, draft: &mut Draft) -> Variables {
    let mut variables = Variables::default();
    if !env.is_map() && env.words().is_some() {
        draft.unmapped(env.line, "an `env` that is an expression is not mapped");
    }
    for (name, line, value) in env.entries() {
        let text = value.words().unwrap_or_default();
        match template(&text, scope) {
            Ok(text) => variables.set(name, text),
            Err(unknown) => {
                draft
                    .unmapped(*line, format!("`{unknown}` in the variable `{name}` is not mapped"));
            }
        }
    }
    variables
}
