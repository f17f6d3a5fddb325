//! The names that can follow a part of a path, for editors.

use super::names::Names;
use super::resolve::{
    ERROR_FIELDS, LOOP_FIELDS, PREVIOUS_FIELDS, REJECTION_FIELDS, RUN_FIELDS, STEP_FIELDS,
    known_words, step_of,
};
use kb_base::value::{RunStatus, StepStatus, Verdict};
use std::collections::BTreeSet;

/// The names that can stand after `path` and a dot; after an empty path, all names with which an expression can begin.
/// What a schema describes, such as the keys of an output, is not among them.
pub fn names_below(names: &Names, path: &[&str]) -> Vec<String> {
    let fixed = |known: &[&str]| known.iter().map(|name| (*name).to_owned()).collect();
    let own = |known: &mut dyn Iterator<Item = &String>| known.cloned().collect();
    match path {
        // A name with `-` would be a subtraction.
        [] => {
            let words = known_words(names, true).into_iter().filter(|word| !word.contains('-'));
            words.collect::<BTreeSet<_>>().into_iter().collect()
        }
        ["params"] => own(&mut names.params.iter()),
        ["env"] => own(&mut names.env.iter()),
        ["secrets"] => own(&mut names.secrets.iter()),
        ["steps"] => names.steps.iter().map(|id| id.as_str().replace('-', "_")).collect(),
        ["run"] => fixed(RUN_FIELDS),
        ["run", "rejection"] => fixed(REJECTION_FIELDS),
        ["loop"] => fixed(LOOP_FIELDS),
        ["loop", "previous"] => fixed(PREVIOUS_FIELDS),
        ["steps", step] | [step] if step_of(names, step).is_some() => fixed(STEP_FIELDS),
        ["steps", step, "error"] | [step, "error"] if step_of(names, step).is_some() => {
            fixed(ERROR_FIELDS)
        }
        _ => Vec::new(),
    }
}

/// The words with which the status or verdict at the end of a path can be compared.
pub fn outcome_words(path: &[&str]) -> Vec<&'static str> {
    match path {
        ["run", "status"] => RunStatus::ALL.map(RunStatus::as_str).to_vec(),
        [_, .., "status"] => StepStatus::ALL.map(StepStatus::as_str).to_vec(),
        [_, .., "verdict"] => Verdict::ALL.map(Verdict::as_str).to_vec(),
        _ => Vec::new(),
    }
}
