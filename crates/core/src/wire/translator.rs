//! Translates stored events into public events.

use super::Body;
use super::event::{Event, InstanceRef};
use super::exchange_body::exchange_body;
use super::instances::InstanceTable;
use super::parts::{CheckView, ErrorView, MergedView, inline_or_blob};
use super::pass_view::PassView;
use super::question_view::QuestionView;
use super::record_body::{record_body, stdout_cut};
use super::recovery_view::RecoveryView;
use crate::evidence::{Payload, Record, Verification};
use crate::redaction::Masked;
use crate::run::{self, InstanceIx, Question, QuestionKind, RunStatus, StepStatus};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Json, RunId, SpecialistId, Tier, Timestamp, Usage};
use kb_language::definition::RecoveryKind;
use kb_language::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The projection of journal events to public events. It folds what later events need: names of items,
/// iterations, times, sums. It must receive every event of a run from the first one on, those of an
/// earlier lease owner included; callers display only the new ones.
#[derive(Debug, Clone)]
pub struct Translator {
    run: RunId,
    pub(super) instances: InstanceTable,
    began: Option<Timestamp>,
    pub(super) usage: Usage,
    /// Instances that succeeded although their gate did not pass.
    pub(super) unproven: BTreeSet<InstanceIx>,
    /// Number of those in the last child run of an instance and the runs below it.
    pub(super) unproven_below: BTreeMap<InstanceIx, u32>,
}

impl Translator {
    /// A translator at the start of a run.
    pub fn new(run: RunId, plan: Arc<Plan>) -> Translator {
        Translator {
            run,
            instances: InstanceTable::of(plan),
            began: None,
            usage: Usage::NONE,
            unproven: BTreeSet::new(),
            unproven_below: BTreeMap::new(),
        }
    }

    /// The public events of one stored event: none, one or several with the same `seq`. `head` is the
    /// head of the hash chain after this event, if known.
    pub fn translate(
        &mut self,
        seq: u64,
        at: Timestamp,
        event: &Masked<run::Event>,
        head: Option<Digest>,
    ) -> Vec<Event> {
        let bodies = self.bodies(at, event, head);
        let event =
            |(place, body)| Event { at, run: self.run.clone(), seq: Some(seq), place, body };
        bodies.into_iter().map(event).collect()
    }

    /// The current iteration and attempt of an instance, for events that are not stored.
    pub fn place(&self, instance: InstanceIx) -> Option<InstanceRef> {
        self.instances.place(instance)
    }

    /// The event that the run waits for people only; `None` if no step waits for a person. It is not
    /// stored, so it has no `seq`.
    pub fn waiting(&self, at: Timestamp) -> Option<Event> {
        let waits = self.instances.names(&self.instances.with_status(StepStatus::Waiting));
        let reason = format!("an answer is needed for {}", waits.join(", "));
        let body = Body::RunWaiting { status: RunStatus::Waiting, reason };
        let event = Event { at, run: self.run.clone(), seq: None, place: None, body };
        (!waits.is_empty()).then_some(event)
    }

