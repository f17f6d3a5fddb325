//! `concurrency` of a playbook that runs as a child run.

use super::{Child, Executed, Shared, lease_lost};
use crate::attempt::{Context, Outcome};
use crate::diagnostic::Code;
use crate::evidence::{Note, Record};
use crate::journal::LockRequest;
use crate::service::ServiceError;
use crate::service::runs::concurrency::{self, WaitNotice};
use crate::value::{Failure, OutcomeKind, RunId};
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
        let above = self.runs_above(child)?;
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

    /// The run that executes a child run, and all runs above it.
    fn runs_above(&self, child: &Child) -> Executed<Vec<RunId>> {
        let mut above = vec![child.parent.run.clone()];
        let mut at = self.frozen_parent(&child.parent.run)?;
        while let Some(parent) = at.parent.as_ref().map(|parent| parent.run.clone()) {
            at = self.frozen_parent(&parent)?;
            above.push(parent);
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
