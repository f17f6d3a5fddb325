//! Jobs of GitHub Actions: each becomes a chain of steps.
//!
//! A step waits for the last step before it, and for those since then that run in other cases (`always()`,
//! `failure()`). A step that is left out by its own `if` does not stop the chain.

use super::actions_condition::{Condition, When};
use super::actions_defaults::{bash, environment, run_defaults};
use super::actions_expression::{Scope, template, without_placeholders};
use super::actions_matrix::matrix;
use super::draft::{Draft, literal, reference, step_id};
use super::fields::{Fields, flag};
use super::output::Out;
use super::shell::{Variables, look_at};
use crate::definition::Positioned;
use crate::value::Json;

/// Stands for `dependsOn` until the last steps of all jobs are known.
pub(super) const NEEDS: &str = "needs";
/// Stands for the condition that one of these jobs failed.
pub(super) const NEEDS_FAILED: &str = "needs failed";

const SCOPE: Scope<'_> = Scope { matrix: "matrix" };

/// The condition that one of these steps failed or could not run because another one did.
pub(super) fn any_failed(steps: &[String]) -> String {
    let failed = |step: &String| format!("{}.status in ['failed', 'blocked']", reference(step));
    let all: Vec<String> = steps.iter().map(failed).collect();
    if all.is_empty() { "false".to_owned() } else { all.join(" or ") }
}

/// A job while its steps are read.
struct Job<'a> {
    id: &'a str,
    needs: Vec<String>,
    env: Variables,
    cwd: Option<String>,
    /// Its name, if it has only one command.
    label: Option<String>,
    condition: Condition,
    /// Keys of all its steps.
    common: Vec<(&'static str, Out)>,
    /// The steps that a next one waits for, and whether their own `if` can leave them out.
    last: Vec<(String, bool)>,
    used: Vec<String>,
}

/// Adds the steps of a job. Returns the ids that jobs after it depend on.
pub(super) fn add(
    id: &str,
    line: u32,
    job: &Positioned,
    cwd: Option<&str>,
    jobs: &[&str],
    draft: &mut Draft,
) -> Vec<String> {
    let fields = Fields::of(job, format!("jobs.{id}."));
    let needs = fields.take("needs").map(Positioned::items).unwrap_or_default();
    let needs: Vec<String> = needs.iter().filter_map(Positioned::words).collect();
    for missing in needs.iter().filter(|need| !jobs.contains(&need.as_str())) {
        draft.unmapped(line, format!("the job `{missing}` that `{id}` needs does not exist"));
    }
    let label = fields.text("name");
    if fields.take("runs-on").is_some() {
        draft.hint(
            line,
            "`runs-on` has no counterpart: steps run on this machine, in the project folder",
        );
    }
    let matrix = fields.take("strategy").and_then(|strategy| matrix(strategy, id, draft));
    let env = fields.take("env").map(|env| environment(env, &SCOPE, draft)).unwrap_or_default();
    let cwd = run_defaults(&fields, &format!("jobs.{id}."), draft).or(cwd.map(str::to_owned));
    let condition = match fields.take("if") {
        Some(text) => Condition::of(text, &SCOPE, draft),
        None => Condition::default(),
    };
    let mut common: Vec<(&'static str, Out)> = Vec::new();
    common.extend(matrix.clone().map(|matrix| ("matrix", matrix)));
    if let Some(limit) = minutes(&fields, draft) {
        draft.hint(line, "`timeout-minutes` of a job holds for each of its steps");
        common.push(("timeout", limit.into()));
    }
    if flag(&fields, "continue-on-error", draft) == Some(true) {
        draft.hint(line, "`continue-on-error` of a job holds for each of its steps");
        common.push(("onError", "continue".into()));
    }
    let steps = fields.take("steps").map(Positioned::items).unwrap_or_default();
    fields.finish(draft);
    let is_run =
        |step: &&Positioned| step.entries().iter().any(|(key, _, _)| key.as_str() == "run");
    let runs = steps.iter().filter(is_run).count();
    if matrix.is_some() && runs > 1 {
        draft.hint(line, format!(
            "the steps of the matrix job `{id}` run combination by combination one after the other only \
             within a step: each step waits for all combinations of the step before it"
        ));
    }
    if condition.when == When::Never {
        draft.unmapped(line, format!("the job `{id}` is left out"));
        return Vec::new();
    }
    let label = label.filter(|_| runs == 1);
    let (last, used) = Default::default();
    let mut job = Job { id, needs, env, cwd, label, condition, common, last, used };
    for (index, step) in steps.iter().enumerate() {
        let wanted = step_name(step).unwrap_or_else(|| (index + 1).to_string());
        let own = if runs == 1 { step_id(id) } else { step_id(&format!("{id}-{wanted}")) };
        let own = match job.used.contains(&own) {
            true => format!("{own}-{}", index + 1),
            false => own,
        };
        job.step(step, own, draft);
    }
    job.finish(line, draft)
}

fn step_name(step: &Positioned) -> Option<String> {
    let fields = Fields::of(step, "");
    let text = fields.text("id").or_else(|| fields.text("name"))?;
    Some(text.chars().take(40).collect())
}

/// `timeout-minutes` as a duration.
fn minutes(fields: &Fields<'_>, draft: &mut Draft) -> Option<String> {
    let value = fields.take("timeout-minutes")?;
    let text = value.words().unwrap_or_default();
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes.fract() == 0.0 => Some(format!("{minutes}m")),
        Ok(minutes) if minutes > 0.0 => Some(format!("{}s", (minutes * 60.0).ceil())),
        _ => {
            draft.unmapped(value.line, format!("`timeout-minutes: {text}` is not mapped"));
            None
        }
    }
}

