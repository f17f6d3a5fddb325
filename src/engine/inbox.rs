//! What other processes leave for a run's holder: cancellations and answers.

use super::dispatcher::Dispatcher;
use super::setup::Setup;
use crate::journal::JournalError;
use crate::run::{Input, InstanceIx, StepStatus};
use crate::value::Json;

impl Dispatcher {
    pub(super) async fn read_inbox(&mut self) -> Result<(), JournalError> {
        for item in self.parts.journal.pending(&self.setup.run).await? {
            if self.taken.contains(&item.id) || self.inputs.iter().any(|w| w.inbox == Some(item.id))
            {
                continue;
            }
            let text = |key: &str| item.body.get(key).and_then(Json::as_str).map(str::to_owned);
            let by = text("by").unwrap_or_else(|| "another process".to_owned());
            let before = self.inputs.len();
            match item.kind.as_str() {
                "cancel" => self.tell(Input::CancelRequested { by }),
                "approve" => {
                    let approved = item.body.get("approved").and_then(Json::as_bool);
                    self.answer(text("step").as_deref(), approved.unwrap_or(true), &by);
                }
                _ => {}
            }
            // The item is taken with the last of what came of it; with nothing, now.
            match self.inputs.iter_mut().skip(before).next_back() {
                Some(waiting) => waiting.inbox = Some(item.id),
                None => {
                    let Setup { run, epoch, .. } = &self.setup;
                    self.parts.journal.acknowledge(run, *epoch, &[item.id]).await?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, step: Option<&str>, approved: bool, by: &str) {
        for instance in self.named(step) {
            let by = by.to_owned();
            self.tell(Input::Answered { instance, approved, by });
        }
    }

    /// The instances that wait for a person under that name; all of them without one.
    fn named(&self, name: Option<&str>) -> Vec<InstanceIx> {
        let state = &self.folded.state;
        let waits =
            state.instances().filter(|(_, i)| i.status == StepStatus::Waiting && i.due().is_none());
        waits
            .map(|(ix, _)| ix)
            .filter(|ix| {
                name.is_none_or(|name| state.key(&self.setup.plan, *ix).to_string() == name)
            })
            .collect()
    }
}
