//! Applies one suggestion, after a person has asked for it.

use super::facts::{SOLUTION, Suggestion, learned};
use super::files::{ROUTES, write};
use crate::service::faq::add_faq;
use crate::service::memory::{MemoryAdd, add_memory};
use crate::service::planning::goal_answer;
use crate::service::runs::ProjectContext;
use crate::service::templates::with_id;
use crate::service::writing::write_files;
use crate::service::{Environment, Project, ResourceKind, ServiceError};
use kb_attempt::read_regular;
use kb_base::diagnostic::Code;
use kb_base::value::{DefinitionId, Failure, limits, one_line};
use kb_language::definition::{FileRole, InputFile};
use kb_learning::{Advice, NoteKind, Recurring};
use kb_memory::{FaqCategory, Kind};
use serde::Serialize;
use std::path::Path;

/// Lines of [`ROUTES`], the newest first.
const MOST_ROUTES: usize = 40;
/// Maximum number of characters of the problem of an entry of the FAQ.
const SUBJECT: usize = 200;

/// What was applied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Applied {
    /// What was suggested, with what it rests on.
    pub suggestion: Suggestion,
    /// The file that was changed or written, or the id of the entry of the memory.
    pub path: String,
}

/// Applies the suggestion with this id: changes the tier in the file of a specialist, notes a preference in
/// [`ROUTES`], proposes an entry of the memory or of the FAQ, or writes the playbook of a plan, with the id `name` if there is one.
///
/// # Errors
///
/// The runs do not suggest it, or the file cannot be changed so that the project stays valid.
pub fn apply_suggestion(
    environment: &Environment,
    id: &str,
    name: Option<&str>,
    limit: usize,
) -> Result<Applied, ServiceError> {
    let found = learned(environment, limit)?.suggestions;
    let Some(suggestion) = found.iter().find(|own| own.id == id).cloned() else {
        let known = found.into_iter().map(|own| own.id);
        return Err(ServiceError::unknown(ResourceKind::Suggestion, id, known));
    };
    let path = match &suggestion.advice {
        Some(Advice::Tier { specialist, from, to, .. }) => {
            change_tier(environment, specialist, from, to)?
        }
        Some(Advice::Route { .. }) => note_route(environment, &suggestion)?,
        None => match (&suggestion.note, &suggestion.plan) {
            (Some(note), _) => remember(environment, note)?,
            (None, Some(text)) => write_playbook(environment, &suggestion, text, name)?,
            // The entry of the FAQ of a plan.
            (None, None) => offer(environment, &suggestion)?,
        },
    };
    Ok(Applied { suggestion, path })
}

/// Changes `tier: FROM` to `tier: TO` in the file of a specialist, which must say it exactly once.
fn change_tier(
    environment: &Environment,
    specialist: &str,
    from: &str,
    to: &str,
) -> Result<String, ServiceError> {
    let project = Project::find(environment)?;
    let Some(path) = project.catalog.specialists.get(specialist).map(|own| own.path.clone()) else {
        let known = project.catalog.specialists.keys().map(ToString::to_string);
        return Err(ServiceError::unknown(ResourceKind::Specialist, specialist, known));
    };
    let text = read(&project.context.root, &path)?;
    let refused = |why: String| {
        let help = format!("write `tier: {to}` in `{path}`");
        ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, why).help(help))
    };
    let is_tier = |line: &&str| line.contains(&format!("tier: {from}"));
    if text.lines().filter(is_tier).count() != 1 {
        return Err(refused(format!("`{path}` does not say `tier: {from}` exactly once")));
    }
    let changed = text.replacen(&format!("tier: {from}"), &format!("tier: {to}"), 1);
    let bytes = changed.as_bytes().into();
    let file = InputFile { path: path.clone(), bytes, role: FileRole::Specialist };
    let loaded = project.with_files(vec![file], Vec::new());
    let own = loaded.catalog.specialists.get(specialist);
    let is_changed = own.is_some_and(|own| own.model.tier.as_str() == to);
    if !is_changed {
        return Err(refused(format!("`{path}` would not have the tier `{to}` then")));
    }
    write(&project.context.root, &path, &changed)?;
    Ok(path)
}

