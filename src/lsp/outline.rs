//! Outlines: the parameters and steps of a document, and the definitions of the project.

use super::documents::uri_of;
use super::names;
use super::position::range;
use kb_base::value::Json;
use kb_service::service::Project;
use serde_json::json;

/// Kinds of symbols, as the protocol numbers them.
mod kind {
    pub(super) const MODULE: u32 = 2;
    pub(super) const CLASS: u32 = 5;
    pub(super) const FUNCTION: u32 = 12;
    pub(super) const VARIABLE: u32 = 13;
}

/// The parameters and steps of a text, in its order. Each one has its own line and the lines below that are indented more.
pub(super) fn of_document(text: &str) -> Vec<Json> {
    let params = names::params(text).into_iter().map(|name| (name, kind::VARIABLE, "parameter"));
    let steps = names::steps(text).into_iter().map(|name| (name, kind::FUNCTION, "step"));
    let mut all: Vec<_> = params.chain(steps).collect();
    all.sort_by_key(|((_, at), ..)| *at);
    let symbol = |((name, at), kind, detail): (names::Name, u32, &str)| {
        let start = line_start(text, at);
        json!({
            "name": name,
            "detail": detail,
            "kind": kind,
            "range": range(text, start, block_end(text, start)),
            "selectionRange": range(text, at, at + name.len()),
        })
    };
    all.into_iter().map(symbol).collect()
}

/// The end of the line at an offset and of the lines below that are indented more, without blank lines at the end.
fn block_end(text: &str, start: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let own = indent(first);
    let inner = lines.take_while(|line| line.trim().is_empty() || indent(line) > own);
    let length = first.len() + inner.map(str::len).sum::<usize>();
    start + text[start..start + length].trim_end().len()
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The playbooks and specialists whose id or name contains a text, without case.
pub(super) fn of_project(project: &Project, query: &str) -> Vec<Json> {
    let query = query.to_lowercase();
    let (catalog, root) = (&project.catalog, &project.context.root);
    let playbooks = catalog.playbooks.values();
    let playbooks = playbooks.map(|own| (own.id.as_str(), &own.name, &own.path, kind::MODULE));
    let specialists = catalog.specialists.values();
    let specialists = specialists.map(|own| (own.id.as_str(), &own.name, &own.path, kind::CLASS));
    let fits = |text: &str| text.to_lowercase().contains(&query);
    let found = playbooks.chain(specialists).filter(|(id, name, ..)| fits(id) || fits(name));
    let symbol = |(id, _, path, kind): (&str, &String, &String, u32)| {
        let location = json!({"uri": uri_of(&root.join(path)), "range": range("", 0, 0)});
        json!({"name": id, "kind": kind, "location": location, "containerName": path})
    };
    found.map(symbol).collect()
}
