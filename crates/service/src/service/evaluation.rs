//! `kb eval`: evaluates an expression against a recorded run.

use super::ServiceError;
use super::runs::ProjectContext;
use kb_base::diagnostic::{Code, SourceId, Sources, Span, Suggestions};
use kb_base::value::{Json, StepId};
use kb_core::redaction::MASK;
use kb_core::run::{InstanceIx, State};
use kb_engine::engine::{Payloads, ReadFaults, RunScope, Secrets};
use kb_engine::inspect::{Earlier, find_run, require_step};
use kb_language::definition::DefinitionForm;
use kb_language::expression::{Names, Origin, Style, Template};
use kb_language::plan::Plan;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An expression to evaluate.
#[derive(Debug, Clone, Default)]
pub struct EvalRequest {
    /// A text with placeholders, or an expression without braces.
    pub text: String,
    /// The run: its id, a unique prefix of it, or `@last`.
    pub run: String,
    /// The step or item whose names are readable: `item`, `index`, `loop`, its `env`. Without one, the
    /// names that the outputs of the run can read.
    pub step: Option<String>,
}

/// The value of an expression after the last event of a run. Secrets evaluate to their masks.
pub fn evaluate(context: &ProjectContext, request: &EvalRequest) -> Result<Json, ServiceError> {
    let journal = context.journal(Default::default())?;
    let run = find_run(&*journal, &request.run)?;
    let earlier = Earlier::read(&*journal, &run, u64::MAX)?;
    let (plan, state) = (&*earlier.plan, &earlier.state);
    let instance = request.step.as_deref().map(|name| instance(plan, state, name)).transpose()?;
    let about = format!("the names are those of run {run} of `{}`", plan.playbook().id);
    let template = parse(&request.text, plan, &names(&earlier, instance), &about)?;
    let payloads = Payloads::new(journal.clone());
    let params = Arc::new(Json::Object(earlier.frozen.params.clone()));
    let scope = RunScope {
        plan,
        state,
        run: &run,
        params: &params,
        instance,
        payloads: &payloads,
        secrets: &Unresolved,
        item: None,
        depth: Cell::default(),
        faults: ReadFaults::default(),
    };
    let value = scope.check_reads(template.evaluate(&scope));
    value.map_err(|failure| ServiceError::refused(*failure))
}

/// Parses the text; braces are added to an expression without them.
/// `about` says whose names they are.
fn parse(text: &str, plan: &Plan, names: &Names, about: &str) -> Result<Template, ServiceError> {
    let style = match plan.playbook().form {
        DefinitionForm::Playbook => Style::Playbook,
        DefinitionForm::Workflow => Style::Workflow,
    };
    let has_braces = ["{{", "<<"].iter().any(|open| text.contains(open));
    let has_braces = has_braces || style == Style::Workflow && text.contains('{');
    let text = if has_braces { text.to_owned() } else { format!("{{{{ {text} }}}}") };
    let mut sources = Sources::default();
    let source: SourceId = sources.add("expression", text.as_str());
    let origin = Origin { span: Span::new(source, 0, text.len()), verbatim: Some(0) };
    Template::parse(&text, origin, names, style).map_err(|mut diagnostics| {
        for unknown in diagnostics.iter_mut().filter(|problem| problem.code == Code::UNKNOWN_NAME) {
            let known = unknown.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
            unknown.help = Some(format!("{known}{about}; `--run ID` names another one"));
        }
        ServiceError::Definitions { diagnostics, sources: Box::new(sources) }
    })
}

fn names(earlier: &Earlier, instance: Option<InstanceIx>) -> Names {
    let (plan, playbook) = (&earlier.plan, earlier.plan.playbook());
    let own = instance.map(|ix| &plan.step(earlier.state.instance(ix).step).step);
    let env = playbook.env.iter().chain(own.iter().flat_map(|step| &step.details().env));
    Names {
        steps: plan.steps().iter().map(|planned| planned.step.id.clone()).collect(),
        params: playbook.params.iter().map(|param| param.name.clone()).collect(),
        env: env.map(|(name, _)| name.clone()).collect(),
        secrets: earlier.catalog.settings.secrets.keys().cloned().collect(),
        item: own.and_then(|step| step.for_each.as_ref()).map(|each| each.name.clone()),
        outputs: BTreeMap::new(),
        lists: plan
            .steps()
            .iter()
            .filter_map(|planned| Some((&planned.step.id, planned.step.for_each.as_ref()?)))
            .map(|(id, each)| (id.to_string(), each.can_have_keys()))
            .collect(),
        suggestions: Suggestions::default(),
    }
}

/// The instance with this name: a step, or an item such as `review[a]`.
fn instance(plan: &Plan, state: &State, name: &str) -> Result<InstanceIx, ServiceError> {
    let step = StepId::new(name).ok().and_then(|id| plan.find(id.as_str()));
    if let Some(step) = step {
        return Ok(InstanceIx(step.0));
    }
    // Of several expansions, the last one counts.
    let named = |ix: &InstanceIx| state.key(plan, *ix).to_string() == name;
    let found = state.instances().map(|(ix, _)| ix).filter(named).last();
    found.map_or_else(
        || {
            require_step(plan, name)?;
            let known = state.instances().map(|(ix, _)| state.key(plan, ix).to_string());
            Err(ServiceError::unknown(super::ResourceKind::Step, name, known))
        },
        Ok,
    )
}

fn secret_mask(name: &str) -> String {
    format!("{MASK}{name}»")
}

/// Secrets that are shown as their masks.
struct Unresolved;

impl Secrets for Unresolved {
    fn by_name(&self, name: &str) -> Option<String> {
        Some(secret_mask(name))
    }

    fn by_reference(&self, reference: &str) -> Option<String> {
        Some(secret_mask(reference))
    }
}
