//! Creates a child run, or opens the one of an earlier attempt again.

use super::{Child, Executed, Shared, child_id, unusable};
use crate::service::runs::base::facts_of;
use crate::service::runs::budget;
use crate::service::runs::keeping::{Current, base_run, choices, secure_blobs};
use crate::service::runs::undone::with_undone;
use kb_attempt::PreviousChild;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, JsonMap, RunId};
use kb_core::run::{Preset, Rules, RunStatus};
use kb_engine::engine::{EarlierWork, Folded, StartMode, VerifiedResults};
use kb_engine::inspect::{BaseRun, Earlier, Frozen, ParentRun, require_as_recorded};
use kb_engine::journal::{JournalError, NewRun, StoredEvent};
use kb_language::plan::{Facts, Plan};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

/// A child run that is ready to be driven, or its end.
pub(super) enum Opened {
    /// This process owns its lease.
    Leased(Box<Leased>),
    /// It succeeded before, and its result is not recorded in the parent.
    Succeeded,
    /// Another process drives it.
    DrivenElsewhere(u32),
}

pub(super) struct Leased {
    pub(super) epoch: u64,
    pub(super) frozen: Frozen,
    pub(super) start: StartMode,
    pub(super) history: Vec<StoredEvent>,
    pub(super) killed_owner: Option<u32>,
    pub(super) verified: VerifiedResults,
    /// What the child runs that it continues left.
    pub(super) earlier: EarlierWork,
}

impl Shared {
    /// Whether the child run of an earlier attempt is the child run of this one.
    pub(super) fn continues(&self, previous: &PreviousChild, params: &JsonMap) -> bool {
        let Ok(row) = self.journal.run(&previous.run) else {
            // Recorded, and not created before the process ended.
            return !previous.attempt_ended;
        };
        let same = || {
            let frozen = Frozen::of_run(&*self.journal, &previous.run);
            frozen.is_ok_and(|frozen| frozen.params == *params)
        };
        match row.status {
            RunStatus::Succeeded => !previous.attempt_ended,
            RunStatus::Failed | RunStatus::Cancelled => same(),
            RunStatus::Running | RunStatus::Waiting | RunStatus::Interrupted => true,
        }
    }

    /// The earlier child run of this one, if it does not exist any more: of an earlier attempt, or of the run
    /// whose results the parent keeps.
    pub(super) fn removed(
        &self,
        previous: Option<&PreviousChild>,
        parent: &ParentRun,
        fresh: &RunId,
    ) -> Option<RunId> {
        let earlier = match previous {
            Some(previous) => previous.attempt_ended.then(|| previous.run.clone()),
            None if *fresh == child_id(&parent.run, &parent.instance, 1, 1) => {
                let frozen = self.frozen_parent(&parent.run).ok()?;
                frozen.base.as_ref()?.children.get(&parent.instance).cloned()
            }
            None => None,
        };
        earlier.filter(|run| matches!(self.journal.run(run), Err(JournalError::NoRun(_))))
    }

    /// Creates the child run or opens it again, with a lease for this process.
    pub(super) fn open(&self, child: &Child, cancelled: bool) -> Executed<Opened> {
        let (parent, step) = (&child.parent.run, &child.step);
        let budget = budget::of_child(&child.plan, parent.clone(), step.clone());
        let is_new = self.ledger.open_child(&child.run, budget);
        if let Some(previous) = child.previous.as_ref().filter(|_| is_new) {
            let events = self.journal.events(&child.run, 0).unwrap_or_default();
            let rules = Rules { max_parallel: 1, undecided: self.undecided, ..Rules::default() };
            budget::decide_models(&self.ledger, &events);
            let folded = Folded::of(&child.plan, rules, &events);
            let of = (&child.run, &*child.plan);
            let (ledger, reported) = (&self.ledger, previous.reported);
            budget::carry_over_child(ledger, of, (parent, step), reported, &folded);
        }
        let exists = match self.journal.run(&child.run) {
            Ok(_) => true,
            Err(JournalError::NoRun(_)) => false,
            Err(error) => return Err(unusable(error)),
        };
        if !exists {
            return self.create(child);
        }
        let fresh = child.previous.is_none();
        let opened = self.lease(&child.run, &child.plan, |status| match status {
            _ if cancelled => StartMode::Cancel { by: "its parent run".to_owned() },
            RunStatus::Failed | RunStatus::Cancelled if !fresh => self.retried(child),
            RunStatus::Running
            | RunStatus::Waiting
            | RunStatus::Interrupted
            | RunStatus::Succeeded
            | RunStatus::Failed
            | RunStatus::Cancelled => StartMode::Resume,
        });
        Ok(match opened? {
            Opened::Leased(mut leased) => {
                leased.frozen.facts.add(&child.facts);
                Opened::Leased(leased)
            }
            other => other,
        })
    }

