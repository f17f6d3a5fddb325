//! Jobs of GitHub Actions: each becomes a chain of steps.
//!
//! A step waits for the last step before it, and for those since then that run in other cases (`always()`,
//! `failure()`). A step that is left out by its own `if` does not stop the chain. If the job can be left out or
//! blocked as a whole, such steps also require that its first step, `JOB-start` or the approval, has succeeded.

use super::actions_condition::{Condition, When};
use super::actions_defaults::{common_keys, environment, run_defaults};
use super::actions_machine::{PERMISSIONS, is_exact, machine};
use super::actions_matrix::matrix;
use super::actions_scope::{KnownJob, Scope, any_failed};
use super::actions_text::{of_job, template};
use super::draft::{Draft, literal, name, playbook_id, reference, step_id};
use super::fields::{Fields, words};
use super::output::Out;
use super::shell::Variables;
use kb_base::value::Json;
use kb_language::definition::Positioned;
use std::collections::BTreeSet;

/// The most steps of jobs before a job whose outcomes `success()` counts. More have no translation, because each
/// job could repeat them.
const MAX_BEFORE: usize = 200;

/// A step that a next one waits for.
pub(super) struct Last {
    pub(super) id: String,
    /// Whether its own `if` can leave it out.
    pub(super) may_skip: bool,
    /// Whether its failure counts as a success (`continue-on-error`).
    pub(super) is_tolerated: bool,
}

impl Last {
    fn plain(id: &str) -> Last {
        Last { id: id.to_owned(), may_skip: false, is_tolerated: false }
    }
}

/// A job while its steps are read.
pub(super) struct Job<'a> {
    pub(super) id: &'a str,
    /// The last steps of the jobs that it needs.
    needs: Vec<String>,
    /// Those and the steps of jobs before them that `success()` and `failure()` count.
    before: Vec<String>,
    /// The step whose success means that the job has started.
    pub(super) start: Option<String>,
    pub(super) scope: &'a mut Scope,
    pub(super) is_matrix: bool,
    /// Whether the other combinations of the matrix run after a failure.
    pub(super) finishes: bool,
    pub(super) env: Variables,
    pub(super) cwd: Option<String>,
    /// Its name, if it has only one command.
    pub(super) label: Option<String>,
    condition: Condition,
    /// Keys of all its steps.
    pub(super) common: Vec<(&'static str, Out)>,
    /// The steps that a next one waits for.
    pub(super) last: Vec<Last>,
    pub(super) used: Vec<String>,
}

/// The names of the jobs that a job needs.
pub(super) fn needs_of(fields: &Fields<'_>) -> Vec<String> {
    let needs = fields.take("needs").map(Positioned::items).unwrap_or_default();
    needs.iter().filter_map(Positioned::words).collect()
}

