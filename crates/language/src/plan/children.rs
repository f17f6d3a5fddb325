//! Resolves the children of `playbook` steps, the subworkflows of a plan: each is a plan of its own, built with its parent.
//!
//! Start at [`Children::resolve`]. A child that does not exist, has errors, or leads back to itself is
//! reported at the step that names it.

use super::{Plan, check};
use crate::definition::{Catalog, DELEGATES, Playbook, PlaybookStep, Step, StepKind};
use kb_base::diagnostic::{Code, Diagnostic, nearest};
use kb_base::value::DefinitionId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of runs in a chain of child runs, without the first one.
pub const MAX_CHILD_DEPTH: usize = 16;

/// The plans of children while a plan and all plans below it are built, each built once.
pub(super) struct Children<'a> {
    catalog: &'a Catalog,
    /// The definitions from the first one to the current one.
    path: Vec<DefinitionId>,
    built: BTreeMap<DefinitionId, Result<Arc<Plan>, Unusable>>,
}

/// Why a child cannot be used.
#[derive(Debug, Clone)]
enum Unusable {
    /// No valid definition has this id; the text says why.
    Missing(String, String),
    /// Its plan has errors; its own problems are reported with its definition.
    Errors,
    /// It leads back to a definition on the path, which the text shows.
    Cycle(String),
    /// The path is longer than the maximum.
    Deep(String),
}

impl<'a> Children<'a> {
    pub(super) fn new(catalog: &'a Catalog, root: &DefinitionId) -> Children<'a> {
        Children { catalog, path: vec![root.clone()], built: BTreeMap::new() }
    }

    pub(super) fn catalog(&self) -> &'a Catalog {
        self.catalog
    }

    /// The plan of the child of a `playbook` step; reports a child that cannot be used, and parameters
    /// that do not fit.
    pub(super) fn resolve(
        &mut self,
        step: &Step,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Plan>> {
        let StepKind::Playbook(call) = &step.kind else { return None };
        match self.child(&call.playbook) {
            Ok(plan) => {
                problems.extend(check::child_params(call, plan.playbook()));
                problems.extend(check::child_version(call, plan.playbook()));
                Some(plan)
            }
            Err(unusable) => {
                problems.push(report(call, &unusable));
                None
            }
        }
    }

    /// The plans of the tasks that specialists can delegate; one with errors is left out, and a call that needs it fails.
    pub(super) fn delegates(&mut self) -> Vec<Arc<Plan>> {
        let is_delegate = |book: &&Arc<Playbook>| book.path.starts_with(DELEGATES);
        let all = self.catalog.playbooks.values().filter(is_delegate);
        let ids: Vec<DefinitionId> = all.map(|book| book.id.clone()).collect();
        ids.iter().filter_map(|id| self.child(id).ok()).collect()
    }

    fn child(&mut self, id: &DefinitionId) -> Result<Arc<Plan>, Unusable> {
        if let Some(start) = self.path.iter().position(|on_path| on_path == id) {
            return Err(Unusable::Cycle(chain(&self.path[start..], id)));
        }
        if let Some(built) = self.built.get(id) {
            let depth = built.as_ref().map_or(0, |plan| plan.depth());
            return if self.path.len() + depth > MAX_CHILD_DEPTH {
                Err(Unusable::Deep(chain(&self.path, id)))
            } else {
                built.clone()
            };
        }
        if self.path.len() > MAX_CHILD_DEPTH {
            return Err(Unusable::Deep(chain(&self.path, id)));
        }
        let built = self.build(id);
        self.built.insert(id.clone(), built.clone());
        built
    }

    fn build(&mut self, id: &DefinitionId) -> Result<Arc<Plan>, Unusable> {
        let Some(playbook) = self.catalog.playbooks.get(id).cloned() else {
            return Err(self.missing(id));
        };
        self.path.push(id.clone());
        let (plan, problems) = Plan::build_with(&playbook, self);
        self.path.pop();
        let found = plan.map(Arc::new);
        found.ok_or_else(|| {
            // A cycle or a long chain below this child is the same problem for every plan above it.
            let below = problems.iter().filter(|problem| problem.is_error());
            let mut chain = below.filter_map(|problem| match problem.code {
                Code::PLAYBOOK_CYCLE => Some(Unusable::Cycle(path_of(problem))),
                Code::CHILD_DEPTH => Some(Unusable::Deep(path_of(problem))),
                _ => None,
            });
            chain.next_back().unwrap_or(Unusable::Errors)
        })
    }

    fn missing(&self, id: &DefinitionId) -> Unusable {
        if let Some(files) = self.catalog.refused.playbooks.get(id.as_str()) {
            let names: Vec<_> = files.iter().map(|path| format!("`{path}`")).collect();
            let names = names.join(" and ");
            return match files.len() {
                1 => Unusable::Missing(
                    format!("the playbook `{id}` cannot be used: {names} has errors"),
                    "fix its file; its errors are reported as well".to_owned(),
                ),
                _ => Unusable::Missing(
                    format!("the playbook `{id}` cannot be used: defined by {names}"),
                    "keep one of the files, or give it another id".to_owned(),
                ),
            };
        }
        let known = self.catalog.playbooks.keys().map(DefinitionId::as_str);
        let help = match nearest(id.as_str(), known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.catalog.playbooks.is_empty() => {
                format!("the project has no other playbook; write `.kb/playbooks/{id}.yml`")
            }
            None => {
                format!("known playbooks: {}", known.take(12).collect::<Vec<_>>().join(", "))
            }
        };
        Unusable::Missing(format!("no playbook or workflow `{id}` could be loaded"), help)
    }
}

fn chain(path: &[DefinitionId], last: &DefinitionId) -> String {
    let ids = path.iter().chain([last]).map(DefinitionId::as_str);
    ids.collect::<Vec<_>>().join(" → ")
}

/// The path that a problem below this child shows.
fn path_of(problem: &Diagnostic) -> String {
    problem.message.rsplit(": ").next().unwrap_or_default().to_owned()
}

fn report(call: &PlaybookStep, unusable: &Unusable) -> Diagnostic {
    let id = &call.playbook;
    match unusable {
        Unusable::Missing(message, help) => {
            Diagnostic::error(Code::NO_SUCH_PLAYBOOK, call.span, message.clone()).help(help.clone())
        }
        Unusable::Errors => {
            let message = format!("the playbook `{id}` cannot be used: it has errors");
            Diagnostic::error(Code::NO_SUCH_PLAYBOOK, call.span, message)
                .help(format!("fix its errors; `kb playbook validate {id}` shows them"))
        }
        Unusable::Cycle(path) => {
            let message = format!("playbooks run each other in a circle: {path}");
            Diagnostic::error(Code::PLAYBOOK_CYCLE, call.span, message)
                .help("remove one of these `playbook` steps")
        }
        Unusable::Deep(path) => {
            let message =
                format!("child runs are nested deeper than {MAX_CHILD_DEPTH} levels: {path}");
            Diagnostic::error(Code::CHILD_DEPTH, call.span, message)
                .help("call one of the inner playbooks directly")
        }
    }
}