    /// The retry of a child run that did not succeed, with the steps whose change was undone. A worktree or copy is
    /// written by its own steps alone.
    fn retried(&self, child: &Child) -> StartMode {
        let all = || StartMode::retry(Vec::new(), false);
        if self.is_in_tree(&child.parent) {
            return all();
        }
        with_undone(&*self.journal, &child.run, &self.root, None).unwrap_or_else(|_| all())
    }

    /// Whether a child run has files of its own, or one of the runs above it.
    fn is_in_tree(&self, parent: &ParentRun) -> bool {
        let Ok(frozen) = self.frozen_parent(&parent.run) else { return true };
        let Ok((_, plan)) = frozen.load() else { return true };
        let step = parent.instance.split('[').next().unwrap_or_default();
        let own = plan.find(step).is_none_or(|ix| plan.step(ix).isolation().is_some());
        own || frozen.parent.as_ref().is_some_and(|above| self.is_in_tree(above))
    }

    fn create(&self, child: &Child) -> Executed<Opened> {
        let parent = self.frozen_parent(&child.parent.run)?;
        let mut frozen = parent.child(&child.plan, child.params.clone(), child.parent.clone());
        frozen.facts = child.facts.clone();
        if let Some((base, known)) =
            parent.base.as_ref().and_then(|base| self.base_of(child, base, &frozen))
        {
            frozen.base = Some(base);
            frozen.facts.foreign_outputs.extend(known.foreign_outputs);
        }
        let stored = self.redactor.accept(frozen.json()).map_err(|name| {
            let message = format!(
                "the definitions of the child run contain the value of the secret `{name}`"
            );
            Box::new(Failure::new(Code::SECRET_LITERAL, message))
        })?;
        let digest = Digest::of_json(&stored);
        let presets = self.presets(&frozen, &child.plan)?;
        frozen.files.clear();
        let new = NewRun {
            run: child.run.clone(),
            definition: frozen.definition.to_string(),
            at: self.clock.now(),
            frozen: stored,
        };
        let epoch = self.journal.create(new).map_err(unusable)?;
        let environment = self.machine.environment(&frozen);
        let start = StartMode::Start { digest, environment, presets };
        Ok(self.leased(epoch, frozen, start, Vec::new(), None))
    }

    /// What a child run keeps of the one that the same instance of its parent's base run executed. Only
    /// the first child run of an instance: a later one follows a rejection of what the first one did.
    fn base_of(&self, child: &Child, base: &BaseRun, frozen: &Frozen) -> Option<(BaseRun, Facts)> {
        let parent = &child.parent;
        let first = child.run == child_id(&parent.run, &parent.instance, 1, 1);
        let run = base.children.get(&parent.instance).filter(|_| first)?;
        // A run that was removed, or that cannot be read, is no base.
        let earlier = Earlier::read(&*self.journal, run, u64::MAX).ok()?;
        if earlier.frozen.definition != frozen.definition {
            return None;
        }
        let current = Current {
            keeps_reads: false,
            plan: &child.plan,
            files: &frozen.inputs(),
            params: &frozen.params,
            task_files: &frozen.task_files,
            root: &self.root,
        };
        let choices = choices(&current, &earlier, &BTreeSet::new(), &*self.journal);
        let base = base_run(&earlier, run, &child.plan, &choices);
        let verified = earlier.verified_results(&*self.journal, &base).ok()?;
        secure_blobs(&*self.journal, &earlier.presets(&child.plan, &base), &verified).ok()?;
        let facts = facts_of(&self.journal, &earlier).ok()?;
        Some((base, facts))
    }

