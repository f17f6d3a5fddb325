use crate::diagnostic::Code;
use crate::engine::{self, EventSender, Parts, RunControl, Setup, StartMode, Summary};
use crate::journal::{Journal, StoredEvent};
use crate::llm::Recording;
use crate::plan::Plan;
use crate::process::wait_for_orphans_of;
use crate::run::Rules;
use crate::service::ServiceError;
use crate::value::{Failure, Json, JsonMap, RunId};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// A run that is held and ready to go.
pub struct Prepared {
    pub(super) parts: Parts,
    pub(super) run: RunId,
    pub(super) epoch: u64,
    pub(super) plan: Arc<Plan>,
    pub(super) params: Arc<Json>,
    pub(super) rules: Rules,
    pub(super) opening: StartMode,
    pub(super) before: Vec<StoredEvent>,
    pub(super) task_files: JsonMap,
    pub(super) recording: Option<(Arc<Recording>, PathBuf)>,
    pub(super) changed: Vec<String>,
    /// The process id of the previous lease owner, if it was killed. Its processes must end first.
    pub(super) killed_owner: Option<u32>,
}

impl Prepared {
    /// Which run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Its sealed plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Definition files that have changed since the run began; it keeps their texts of then.
    pub fn changed_files(&self) -> &[String] {
        &self.changed
    }

    /// What the journal says of it already; nothing where it begins.
    pub fn before(&self) -> &[StoredEvent] {
        &self.before
    }

    /// The journal that it is held in.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.parts.journal
    }

    /// Drives it until it ends, waits for people alone, or is left.
    pub async fn drive(
        self,
        updates: Option<EventSender>,
        commands: UnboundedReceiver<RunControl>,
    ) -> Result<Summary, ServiceError> {
        if let Some(pid) = self.killed_owner {
            wait_for_orphans_of(pid).await;
        }
        let setup = Setup {
            run: self.run,
            epoch: self.epoch,
            plan: self.plan,
            params: self.params,
            rules: self.rules,
            opening: self.opening,
            updates,
            commands,
        };
        let run = setup.run.clone();
        let summary = engine::drive_on(self.parts, setup, self.task_files, self.before).await?;
        if let Some((recording, path)) = self.recording {
            recording.write_to(&path).map_err(|error| {
                let (status, path) = (summary.status, path.display());
                let message = format!(
                    "run `{run}` has {status}, but its script could not be written to `{path}`: {error}"
                );
                let code = Code::JOURNAL_UNUSABLE.as_str();
                ServiceError::environment(Failure::new(code, message))
            })?;
        }
        Ok(summary)
    }
}
