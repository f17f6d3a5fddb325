//! The coding agents of a project and of this machine.

use super::finding::{Finding, FindingLevel};
use super::plugins::exists;
use super::project::Project;
use super::specialist_templates::{NewSpecialist, write_specialist};
use super::{ResourceKind, ServiceError};
use kb_language::definition::{CodingAgent, KNOWN_AGENTS, KnownAgent};
use std::collections::BTreeMap;

/// Agents whose program is missing, and those that are installed; nothing without either.
pub(super) fn findings(project: &Project) -> Vec<Finding> {
    let specialists = project.catalog.specialists.values();
    let used = specialists.filter_map(|own| Some((own.agent.as_ref()?, own)));
    let missing = |agent: &CodingAgent| {
        agent.argv.first().filter(|program| !exists(project, program)).cloned()
    };
    let is_there = |(_, program): &(String, String)| exists(project, program);
    let mut findings: Vec<Finding> = used
        .filter_map(|(agent, own)| {
            let program = missing(agent)?;
            let message =
                format!("the program `{program}` of the agent of `{}` does not exist", own.id);
            let help = match agent.install() {
                Some(install) => format!("install it: {install}"),
                None => "install it, or correct `command` of the agent".to_owned(),
            };
            Some(Finding::new(FindingLevel::Warning, "agents", message).help(help))
        })
        .collect();
    let installed: Vec<String> =
        agents(project).into_iter().filter(is_there).map(|(name, _)| format!("`{name}`")).collect();
    if !installed.is_empty() {
        let message = format!("installed: {}", installed.join(", "));
        findings.push(Finding::new(FindingLevel::Ok, "agents", message));
    }
    findings
}

/// The programs of the agents that a specialist can name: those of the settings, and the known ones.
fn agents(project: &Project) -> BTreeMap<String, String> {
    let known = KNOWN_AGENTS.iter().filter_map(|known| Some((known.name, *known.argv.first()?)));
    let known = known.map(|(name, program)| (name.to_owned(), program.to_owned()));
    let own = project.catalog.settings.agents.iter();
    let own = own.filter_map(|(name, agent)| Some((name.clone(), agent.argv.first()?.clone())));
    known.chain(own).collect()
}

/// Writes `.kb/specialists/ID.yml` for an agent. An existing file is an error.
pub fn new_agent_specialist(
    project: &Project,
    id: &str,
    agent: &str,
) -> Result<NewSpecialist, ServiceError> {
    let all = agents(project);
    if !all.contains_key(agent) {
        return Err(ServiceError::unknown(ResourceKind::Agent, agent, all.into_keys()));
    }
    write_specialist(project, id, &text(id, agent))
}

/// The file of a specialist whose work an agent does.
fn text(id: &str, agent: &str) -> String {
    let key = KnownAgent::find(agent).map_or("API_KEY", |known| known.key);
    format!(
        "# Show it:   kb specialist info {id}
# All keys:  kb schema specialist
schema: kb.specialist/1
id: {id}

role: |
  You are a specialist for ONE_TASK.

agent:
  name: {agent}
  # The home folder of the agent is empty: it gets a key here, and no login.
  env: {{{key}: \"env:{key}\"}}

# The agent talks to its model. Commands that check its work have the same network.
network: open

# The tools that it works with: each call is recorded, and gates check its claims against the record.
tools: [\"fs:*\", \"shell:exec\"]

limits:
  timeout: 30m

output:
  schema:
    summary: string
    filesCreated?: \"string[]\"
    filesModified?: \"string[]\"
    filesDeleted?: \"string[]\"
"
    )
}
