//! The plan of a run before it starts: order, dependencies, prompts, models, tools and cost.

use super::playbooks::what;
use super::start::{Ask, StartRequest, resolve};
use super::{Project, ServiceError};
use crate::definition::{Check, RunIf, Specialist, Step, StepKind, TaskText};
use crate::expression::{Root, Scope, Strength};
use crate::llm::Tiers;
use crate::plan::{Plan, StepIx};
use crate::value::{Json, JsonMap};
use serde::Serialize;
use std::sync::Arc;

/// A plan as `kb playbook plan` shows it before a run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    /// The definition's id.
    pub definition: String,
    /// Its file.
    pub path: String,
    /// Parameters as they would be.
    pub params: JsonMap,
    /// Steps in an order that the graph allows.
    pub steps: Vec<PlannedStep>,
    /// The longest chain of steps.
    pub critical_path: Vec<String>,
    /// What the models may cost; null where a price is not known.
    pub cost: Option<CostRange>,
}

/// A step that would run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    /// Its id.
    pub id: String,
    /// Its kind key.
    pub kind: &'static str,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of its specialist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// Its explicit dependencies; `after` has all of them.
    pub depends_on: Vec<String>,
    /// What it does, in a few words.
    pub what: String,
    /// What it waits for.
    pub after: Vec<Edge>,
    /// Its condition, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Whether it may end without having run.
    pub may_skip: bool,
    /// Whether it is one of `finally`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub finally: bool,
    /// A specialist's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// The model that would be asked, or why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools that may be called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The checks of its gate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<&'static str>,
}

/// What a step waits for.
#[derive(Debug, Clone, Serialize)]
pub struct Edge {
    /// Which step.
    pub step: String,
    /// `needs`, `may-skip` or `watch`.
    pub strength: &'static str,
}

/// A task as far as it can be rendered.
#[derive(Debug, Clone, Serialize)]
pub struct Prompt {
    /// Placeholders that cannot be filled yet stay as they are written.
    pub text: String,
    /// Whether all of it is rendered.
    pub complete: bool,
}

/// From one short answer a step to every call that its limits allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CostRange {
    /// Dollars.
    pub min_usd: f64,
    /// Dollars.
    pub max_usd: f64,
}

/// What a run of this definition with these parameters would do.
pub fn plan_view(
    project: &Project,
    request: &StartRequest,
    ask: Option<&mut Ask<'_>>,
) -> Result<PlanView, ServiceError> {
    let (project, id, params) = resolve(project, request, ask)?;
    let plan = project.runnable_plan(id.as_str())?;
    let mut tiers = Tiers::from(&project.catalog.settings, &project.context.environment.variables);
    if let Some(model) = &request.overrides.model {
        tiers = tiers.with_model(model);
    }
    let scope = ParamScope { params: Arc::new(Json::Object(params.clone())) };
    let may_skip = may_skip(&plan);
    let step = |ix: &StepIx| step(&plan, *ix, may_skip[ix.at()], &tiers, &scope);
    let steps = plan.order().iter().map(step).collect();
    let chain = plan.critical_path(|_| 1);
    Ok(PlanView {
        definition: plan.playbook().id.to_string(),
        path: plan.playbook().path.clone(),
        params,
        steps,
        critical_path: chain.iter().map(|ix| plan.step(*ix).step.id.to_string()).collect(),
        cost: cost(&plan, &may_skip, &tiers),
    })
}

