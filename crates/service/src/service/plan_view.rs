//! The plan of a run before it starts: order, dependencies, prompts, models, tools and cost.

use super::params::Ask;
use super::playbooks::{ConfinedChild, confined};
use super::start_request::{StartRequest, resolve};
use super::{Project, ServiceError};
use kb_base::value::{Json, JsonMap};
use kb_host::llm::Tiers;
use kb_language::definition::{Check, RunIf, Specialist, Step, TaskText};
use kb_language::expression::{Root, Scope, Strength};
use kb_language::plan::{ConfinedAhead, Plan, StepIx};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The plan of a run before it starts.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    /// Id of the definition.
    pub definition: String,
    /// Path of its file.
    pub path: String,
    /// Parameter values.
    pub params: JsonMap,
    /// Steps in topological order.
    pub steps: Vec<PlannedStep>,
    /// Ids of the steps on the longest chain of dependencies.
    pub critical_path: Vec<String>,
    /// Estimate of the model cost; null if a price is unknown.
    pub cost: Option<CostRange>,
    /// Estimate of the time of its specialists.
    pub time: TimeRange,
}

/// A step of the plan.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    /// Id of the step.
    pub id: String,
    /// Step kind, such as `run`.
    pub kind: &'static str,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of its specialist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// Its explicit dependencies; `after` has all of them.
    pub depends_on: Vec<String>,
    /// Short description, such as `run cargo test`.
    pub what: String,
    /// Its dependencies.
    pub after: Vec<Edge>,
    /// Condition, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Whether it can be skipped.
    pub may_skip: bool,
    /// Whether it is a `finally` step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub finally: bool,
    /// The prompt of a specialist step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// The model, or why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tools that the specialist may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Why its commands will run in the sandbox.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sandbox: Vec<ConfinedAhead>,
    /// The steps of its child runs whose commands will run in the sandbox.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ConfinedChild>,
    /// Checks of its gate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<&'static str>,
}

/// A dependency of a step.
#[derive(Debug, Clone, Serialize)]
pub struct Edge {
    /// Id of the step that it depends on.
    pub step: String,
    /// Dependency strength: `needs`, `may-skip` or `watch`.
    pub strength: Strength,
}

/// A prompt, rendered as far as possible before the run.
#[derive(Debug, Clone, Serialize)]
pub struct Prompt {
    /// The text; placeholders without a value yet are kept.
    pub text: String,
    /// Whether all placeholders are rendered.
    pub complete: bool,
}

/// Estimated cost: from one short response for each step to all calls that the limits allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostRange {
    /// Minimum in US dollars.
    pub min_usd: f64,
    /// Maximum in US dollars.
    pub max_usd: f64,
}

/// Estimated time of the specialists on the longest chain of dependencies: from one short response of each to the time
/// limits of all attempts that their gates allow. Commands, waits and people come in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeRange {
    /// Minimum in milliseconds.
    pub min_ms: u64,
    /// Maximum in milliseconds.
    pub max_ms: u64,
}

/// The models of a definition and what they may cost, whatever its parameters are.
#[derive(Debug, Clone, Default)]
pub struct PlanModels {
    /// The model of each specialist step by the id of the step, or why there is none.
    pub models: BTreeMap<String, String>,
    /// Estimate of the cost; `None` if a price is unknown.
    pub cost: Option<CostRange>,
}

/// The models of a definition and what they may cost.
pub fn plan_models(project: &Project, id: &str) -> Result<PlanModels, ServiceError> {
    let plan = project.plan(id)?;
    let tiers = Tiers::from(&project.catalog.settings, &project.context.environment.variables);
    let of = |ix: &StepIx| {
        let planned = plan.step(*ix);
        Some((planned.step.id.to_string(), model(planned.specialist.as_deref()?, &tiers)))
    };
    let models = plan.order().iter().filter_map(of).collect();
    Ok(PlanModels { models, cost: cost(&plan, &may_skip(&plan), &tiers) })
}

/// The plan of a run with these parameters.
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
    let mut confined = confined(&plan);
    let mut step = |ix: &StepIx| {
        let (sandbox, children) = std::mem::take(&mut confined[ix.at()]);
        let planned = step(&plan, *ix, may_skip[ix.at()], &tiers, &scope);
        PlannedStep { sandbox, children, ..planned }
    };
    let steps = plan.order().iter().map(&mut step).collect();
    let chain = plan.critical_path(|_| 1);
    Ok(PlanView {
        definition: plan.playbook().id.to_string(),
        path: plan.playbook().path.clone(),
        params,
        steps,
        critical_path: chain.iter().map(|ix| plan.step(*ix).step.id.to_string()).collect(),
        cost: cost(&plan, &may_skip, &tiers),
        time: time(&plan, &may_skip),
    })
}