/// Adds the steps of a job. Returns what jobs after it can refer to.
pub(super) fn add(
    id: &str,
    line: u32,
    job: &Positioned,
    cwd: Option<&str>,
    jobs: &BTreeSet<&str>,
    scope: &mut Scope,
    draft: &mut Draft,
) -> KnownJob {
    let fields = Fields::of(job, format!("jobs.{id}."), draft);
    let (needs, before) = needed_steps(id, line, &needs_of(&fields), jobs, scope, draft);
    let label = fields.text("name");
    fields.left_out(&["permissions"], PERMISSIONS, draft);
    let matrix = fields.take("strategy").and_then(|strategy| matrix(strategy, id, draft));
    scope.axes = matrix.iter().flat_map(|matrix| matrix.axes.clone()).collect();
    scope.optional_axes = matrix.iter().flat_map(|matrix| matrix.optional.clone()).collect();
    machine(&fields, matrix.as_ref(), draft);
    let env = fields.take("env").map(|env| environment(env, scope, draft)).unwrap_or_default();
    scope.env.extend(env.0.iter().map(|(name, _)| name.clone()));
    let cwd = run_defaults(&fields, &format!("jobs.{id}."), draft).or(cwd.map(str::to_owned));
    let condition = match fields.take("if") {
        Some(text) => Condition::of(text, scope, false, draft),
        None => Condition::default(),
    };
    let (is_matrix, finishes) = (matrix.is_some(), matrix.as_ref().is_some_and(|m| m.finishes));
    let environment = fields.take("environment");
    let uses = fields.take("uses");
    let steps = fields.take("steps").map(Positioned::items).unwrap_or_default();
    let outputs = fields.take("outputs").map(Positioned::entries).unwrap_or_default();
    let matrix = matrix.map(|matrix| matrix.key);
    let common = common_keys(&fields, line, matrix, steps.len() == 1, draft);
    let (last, used) = Default::default();
    let mut job = Job {
        id,
        needs,
        before,
        start: None,
        scope,
        is_matrix,
        finishes,
        env,
        cwd,
        label,
        condition,
        common,
        last,
        used,
    };
    if job.condition.when == When::Never {
        fields.take_rest();
        draft.left_out(
            line,
            format!("the job `{id}` runs after a cancellation only: it never runs"),
        );
        job.condition = Condition { when: When::Success, expression: Some("false".to_owned()) };
        return job.finish(line, draft);
    }
    let mut place = Vec::new();
    job.place(&Condition::default(), &mut place);
    draft.place(&place);
    if let Some(environment) = environment {
        job.approval(environment, draft);
    }
    if let Some(uses) = uses {
        let child = job.child(uses, &fields, draft);
        return KnownJob { child, ..job.finish(line, draft) };
    }
    job.begin(steps, draft);
    job.steps(steps, line, draft);
    let outputs = of_job(id, outputs, job.scope, draft);
    KnownJob { outputs, ..job.finish(line, draft) }
}

/// The last steps of the jobs that a job needs; and these with the steps of jobs before them that `success()` and
/// `failure()` of the job count.
fn needed_steps(
    id: &str,
    line: u32,
    needs: &[String],
    jobs: &BTreeSet<&str>,
    scope: &Scope,
    draft: &mut Draft,
) -> (Vec<String>, Vec<String>) {
    let (mut ends, mut before) = (Vec::new(), Vec::new());
    for need in needs {
        match scope.jobs.get(need) {
            Some(job) => {
                ends.extend(job.ends.iter().cloned());
                before.extend(job.counted.iter().cloned());
            }
            None if jobs.contains(need.as_str()) => {
                draft.fails(line, format!("`{id}` and `{need}` need each other"));
            }
            None => {
                let message = format!("the job `{need}` that `{id}` needs does not exist");
                draft.fails(line, message);
            }
        }
    }
    let mut seen = BTreeSet::new();
    before.retain(|step| seen.insert(step.clone()));
    if before.len() > MAX_BEFORE.max(ends.len()) {
        let message = format!("more than {MAX_BEFORE} jobs decide whether `{id}` runs");
        draft.fails(line, message);
        before.clone_from(&ends);
    }
    (ends, before)
}

fn step_name(step: &Positioned) -> Option<String> {
    let fields = Fields::ahead(step);
    let text = fields.text("id").or_else(|| fields.text("name"))?;
    Some(text.chars().take(40).collect())
}

