//! What a person decided about a plan over the API: one file for each planning run, in the state folder, which sandboxed
//! commands do not see. The first decision counts.

use crate::service::ServiceError;
use crate::service::runs::ProjectContext;
use kb_attempt::read_regular;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// A decision about a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDecision {
    /// Whether the plan is run.
    pub approved: bool,
    /// Name of the person.
    pub by: String,
    /// The run of the plan, which exists once the daemon has started it; null if the plan was refused.
    pub run: Option<String>,
}

/// Records a decision about the plan of a planning run, and the text that was approved. Returns the path of the text.
///
/// # Errors
///
/// It is decided already, or the state folder cannot be written.
pub fn decide_plan(
    context: &ProjectContext,
    planner: &RunId,
    decision: &PlanDecision,
    text: &str,
) -> Result<PathBuf, ServiceError> {
    let folder = folder(context);
    let path = folder.join(format!("{planner}.yml"));
    let json = serde_json::to_vec(decision).expect("a decision is JSON");
    let written = fs::create_dir_all(&folder)
        .and_then(|()| write_new(&folder.join(format!("{planner}.json")), &json))
        .and_then(|()| write_new(&path, text.as_bytes()));
    match written {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let message = format!("the plan of `{planner}` is decided already");
            Err(ServiceError::refused(Failure::new(Code::NO_PLANNING_RUN, message)))
        }
        Err(error) => {
            let message = format!("the decision about `{planner}` cannot be stored: {error}");
            Err(ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message)))
        }
    }
}

/// The decision about the plan of a planning run, if there is one.
pub fn plan_decision(context: &ProjectContext, planner: &RunId) -> Option<PlanDecision> {
    let path = folder(context).join(format!("{planner}.json"));
    serde_json::from_slice(&read_regular(&path, limits::DEFINITION_BYTES).ok()?).ok()
}

fn folder(context: &ProjectContext) -> PathBuf {
    context.state_dir.join("plans")
}

fn write_new(path: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