fn step(plan: &Plan, ix: StepIx, may_skip: bool, tiers: &Tiers, scope: &ParamScope) -> PlannedStep {
    let planned = plan.step(ix);
    let step = &planned.step;
    let edge = |d: kb_language::plan::Dependency| Edge {
        step: plan.step(d.on).step.id.to_string(),
        strength: d.strength,
    };
    let specialist = planned.specialist.as_deref();
    PlannedStep {
        id: step.id.to_string(),
        kind: step.kind.name(),
        name: step.details().name.as_deref().map(str::to_owned),
        specialist: specialist.map(|specialist| specialist.id.to_string()),
        depends_on: step.depends_on.iter().map(|(id, _)| id.to_string()).collect(),
        what: step.kind.summary(),
        after: plan.dependencies(ix).map(edge).collect(),
        condition: step.condition.as_ref().map(|c| c.source().to_owned()),
        may_skip,
        finally: planned.is_finally(),
        prompt: prompt(step, scope),
        model: specialist.map(|s| model(s, tiers)),
        tools: specialist.map(tools).unwrap_or_default(),
        sandbox: Vec::new(),
        children: Vec::new(),
        checks: step.checks().iter().map(Check::name).collect(),
    }
}

fn tools(specialist: &Specialist) -> Vec<String> {
    specialist.tools.iter().map(ToString::to_string).collect()
}

fn model(specialist: &Specialist, tiers: &Tiers) -> String {
    if let Some(agent) = &specialist.agent {
        let model = agent.model.as_deref().map(|model| format!(" ({model})"));
        return format!("agent {}{}", agent.name, model.unwrap_or_default());
    }
    let choice = &specialist.model;
    match tiers.target(choice.tier, choice.model.as_deref()) {
        Ok(target) => format!("{} ({})", target.model, choice.tier),
        Err(_) => format!("none for the tier `{}`", choice.tier),
    }
}

fn prompt(step: &Step, scope: &ParamScope) -> Option<Prompt> {
    Some(match step.kind.task()? {
        TaskText::Inline(template) => {
            let (text, complete) = template.preview(scope);
            Prompt { text, complete }
        }
        TaskText::File { path, .. } => {
            Prompt { text: format!("(the text of {path})"), complete: true }
        }
    })
}

/// For each step, whether it can be skipped: by its condition, or with one of its dependencies.
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

/// Assumed minimum and maximum number of tokens of a prompt and of a response.
const MIN_TOKENS: (f64, f64) = (500.0, 100.0);
const MAX_TOKENS: (f64, f64) = (8_000.0, 4_096.0);

fn cost(plan: &Plan, may_skip: &[bool], tiers: &Tiers) -> Option<CostRange> {
    let mut range = CostRange { min_usd: 0.0, max_usd: 0.0 };
    for (ix, planned) in plan.iter() {
        let Some(specialist) = planned.specialist.as_deref() else { continue };
        if specialist.agent.is_some() {
            return None;
        }
        let target = tiers.target(specialist.model.tier, specialist.model.model.as_deref()).ok()?;
        let price = target.price?;
        let dollars =
            |(read, written): (f64, f64)| (read * price.input + written * price.output) / 1e6;
        let answer = specialist.model.max_tokens.map_or(MAX_TOKENS.1, f64::from);
        let reworks = planned.step.verify().map_or(0, |verify| verify.max_reworks);
        let calls = f64::from(specialist.limits.max_steps) * f64::from(reworks + 1);
        if !may_skip[ix.at()] {
            range.min_usd += dollars(MIN_TOKENS);
        }
        range.max_usd += calls * dollars((MAX_TOKENS.0, answer));
    }
    Some(range)
}

/// Assumed time of a short response, in milliseconds.
const SHORT_RESPONSE: u64 = 1_000;

fn time(plan: &Plan, may_skip: &[bool]) -> TimeRange {
    let of = |ix: StepIx| {
        let planned = plan.step(ix);
        let Some(specialist) = planned.specialist.as_deref() else { return (0, 0) };
        let limit = planned.step.details().timeout.attempt.unwrap_or(specialist.limits.timeout);
        let reworks = planned.step.verify().map_or(0, |verify| verify.max_reworks);
        let most = (limit.as_millis() as u64).saturating_mul(u64::from(reworks) + 1);
        (if may_skip[ix.at()] { 0 } else { SHORT_RESPONSE }, most)
    };
    let longest = |weight: &dyn Fn(StepIx) -> u64| {
        let chain = plan.critical_path(weight);
        chain.into_iter().map(weight).fold(0, u64::saturating_add)
    };
    TimeRange { min_ms: longest(&|ix| of(ix).0), max_ms: longest(&|ix| of(ix).1) }
}

/// The scope before the run: parameters only.
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
