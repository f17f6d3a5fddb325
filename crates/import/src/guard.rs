//! Steps that fail in the place of what is not translated.

use super::held::{NOT_TRANSLATED, require};
use super::names::reference;
use super::output::Out;
use super::report::{Effect, ImportNote};
use kb_language::definition::{Positioned, PositionedValue};

/// Maximum length of the original text in a failing step.
const MAX_ORIGINAL: usize = 8_000;

/// What fails in a list of steps.
pub(super) struct Guard<'a> {
    /// The id of the step that fails.
    pub(super) id: String,
    /// What was reported.
    pub(super) notes: &'a [ImportNote],
    /// The part of the file that the steps were read from.
    pub(super) original: Option<&'a Positioned>,
    /// The keys that say when the steps run.
    pub(super) place: Vec<(String, Out)>,
}

impl Guard<'_> {
    /// Whether a part has no exact translation.
    pub(super) fn fails(notes: &[ImportNote]) -> bool {
        notes.iter().any(|note| note.effect == Effect::Fails)
    }

    /// The step that fails with the original text.
    pub(super) fn step(&self) -> Out {
        let failing: Vec<&ImportNote> =
            self.notes.iter().filter(|note| note.effect == Effect::Fails).collect();
        let why: Vec<String> =
            failing.iter().map(|note| format!("line {}: {}", note.line, note.text)).collect();
        let mut map = vec![("id".to_owned(), Out::from(self.id.as_str()))];
        map.extend(self.place.iter().cloned());
        map.push(("run".to_owned(), failing_script(&why, self.original).into()));
        with_todo(self.notes, Out::Map(map))
    }

    /// Makes steps wait for the step that fails. Those that run after failures get a condition too.
    pub(super) fn hold(&self, steps: &mut [Out]) {
        let own: Vec<String> = steps.iter().filter_map(|step| step.get("id")?.words()).collect();
        for step in steps {
            let runs_after_failures = step.get("runIf").is_some();
            let is_first = step
                .get("dependsOn")
                .is_none_or(|on| on.listed().iter().all(|id| !own.contains(id)));
            if is_first || runs_after_failures {
                let mut on = step.get("dependsOn").map(Out::listed).unwrap_or_default();
                on.push(self.id.clone());
                step.put("dependsOn", Out::texts(&on));
            }
            if runs_after_failures {
                require(step, Some(self.held()));
            }
        }
    }

    /// Makes steps that run after the others, whatever happened, depend on the step that fails.
    pub(super) fn hold_after(&self, steps: &mut [Out]) {
        steps.iter_mut().for_each(|step| require(step, Some(self.held())));
    }

    fn held(&self) -> String {
        format!("{}.status == 'succeeded'", reference(&self.id))
    }
}

/// A definition with a comment for what was reported.
pub(super) fn with_todo(notes: &[ImportNote], out: Out) -> Out {
    if notes.is_empty() {
        return out;
    }
    let todo = |note: &ImportNote| format!("TODO line {}: {}", note.line, note.text);
    Out::Noted(notes.iter().map(todo).collect(), Box::new(out))
}

/// A script that prints why a part is not translated, and its original, and fails.
pub(super) fn failing_script(why: &[String], original: Option<&Positioned>) -> String {
    let mut text = String::new();
    if let Some(original) = original {
        text.extend(written(original).file().chars().take(MAX_ORIGINAL));
    }
    // The last line is the message of the failed step.
    for why in why {
        text.push_str(&format!("\n{NOT_TRANSLATED}{why}"));
    }
    let plain: String =
        text.trim_matches('\n').chars().filter(|c| !c.is_control() || *c == '\n').collect();
    // Text in single quotes is no code, and has no placeholder.
    let quoted = plain.replace('\'', "'\\''").replace("{{", "{''{").replace("<<", "<''<");
    format!("printf '%s\\n' '{}' >&2\nexit 1\n", quoted.replace("{%", "{''%"))
}

/// A part of a file as it was written.
fn written(part: &Positioned) -> Out {
    match &part.value {
        PositionedValue::Scalar(value) => Out::Value(value.clone()),
        PositionedValue::List(items) => Out::List(items.iter().map(written).collect()),
        PositionedValue::Map(entries) => {
            Out::Map(entries.iter().map(|(key, _, value)| (key.clone(), written(value))).collect())
        }
    }
}
