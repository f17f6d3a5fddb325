//! Outputs of a run and of its steps.

use super::{InspectError, Reader};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_core::run::RunStatus;
use kb_core::wire::Body;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The outputs of a run, or the output of one step or item in its last iteration, and the status of
/// the run.
pub fn run_output(
    mut reader: Reader,
    step: Option<&str>,
) -> Result<(Arc<Json>, RunStatus), InspectError> {
    let mut last = (None, None);
    let mut names = Vec::new();
    while let Some(events) = reader.next_events()? {
        for event in events {
            let instance = event.place.as_ref().map(|place| place.instance.to_string());
            match (&event.body, step) {
                (Body::RunEnd { outputs, outputs_blob, .. }, None) => {
                    last = (outputs.clone(), outputs_blob.clone());
                }
                (Body::StepEnd { output, output_blob, .. }, Some(step)) => {
                    if instance.as_deref() == Some(step) {
                        last = (output.clone(), output_blob.clone());
                    }
                    names.extend(instance);
                }
                _ => {}
            }
        }
    }
    let found = reader.value(last.0, last.1)?;
    let found = found.ok_or_else(|| no_output(&reader, step, names))?;
    Ok((found, reader.status()))
}

fn no_output(reader: &Reader, step: Option<&str>, names: Vec<String>) -> InspectError {
    let (run, status) = (reader.run(), reader.status());
    let failure = |message: String| Failure::new(Code::NOT_RESUMABLE, message);
    InspectError::NoOutput(Box::new(match step {
        Some(step) if !names.iter().any(|name| name == step) => {
            if reader.plan().find(step).is_none() {
                let steps = reader.plan().steps().iter().map(|s| s.step.id.to_string());
                let known: BTreeSet<String> = steps.chain(names).collect();
                let known = known.into_iter().collect();
                return InspectError::UnknownStep { name: step.to_owned(), known };
            }
            failure(format!("step `{step}` of run `{run}` has not ended"))
        }
        Some(step) => failure(format!("step `{step}` of run `{run}` has no output"))
            .help(format!("`kb run logs {run} {step}` shows why")),
        None => failure(format!("run `{run}` is {status} and has no outputs"))
            .help(format!("`kb run output {run} STEP` prints the output of a step")),
    }))
}
