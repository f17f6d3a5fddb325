//! [`step_work`]: what one step or item did, in the order of the record: prompts, texts of models, tool calls with
//! arguments and results, and the replies of people.

use super::log_entry::LogEntry;
use super::{InspectError, Reader, prompts};
use kb_base::value::{Json, Timestamp};
use kb_core::evidence::{InvocationStatus, Payload, Record};
use kb_core::run::Event;
use serde::Serialize;
use std::sync::Arc;

/// Maximum number of entries of one attempt.
const ENTRIES: usize = 400;
/// A larger value is not loaded, in bytes.
const VALUE_BYTES: u64 = 1 << 20;

/// What one attempt did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptWork {
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The entries in the order of the record.
    pub entries: Vec<WorkEntry>,
    /// Number of later entries that are not listed.
    pub omitted: usize,
}

/// One entry of the work of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WorkEntry {
    /// A part of a prompt that no earlier call of the attempt had.
    Prompt {
        /// `system` or `user`.
        role: &'static str,
        /// What the message says.
        text: String,
    },
    /// The text of a response.
    Model {
        /// The model that answered.
        model: String,
        /// What it answered, without tool calls.
        text: String,
    },
    /// A tool call.
    Call {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        tool: String,
        /// The arguments; null if they are too large to be listed.
        args: Arc<Json>,
        /// How it ended; null while it runs.
        status: Option<InvocationStatus>,
        /// The result; null without one, or if it is too large to be listed.
        result: Arc<Json>,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
}

/// The reply of a person to a question of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepReply {
    /// Time of the reply.
    pub at: Timestamp,
    /// Whether the step continued.
    pub approved: bool,
    /// Name of the person.
    pub by: String,
    /// The answer to a question.
    pub answer: Option<Arc<Json>>,
    /// Comment of the person.
    pub comment: Option<String>,
}

/// What a step or item did, oldest attempt first, and the replies of people.
pub fn step_work(
    mut reader: Reader,
    name: &str,
) -> Result<(Vec<AttemptWork>, Vec<StepReply>), InspectError> {
    let (mut attempts, mut replies): (Vec<AttemptWork>, Vec<StepReply>) = Default::default();
    while let Some(page) = reader.next_stored()? {
        for (at, event, place) in page.into_iter().filter(|(_, _, place)| *place.instance == *name)
        {
            match event {
                Event::Answered { approved, by, answer, comment, .. } => {
                    let answer = answer.map(|answer| value(&reader, &answer)).transpose()?;
                    replies.push(StepReply { at, approved, by, answer, comment });
                }
                Event::Recorded { attempt, record, .. } => {
                    let work = attempt_of(&mut attempts, place.iteration, attempt);
                    add(work, &reader, (name, &record))?;
                }
                _ => {}
            }
        }
    }
    Ok((attempts, replies))
}

fn attempt_of(all: &mut Vec<AttemptWork>, iteration: u32, attempt: u32) -> &mut AttemptWork {
    let is_it = |work: &AttemptWork| (work.iteration, work.attempt) == (iteration, attempt);
    let at = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(AttemptWork { iteration, attempt, entries: Vec::new(), omitted: 0 });
        all.len() - 1
    });
    &mut all[at]
}

/// Adds the entries of a record.
fn add(
    work: &mut AttemptWork,
    reader: &Reader,
    (name, record): (&str, &Record),
) -> Result<(), InspectError> {
    match record {
        Record::ToolResult { invocation, result, .. } => {
            let found = work.entries.iter_mut().rev().find_map(|entry| match entry {
                WorkEntry::Call { id, status, result, duration_ms, .. }
                    if *id == invocation.id && status.is_none() =>
                {
                    Some((status, result, duration_ms))
                }
                _ => None,
            });
            if let Some((status, shown, duration_ms)) = found {
                *status = Some(invocation.status);
                *shown = value(reader, result)?;
                *duration_ms = invocation.duration_ms;
            }
        }
        _ if work.entries.len() >= ENTRIES => work.omitted += 1,
        Record::ToolCall { id, tool, args, .. } => work.entries.push(WorkEntry::Call {
            id: id.clone(),
            tool: tool.clone(),
            args: value(reader, args)?,
            status: None,
            result: Arc::default(),
            duration_ms: 0,
        }),
        Record::ModelCall { model, text, .. } => {
            let load = |payload: &Payload| value(reader, payload);
            let parts = prompts::texts(record, name, name, Timestamp(0), load)?;
            work.entries.extend(parts.into_iter().filter_map(|part| match part {
                // The others repeat texts of the model and results of its calls.
                LogEntry::Text { channel: role @ ("system" | "user"), text, .. } => {
                    Some(WorkEntry::Prompt { role, text })
                }
                LogEntry::Text { .. } | LogEntry::Event(_) => None,
            }));
            let text = value(reader, text)?.as_str().unwrap_or_default().to_owned();
            if !text.trim().is_empty() {
                work.entries.push(WorkEntry::Model { model: model.clone(), text });
            }
        }
        _ => {}
    }
    Ok(())
}

/// A value of the record; null if it is too large.
fn value(reader: &Reader, payload: &Payload) -> Result<Arc<Json>, InspectError> {
    match payload {
        Payload::Blob { bytes, .. } if *bytes > VALUE_BYTES => Ok(Arc::default()),
        payload => reader.load(payload),
    }
}
