//! The memory: entries with their origin, what waits for a person, a search, and a graph of runs, entries and files.

use super::format::part;
use super::frame;
use super::graph::{Graph, Linked, linked};
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::state::WebProject;
use kb_service::service::{self, MemoryEntry, MemoryKind, MemoryQuery, MemoryState};
use kb_service::trigger::Role;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Number of entries that a search finds.
const FOUND: usize = 20;
/// Number of entries on the page.
const SHOWN: usize = 200;
/// Number of entries in the graph.
const DRAWN: usize = 40;

/// What the form asks for.
struct Filter<'c> {
    text: &'c str,
    kind: &'c str,
    tag: &'c str,
    author: &'c str,
}

/// An entry with the project that has it.
struct Shown {
    project: Option<String>,
    query: String,
    entry: MemoryEntry,
}

/// The page of the memory.
pub(in crate::web) fn memory(call: &Call) -> Result<String, Problem> {
    let of = |name: &str| call.query.get(name).unwrap_or_default().trim();
    let filter =
        Filter { text: of("text"), kind: of("kind"), tag: of("tag"), author: of("author") };
    let (mut all, mut problems, mut enabled, mut stored) = (Vec::new(), Vec::new(), false, 0);
    let mut authors: Vec<String> = Vec::new();
    for project in call.projects()? {
        let environment = call.environment_of(&project);
        let view = service::list_memory(&environment, &[])?;
        enabled |= view.enabled;
        stored += view.entries.len();
        problems.extend(view.problems);
        authors.extend(view.entries.iter().map(|entry| entry.author.clone()));
        let found = found(&environment, &filter, view.entries)?;
        all.extend(found.into_iter().map(|entry| shown(call, &project, entry)));
    }
    authors.sort();
    authors.dedup();
    let filtered =
        [filter.text, filter.kind, filter.tag, filter.author].iter().any(|own| !own.is_empty());
    let waits = |state: MemoryState| {
        matches!(
            state,
            MemoryState::Candidate
                | MemoryState::Verified
                | MemoryState::Stale
                | MemoryState::Conflicted
        )
    };
    let count = all.len();
    all.truncate(SHOWN);
    let (review, others): (Vec<&Shown>, Vec<&Shown>) =
        all.iter().partition(|one| waits(one.entry.state));
    let values =
        |list: &[&Shown]| list.iter().map(|one| value(one)).collect::<Result<Vec<Value>, _>>();
    let content = json!({
        "enabled": enabled, "problems": problems, "stored": stored, "count": count, "most": SHOWN,
        "filtered": filtered, "authors": authors,
        "kinds": MemoryKind::ALL.map(MemoryKind::as_str),
        "filter": {"text": filter.text, "kind": filter.kind, "tag": filter.tag, "author": filter.author},
        "review": values(&review)?, "others": values(&others)?,
        "graph": graph(&all), "may": call.has(Role::Admin),
    });
    frame::page(call, "Memory", "memory.html", content)
}

/// The entries that the form asks for: by words, best first, or all.
fn found(
    environment: &service::Environment,
    filter: &Filter<'_>,
    all: Vec<MemoryEntry>,
) -> Result<Vec<MemoryEntry>, Problem> {
    let kind = MemoryKind::parse(filter.kind);
    let tag = filter.tag.to_lowercase();
    if filter.text.is_empty() {
        let fits = |entry: &MemoryEntry| {
            kind.is_none_or(|kind| entry.kind == kind)
                && (tag.is_empty() || entry.tags.contains(&tag))
                && (filter.author.is_empty() || entry.author == filter.author)
        };
        return Ok(all.into_iter().filter(fits).collect());
    }
    let (kinds, tags): (Vec<MemoryKind>, Vec<String>) =
        (kind.into_iter().collect(), (!tag.is_empty()).then(|| tag.clone()).into_iter().collect());
    let query = MemoryQuery {
        text: filter.text,
        kinds: &kinds,
        tags: &tags,
        author: Some(filter.author).filter(|own| !own.is_empty()),
        limit: FOUND,
        ..MemoryQuery::default()
    };
    let found = service::search_memory(environment, &query)?;
    Ok(found.hits.into_iter().map(|hit| hit.entry).collect())
}

fn shown(call: &Call, project: &WebProject, entry: MemoryEntry) -> Shown {
    Shown {
        project: call.name_of(project).map(str::to_owned),
        query: call.query_of(project),
        entry,
    }
}

/// An entry for the template.
fn value(one: &Shown) -> Result<Value, Problem> {
    let entry = &one.entry;
    let mut found =
        serde_json::to_value(entry).map_err(|error| Problem::internal(error.to_string()))?;
    for key in ["subject", "run", "step", "approvedBy"] {
        if found.get(key).is_none() {
            found[key] = Value::Null;
        }
    }
    found["project"] = json!(one.project);
    // As in the document: the last part of the name of an agent.
    found["from"] = json!(entry.author.rsplit(['/', ':']).next());
    found["api"] = json!(format!("/api/v1/memory/{}", part(&entry.id)));
    found["query"] = json!(one.query);
    found["checkCount"] = json!(entry.checks.len());
    Ok(found)
}

/// Runs, the entries that they proposed, and the files on which these rest. Entries without both are left out.
fn graph(all: &[Shown]) -> Option<Graph> {
    let linked_entries = all
        .iter()
        .filter(|one| one.entry.run.is_some() || !one.entry.anchors.is_empty())
        .take(DRAWN);
    let (mut boxes, mut pairs) = (Vec::new(), Vec::new());
    let mut known: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for one in linked_entries {
        let entry = &one.entry;
        let own = boxes.len();
        boxes.push(Linked {
            name: entry.text.clone(),
            detail: format!("{} · {}", entry.kind.as_str(), entry.state.as_str()),
            href: format!("#{}", part(&entry.id)),
        });
        if let Some(run) = &entry.run {
            let at = *known.entry(("run", run.to_string())).or_insert_with(|| {
                boxes.push(Linked {
                    name: run.to_string(),
                    detail: "run".to_owned(),
                    href: format!("/runs/{run}"),
                });
                boxes.len() - 1
            });
            pairs.push((at, own));
        }
        for anchor in &entry.anchors {
            let at = *known.entry(("file", anchor.path.clone())).or_insert_with(|| {
                let name = anchor.path.rsplit('/').next().unwrap_or_default().to_owned();
                boxes.push(Linked { name, detail: anchor.path.clone(), href: String::new() });
                boxes.len() - 1
            });
            pairs.push((own, at));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    (!boxes.is_empty()).then(|| linked(&boxes, &pairs))
}