    /// What is decided about the steps of a child run before it starts.
    fn presets(&self, frozen: &Frozen, plan: &Plan) -> Executed<Vec<Preset>> {
        Earlier::presets_of(frozen, &*self.journal, plan)
            .map_err(|error| Box::new(Failure::new(Code::JOURNAL_UNUSABLE, error.to_string())))
    }

    /// Opens an existing child run.
    pub(super) fn lease(
        &self,
        run: &RunId,
        plan: &Plan,
        start: impl FnOnce(RunStatus) -> StartMode,
    ) -> Executed<Opened> {
        let epoch = match self.journal.acquire(run) {
            Ok(epoch) => epoch,
            Err(JournalError::Leased { pid, .. }) => return Ok(Opened::DrivenElsewhere(pid)),
            Err(error) => return Err(unusable(error)),
        };
        let opened = self.opened(run, plan, epoch, start);
        if !matches!(opened, Ok(Opened::Leased(_))) {
            futures::executor::block_on(self.journal.release(run, epoch));
        }
        opened
    }

    fn opened(
        &self,
        run: &RunId,
        plan: &Plan,
        epoch: u64,
        start: impl FnOnce(RunStatus) -> StartMode,
    ) -> Executed<Opened> {
        let killed_owner = self.journal.previous_owner(run);
        require_as_recorded(&*self.journal, run)
            .map_err(|error| Box::new(Failure::new(Code::CHAIN_BROKEN, error.to_string())))?;
        let history = self.journal.events(run, 0).map_err(unusable)?;
        let frozen = Frozen::of_run(&*self.journal, run)
            .map_err(|error| Box::new(Failure::new(Code::JOURNAL_UNUSABLE, error.to_string())))?;
        let status = self.journal.run(run).map_err(unusable)?.status;
        if status == RunStatus::Succeeded {
            return Ok(Opened::Succeeded);
        }
        let start = match start(status) {
            StartMode::Resume if history.is_empty() => {
                let digest = Digest::of_json(&frozen.json());
                let environment = self.machine.environment(&frozen);
                let presets = self.presets(&frozen, plan)?;
                StartMode::Start { digest, environment, presets }
            }
            start => start,
        };
        Ok(self.leased(epoch, frozen, start, history, killed_owner))
    }

    fn leased(
        &self,
        epoch: u64,
        frozen: Frozen,
        start: StartMode,
        history: Vec<StoredEvent>,
        killed_owner: Option<u32>,
    ) -> Opened {
        // An earlier run that was removed meanwhile has no results.
        let verified = Earlier::verified_of(&frozen, &*self.journal).unwrap_or_default();
        let earlier = Earlier::work_of(&frozen, &*self.journal).unwrap_or_default();
        let leased = Leased { epoch, frozen, start, history, killed_owner, verified, earlier };
        Opened::Leased(Box::new(leased))
    }

    /// The stored record of the run that starts a child run.
    pub(super) fn frozen_parent(&self, run: &RunId) -> Executed<Arc<Frozen>> {
        let mut last = self.parent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, frozen)) = last.as_ref().filter(|(of, _)| of == run) {
            return Ok(frozen.clone());
        }
        let frozen = Frozen::of_run(&*self.journal, run)
            .map_err(|error| Box::new(Failure::new(Code::JOURNAL_UNUSABLE, error.to_string())))?;
        let frozen = Arc::new(frozen);
        *last = Some((run.clone(), frozen.clone()));
        Ok(frozen)
    }
}
