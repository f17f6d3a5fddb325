//! Keys that workflows, jobs and steps of GitHub Actions have in common: `defaults.run`, `env`,
//! `timeout-minutes`, `continue-on-error`.

use super::actions_scope::Scope;
use super::actions_text::template;
use super::draft::Draft;
use super::fields::{Fields, flag, words};
use super::output::Out;
use super::shell::Variables;
use kb_language::definition::Positioned;

/// The working directory of `defaults.run`.
pub(super) fn run_defaults(fields: &Fields<'_>, path: &str, draft: &mut Draft) -> Option<String> {
    let outer = Fields::of(fields.take("defaults")?, format!("{path}defaults."), draft);
    let run = outer.take("run").map(|run| Fields::of(run, format!("{path}defaults.run."), draft));
    let run = run?;
    let cwd = run.text("working-directory");
    bash(&run, draft);
    cwd
}

/// Reports a shell other than bash.
pub(super) fn bash(fields: &Fields<'_>, draft: &mut Draft) {
    if let Some(shell) = fields.take("shell") {
        let words = words(shell, "shell", draft).unwrap_or_default();
        if words != "bash" && words != "sh" {
            draft.fails(shell.line, format!("`shell: {words}` is not mapped"));
        }
    }
}

/// The variables of an `env`; what has no counterpart is reported.
pub(super) fn environment(env: &Positioned, scope: &Scope, draft: &mut Draft) -> Variables {
    let mut variables = Variables::default();
    if !env.is_map() && env.words().is_some() {
        draft.fails(env.line, "an `env` that is an expression is not mapped");
    }
    for (name, line, value) in env.entries() {
        let text = words(value, &format!("env.{name}"), draft).unwrap_or_default();
        match template(&text, scope) {
            Ok(text) => variables.set(name, text),
            Err(unknown) => {
                draft.fails(*line, format!("`{unknown}` in the variable `{name}` is not mapped"));
            }
        }
    }
    variables
}

/// The keys that all steps of a job have.
pub(super) fn common_keys(
    fields: &Fields<'_>,
    line: u32,
    matrix: Option<(&'static str, Out)>,
    is_one_step: bool,
    draft: &mut Draft,
) -> Vec<(&'static str, Out)> {
    let mut common: Vec<(&'static str, Out)> = Vec::new();
    common.extend(matrix);
    if let Some(limit) = minutes(fields, draft) {
        draft.hint(line, "`timeout-minutes` of a job holds for each of its steps");
        common.push(("timeout", limit.into()));
    }
    if flag(fields, "continue-on-error", draft) == Some(true) {
        if !is_one_step {
            draft.fails(line, "`continue-on-error` of a job with several steps is not mapped");
        }
        common.push(("onError", "continue".into()));
    }
    common
}

/// `timeout-minutes` as a duration.
pub(super) fn minutes(fields: &Fields<'_>, draft: &mut Draft) -> Option<String> {
    let value = fields.take("timeout-minutes")?;
    let text = words(value, "timeout-minutes", draft).unwrap_or_default();
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes.fract() == 0.0 => Some(format!("{minutes}m")),
        Ok(minutes) if minutes > 0.0 => Some(format!("{}s", (minutes * 60.0).ceil())),
        _ => {
            draft.fails(value.line, format!("`timeout-minutes: {text}` is not mapped"));
            None
        }
    }
}