/// Notes which specialist a person prefers.
fn note_route(environment: &Environment, suggestion: &Suggestion) -> Result<String, ServiceError> {
    let root = ProjectContext::find(environment)?.root;
    let known = read(&root, ROUTES).unwrap_or_default();
    let line = format!("- {}", suggestion.text);
    let old = known.lines().filter(|own| own.starts_with("- ") && *own != line);
    let lines: Vec<&str> = std::iter::once(line.as_str()).chain(old).take(MOST_ROUTES).collect();
    let text = format!("# Preferred specialists\n\n{}\n", lines.join("\n"));
    write(&root, ROUTES, &text)?;
    Ok(ROUTES.to_owned())
}

/// Proposes what several runs have as an entry of the memory. It is used once a person has approved it. Returns its id.
fn remember(environment: &Environment, note: &Recurring) -> Result<String, ServiceError> {
    let (kind, start) = match note.kind {
        NoteKind::Finding => (Kind::Fact, "Confirmed"),
        NoteKind::Correction => (Kind::Pitfall, "Refuted"),
        NoteKind::Blocker => (Kind::Pitfall, "Hindered"),
    };
    let added = add_memory(
        environment,
        MemoryAdd {
            text: format!("{start} in {} runs: {}", note.runs.len(), note.text),
            kind,
            id: None,
            subject: None,
            tags: vec![note.kind.as_str().to_owned()],
            anchors: Vec::new(),
            checks: Vec::new(),
            share: false,
        },
    )?;
    Ok(added.entry.id)
}

/// Adds an entry to the FAQ: the goal of a plan that was reached, and how to reach it. Returns its id.
fn offer(environment: &Environment, suggestion: &Suggestion) -> Result<String, ServiceError> {
    let context = ProjectContext::find(environment)?;
    let plan = suggestion.id.trim_start_matches(SOLUTION);
    let run = suggestion.runs.first().map_or("", String::as_str);
    let Some(found) = goal_answer(&context, run)? else {
        let message = format!("run `{run}` is none of a plan");
        return Err(ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, message)));
    };
    let how = found.answer.reliable.first().map(|said| format!(" {}", said.text));
    let how = how.unwrap_or_default();
    let add = MemoryAdd {
        text: format!("`kb playbook run .kb/plans/{plan}.yml` reached it.{how}"),
        kind: FaqCategory::Experience.kind(),
        id: None,
        subject: Some(one_line(&found.goal, SUBJECT)),
        tags: Vec::new(),
        anchors: Vec::new(),
        checks: Vec::new(),
        share: false,
    };
    Ok(add_faq(environment, FaqCategory::Experience, add)?.id)
}

/// Writes the playbook of a plan with the text that reached the goal, not with that of the file, which may have been
/// edited since; never overwrites one.
fn write_playbook(
    environment: &Environment,
    suggestion: &Suggestion,
    text: &str,
    name: Option<&str>,
) -> Result<String, ServiceError> {
    let root = ProjectContext::find(environment)?.root;
    let plan = suggestion.id.trim_start_matches("playbook-");
    let id = name.unwrap_or(plan);
    DefinitionId::new(id).map_err(|error| {
        ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, error.to_string()))
    })?;
    let (text, _) = with_id(text, id);
    let path = format!(".kb/playbooks/{id}.yml");
    let written = write_files(&root, &[(&path, &text)])?;
    if written.kept.is_empty() {
        return Ok(path);
    }
    let failure = Failure::new(Code::FILE_EXISTS, format!("`{path}` exists already"));
    Err(ServiceError::refused(failure.help("choose another id with `--as`")))
}

fn read(root: &Path, path: &str) -> Result<String, ServiceError> {
    let bytes = read_regular(&root.join(path), limits::DEFINITION_BYTES).map_err(|error| {
        let message = format!("`{path}` cannot be read: {error}");
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