    fn bodies(
        &mut self,
        at: Timestamp,
        event: &run::Event,
        head: Option<Digest>,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        use run::Event as E;
        match event {
            E::RunStarted { definition, digest, params, environment } => {
                self.began = Some(at);
                vec![(None, run_start(definition, digest, params, environment))]
            }
            E::RunResumed { epoch, in_flight, lost_ms, .. } => {
                self.instances.lose(in_flight, *lost_ms);
                let in_flight = self.instances.names(in_flight);
                vec![(None, Body::RunResume { epoch: *epoch, in_flight })]
            }
            E::Evaluated { .. } | E::CancelRequested { .. } | E::TimedOut { .. } => Vec::new(),
            E::Expanded { instance, keys, .. } => self.expanded(at, *instance, keys),
            E::Ready { instance } => {
                self.status(*instance, StepStatus::Ready);
                self.here(*instance, Body::StepReady {})
            }
            E::Started { instance, attempt } => self.started(at, *instance, *attempt),
            E::Continued { instance, .. } => {
                self.status(*instance, StepStatus::Running);
                Vec::new()
            }
            E::Recorded { instance, record, .. } => self.recorded(*instance, record),
            E::Exchanged { instance, exchange, seq, .. } => {
                let author = self.instances.names(&[*instance]).concat();
                self.here(*instance, exchange_body(&author, exchange, *seq))
            }
            E::AttemptEnded { instance, .. } => self.attempt_ended(at, *instance, event),
            E::Judged { instance, verification, .. } => self.judged(*instance, verification),
            E::Recovered { instance, due, .. } => self.recovered(at, *instance, *due, event),
            E::Waiting { instance, reason } => self.waits(*instance, reason),
            E::PassEnded { instance, pass, done, due } => {
                let until = due.filter(|due| *due > at).map(Timestamp::rfc3339);
                self.here(*instance, Body::LoopPass(PassView { pass: *pass, done: *done, until }))
            }
            E::Merging { .. } => Vec::new(),
            E::Merged { instance, trees } => {
                let trees = trees.iter().map(MergedView::from).collect();
                self.here(*instance, Body::StepMerged { trees })
            }
            E::TimerSet { instance, due } => {
                self.status(*instance, StepStatus::Waiting);
                let reason = "the end of the wait".to_owned();
                let until = Some(due.rfc3339());
                self.here(*instance, Body::StepWaiting { reason, until, needs_budget: false })
            }
            E::Asked { instance, question } => self.asked(*instance, question),
            E::Answered { instance, approved, by, answer, comment, seen: _ } => {
                self.status(*instance, StepStatus::Ready);
                let (approved, by, comment) = (*approved, by.clone(), comment.clone());
                let answer = answer.as_ref().and_then(Payload::as_inline).cloned();
                self.here(*instance, Body::AskAnswered { approved, by, answer, comment })
            }
            E::Ended { instance, status, tolerated, output, failure } => {
                self.ended(at, *instance, (*status, *tolerated), output, failure)
            }
            E::Skipped { instance } => {
                self.ended(at, *instance, (StepStatus::Skipped, false), &None, &None)
            }
            E::PlanRevised { revision } => {
                vec![(None, Body::PlanRevised(Box::new((&**revision).into())))]
            }
            E::Kept { instance, kept } => self.kept(*instance, kept),
            E::Reset { roots, closure, reason } => self.reset(roots, closure, reason),
            E::SentBack { to, closure, by, comment, taken, max, .. } => {
                let why = comment.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
                let reason = format!("rejected by {by}{why} ({taken} of {max})");
                self.reset(&[*to], closure, &reason)
            }
            E::Draining { reason } => {
                let body =
                    Body::RunWaiting { status: RunStatus::Interrupted, reason: reason.clone() };
                vec![(None, body)]
            }
            E::RunEnded { status, outputs, failure } => {
                let (outputs, outputs_blob) = inline_or_blob(Some(outputs));
                let body = Body::RunEnd {
                    status: *status,
                    outputs,
                    outputs_blob,
                    error: failure.as_ref().map(ErrorView::from),
                    usage: self.usage.into(),
                    counts: self.instances.counts(),
                    unproven: self.count_unproven(),
                    duration_ms: elapsed(self.began, at),
                    trace_head: head.map(|head| head.to_string()),
                };
                vec![(None, body)]
            }
        }
    }

    /// Number of steps, also of child runs, that succeeded although their gate did not pass.
    fn count_unproven(&self) -> u32 {
        self.unproven.len() as u32 + self.unproven_below.values().sum::<u32>()
    }

    fn recorded(&mut self, ix: InstanceIx, record: &Record) -> Vec<(Option<InstanceRef>, Body)> {
        if let Some(cut) = stdout_cut(record)
            && let Some(active) = self.instances.active(ix)
        {
            active.work().stdout_cut = Some(cut);
        }
        if let Record::ChildRunEnded { verdicts: Some(verdicts), .. } = record {
            self.unproven_below.insert(ix, verdicts.unproven);
        }
        record_body(record).map_or_else(Vec::new, |body| self.here(ix, body))
    }

    pub(super) fn here(&self, ix: InstanceIx, body: Body) -> Vec<(Option<InstanceRef>, Body)> {
        vec![(self.instances.place(ix), body)]
    }

    fn status(&mut self, ix: InstanceIx, status: StepStatus) {
        if let Some(progress) = self.instances.get_mut(ix) {
            progress.status = status;
        }
    }

    /// An instance waits for a person, such as one whose budget is used up.
    fn waits(&mut self, ix: InstanceIx, reason: &str) -> Vec<(Option<InstanceRef>, Body)> {
        self.status(ix, StepStatus::Waiting);
        let failure =
            self.instances.active(ix).and_then(|active| active.worked()?.failure.as_ref());
        let needs_budget = failure.is_some_and(|failure| failure.code == Code::BUDGET_EXHAUSTED);
        let waiting = Body::StepWaiting { reason: reason.to_owned(), until: None, needs_budget };
        let planned = self.instances.step(ix);
        if planned.is_some_and(|planned| planned.child().is_some()) {
            return self.here(ix, waiting);
        }
        let question = QuestionView::from(&Question::approval(reason.to_owned()));
        let asked = Body::AskOpened(Box::new(question));
        [self.here(ix, waiting), self.here(ix, asked)].concat()
    }

    fn expanded(
        &mut self,
        at: Timestamp,
        ix: InstanceIx,
        keys: &[String],
    ) -> Vec<(Option<InstanceRef>, Body)> {
        self.status(ix, StepStatus::Running);
        self.instances
            .active(ix)
            .into_iter()
            .for_each(|active| active.began = active.began.or(Some(at)));
        self.instances.expand(ix, keys);
        self.here(ix, Body::StepExpanded { count: keys.len(), keys: keys.to_vec() })
    }

