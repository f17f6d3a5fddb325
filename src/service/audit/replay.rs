use super::{Audit, Frozen};
use crate::definition::{Check, Step, StepKind};
use crate::diagnostic::Code;
use crate::engine::Payloads;
use crate::evidence::{Invocation, Payload, Record, Verification};
use crate::journal::Journal;
use crate::plan::Plan;
use crate::run::{Event, InstanceIx};
use crate::value::Json;
use crate::verify::{Basis, evaluate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of an instance while a run's events are gone through. An own and simpler fold than
/// the one that drives runs, so that a mistake there is not repeated here.
#[derive(Default, Clone)]
struct Standing {
    step: usize,
    name: String,
    output: Option<Payload>,
    calls: Vec<Invocation>,
    observed: Option<Payload>,
}

/// Goes through the events of a run and finds each verdict again.
struct Replay<'a> {
    plan: Arc<Plan>,
    payloads: Payloads,
    standing: BTreeMap<InstanceIx, Standing>,
    audit: &'a mut Audit,
}

impl Audit {
    pub(super) fn verdicts(
        &mut self,
        journal: &Arc<dyn Journal>,
        frozen: &Frozen,
        events: &[(u64, Event)],
    ) {
        let plan = match frozen.thaw() {
            Ok((_, plan)) => plan,
            Err(error) => {
                let message = format!("what the run froze cannot be loaded: {error}");
                return self.fault(Code::RECORD_INCONSISTENT, None, message);
            }
        };
        let steps = plan.steps().iter().enumerate().map(|(step, planned)| {
            let name = planned.step.id.to_string();
            (InstanceIx(step as u32), Standing { step, name, ..Standing::default() })
        });
        let standing = steps.collect();
        let journal: Arc<dyn Journal> = journal.clone();
        let mut replay = Replay { plan, payloads: Payloads::new(journal), standing, audit: self };
        events.iter().for_each(|(seq, event)| replay.take(*seq, event));
    }
}

impl Replay<'_> {
    fn take(&mut self, seq: u64, event: &Event) {
        match event {
            Event::Expanded { instance, first, keys, .. } => self.expand(*instance, *first, keys),
            Event::Recorded { instance, record, .. } => {
                let Some(standing) = self.standing.get_mut(instance) else { return };
                match &**record {
                    Record::ToolResult { invocation, .. } => {
                        standing.calls.push(invocation.clone())
                    }
                    Record::Observed { basis } => standing.observed = Some(basis.clone()),
                    _ => {}
                }
            }
            Event::AttemptEnded { instance, output, .. } => {
                if let Some(standing) = self.standing.get_mut(instance) {
                    standing.output.clone_from(output);
                    standing.observed = None;
                }
            }
            Event::Judged { instance, verification, .. } => {
                self.judged(seq, *instance, verification);
            }
            Event::Ended { instance, .. } => self.forget(*instance),
            Event::Reset { closure, .. } => closure.iter().for_each(|ix| self.forget(*ix)),
            _ => {}
        }
    }

    fn expand(&mut self, parent: InstanceIx, first: InstanceIx, keys: &[String]) {
        let Some(Standing { step, name, .. }) = self.standing.get(&parent).cloned() else { return };
        for (ix, key) in (first.0..).map(InstanceIx).zip(keys) {
            let name = format!("{name}[{key}]");
            self.standing.insert(ix, Standing { step, name, ..Standing::default() });
        }
    }

    fn forget(&mut self, ix: InstanceIx) {
        if let Some(standing) = self.standing.get_mut(&ix) {
            standing.calls.clear();
            (standing.output, standing.observed) = (None, None);
        }
    }

    fn judged(&mut self, seq: u64, ix: InstanceIx, told: &Verification) {
        let Some(standing) = self.standing.get_mut(&ix) else { return };
        let Some(observed) = standing.observed.take() else {
            self.audit.without_basis += 1;
            return;
        };
        let standing = standing.clone();
        let name = &standing.name;
        match self.again(&standing, &observed) {
            Ok(again) if is_same(&again, told) => self.audit.verdicts += 1,
            Ok(again) => {
                let message = format!(
                    "the verdict on `{name}` is recorded as {}, and what was observed gives {}{}",
                    told.verdict,
                    again.verdict,
                    again.reason.map(|reason| format!(": {reason}")).unwrap_or_default(),
                );
                self.audit.fault(Code::VERDICT_DIFFERS, Some(seq), message);
            }
            Err(reason) => {
                let message = format!("the verdict on `{name}` cannot be found again: {reason}");
                self.audit.fault(Code::VERDICT_DIFFERS, Some(seq), message);
            }
        }
    }

    /// The verdict over what was recorded.
    fn again(&self, standing: &Standing, observed: &Payload) -> Result<Verification, String> {
        let load = |payload: &Payload| self.payloads.load(payload).map_err(|e| e.to_string());
        let basis: Basis = serde_json::from_value((*load(observed)?).clone())
            .map_err(|error| format!("what was observed cannot be read: {error}"))?;
        let output = match &standing.output {
            Some(output) => load(output)?,
            None => Arc::new(Json::Null),
        };
        let step = &self.plan.steps()[standing.step].step;
        let calls = standing.calls.clone();
        let (gate, seen) = basis
            .restore(output, step.details().output_schema.clone(), checks(step), calls)
            .map_err(|incomplete| incomplete.to_string())?;
        Ok(evaluate(&gate, &seen))
    }
}

fn checks(step: &Step) -> &[Check] {
    match (&step.kind, &step.verify) {
        (StepKind::Gate(checks), _) => checks,
        (_, Some(verify)) => &verify.checks,
        (_, None) => &[],
    }
}

/// The same verdict, as a whole and check by check. Words may differ: a later `kb` may say it better.
fn is_same(a: &Verification, b: &Verification) -> bool {
    let verdicts =
        |v: &Verification| v.checks.iter().map(|check| check.verdict).collect::<Vec<_>>();
    (a.verdict, a.confidence, verdicts(a)) == (b.verdict, b.confidence, verdicts(b))
}