impl Job<'_> {
    /// Adds a step with `run`; reports one with `uses`.
    fn step(&mut self, step: &Positioned, own: String, draft: &mut Draft) {
        let fields = Fields::of(step, format!("jobs.{}.steps.", self.id));
        fields.text("id");
        let name = fields.text("name").or_else(|| self.label.clone());
        if let Some(uses) = fields.text("uses") {
            let why = match uses.starts_with("actions/checkout@") {
                true => "a playbook runs in the project folder".to_owned(),
                false => "replace it by a command or a tool".to_owned(),
            };
            draft.unmapped(step.line, format!("`uses: {uses}` is not mapped: {why}"));
            return;
        }
        let Some(run) = fields.take("run") else {
            let message = format!("a step of the job `{}` has neither `run` nor `uses`", self.id);
            draft.unmapped(step.line, message);
            return;
        };
        let condition = match fields.take("if") {
            Some(text) => Condition::of(text, &SCOPE, draft),
            None => Condition::default(),
        };
        let is_first = self.last.is_empty();
        let never = condition.when == When::Never || (condition.when == When::Failure && is_first);
        if never {
            draft.unmapped(
                step.line,
                format!("the step of `{}` with this `if` is left out", self.id),
            );
            return;
        }
        let mut map: Vec<(&'static str, Out)> = vec![("id", own.clone().into())];
        map.extend(name.map(|name| ("name", literal(&name).into())));
        self.place(&condition, &mut map);
        let mut variables = self.env.clone();
        if let Some(own) = fields.take("env") {
            for (name, value) in environment(own, &SCOPE, draft).0 {
                variables.set(&name, value);
            }
        }
        let text = run.words().unwrap_or_default();
        look_at(&text, run.line, draft);
        let text = without_placeholders(&text, run.line, &SCOPE, &mut variables, draft);
        map.extend(self.common.clone());
        map.push(("run", text.into()));
        map.extend(variables.out().map(|env| ("env", env)));
        if let Some(cwd) = fields.text("working-directory").or_else(|| self.cwd.clone()) {
            match template(&cwd, &SCOPE) {
                Ok(cwd) => map.push(("cwd", cwd.into())),
                Err(unknown) => draft.unmapped(
                    step.line,
                    format!("`working-directory: {cwd}` is not mapped (`{unknown}`)"),
                ),
            }
        }
        if let Some(limit) = minutes(&fields, draft) {
            map.retain(|(key, _)| *key != "timeout");
            map.push(("timeout", limit.into()));
        }
        if let Some(tolerated) = flag(&fields, "continue-on-error", draft) {
            map.retain(|(key, _)| *key != "onError");
            map.extend(tolerated.then(|| ("onError", "continue".into())));
        }
        bash(&fields, draft);
        fields.finish(draft);
        draft.steps.push(Out::map(map));
        self.used.push(own.clone());
        let may_skip = condition.expression.is_some() || condition.when == When::Failure;
        if condition.when == When::Success {
            self.last.clear();
        }
        self.last.push((own, may_skip));
    }

    /// The keys that say when a step runs.
    fn place(&self, condition: &Condition, map: &mut Vec<(&'static str, Out)>) {
        let before: Vec<String> = self.last.iter().map(|(id, _)| id.clone()).collect();
        let mut all: Vec<String> = Vec::new();
        let when = match before.is_empty() {
            true => {
                if !self.needs.is_empty() {
                    map.push((NEEDS, Out::texts(&self.needs)));
                }
                self.condition.when
            }
            false => {
                map.push(("dependsOn", Out::texts(&before)));
                condition.when
            }
        };
        if !before.is_empty() && when == When::Failure {
            all.push(any_failed(&before));
        }
        let skips = self.last.iter().any(|(_, may_skip)| *may_skip);
        match when {
            When::Always | When::Failure => map.push(("runIf", "allDone".into())),
            When::Success | When::Never if skips => map.push(("runIf", "noneFailed".into())),
            When::Success | When::Never => {}
        }
        if self.condition.when == When::Failure {
            map.push((NEEDS_FAILED, Out::texts(&self.needs)));
        }
        let parts = [self.condition.expression.as_ref(), condition.expression.as_ref()];
        all.extend(parts.into_iter().flatten().cloned());
        match all.as_slice() {
            [] => {}
            [one] => map.push(("condition", one.as_str().into())),
            _ => {
                let all: Vec<String> = all.iter().map(|part| format!("({part})")).collect();
                map.push(("condition", all.join(" and ").into()));
            }
        }
    }

    /// The steps that jobs after this one depend on. A job without commands still orders them, and a step
    /// that its own `if` leaves out does not stop them.
    fn finish(mut self, line: u32, draft: &mut Draft) -> Vec<String> {
        let open = self.last.is_empty();
        if !open && self.last.iter().all(|(_, may_skip)| !may_skip) {
            return self.last.into_iter().map(|(id, _)| id).collect();
        }
        let own = match open {
            true => step_id(self.id),
            false => step_id(&format!("{}-end", self.id)),
        };
        if open {
            let message =
                format!("the job `{}` has no command; it became a step without work", self.id);
            draft.hint(line, message);
        }
        let mut map = vec![("id", Out::from(own.clone()))];
        self.common.clear();
        self.place(&Condition::default(), &mut map);
        map.push(("set", Out::map(vec![("done", Json::Bool(true).into())])));
        draft.steps.push(Out::map(map));
        vec![own]
    }
}
