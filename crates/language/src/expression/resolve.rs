//! Resolution of dotted names to a root of the scope and a path below it.

use super::keys::{Key, Keys, PathSegment};
use super::names::Names;
use super::reference::Root;
use kb_base::diagnostic::Code;
use kb_base::value::StepId;
use std::ops::{Bound, Range};

/// The fields of a step, as in `STEP.output`.
pub const STEP_FIELDS: &[&str] = &[
    "output",
    "byKey",
    "status",
    "error",
    "errors",
    "verdict",
    "verdictDetails",
    "handoff",
    "exitCode",
    "stdout",
    "stderr",
    "attempts",
    "durationMs",
];
/// The fields of the failure of a step, as in `STEP.error.message`.
pub(super) const ERROR_FIELDS: &[&str] =
    &["code", "message", "help", "kind", "hypothesis", "partial", "suggestedNext"];
pub(super) const RUN_FIELDS: &[&str] =
    &["id", "startedAt", "status", "error", "failed", "rejection"];
/// The fields of the last rejection that sent work back, as in `run.rejection.comment`.
pub(super) const REJECTION_FIELDS: &[&str] = &["step", "to", "by", "comment", "count"];
pub(super) const LOOP_FIELDS: &[&str] = &["iteration", "previous"];
/// The fields of the pass before, as in `loop.previous.output`.
pub(super) const PREVIOUS_FIELDS: &[&str] = &["output", "verdict", "reason"];

/// A resolved path.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    pub(super) root: Root,
    pub(super) keys: Keys,
}

impl Resolved {
    fn new(root: Root, rest: &[PathSegment]) -> Resolved {
        Resolved { root, keys: Keys::of(None, rest) }
    }
}

/// Why a path cannot be resolved.
#[derive(Debug, Clone)]
pub(super) struct Unresolved {
    pub(super) at: Range<usize>,
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// The step with this id, or with this id after replacing `-` by `_`.
pub(super) fn step_of<'n>(names: &'n Names, word: &str) -> Option<&'n StepId> {
    let alike = |id: &&StepId| {
        let id = id.as_str();
        let same = |(a, b): (u8, u8)| a == b || (a == b'-' && b == b'_');
        id.len() == word.len() && id.bytes().zip(word.bytes()).all(same)
    };
    // Only ids with the same text before the first `_` are candidates, and the set is ordered.
    let dashed = || {
        let start = &word[..word.find('_')?];
        let near = names.steps.range::<str, _>((Bound::Included(start), Bound::Unbounded));
        near.take_while(|id| id.as_str().starts_with(start)).find(alike)
    };
    names.steps.get(word).or_else(dashed)
}

/// Whether a word can start a reference. Roots of the scope can only if a path follows.
pub(super) fn is_known_word(names: &Names, word: &str, with_path: bool) -> bool {
    names.params.contains(word)
        || step_of(names, word).is_some()
        || names.item.as_deref().is_some_and(|item| [item, "item", "index"].contains(&word))
        || with_path && ["params", "steps", "run", "env", "secrets", "loop"].contains(&word)
}

/// All words that can start a reference; roots of the scope only if a path follows.
pub(super) fn known_words(names: &Names, with_path: bool) -> Vec<String> {
    let mut words: Vec<String> = names.params.iter().cloned().collect();
    words.extend(names.steps.iter().map(StepId::to_string));
    words.extend(names.steps.iter().map(|id| id.as_str().replace('-', "_")));
    if let Some(item) = &names.item {
        words.extend([item.clone(), "index".to_owned()]);
    }
    if with_path {
        words.extend(["params", "steps", "run", "env", "secrets", "loop"].map(str::to_owned));
    }
    words
}

