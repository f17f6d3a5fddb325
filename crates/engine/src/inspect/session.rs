//! [`SessionView`]: the session state of a recorded run, and its artifacts.

use super::{InspectError, Reader};
use kb_base::value::{Json, Usage};
use kb_core::evidence::SessionState;
use kb_core::run::{Session, State};
use serde::Serialize;
use std::sync::Arc;

/// The session state of a run, or as one of its steps sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Id of the run.
    pub run: String,
    /// The step whose view it is; `None`: everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Decisions, constraints, blockers, artifacts and history.
    #[serde(flatten)]
    pub state: SessionState,
    /// Estimated tokens of the state in a prompt.
    pub inline_tokens: usize,
    /// Prompt and response tokens of the run so far.
    pub total_tokens: u64,
    /// Cost of the run so far; `None` if a price is unknown.
    pub total_cost_usd: Option<f64>,
}

/// A recorded run with its session.
pub struct RecordedSession {
    reader: Reader,
    state: State,
    session: Session,
}

impl RecordedSession {
    /// Reads all events of a run.
    pub fn read(mut reader: Reader) -> Result<RecordedSession, InspectError> {
        let (state, session) = reader.session()?;
        Ok(RecordedSession { reader, state, session })
    }

    /// The session state of the run, or as a step sees it.
    pub fn view(&self, step: Option<&str>) -> Result<SessionView, InspectError> {
        let plan = self.reader.plan();
        let state = match step {
            None => self.session.whole(plan, &self.state),
            Some(name) => {
                self.reader.require_step(name)?;
                let id = name.split('[').next().unwrap_or(name);
                let ix = plan.find(id);
                ix.map(|ix| self.session.seen_by(plan, &self.state, ix)).unwrap_or_default()
            }
        };
        let usage: Usage = self.state.usage();
        Ok(SessionView {
            run: self.reader.run().to_string(),
            step: step.map(str::to_owned),
            inline_tokens: state.inline_tokens(),
            state,
            total_tokens: usage.total_tokens(),
            total_cost_usd: usage.cost_usd.map(|cost| cost.usd()),
        })
    }

    /// The content of an artifact.
    pub fn artifact(&self, id: &str) -> Result<Arc<Json>, InspectError> {
        let plan = self.reader.plan();
        let all = || self.session.artifacts(plan, &self.state);
        match all().find(|(own, _)| own == id) {
            Some((_, artifact)) => self.reader.load(&artifact.content),
            None => {
                let known = all().map(|(id, _)| id).collect();
                Err(InspectError::UnknownArtifact { name: id.to_owned(), known })
            }
        }
    }
}
