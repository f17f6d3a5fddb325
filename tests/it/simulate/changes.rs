//! The files of steps that have files of their own: what attempts left in them, and what of it is in
//! the project. No path of retries, resumed runs, kept and stored results ends with a step that
//! succeeded and whose changes are missing.

use super::case::{Case, PresetSpec, Spec};
use super::coverage::Coverage;
use super::simulation::{Simulation, kept, list};
use super::watch::{Fault, Turned, hold};
use kb::definition::StepTexts;
use kb::diagnostic::Code;
use kb::evidence::{Merged, MergedTree};
use kb::plan::{Plan, StepIx};
use kb::run::*;
use kb::value::{Failure, JsonMap};
use std::collections::{BTreeMap, BTreeSet};

/// Follows the changes of one run.
#[derive(Default)]
pub(super) struct Changes {
    /// The trees in which an attempt did its work.
    trees: BTreeSet<Turned>,
    /// Whose changes are in the project, and of which iteration; 0 is an earlier run.
    project: BTreeMap<String, u32>,
}

impl Changes {
    pub(super) fn keep(&mut self, earlier: &BTreeSet<String>) {
        self.project = earlier.iter().map(|name| (name.clone(), 0)).collect();
    }

    pub(super) fn made(&mut self, turned: Turned) {
        self.trees.insert(turned);
    }

    pub(super) fn merged(&mut self, trees: &[MergedTree]) {
        for tree in trees {
            let iterations = tree.files.iter().map(|file| file.parse().expect("an iteration"));
            self.project.extend(iterations.map(|iteration| (tree.instance.clone(), iteration)));
        }
    }

    /// What the merge of a step comes to. Each tree is merged whole or not at all, and one that does
    /// not exist is a failure. The name of a changed file is the iteration that changed it.
    pub(super) fn merge(
        &self,
        plan: &Plan,
        state: &State,
        step: InstanceIx,
        conflicts: bool,
    ) -> Merged {
        let mut failure = conflicts.then(|| Failure::new(Code::OTHER, "cannot be merged"));
        let mut trees = Vec::new();
        // The last one conflicts.
        let merged = state.merged_at_end(step);
        let count = merged.len() - usize::from(conflicts && !merged.is_empty());
        for ix in merged.into_iter().take(count) {
            let iteration = state.instance(ix).iteration;
            let files = if self.trees.contains(&(ix, iteration)) {
                vec![iteration.to_string()]
            } else {
                failure = Some(Failure::new(Code::OTHER, "the files do not exist any more"));
                Vec::new()
            };
            let instance = state.key(plan, ix).to_string();
            trees.push(MergedTree { instance, files, ..MergedTree::default() });
        }
        Merged { trees, failure }
    }

    /// The changes of all that succeeded are in the project.
    pub(super) fn are_kept(
        &self,
        plan: &Plan,
        state: &State,
        kept: &BTreeSet<Turned>,
    ) -> Result<(), Fault> {
        let steps = (0..plan.steps().len() as u32).map(InstanceIx).filter(|ix| {
            let own = plan.step(state.instance(*ix).step).isolation().is_some();
            own && state.instance(*ix).status == StepStatus::Succeeded
        });
        for ix in steps.flat_map(|step| state.merged_at_end(step)) {
            let (name, iteration) = (state.key(plan, ix).to_string(), state.instance(ix).iteration);
            let found = self.project.get(&name).copied();
            let there = if kept.contains(&(ix, iteration)) {
                found.is_some()
            } else {
                found == Some(iteration)
            };
            hold!(there, "{name} succeeded, and its changes are not in the project: {found:?}");
        }
        Ok(())
    }
}

/// Plays a case, then a new run of the same definition that keeps what it may of the first.
/// In the second one all work ends well. Returns how many steps and items it kept.
pub(super) fn continued(case: &Case, seen: &mut Coverage) -> Result<usize, Fault> {
    let mut first = Simulation::new(case, seen);
    first.play()?;
    let presets = presets(&first);
    let count = presets.len();
    let merged = first.watch.changes.project.into_keys().collect();
    let well = |spec: &Spec| {
        let ends = vec![Vec::new(); spec.ends.len()];
        let merges = spec.merges.map(|_| true);
        Spec { ends, merges, preset: None::<PresetSpec>, ..spec.clone() }
    };
    let case = Case { steps: case.steps.iter().map(well).collect(), ..case.clone() };
    let mut second = Simulation::new(&case, seen);
    second.kept = Some(presets);
    second.merged_before = merged;
    second.play().map_err(|fault| format!("in the run that continues: {fault}"))?;
    Ok(count)
}

/// What a new run keeps of one that has ended.
fn presets(earlier: &Simulation<'_>) -> Vec<Preset> {
    let (texts, none, files) = (StepTexts::default(), JsonMap::new(), BTreeMap::new());
    let plan = &earlier.plan;
    let version = Version { plan, texts: &texts, params: &none, task_files: &none, files: &files };
    let state = &earlier.state;
    let choices = choose(&Comparison {
        before: version,
        now: version,
        state,
        changed_files: &BTreeMap::new(),
        again: &BTreeSet::new(),
    });
    let preset = |(ix, choice): (StepIx, Choice)| {
        let (spec, instance) = (&earlier.case.steps[ix.at()], state.instance(InstanceIx(ix.0)));
        let whole = match choice {
            Choice::Keep => true,
            Choice::KeepItems => false,
            Choice::Verify(_) | Choice::Again(_) | Choice::Continue(_) => return None,
        };
        let result = |item: Option<usize>, of: &Instance| {
            let usable = whole || of.status == StepStatus::Succeeded;
            usable.then(|| KeptResult { status: of.status, ..kept(spec, item) })
        };
        let Some(items) = instance.items() else {
            return Some(Preset::Kept(ix, Box::new(result(None, instance)?)));
        };
        let all = || items.all().map(|item| state.instance(item));
        let key = |of: &Instance| Some(of.item.as_ref()?.key().into_owned());
        let results = all().enumerate().map(|(at, of)| result(Some(at), of)).collect();
        let whole = result(None, instance).filter(|_| whole);
        let keys = all().filter_map(key).collect();
        // The list tells the iteration of the run that has it.
        let Ok(Evaluation::Items { items: values, .. }) = list(spec, 1) else { return None };
        let (keyed, items) = (items.keyed, values);
        Some(Preset::Items(ix, Box::new(KeptItems { keys, items, keyed, results, whole })))
    };
    (0..).map(StepIx).zip(choices).filter_map(preset).collect()
}
