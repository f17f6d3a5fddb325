//! Looks up the names of an answer: in what the specialist received, and in the files of the workspace.

use crate::workspace::Workspace;
use kb_attempt::Received;
use kb_base::value::json_strings;
use kb_core::evidence::{Invocation, InvocationStatus};
use kb_core::verify::{NamePlace, NamesSeen, asks_for_new};
use regex::bytes::RegexSet;
use std::collections::BTreeSet;

/// Limits of a search in the files of the workspace: files, bytes of one file and of all.
const FILES: usize = 20_000;
const FILE_BYTES: u64 = 1 << 20;
const BYTES: u64 = 64 << 20;

/// The texts that a specialist received.
pub(super) struct Material {
    task: String,
    /// What it was told, and the results of calls that succeeded.
    known: Vec<Known>,
    /// Arguments of calls, and results of those that failed.
    failed: Vec<String>,
    /// Whether these are all.
    whole: bool,
}

/// A text that shows names.
struct Known {
    text: String,
    /// The arguments of the process that printed it. It can print a name that it was given, such as `x: not found`.
    given: Option<String>,
}

impl Material {
    /// The texts in what a specialist received and in its recorded calls.
    pub(super) fn of(received: &Received, trace: &[Invocation]) -> Material {
        let told = received.told.iter().chain([&received.task]);
        let told = told.map(|text| Known { text: text.clone(), given: None });
        let mut known: Vec<Known> = told.collect();
        let mut failed = Vec::new();
        for call in trace {
            let result = received.results.get(&call.id).map(|result| json_strings(result));
            match call.status {
                // What a call only asked about is not known to be there.
                InvocationStatus::Success => {
                    let given = call.process.is_some().then(|| json_strings(&call.args));
                    known.extend(result.map(|text| Known { text, given }));
                    failed.push(json_strings(&call.args));
                }
                InvocationStatus::Failed
                | InvocationStatus::Timeout
                | InvocationStatus::Denied
                | InvocationStatus::Unknown => {
                    failed.extend(result.into_iter().chain([json_strings(&call.args)]));
                }
            }
        }
        Material { task: received.task.clone(), known, failed, whole: received.all_results }
    }

    /// The names that one of the texts has which count as true.
    pub(super) fn names_of<'n>(&self, names: &BTreeSet<&'n str>) -> BTreeSet<&'n str> {
        let pattern = Pattern::of(names.iter().copied());
        let shown = |known: &Known| {
            let mut shown = pattern.found_in(known.text.as_bytes());
            if let Some(given) = known.given.as_ref().filter(|_| !shown.is_empty()) {
                let given = pattern.found_in(given.as_bytes());
                shown.retain(|name| !given.contains(name));
            }
            shown
        };
        self.known.iter().flat_map(shown).collect()
    }
}

/// Where the names are. Blocks.
pub(super) fn look_up(names: &[String], material: &Material, workspace: &Workspace) -> NamesSeen {
    let forms: Vec<Vec<&str>> = names.iter().map(|name| forms(name)).collect();
    let mut missing: BTreeSet<&str> = forms.iter().flatten().copied().collect();
    let received = material.names_of(&missing);
    missing.retain(|form| !received.contains(form) && !exists(form, workspace));
    let is_known = |missing: &BTreeSet<&str>, forms: &[&str]| match forms {
        [] => false,
        [whole, parts @ ..] => {
            !missing.contains(whole)
                || !parts.is_empty() && parts.iter().all(|part| !missing.contains(part))
        }
    };
    let all_searched =
        forms.iter().all(|own| is_known(&missing, own)) || search(&mut missing, workspace);
    let failed = Pattern::of(names.iter().map(String::as_str));
    let failed: BTreeSet<&str> =
        material.failed.iter().flat_map(|text| failed.found_in(text.as_bytes())).collect();
    let place = |(name, forms): (&String, &Vec<&str>)| {
        let place = match () {
            () if is_known(&missing, forms) => NamePlace::Known,
            () if !has_folder(name, workspace) => NamePlace::Elsewhere,
            () if !all_searched || !material.whole || failed.contains(name.as_str()) => {
                NamePlace::Unclear
            }
            () if workspace.ignores(name) => NamePlace::Unclear,
            () => NamePlace::Nowhere,
        };
        (name.clone(), place)
    };
    let places = names.iter().zip(&forms).map(place).collect();
    NamesSeen { places, to_come: asks_for_new(&material.task) }
}

/// A name, and the parts of one of code: `Shop.price` is known where `Shop` and `price` are.
fn forms(name: &str) -> Vec<&str> {
    let is_code = !name.contains(['/', '@']);
    let parts = name.split(['.', ':', '#']).filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.filter(|_| is_code).collect();
    let parts = if parts.len() > 1 { parts } else { Vec::new() };
    std::iter::once(name).chain(parts).collect()
}

/// Whether a file or an installed package has a name.
fn exists(name: &str, workspace: &Workspace) -> bool {
    ["", "node_modules/", "vendor/"]
        .iter()
        .any(|folder| matches!(workspace.symlink_stat(&format!("{folder}{name}")), Ok(Some(_))))
}

/// Whether the first folder of a path exists; a name without a folder is one of the root.
fn has_folder(name: &str, workspace: &Workspace) -> bool {
    let Some((folder, _)) = name.trim_start_matches("./").split_once('/') else { return true };
    matches!(workspace.stat(folder), Ok(Some(_)))
}

/// Removes the names that files of the workspace have, as their path or in their text. Definitions of `kb` are no
/// files of the project. Returns whether all files were searched.
fn search(missing: &mut BTreeSet<&str>, workspace: &Workspace) -> bool {
    let Ok(files) = workspace.glob("**") else { return false };
    let files: Vec<String> = files.into_iter().filter(|path| !path.starts_with(".kb/")).collect();
    missing.retain(|name| {
        let below = format!("/{}", name.trim_start_matches("./"));
        !files.iter().any(|path| path.ends_with(&below) || path.contains(&format!("{below}/")))
    });
    let pattern = Pattern::of(missing.iter().copied());
    let (mut bytes, mut all) = (0, files.len() <= FILES);
    for path in files.iter().take(FILES) {
        if missing.is_empty() || bytes > BYTES {
            break;
        }
        let size = workspace.symlink_stat(path).ok().flatten().map_or(0, |state| state.size);
        if size > FILE_BYTES {
            all = false;
            continue;
        }
        bytes += size;
        let Ok(content) = workspace.read_file(path) else {
            all = false;
            continue;
        };
        for name in pattern.found_in(&content) {
            missing.remove(name);
        }
    }
    all && bytes <= BYTES
}

/// The names that texts have as a whole word, in small or capital letters.
struct Pattern<'n> {
    names: Vec<&'n str>,
    set: Option<RegexSet>,
}

impl<'n> Pattern<'n> {
    fn of(names: impl IntoIterator<Item = &'n str>) -> Pattern<'n> {
        const OTHER: &str = r"[^0-9A-Za-z_\x80-\xff]";
        let names: Vec<&str> = names.into_iter().collect();
        let one = |name: &&str| {
            let name = regex::escape(name.trim_start_matches("./"));
            format!("(?i-u)(?:^|{OTHER})(?u:{name})(?:{OTHER}|$)")
        };
        let set = RegexSet::new(names.iter().map(one)).ok();
        Pattern { names, set }
    }

    fn found_in(&self, text: &[u8]) -> Vec<&'n str> {
        let found =
            self.set.iter().flat_map(|set| set.matches(text).into_iter().collect::<Vec<_>>());
        found.map(|at| self.names[at]).collect()
    }
}
