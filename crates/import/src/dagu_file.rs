//! Dagu files with one document or several.

use super::around::Around;
use super::dagu::convert_document;
use super::dagu_call::Call;
use super::dagu_documents::{Document, Documents};
use super::dagu_order::named;
use super::dagu_params::declared;
use super::draft::{Conversion, Draft, playbook_id};
use super::fields::Fields;
use super::report::Effect;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Json;
use kb_language::definition::{Positioned, PositionedFile, PositionedValue};
use std::collections::{BTreeMap, BTreeSet};

/// Translates each document of a file. `name` is the name of the file without folders and suffix.
pub(super) fn convert(name: &str, file: &PositionedFile, around: &Around) -> Conversion {
    let roots: Vec<&Positioned> = std::iter::once(&file.root).chain(&file.more).collect();
    let documents = Documents(roots.iter().map(|root| document(name, root)).collect());
    let problems = problems(&roots, &documents);
    if !problems.is_empty() {
        return Conversion { problems, ..Conversion::default() };
    }
    let documents = with_given(documents, &roots);
    let mut all = Conversion::default();
    let mut hints: BTreeSet<String> = BTreeSet::new();
    for (index, root) in roots.iter().enumerate() {
        let mut draft = Draft::new(name, around);
        convert_document(root, index, &documents, &mut draft);
        let made = draft.finish();
        all.playbooks.extend(made.playbooks);
        all.needs.extend(made.needs);
        all.waits.extend(made.waits);
        for note in made.notes {
            if note.effect != Effect::Hint || hints.insert(note.text.clone()) {
                all.notes.push(note);
            }
        }
    }
    all.notes.sort_by_key(|note| (note.line, note.effect));
    all
}

fn document(file: &str, root: &Positioned) -> Document {
    let fields = Fields::ahead(root);
    let name = fields.text("name").unwrap_or_else(|| file.to_owned());
    let declared = fields.take("params").map(declared).unwrap_or_default();
    Document { id: playbook_id(&name), name, declared, given: BTreeMap::new() }
}

/// What makes the documents unusable together.
fn problems(roots: &[&Positioned], documents: &Documents) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut seen: Vec<(&str, &Positioned)> = Vec::new();
    for (index, root) in roots.iter().enumerate() {
        let which = format!("document {} of the file", index + 1);
        if matches!(root.value, PositionedValue::Scalar(Json::Null)) {
            let message = format!("{which} is empty");
            found.push(
                Diagnostic::error(Code::EMPTY_FILE, root.span, message)
                    .help("write a workflow, or remove one of the lines `---` around it"),
            );
            continue;
        }
        if roots.len() > 1 && !root.is_map() {
            let message = format!("{which} is not a workflow");
            found.push(
                Diagnostic::error(Code::WRONG_TYPE, root.span, message)
                    .help("a document is a map with `name` and `steps`"),
            );
            continue;
        }
        let name = root.entries().iter().find(|(key, _, _)| key == "name").map(|(.., name)| name);
        if index > 0 && name.and_then(Positioned::words).is_none_or(|name| name.is_empty()) {
            let message = format!("{which} has no `name`");
            found.push(
                Diagnostic::error(Code::MISSING_KEY, root.span, message)
                    .help("add `name:`; steps call each document after the first by its name"),
            );
            continue;
        }
        let document = documents.at(index);
        let own = name.unwrap_or(root);
        if let Some((_, first)) = seen.iter().find(|(id, _)| *id == document.id) {
            let message = format!("`{}` is the name of two documents of the file", document.name);
            found.push(
                Diagnostic::error(Code::DUPLICATE_DEFINITION, own.span, message)
                    .label(first.span, format!("first `{}` here", document.id))
                    .help(
                        "give each document another name; names that differ only in case and signs \
                         give the same id",
                    ),
            );
            continue;
        }
        seen.push((&document.id, own));
    }
    found
}

/// Adds to each document what the calls of the file pass to it.
fn with_given(mut documents: Documents, roots: &[&Positioned]) -> Documents {
    for root in roots {
        let fields = Fields::ahead(root);
        let steps = fields.take("steps").map(named).unwrap_or_default();
        let handlers = fields.take("handlerOn").map(Positioned::entries).unwrap_or_default();
        let handlers = handlers.iter().map(|(_, _, step)| step);
        for step in steps.into_iter().map(|(_, step)| step).chain(handlers) {
            let Some(call) = Call::of(&Fields::ahead(step), &documents) else { continue };
            let names: Vec<String> =
                call.given(step, &documents).into_iter().filter_map(|given| given.name).collect();
            let target = documents.0.iter_mut().find(|document| document.name == call.target);
            let Some(target) = target else { continue };
            for name in names {
                target.given.entry(name).or_insert(call.line);
            }
        }
    }
    documents
}
