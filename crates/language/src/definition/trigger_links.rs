//! Rules over the triggers of all playbooks of a project: what they refer to exists, nothing triggers
//! itself in a circle, and the addresses of webhooks are unique.

use super::{Catalog, Playbook, RunTrigger, TriggerSource};
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};
use kb_base::value::DefinitionId;
use std::collections::{BTreeMap, BTreeSet};

/// Checks the triggers of all playbooks of a project and takes those with errors out of the catalog. A
/// run that is continued loads only its own definitions, so this is not a part of [`super::load`].
pub fn link_triggers(catalog: &mut Catalog) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut refused: BTreeSet<DefinitionId> = BTreeSet::new();
    for playbook in catalog.playbooks.values() {
        for source in run_triggers(playbook) {
            if let Some(problem) = unknown(source, catalog) {
                problems.push(problem);
                refused.insert(playbook.id.clone());
            }
        }
    }
    refused.extend(webhooks(catalog, &mut problems));
    refused.extend(cycles(catalog, &mut problems));
    for id in refused {
        if let Some(playbook) = catalog.playbooks.remove(&id) {
            let files = catalog.refused.playbooks.entry(id.to_string()).or_default();
            files.insert(playbook.path.clone());
        }
    }
    problems
}

fn run_triggers(playbook: &Playbook) -> impl Iterator<Item = &RunTrigger> {
    playbook.on.iter().filter_map(|trigger| match &trigger.source {
        TriggerSource::Run(source) => Some(source),
        _ => None,
    })
}

fn unknown(source: &RunTrigger, catalog: &Catalog) -> Option<Diagnostic> {
    let name = source.playbook.as_str();
    if catalog.playbooks.contains_key(name) || catalog.refused.playbooks.contains_key(name) {
        return None;
    }
    let near = nearest(name, catalog.playbooks.keys().map(DefinitionId::as_str));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "write the id of a playbook of this project".to_owned(),
    };
    let message = format!("there is no playbook `{name}`, whose runs would start this one");
    Some(Diagnostic::error(Code::BAD_TRIGGER, source.span, message).help(help))
}

/// Playbooks whose webhook has the address of another one.
fn webhooks(catalog: &Catalog, problems: &mut Vec<Diagnostic>) -> Vec<DefinitionId> {
    let mut paths: BTreeMap<&str, Span> = BTreeMap::new();
    let mut refused = Vec::new();
    for playbook in catalog.playbooks.values() {
        for trigger in &playbook.on {
            let TriggerSource::Webhook(webhook) = &trigger.source else { continue };
            let Some(first) = paths.insert(&webhook.path, trigger.span) else { continue };
            let message = format!("two webhooks have the address `/hooks/{}`", webhook.path);
            problems.push(
                Diagnostic::error(Code::BAD_TRIGGER, trigger.span, message)
                    .label(first, "the first one")
                    .help("give one of them another `path`"),
            );
            refused.push(playbook.id.clone());
        }
    }
    refused
}

/// Playbooks that are a part of a circle; each circle is reported once.
fn cycles(catalog: &Catalog, problems: &mut Vec<Diagnostic>) -> BTreeSet<DefinitionId> {
    let mut found = BTreeSet::new();
    for playbook in catalog.playbooks.values() {
        if found.contains(&playbook.id) {
            continue;
        }
        let Some(path) = circle(catalog, &playbook.id) else { continue };
        let names: Vec<&str> = path.iter().map(DefinitionId::as_str).collect();
        let text = [&names[..], &names[..1]].concat().join(" ← ");
        let span = run_triggers(playbook).find(|source| path.contains(&source.playbook));
        let span = span.map_or(playbook.span, |source| source.span);
        let message = format!("runs would start each other without end: `{text}`");
        problems.push(
            Diagnostic::error(Code::TRIGGER_CYCLE, span, message)
                .help("remove one of the triggers on runs"),
        );
        found.extend(path);
    }
    found
}

/// The playbooks from `start` back to itself, each triggered by the next one.
fn circle(catalog: &Catalog, start: &DefinitionId) -> Option<Vec<DefinitionId>> {
    let mut before: BTreeMap<&DefinitionId, &DefinitionId> = BTreeMap::new();
    let mut open = vec![start];
    while let Some(id) = open.pop() {
        let Some(playbook) = catalog.playbooks.get(id) else { continue };
        for source in run_triggers(playbook) {
            if source.playbook == *start {
                let mut path = vec![id.clone()];
                let mut at = id;
                while at != start {
                    at = before[at];
                    path.push(at.clone());
                }
                path.reverse();
                return Some(path);
            }
            if !before.contains_key(&source.playbook) {
                before.insert(&source.playbook, id);
                open.push(&source.playbook);
            }
        }
    }
    None
}
