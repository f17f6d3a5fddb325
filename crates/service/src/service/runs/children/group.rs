//! `concurrency` of a playbook that runs as a child run.

use super::{Child, Executed, Shared, lease_lost};
use crate::service::ServiceError;
use crate::service::runs::concurrency::{self, Above, WaitNotice};
use kb_attempt::{Context, Outcome};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind};
use kb_core::evidence::{Note, Record};
use kb_engine::inspect::ParentRun;
use kb_engine::journal::LockRequest;
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

impl Shared {
    /// Enters the concurrency group of a child run, if it has one. The inner error is the outcome of an
    /// attempt that was stopped while it waited.
    pub(super) async fn enter_group(
        &self,
        child: &Child,
        context: &Context,
    ) -> Executed<Result<Option<LockRequest>, Outcome>> {
        let playbook = child.plan.playbook();
        if playbook.concurrency.is_none() {
            return Ok(Ok(None));
        }
        let above = self.above(child)?;
        let (tell, mut told) = unbounded_channel();
        let notice = WaitNotice(Arc::new(move |text| drop(tell.send(text.to_owned()))));
        let journal = &*self.journal;
        let entering =
            concurrency::enter(playbook, &child.params, &child.run, journal, &notice, &above);
        tokio::pin!(entering);
        loop {
            tokio::select! {
                biased;
                entered = &mut entering => return entered.map(Ok).map_err(failure),
                Some(text) = told.recv() => {
                    let note = Record::Note(Note::info(text));
                    if context.recorder.record(note).await.is_err() {
                        return Ok(Err(lease_lost()));
                    }
                }
                () = context.cancel.cancelled() => {
                    let failure = Failure::new(Code::ATTEMPT_FAILED, "cancelled");
                    return Ok(Err(Outcome::failed(OutcomeKind::Cancelled, failure)));
                }
                () = context.shutdown.drain.cancelled() => {
                    let reason = format!("child run {} waits for its concurrency group", child.run);
                    return Ok(Err(Outcome::waiting(reason)));
                }
            }
        }
    }

    /// The run and step that execute a child run, and all above them.
    fn above(&self, child: &Child) -> Executed<Above> {
        let mut above = Above::default();
        let mut at = Some(child.parent.clone());
        while let Some(ParentRun { run, instance }) = at {
            above.units.extend([format!("{run}/{instance}"), run.to_string()]);
            at = self.frozen_parent(&run)?.parent.clone();
            above.runs.push(run);
        }
        Ok(above)
    }
}

fn failure(error: ServiceError) -> Box<Failure> {
    match error {
        ServiceError::Refused(failure) | ServiceError::Environment(failure) => failure,
        other => Box::new(Failure::new(Code::ATTEMPT_FAILED, other.to_string())),
    }
}