/// Resolves a path. `in_braces` is true for `{step.key}` of a workflow, in which declared outputs take
/// precedence over fields of the step.
pub(super) fn resolve(
    names: &Names,
    segments: &[PathSegment],
    in_braces: bool,
) -> Result<Resolved, Unresolved> {
    let Some(PathSegment { key: Key::Name(root), at }) = segments.first() else {
        return Err(unknown_name(names, "", 0..0));
    };
    let rest = &segments[1..];
    match &**root {
        "params" => param(names, at, rest),
        "steps" => {
            let (id, id_at) = named("steps", "a step's id", at, rest)?;
            let step = step_of(names, id).ok_or_else(|| {
                let known = names.steps.iter().map(StepId::as_str);
                unknown(names, "step", id, id_at.clone(), known, "the steps are")
            })?;
            below_step(names, step, &rest[1..], in_braces)
        }
        "env" => {
            let (name, at) = named("env", "a name", at, rest)?;
            if !names.env.contains(name) {
                let mut problem = unknown(
                    names,
                    "environment name",
                    name,
                    at,
                    names.env.iter().map(String::as_str),
                    "declared are",
                );
                problem.help.get_or_insert_with(|| {
                    format!(
                        "declare it: `env: {{{name}: ...}}`; the environment of `kb` is not read"
                    )
                });
                return Err(problem);
            }
            Ok(Resolved::new(Root::Env(name.into()), &rest[1..]))
        }
        "secrets" => {
            let (name, at) = named("secrets", "a name", at, rest)?;
            if !names.secrets.contains(name) {
                let mut problem = unknown(
                    names,
                    "secret",
                    name,
                    at,
                    names.secrets.iter().map(String::as_str),
                    "declared are",
                );
                if names.params.contains(name) {
                    problem.help = Some(format!("`{name}` is a parameter: write `{{{{{name}}}}}`"));
                }
                problem.help.get_or_insert_with(|| {
                    format!("declare it in the settings: `secrets: {{{name}: env:{name}}}`")
                });
                return Err(problem);
            }
            Ok(Resolved::new(Root::Secret(name.into()), &rest[1..]))
        }
        "run" => match rest {
            [PathSegment { key: Key::Name(field), .. }, below @ ..] if &**field == "rejection" => {
                fields(names, Root::Run, "run.rejection", REJECTION_FIELDS, rest, below)
            }
            _ => fields(names, Root::Run, "run", RUN_FIELDS, rest, rest),
        },
        "loop" => match rest {
            [PathSegment { key: Key::Name(field), .. }, below @ ..] if &**field == "previous" => {
                fields(names, Root::Loop, "loop.previous", PREVIOUS_FIELDS, rest, below)
            }
            _ => fields(names, Root::Loop, "loop", LOOP_FIELDS, rest, rest),
        },
        _ => bare(names, root, at, rest, in_braces),
    }
}

/// A name without a prefix: the item, a parameter or a step.
fn bare(
    names: &Names,
    root: &str,
    at: &Range<usize>,
    rest: &[PathSegment],
    in_braces: bool,
) -> Result<Resolved, Unresolved> {
    let is_item = names.item.as_deref() == Some(root);
    if names.params.contains(root) && !is_item {
        return Ok(Resolved::new(Root::Param(root.into()), rest));
    }
    if let Some(step) = step_of(names, root).filter(|_| !is_item) {
        return below_step(names, step, rest, in_braces);
    }
    match (root, &names.item) {
        (_, Some(_)) if is_item => Ok(Resolved::new(Root::Item, rest)),
        ("item", Some(own)) => Err(Unresolved {
            at: at.clone(),
            code: Code::NAME_OUT_OF_SCOPE,
            message: format!("the item of this `forEach` is named `{own}`"),
            help: Some(format!("did you mean `{own}`?")),
        }),
        ("index", Some(_)) => Ok(Resolved::new(Root::Index, rest)),
        ("item" | "index", None) => Err(Unresolved {
            at: at.clone(),
            code: Code::NAME_OUT_OF_SCOPE,
            message: format!("`{root}` exists only in a step that has a `forEach`"),
            help: Some("give the step a `forEach`, or name a parameter or a step".to_owned()),
        }),
        _ => Err(unknown_name(names, root, at.clone())),
    }
}

fn param(names: &Names, at: &Range<usize>, rest: &[PathSegment]) -> Result<Resolved, Unresolved> {
    match rest.first() {
        Some(PathSegment { key: Key::Name(name), at }) => {
            if names.params.contains(&**name) {
                Ok(Resolved::new(Root::Param(name.clone()), &rest[1..]))
            } else {
                let known = names.params.iter().map(String::as_str);
                Err(unknown(names, "parameter", name, at.clone(), known, "the parameters are"))
            }
        }
        Some(_) => Err(computed("params", "a parameter's name", at)),
        None => Ok(Resolved::new(Root::Params, &[])),
    }
}

/// A field of a step, or in workflows one of its declared outputs.
fn below_step(
    names: &Names,
    id: &StepId,
    rest: &[PathSegment],
    in_braces: bool,
) -> Result<Resolved, Unresolved> {
    let (step, root) = (id.as_str(), Root::Step(id.clone()));
    let Some(first) = rest.first() else {
        return Ok(Resolved::new(root, &[]));
    };
    let Key::Name(field) = &first.key else {
        return Err(no_field(names, step, "an index", first.at.clone(), None));
    };
    let is_field = STEP_FIELDS.contains(&&**field);
    let declared =
        names.outputs.get(step).is_some_and(|keys| keys.iter().any(|key| **key == **field));
    if declared && (in_braces || !is_field) {
        return Ok(Resolved { root, keys: Keys::of(Some("output"), rest) });
    }
    if !is_field {
        let near = names.suggestions.nearest(field, STEP_FIELDS.iter().copied());
        return Err(no_field(names, step, &format!("`{field}`"), first.at.clone(), near));
    }
    match &**field {
        "error" => fields(names, root, &format!("{step}.error"), ERROR_FIELDS, rest, &rest[1..]),
        _ => Ok(Resolved::new(root, rest)),
    }
}

