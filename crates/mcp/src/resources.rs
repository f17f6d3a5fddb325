//! Resources: the whole values of what answers shorten. `kb://playbooks`, `kb://playbook/ID`, `kb://run/ID` and what is
//! below it.

use crate::arguments::refused;
use crate::session::Session;
use crate::{playbooks, runs};
use kb_attempt::run_blocking;
use kb_base::value::Json;
use kb_service::service::{self, RunFilter, ServiceError};

/// The longest resource, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of runs of the list of runs.
const MAX_RUNS: usize = 1000;

/// The addresses of resources with their descriptions.
pub(crate) const TEMPLATES: &[(&str, &str, &str)] = &[
    ("kb://playbook/{id}", "playbook", "A playbook with the JSON Schema of its parameters."),
    ("kb://run/{run}", "run", "A run with its steps, verdicts and evidence."),
    (
        "kb://run/{run}/output",
        "run output",
        "The outputs of a run; `/output/STEP` the output of a step.",
    ),
    ("kb://run/{run}/events", "run events", "The recorded events of a run."),
    ("kb://run/{run}/verify", "run check", "The check of the record of a run."),
];

/// The whole value of an address as JSON text.
pub(crate) fn read(session: &Session, uri: &str) -> Result<String, ServiceError> {
    let value = run_blocking(|| value(session, uri))?;
    let text = value.to_string();
    if text.len() > MAX_BYTES {
        let message = format!("`{uri}` has {} bytes, more than {MAX_BYTES}", text.len());
        return Err(refused(message, "run_events and run_output read it in parts"));
    }
    Ok(text)
}

fn value(session: &Session, uri: &str) -> Result<Json, ServiceError> {
    let unknown = || {
        refused(
            format!("there is no resource `{uri}`"),
            "the list of resource templates has the addresses",
        )
    };
    let path = uri.strip_prefix("kb://").ok_or_else(unknown)?;
    let parts: Vec<&str> = path.splitn(4, '/').collect();
    if let ["playbooks"] = parts[..] {
        return Ok(playbooks::listed(&session.project()?));
    }
    if let ["playbook", id] = parts[..] {
        return playbooks::sheet(&session.project()?, id);
    }
    let context = session.context()?;
    if let ["runs"] = parts[..] {
        return runs::listed(&context, &RunFilter { limit: MAX_RUNS, ..RunFilter::default() });
    }
    match parts[..] {
        ["run", run] => Ok(runs::seen(&service::show_run(&context, run)?)),
        ["run", run, "output"] => Ok((*service::run_output(&context, run, None)?.0).clone()),
        ["run", run, "output", step] => {
            Ok((*service::run_output(&context, run, Some(step))?.0).clone())
        }
        ["run", run, "verify"] => {
            Ok(serde_json::to_value(service::audit_run(&context, run, None)?).unwrap_or_default())
        }
        ["run", run, "events"] => {
            let mut reader = service::read_run(&context, run)?;
            let mut events = Vec::new();
            while let Some(page) = reader.next_events().map_err(ServiceError::from)? {
                events.extend(page.iter().filter_map(|event| serde_json::to_value(event).ok()));
            }
            Ok(Json::Array(events))
        }
        _ => Err(unknown()),
    }
}