fn step(plan: &Plan, ix: StepIx, may_skip: bool, tiers: &Tiers, scope: &ParamScope) -> PlannedStep {
    let planned = plan.step(ix);
    let step = &planned.step;
    let edge = |d: crate::plan::Dependency| Edge {
        step: plan.step(d.on).step.id.to_string(),
        strength: d.strength.as_str(),
    };
    let checks = match &step.kind {
        StepKind::Gate(checks) => checks,
        _ => step.verify.as_ref().map_or(&[][..], |verify| verify.checks.as_slice()),
    };
    let specialist = planned.specialist.as_deref();
    PlannedStep {
        id: step.id.to_string(),
        kind: step.kind.name(),
        name: step.details().name.as_deref().map(str::to_owned),
        specialist: specialist.map(|specialist| specialist.id.to_string()),
        depends_on: step.depends_on.iter().map(|(id, _)| id.to_string()).collect(),
        what: what(&step.kind),
        after: plan.dependencies(ix).map(edge).collect(),
        condition: step.condition.as_ref().map(|c| c.source().to_owned()),
        may_skip,
        finally: planned.is_finally(),
        prompt: prompt(step, scope),
        model: specialist.map(|s| model(s, tiers)),
        tools: specialist.map(tools).unwrap_or_default(),
        checks: checks.iter().map(Check::name).collect(),
    }
}

fn tools(specialist: &Specialist) -> Vec<String> {
    specialist.tools.iter().map(ToString::to_string).collect()
}

fn model(specialist: &Specialist, tiers: &Tiers) -> String {
    let choice = &specialist.model;
    match tiers.target(choice.tier, choice.model.as_deref()) {
        Ok(target) => format!("{} ({})", target.model, choice.tier),
        Err(_) => format!("none for the tier `{}`", choice.tier),
    }
}

fn prompt(step: &Step, scope: &ParamScope) -> Option<Prompt> {
    let StepKind::Specialist { task: Some(task), .. } = &step.kind else { return None };
    Some(match &**task {
        TaskText::Inline(template) => {
            let (text, complete) = template.preview(scope);
            Prompt { text, complete }
        }
        TaskText::File { path, .. } => {
            Prompt { text: format!("(the text of {path})"), complete: true }
        }
    })
}

/// Which steps may be skipped: by their own condition, or because something that they need may be.
fn may_skip(plan: &Plan) -> Vec<bool> {
    let mut may_skip = vec![false; plan.order().len()];
    for ix in plan.order() {
        let step = &plan.step(*ix).step;
        let inherits = matches!(step.run_if, RunIf::AllSucceeded | RunIf::AnySucceeded);
        let mut needs = plan.dependencies(*ix).filter(|d| d.strength == Strength::Needs);
        let is_skipped_with = inherits && needs.any(|d| may_skip[d.on.at()]);
        may_skip[ix.at()] = step.condition.is_some() || is_skipped_with;
    }
    may_skip
}

/// What a prompt and an answer are taken to be at least and at most, in tokens.
const MIN_TOKENS: (f64, f64) = (500.0, 100.0);
const MAX_TOKENS: (f64, f64) = (8_000.0, 4_096.0);

fn cost(plan: &Plan, may_skip: &[bool], tiers: &Tiers) -> Option<CostRange> {
    let mut range = CostRange { min_usd: 0.0, max_usd: 0.0 };
    for (ix, planned) in plan.iter() {
        let Some(specialist) = planned.specialist.as_deref() else { continue };
        let target = tiers.target(specialist.model.tier, specialist.model.model.as_deref()).ok()?;
        let price = target.price?;
        let dollars =
            |(read, written): (f64, f64)| (read * price.input + written * price.output) / 1e6;
        let answer = specialist.model.max_tokens.map_or(MAX_TOKENS.1, f64::from);
        let reworks = planned.step.verify.as_ref().map_or(0, |verify| verify.max_reworks);
        let calls = f64::from(specialist.limits.max_steps) * f64::from(reworks + 1);
        if !may_skip[ix.at()] {
            range.min_usd += dollars(MIN_TOKENS);
        }
        range.max_usd += calls * dollars((MAX_TOKENS.0, answer));
    }
    Some(range)
}

/// What is known before anything has run: the parameters.
struct ParamScope {
    params: Arc<Json>,
}

impl Scope for ParamScope {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        match (root, field) {
            (Root::Param(name), None) => self.params.get(&**name).cloned().map(Arc::new),
            (Root::Params, None) => Some(self.params.clone()),
            (Root::Params, Some(name)) => self.params.get(name).cloned().map(Arc::new),
            _ => None,
        }
    }
}