fn no_field(
    names: &Names,
    step: &str,
    field: &str,
    at: Range<usize>,
    near: Option<&str>,
) -> Unresolved {
    // An id with a hyphen is written with `_` in an expression.
    let root = step.replace('-', "_");
    let help = match near {
        Some(near) => format!("did you mean `{root}.{near}`?"),
        None => {
            let name = field.trim_matches('`');
            let of_output = match (field, names.lists.get(step)) {
                ("an index", _) => format!("`{root}.output`"),
                (_, None) => format!("`{root}.output`, as in `{root}.output.{name}`"),
                (_, Some(true)) => {
                    format!(
                        "`{root}.output`, a list: `{root}.byKey['…'].{name}` or `{root}.output[0].{name}`"
                    )
                }
                (_, Some(false)) => {
                    format!("`{root}.output`, a list: `{root}.output[0].{name}`")
                }
            };
            format!("a step has {}; its result is below {of_output}", STEP_FIELDS.join(", "))
        }
    };
    let message = match field {
        "an index" => format!("the step `{step}` is not a list"),
        _ => format!("the step `{step}` has no field {field}"),
    };
    Unresolved { at, code: Code::UNKNOWN_FIELD, message, help: Some(help) }
}

/// A path whose name below the last known one must be one of `known`.
fn fields(
    names: &Names,
    root: Root,
    name: &str,
    known: &[&'static str],
    path: &[PathSegment],
    below: &[PathSegment],
) -> Result<Resolved, Unresolved> {
    match below.first() {
        Some(PathSegment { key: Key::Name(field), at }) if !known.contains(&&**field) => {
            let mut problem =
                unknown(names, "field", field, at.clone(), known.iter().copied(), "the fields are");
            problem.code = Code::UNKNOWN_FIELD;
            problem.message = format!("`{name}` has no field `{field}`");
            Err(problem)
        }
        _ => Ok(Resolved::new(root, path)),
    }
}

/// The literal name after a root such as `steps`.
fn named<'s>(
    root: &str,
    what: &str,
    at: &Range<usize>,
    rest: &'s [PathSegment],
) -> Result<(&'s str, Range<usize>), Unresolved> {
    match rest.first() {
        Some(PathSegment { key: Key::Name(name), at }) => Ok((name, at.clone())),
        _ => Err(computed(root, what, at)),
    }
}

fn computed(root: &str, what: &str, at: &Range<usize>) -> Unresolved {
    Unresolved {
        at: at.clone(),
        code: Code::DYNAMIC_NAME,
        message: format!("`{root}` must be followed by {what}, written out"),
        help: Some(match root {
            "steps" => {
                "write `steps['build']`; the id must be literal, because references order the steps"
                    .to_owned()
            }
            _ => format!("write `{root}.NAME`"),
        }),
    }
}

pub(super) fn unknown<'n>(
    names: &Names,
    what: &str,
    name: &str,
    at: Range<usize>,
    known: impl Iterator<Item = &'n str> + Clone,
    list: &str,
) -> Unresolved {
    let message = format!("unknown {what} `{name}`");
    if names.suggestions.are_used_up() {
        return Unresolved { at, code: Code::UNKNOWN_NAME, message, help: None };
    }
    let same = known.clone().find(|other| other.eq_ignore_ascii_case(name));
    let near = names.suggestions.nearest(name, known.clone());
    let help = match same.or(near) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None => {
            // A step has two names, which are equal if its id has no `-`.
            let mut seen = std::collections::BTreeSet::new();
            let once = known.filter(|name| seen.insert(*name));
            let names: Vec<String> = once.take(12).map(|name| format!("`{name}`")).collect();
            (!names.is_empty()).then(|| format!("{list} {}", names.join(", ")))
        }
    };
    Unresolved { at, code: Code::UNKNOWN_NAME, message, help }
}

fn unknown_name(names: &Names, name: &str, at: Range<usize>) -> Unresolved {
    let known = if names.suggestions.are_used_up() { Vec::new() } else { known_words(names, true) };
    let mut problem =
        unknown(names, "name", name, at, known.iter().map(String::as_str), "known names are");
    problem.message = format!("`{name}` is neither a parameter nor a step");
    let special = match name {
        "null" | "NULL" | "Null" | "nil" | "undefined" => {
            Some("the null value is `none`; test for it with `is none` or `is defined`".to_owned())
        }
        "TRUE" | "FALSE" => Some(format!("write `{}`", name.to_lowercase())),
        "pending" | "running" | "succeeded" | "failed" | "skipped" | "blocked" | "cancelled"
        | "passed" | "inconclusive" | "unchecked" => {
            Some(format!("a text needs quotes: `'{name}'`"))
        }
        _ if STEP_FIELDS.contains(&name) => Some(format!("name the step too, as in `STEP.{name}`")),
        _ => None,
    };
    problem.help = special.or(problem.help);
    problem
}