impl Job<'_> {
    fn steps(&mut self, steps: &[Positioned], line: u32, draft: &mut Draft) {
        let is_run = |step: &&Positioned| {
            let fields = Fields::ahead(step);
            fields.peek("run").is_some()
                || !fields.text("uses").is_some_and(|uses| is_exact(&uses, step))
        };
        let runs = steps.iter().filter(is_run).count();
        if self.is_matrix && runs > 1 {
            draft.hint(line, format!(
                "the steps of the matrix job `{}` run combination by combination one after the other only \
                 within a step: each step waits for all combinations of the step before it", self.id
            ));
        }
        self.label = self.label.take().filter(|_| runs == 1);
        for (index, step) in steps.iter().enumerate() {
            let wanted = step_name(step).unwrap_or_else(|| (index + 1).to_string());
            let id = self.id;
            let own = if runs == 1 { step_id(id) } else { step_id(&format!("{id}-{wanted}")) };
            let own = if self.used.contains(&own) { format!("{own}-{}", index + 1) } else { own };
            draft.scope(&own.clone(), Some(step), |draft| self.step(step, own, draft));
        }
    }

    /// Adds the approval that an environment may require.
    fn approval(&mut self, environment: &Positioned, draft: &mut Draft) {
        let name = if environment.is_map() {
            let fields = Fields::of(environment, format!("jobs.{}.environment.", self.id), draft);
            fields.left_out(&["url"], "it is shown on GitHub only", draft);
            fields.text("name")
        } else {
            words(environment, "environment", draft)
        };
        let name = name.unwrap_or_default();
        let shown = template(&name, self.scope).unwrap_or_else(|_| literal(&name));
        let text = format!("the rules of the environment `{name}` became an approval");
        draft.left_out(environment.line, text);
        let own = step_id(&format!("{}-approval", self.id));
        let mut map: Vec<(&'static str, Out)> = vec![("id", own.clone().into())];
        self.place(&Condition::default(), &mut map);
        map.push(("approve", format!("Run `{}` in the environment `{shown}`?", self.id).into()));
        draft.steps.push(Out::map(map));
        self.last.push(Last::plain(&own));
        self.start = Some(own);
    }

    /// Adds the step that says that the job has started, if the job can be left out and steps of it run in other
    /// cases than after a success.
    fn begin(&mut self, steps: &[Positioned], draft: &mut Draft) {
        let may_not_start = !self.needs.is_empty() || self.condition.may_skip();
        let has_if = steps.iter().any(|step| Fields::ahead(step).peek("if").is_some());
        if self.start.is_some() || !may_not_start || !has_if {
            return;
        }
        let own = step_id(&format!("{}-start", self.id));
        let mut map = vec![("id", Out::from(own.as_str()))];
        self.place(&Condition::default(), &mut map);
        map.push(("set", Out::map(vec![("started", Json::Bool(true).into())])));
        draft.steps.push(Out::map(map));
        self.used.push(own.clone());
        self.last.push(Last::plain(&own));
        self.start = Some(own);
    }

    /// Whether a step with this condition can run after the failure of a step whose outputs it reads.
    pub(super) fn follows_failure(&self, condition: &Condition) -> bool {
        [self.condition.when, condition.when].iter().any(|when| *when != When::Success)
    }

    /// Whether no step of the job can have failed before the next one.
    pub(super) fn is_first(&self) -> bool {
        self.last.iter().all(|last| Some(&last.id) == self.start.as_ref())
    }

    /// Adds the one step of a job that calls another workflow of the repository. Returns its id.
    fn child(
        &mut self,
        uses: &Positioned,
        fields: &Fields<'_>,
        draft: &mut Draft,
    ) -> Option<String> {
        let text = uses.words().unwrap_or_default();
        let file = text.strip_prefix("./.github/workflows/");
        let stem = file.and_then(|file| file.strip_suffix(".yml").or(file.strip_suffix(".yaml")));
        let Some(stem) = stem else {
            let why = "only workflows of this repository become child runs";
            draft.fails(uses.line, format!("`uses: {text}` is not mapped: {why}"));
            fields.take_rest();
            return None;
        };
        let called = playbook_id(stem);
        if !draft.has_playbook(&called) {
            let why = format!(
                "the project has no playbook `{called}`; import this file together with that one, or after it"
            );
            draft.fails(uses.line, format!("`uses: {text}` is not mapped: {why}"));
            fields.take_rest();
            return None;
        }
        draft.hint(uses.line, format!("`{text}` is a child run: the playbook `{called}`"));
        fields.replaced(
            "secrets",
            "the secrets of a playbook are parameters, whose values are variables",
            draft,
        );
        let own = step_id(self.id);
        let mut map: Vec<(&'static str, Out)> = vec![("id", own.clone().into())];
        map.extend(self.label.take().map(|name| ("name", literal(&name).into())));
        self.place(&Condition::default(), &mut map);
        map.extend(self.common.clone());
        map.push(("playbook", called.into()));
        let mut with = Vec::new();
        for (key, line, value) in fields.take("with").map(Positioned::entries).unwrap_or_default() {
            match value.text().map(|text| template(text, self.scope)) {
                None => with.push((name(key), Out::Value(value.json()))),
                Some(Ok(text)) => with.push((name(key), text.into())),
                Some(Err(unknown)) => {
                    let message = format!("`with.{key}` is not mapped (`{unknown}`)");
                    draft.fails(*line, message);
                }
            }
        }
        map.extend((!with.is_empty()).then_some(("with", Out::Map(with))));
        draft.steps.push(Out::map(map));
        self.last.push(Last::plain(&own));
        (!self.is_matrix).then_some(own)
    }

    /// The keys that say when a step runs.
    pub(super) fn place(&self, condition: &Condition, map: &mut Vec<(&'static str, Out)>) {
        let mut all: Vec<String> = Vec::new();
        let skips = self.last.iter().any(|last| last.may_skip);
        let (when, on) = if self.last.is_empty() {
            let when = self.condition.when;
            if when == When::Failure {
                all.push(any_failed(&self.before));
            }
            all.extend(self.condition.expression.clone());
            (when, if when == When::Success { self.before.clone() } else { self.needs.clone() })
        } else {
            let when = condition.when;
            let started = self.start.as_ref().filter(|_| skips || when != When::Success);
            all.extend(started.map(|start| format!("{}.status == 'succeeded'", reference(start))));
            if when == When::Failure {
                let counted = self.last.iter().filter(|last| !last.is_tolerated);
                let counted = counted.map(|last| last.id.clone());
                all.push(any_failed(&counted.collect::<Vec<_>>()));
            }
            (when, self.last.iter().map(|last| last.id.clone()).collect())
        };
        if !on.is_empty() {
            map.push(("dependsOn", Out::texts(&on)));
        }
        match when {
            When::Always | When::Failure => map.push(("runIf", "allDone".into())),
            When::Success | When::Never if skips => map.push(("runIf", "noneFailed".into())),
            When::Success | When::Never => {}
        }
        all.extend(condition.expression.clone());
        match all.as_slice() {
            [] => {}
            [one] => map.push(("condition", one.as_str().into())),
            _ => {
                let all: Vec<String> = all.iter().map(|part| format!("({part})")).collect();
                map.push(("condition", all.join(" and ").into()));
            }
        }
    }

    /// What jobs after this one can refer to. A job without commands still orders them, and a step that its own
    /// `if` leaves out does not stop them.
    fn finish(mut self, line: u32, draft: &mut Draft) -> KnownJob {
        let open = self.is_first() && self.start.is_none();
        if open || self.last.iter().any(|last| last.may_skip || last.is_tolerated) {
            let own = if open { step_id(self.id) } else { step_id(&format!("{}-end", self.id)) };
            if open {
                let message =
                    format!("the job `{}` has no command; it became a step without work", self.id);
                draft.hint(line, message);
            }
            let mut map = vec![("id", Out::from(own.clone()))];
            self.place(&Condition::default(), &mut map);
            map.push(("set", Out::map(vec![("done", Json::Bool(true).into())])));
            draft.steps.push(Out::map(map));
            self.last = vec![Last::plain(&own)];
            self.used.push(own);
        }
        let ends: Vec<String> = self.last.into_iter().map(|last| last.id).collect();
        // A job that runs only after a success hands on what failed before it: its own steps do not succeed.
        let mut counted = ends.clone();
        if self.condition.when != When::Success {
            counted.append(&mut self.before);
        }
        let first = self.start.or(self.used.into_iter().next());
        let first = first.filter(|_| !self.needs.is_empty());
        KnownJob { ends, counted, first, ..KnownJob::default() }
    }
}
