//! What is kept of a coding agent in a run that is recorded (`--record`), so that its turns can be played without it.

use super::agent_prompt::Seen;
use super::report::StopReason;
use super::runner::Attempt;
use crate::llm::{AgentEvent, CallOrigin, ChatReply, ChatRequest, ModelError};
use kb_attempt::run_blocking;
use kb_base::value::Json;
use kb_core::evidence::{Change, FileKind};
use std::path::Path;

/// Maximum size of a file that is kept, in bytes.
const TEXT: usize = 256 << 10;

impl Attempt<'_> {
    /// The turn that the agent has, or had last.
    pub(super) fn agent_origin(&self) -> CallOrigin {
        CallOrigin {
            place: self.request.place(),
            turn: self.agent_turn,
            params: self.work.params.clone(),
        }
    }

    /// Keeps one thing that the agent does. Paths are made relative to the project.
    pub(super) fn keep_event(&self, mut event: AgentEvent) {
        let Some(turns) = self.provider.kept_turns() else { return };
        let root = self.toolset.workspace().map(|workspace| workspace.root());
        match &mut event {
            AgentEvent::Called { args, .. }
            | AgentEvent::Reported { args, .. }
            | AgentEvent::Asked { args, .. } => {
                root.iter().for_each(|root| make_relative(args, root));
            }
            AgentEvent::Wrote { .. } | AgentEvent::Deleted { .. } => {}
        }
        turns.keep_event(&self.agent_origin(), &event);
    }

    /// Keeps the files that the agent changed by itself.
    pub(super) fn keep_changes(&self, changes: &[Change]) {
        let (Some(turns), Some(workspace)) = (self.provider.kept_turns(), self.toolset.workspace())
        else {
            return;
        };
        for change in changes {
            let path = change.path.clone();
            let kind =
                |state: &Option<kb_core::evidence::FileState>| state.as_ref().map(|own| own.kind);
            let event = match (kind(&change.before), kind(&change.after)) {
                (_, Some(FileKind::File)) => {
                    let read = run_blocking(|| workspace.read_at_most(&path, TEXT));
                    let text = read.ok().and_then(|bytes| String::from_utf8(bytes).ok());
                    let Some(content) = text else {
                        turns.keep_left_out(&path);
                        continue;
                    };
                    AgentEvent::Wrote { path, content }
                }
                (Some(FileKind::File), None) => AgentEvent::Deleted { path },
                // They come and go with the files.
                (_, Some(FileKind::Directory)) | (Some(FileKind::Directory), None) => continue,
                _ => {
                    turns.keep_left_out(&path);
                    continue;
                }
            };
            turns.keep_event(&self.agent_origin(), &event);
        }
    }

    /// Keeps the last message of a turn. A replay has no session of before, so what the agent was given can be compared only
    /// if it had none.
    pub(super) fn keep_reply(&self, request: &ChatRequest, reply: &ChatReply, seen: Seen) {
        let Some(turns) = self.provider.kept_turns() else { return };
        let given = (seen != Seen::EarlierSession).then_some(request);
        turns.keep_end(&request.origin, given, Ok(reply));
    }

    /// Keeps why a turn ended without a message.
    pub(super) fn keep_stop(&self, ended: &Result<(), StopReason>) {
        let (Some(turns), Err(stop)) = (self.provider.kept_turns(), ended) else { return };
        let origin = self.agent_origin();
        let error = match stop {
            StopReason::Asks(_) => return turns.keep_question(&origin),
            StopReason::Agent(_, failure) => {
                let message = failure.message.clone();
                ModelError::Transient { message, status: None, retry_after: None }
            }
            StopReason::TimedOut => {
                let model = String::new();
                ModelError::Timeout { model, limit: self.work.specialist.limits.timeout }
            }
            StopReason::GaveUp(_)
            | StopReason::ProtectedPathsChanged(_)
            | StopReason::Model(_)
            | StopReason::Budget(_)
            | StopReason::Unpriced(_)
            | StopReason::Cancelled => return,
        };
        turns.keep_end(&origin, None, Err(&error));
    }
}

/// Agents name files by absolute paths, and a replay has another folder.
fn make_relative(args: &mut Json, root: &Path) {
    let relative = |path: &mut Json| {
        let below = path.as_str().and_then(|text| Path::new(text).strip_prefix(root).ok());
        if let Some(below) = below.map(|below| below.display().to_string()) {
            *path = Json::String(below);
        }
    };
    args.get_mut("path").into_iter().for_each(relative);
    args.get_mut("paths").and_then(Json::as_array_mut).into_iter().flatten().for_each(relative);
}
