//! What `kb doctor` says of triggers: whether something serves them, and whether webhooks can be signed.

use super::ServiceError;
use super::finding::{Finding, FindingLevel};
use super::hook_secrets::unset_hook_secrets;
use super::project::Project;
use crate::trigger::{Fire, FireFilter, FireState, TriggerStore, daemon_of, daemon_problem};
use kb_base::value::counted;

/// Whether a daemon serves the project, if it has enabled triggers.
pub(super) fn triggers(project: &Project) -> Option<Finding> {
    let folder = &project.context.state_dir;
    let pid = daemon_of(folder);
    if pid.is_none() && project.catalog.playbooks.values().all(|playbook| playbook.on.is_empty()) {
        return None;
    }
    let found = TriggerStore::open(folder).and_then(|store| {
        let states = store.states()?;
        let filter = FireFilter { trigger: None, open: true, limit: 10_000 };
        let enabled = states.values().filter(|state| state.enabled.is_some()).count();
        // The finding about the journal counts the runs that were started.
        let is_queued = |fire: &&Fire| fire.state == FireState::Queued;
        Ok((enabled, store.fires(&filter)?.iter().filter(is_queued).count()))
    });
    let (enabled, queued) = match found {
        Ok(found) => found,
        Err(error) => {
            let error = ServiceError::from(error);
            return Some(Finding::new(FindingLevel::Error, "triggers", error.to_string()));
        }
    };
    let to_start = match queued {
        0 => String::new(),
        queued => format!(", {} to start", counted(queued, "run")),
    };
    let text = format!("{} enabled{to_start}", counted(enabled, "trigger"));
    Some(match (pid, daemon_problem(folder)) {
        (Some(pid), None) => {
            Finding::new(FindingLevel::Ok, "triggers", format!("{text}, served by process {pid}"))
        }
        (Some(pid), Some(problem)) => {
            let text = format!(
                "{text}, served by process {pid}, which starts nothing at the moment: {problem}"
            );
            Finding::new(FindingLevel::Error, "triggers", text)
        }
        (None, _) if enabled + queued == 0 => {
            Finding::new(FindingLevel::Ok, "triggers", "none is enabled")
        }
        (None, _) => {
            let text = format!("{text}, and `kb serve` does not run");
            Finding::new(FindingLevel::Warning, "triggers", text)
                .help("start `kb serve`; `kb serve --unit systemd` prints a unit file")
        }
    })
}

/// An enabled webhook none of whose secrets has a value: it refuses each request.
pub(super) fn webhooks(project: &Project) -> Option<Finding> {
    let mut unset = unset_hook_secrets(project);
    // The other finding reports a store that cannot be read.
    let store = TriggerStore::open(&project.context.state_dir).ok()?;
    let states = store.states().ok()?;
    unset.retain(|(id, _)| states.get(id).is_some_and(|state| state.enabled.is_some()));
    let (id, why) = unset.first()?;
    let more = match unset.len() {
        1 => String::new(),
        all => format!(", and {} more", all - 1),
    };
    let text = format!("`{id}` refuses all requests: {why}{more}");
    let help = "set it where `kb serve` runs, which has variables of its own";
    Some(Finding::new(FindingLevel::Warning, "webhooks", text).help(help))
}
