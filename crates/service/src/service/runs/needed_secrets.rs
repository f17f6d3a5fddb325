//! Secrets that steps surely read: checked before the run is created, for its child runs too. A step that may
//! not run may do without.

use super::ProjectContext;
use crate::service::ServiceError;
use crate::service::params::SecretSources;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{DefinitionId, JsonMap, StepId};
use kb_language::definition::{Catalog, ChildParam, ParamType, Settings, StepKind, StepPhase};
use kb_language::expression::{Reference, Root, ValueTemplate};
use kb_language::plan::{Plan, PlanStep, StepIx};
use std::collections::{BTreeMap, BTreeSet};

/// Fails with all secrets that have no value although a step needs them. The steps in `idle` do not run.
pub(super) fn check(
    plan: &Plan,
    params: &JsonMap,
    idle: &BTreeSet<&StepId>,
    context: &ProjectContext,
    catalog: &Catalog,
) -> Result<(), ServiceError> {
    if context.doubles.stubs.is_some() {
        return Ok(());
    }
    let sources = SecretSources { variables: &context.environment.variables, root: &context.root };
    let mut found = Search {
        sources,
        settings: &catalog.settings,
        seen: BTreeSet::new(),
        problems: Vec::new(),
    };
    let reads = Reads::of(plan, idle);
    let used = plan.playbook().params.iter().filter(|param| {
        let is_default = param.default.as_ref() == params.get(&param.name);
        is_default && reads.params.contains(param.name.as_str())
    });
    found.problems.extend(used.filter_map(|param| sources.check_default(param)));
    found.plan(&reads);
    let mut diagnostics = found.problems;
    if diagnostics.is_empty() {
        return Ok(());
    }
    diagnostics.sort_by_key(|problem| problem.span);
    diagnostics.dedup_by(|a, b| a.span == b.span && a.message == b.message);
    Err(ServiceError::Definitions { diagnostics, sources: Box::new(catalog.sources.clone()) })
}

/// The search for secrets without a value.
struct Search<'a> {
    sources: SecretSources<'a>,
    settings: &'a Settings,
    /// Definitions of child runs that were searched.
    seen: BTreeSet<&'a DefinitionId>,
    problems: Vec<Diagnostic>,
}

impl<'a> Search<'a> {
    fn plan(&mut self, reads: &Reads<'a>) {
        for (name, reference) in &reads.secrets {
            let source = self.settings.secrets.get(*name);
            if let Some((why, fix)) = source.and_then(|source| self.sources.problem(source)) {
                let message = format!("the secret `{name}` has no value: {why}");
                let problem = Diagnostic::error(Code::SECRET_UNSET, reference.span, message);
                self.problems.push(problem.help(fix));
            }
        }
        for step in &reads.steps {
            if let (StepKind::Playbook(call), Some(child)) = (&step.step.kind, step.child()) {
                self.child(child, &call.with);
            }
        }
    }

    /// A child run with the values of `with:`, as far as they are written there.
    fn child(&mut self, plan: &'a Plan, with: &[ChildParam]) {
        let playbook = plan.playbook();
        let reads = Reads::of(plan, &BTreeSet::new());
        let read = playbook.params.iter().filter(|param| {
            param.kind == ParamType::Secret && reads.params.contains(param.name.as_str())
        });
        for param in read {
            let given = with.iter().find(|given| given.name == param.name);
            let problem = match given.map(|given| (given, &given.value)) {
                None => self.sources.check_default(param),
                Some((given, ValueTemplate::Literal(value))) => value.as_str().and_then(|text| {
                    let (why, fix) = self.sources.problem_of(text)?;
                    let message = format!(
                        "`{}` of `{}` is given `{text}`, but {why}",
                        param.name, playbook.id
                    );
                    let problem =
                        Diagnostic::error(Code::PARAMETER_INVALID, given.value_span, message);
                    Some(problem.help(fix))
                }),
                Some(_) => None,
            };
            self.problems.extend(problem);
        }
        if self.seen.insert(&playbook.id) {
            self.plan(&reads);
        }
    }
}

/// What the steps read that run if nothing fails: without a condition of their own or of a step before them.
struct Reads<'p> {
    params: BTreeSet<&'p str>,
    secrets: BTreeMap<&'p str, &'p Reference>,
    steps: Vec<&'p PlanStep>,
}

impl<'p> Reads<'p> {
    fn of(plan: &'p Plan, idle: &BTreeSet<&StepId>) -> Reads<'p> {
        let mut certain: BTreeSet<StepIx> = BTreeSet::new();
        let mut found =
            Reads { params: BTreeSet::new(), secrets: BTreeMap::new(), steps: Vec::new() };
        for ix in plan.order() {
            let planned = plan.step(*ix);
            let after = plan.dependencies(*ix).all(|before| certain.contains(&before.on));
            let own = planned.step.condition.is_none() && planned.step.phase != StepPhase::Finally;
            if !(own && after) {
                continue;
            }
            certain.insert(*ix);
            if idle.contains(&planned.step.id) {
                continue;
            }
            found.steps.push(planned);
            planned.references().for_each(|reference| found.note(reference));
            if matches!(planned.step.kind, StepKind::Run(_)) {
                let common = plan.playbook().env.iter().flat_map(|(_, value)| value.references());
                common.for_each(|reference| found.note(reference));
            }
        }
        found
    }

    /// Notes what a reference needs; `default(…)` does without.
    fn note(&mut self, reference: &'p Reference) {
        if reference.guarded {
            return;
        }
        match &reference.root {
            Root::Param(name) => {
                self.params.insert(name);
            }
            Root::Params => self.params.extend(reference.field()),
            Root::Secret(name) => {
                self.secrets.entry(name).or_insert(reference);
            }
            Root::Step(_) | Root::Run | Root::Env(_) | Root::Item | Root::Index | Root::Loop => {}
        }
    }
}