    fn started(
        &mut self,
        at: Timestamp,
        ix: InstanceIx,
        attempt: u32,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        let Some(active) = self.instances.active(ix) else { return Vec::new() };
        active.began.get_or_insert(at);
        active.attempt_began = Some(at);
        let mut chosen = (None, None);
        if active.worked().is_some() {
            let work = active.work();
            work.stdout_cut = None;
            chosen = (work.tier, work.specialist.clone());
        }
        let (tier, specialist) = chosen;
        if let Some(progress) = self.instances.get_mut(ix) {
            progress.attempt = attempt;
            progress.status = StepStatus::Running;
        }
        let Some(planned) = self.instances.step(ix) else { return Vec::new() };
        let own = specialist.as_deref().and_then(|id| SpecialistId::new(id).ok());
        let found = planned.specialist_named(own.as_ref());
        let specialist =
            specialist.or_else(|| planned.step.kind.specialist().map(ToString::to_string));
        let tier = tier.or_else(|| found.map(|found| found.model.tier.as_str()));
        let body = Body::StepStart { kind: planned.step.kind.name(), specialist, tier };
        self.here(ix, body)
    }

    fn judged(
        &mut self,
        ix: InstanceIx,
        verification: &Verification,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        self.usage += verification.usage;
        self.instances.spend(ix, verification.usage);
        if let Some(active) = self.instances.active(ix) {
            active.work().verdict = Some(verification.verdict);
        }
        let body = Body::VerificationComplete {
            verdict: verification.verdict,
            confidence: verification.confidence,
            reason: verification.reason.clone(),
            checks: verification.checks.iter().map(CheckView::from).collect(),
            assessment: verification.assessment().cloned(),
            usage: (!verification.usage.is_none()).then(|| verification.usage.into()),
        };
        self.here(ix, body)
    }

    fn asked(&mut self, ix: InstanceIx, question: &Question) -> Vec<(Option<InstanceRef>, Body)> {
        self.status(ix, StepStatus::Waiting);
        let until = question.due.map(Timestamp::rfc3339);
        let reason = match question.kind {
            QuestionKind::Ask => "an answer".to_owned(),
            QuestionKind::Approve => "an approval".to_owned(),
        };
        let waiting = Body::StepWaiting { reason, until, needs_budget: false };
        let asked = Body::AskOpened(Box::new(question.into()));
        [self.here(ix, waiting), self.here(ix, asked)].concat()
    }

    fn recovered(
        &mut self,
        at: Timestamp,
        ix: InstanceIx,
        due: Timestamp,
        event: &run::Event,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        let run::Event::Recovered { outcome, action, taken, max, reason, tier, specialist, .. } =
            event
        else {
            return Vec::new();
        };
        let tier = tier.map(Tier::as_str);
        let specialist = specialist.as_ref().map(ToString::to_string);
        if let Some(active) = self.instances.active(ix) {
            let work = active.work();
            (work.tier, work.specialist) = (tier, specialist.clone());
            work.escalations += u32::from(*action == RecoveryKind::EscalateModel);
        }
        let body = Body::RecoveryApplied(RecoveryView {
            outcome: *outcome,
            row: *action,
            taken: *taken,
            max: *max,
            reason: reason.clone(),
            tier,
            specialist,
        });
        let mut bodies = self.here(ix, body);
        if due > at {
            let reason = "the next attempt".to_owned();
            let waiting =
                Body::StepWaiting { reason, until: Some(due.rfc3339()), needs_budget: false };
            bodies.extend(self.here(ix, waiting));
        }
        bodies
    }

    fn reset(
        &mut self,
        roots: &[InstanceIx],
        closure: &[InstanceIx],
        reason: &str,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        self.instances.restart(closure);
        self.unproven.retain(|ix| !closure.contains(ix));
        self.unproven_below.retain(|ix, _| !closure.contains(ix));
        let body = Body::StepReset {
            roots: self.instances.names(roots),
            closure: self.instances.names(closure),
            reason: reason.to_owned(),
        };
        match roots {
            [only] => self.here(*only, body),
            _ => vec![(None, body)],
        }
    }
}

pub(super) fn elapsed(began: Option<Timestamp>, at: Timestamp) -> u64 {
    began.map_or(0, |began| at.since(began).as_millis() as u64)
}

fn run_start(definition: &str, digest: &Digest, params: &Json, environment: &Json) -> Body {
    let level = |key: &str| environment.get(key).and_then(Json::as_str).map(str::to_owned);
    Body::RunStart {
        definition: definition.to_owned(),
        digest: digest.to_string(),
        params: params.clone(),
        sandbox: level("sandbox"),
        process: level("process"),
        environment: environment.clone(),
    }
}
