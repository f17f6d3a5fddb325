//! Completion of values: those that the tables of keys list, and the names that a key can have.

use super::names;
use super::offer::{Context, item, kind};
use super::tables::{Slot, slot};
use kb_base::value::Json;
use kb_language::definition::Named;
use kb_language::schedule::Zone;
use kb_service::service::provider_names;
use std::path::{Component, Path};

/// Maximum number of files that are offered.
const MOST_FILES: usize = 500;

/// The values at the cursor.
pub(super) fn values(context: Context<'_>) -> Vec<Json> {
    let Some(slot) = slot(context.file, &context.cursor.path) else { return Vec::new() };
    let typed = context.cursor.prefix.as_str();
    let named = named(&context, slot, typed).into_iter();
    let named = named.map(|(label, kind, detail)| item(&context, typed, &label, kind, &detail));
    let known = slot.ty.known_values().into_iter();
    named.chain(known.map(|label| item(&context, typed, &label, kind::VALUE, ""))).collect()
}

/// A name with its kind and what is said about it.
type Name = (String, u32, String);

/// The names that the value of a key can be.
fn named(context: &Context<'_>, slot: Slot, typed: &str) -> Vec<Name> {
    let catalog = &context.project.catalog;
    let Some((_, key)) = slot.key else { return Vec::new() };
    let own = |all: &mut dyn Iterator<Item = (&str, &str)>, kind: u32| -> Vec<Name> {
        all.map(|(label, detail)| (label.to_owned(), kind, detail.to_owned())).collect()
    };
    match key.names {
        Named::Nothing => Vec::new(),
        Named::File => files(context, typed, true),
        Named::Folder => files(context, typed, false),
        Named::Playbook => {
            let all = catalog.playbooks.values();
            own(&mut all.map(|found| (found.id.as_str(), found.name.as_str())), kind::MODULE)
        }
        Named::Specialist => {
            let all = catalog.specialists.values();
            own(&mut all.map(|found| (found.id.as_str(), found.name.as_str())), kind::MODULE)
        }
        Named::Tool => {
            let all = catalog.tools.tools();
            let all = &mut all.map(|tool| (&*tool.name, &*tool.description));
            own(all, kind::VALUE)
        }
        Named::Secret => {
            let all = catalog.settings.secrets.keys();
            own(&mut all.map(|name| (name.as_str(), "secret of the settings")), kind::VARIABLE)
        }
        Named::TimeZone => {
            let all = Zone::names();
            own(&mut all.iter().map(|name| (name.as_str(), "time zone")), kind::VALUE)
        }
        Named::Provider => {
            own(&mut provider_names().into_iter().map(|name| (name, "provider")), kind::VALUE)
        }
        Named::Step => steps(context, |_| true),
        Named::EarlierStep => {
            let step = names::sibling(context.text, context.offset, &names::ID).unwrap_or_default();
            let is_after = |id: &str| context.known.is_some_and(|known| known.is_after(id, step));
            steps(context, |id| id != step && !is_after(id))
        }
    }
}

fn steps(context: &Context<'_>, fits: impl Fn(&str) -> bool) -> Vec<Name> {
    let all = names::steps(context.text).into_iter().map(|(name, _)| name);
    let fitting = all.filter(|name| fits(name));
    fitting.map(|name| (name, kind::REFERENCE, "step".to_owned())).collect()
}

/// The files and folders of the project in the folder that is typed. Hidden ones are offered after their dot.
fn files(context: &Context<'_>, typed: &str, with_files: bool) -> Vec<Name> {
    let (folder, start) =
        typed.rsplit_once('/').map_or(("", typed), |(folder, start)| (folder, start));
    let inside = Path::new(folder).components().all(|part| matches!(part, Component::Normal(_)));
    let path = context.project.context.root.join(folder);
    let Some(entries) = inside.then(|| std::fs::read_dir(path).ok()).flatten() else {
        return Vec::new();
    };
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_folder = entry.path().is_dir();
        let fits = (is_folder || with_files) && name.starts_with('.') == start.starts_with('.');
        let slash = if folder.is_empty() { "" } else { "/" };
        let end = if is_folder { "/" } else { "" };
        let (kind, detail) =
            if is_folder { (kind::FOLDER, "folder") } else { (kind::FILE, "file") };
        fits.then(|| (format!("{folder}{slash}{name}{end}"), kind, detail.to_owned()))
    };
    let mut found: Vec<Name> = entries.filter_map(name).take(MOST_FILES).collect();
    found.sort();
    found
}
