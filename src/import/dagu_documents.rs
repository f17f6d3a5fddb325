//! Dagu files with several documents: the first is the workflow, the others are workflows that its steps call
//! by their names.

use super::dagu::{convert_document, named};
use super::dagu_call::Call;
use super::dagu_params::declared;
use super::draft::{Conversion, Draft, playbook_id};
use super::fields::Fields;
use crate::definition::{Positioned, PositionedFile, PositionedValue};
use crate::diagnostic::{Code, Diagnostic, Span, nearest};
use crate::value::Json;
use std::collections::{BTreeMap, BTreeSet};

/// The documents of a file, in order.
pub(super) struct Documents(Vec<Document>);

/// What the steps of the other documents have to know of a document.
pub(super) struct Document {
    /// What steps call it.
    pub(super) name: String,
    /// The id of its playbook.
    pub(super) id: String,
    /// Names of the parameters that it declares, in order.
    pub(super) declared: Vec<String>,
    /// Names of the parameters that calls of the file pass, with the lines of the calls.
    pub(super) given: BTreeMap<String, u32>,
}

impl Documents {
    /// The document of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Document> {
        self.0.iter().find(|document| document.name == name)
    }

    /// What is wrong with a call that names no document. A file with one document calls other files.
    pub(super) fn unknown(&self, target: &str, at: Span) -> Option<Diagnostic> {
        if self.0.len() == 1 {
            return None;
        }
        let short = |name: &&str| name.len() <= 100;
        let names = self.0.iter().map(|document| document.name.as_str()).filter(short);
        let known: Vec<String> = names.clone().map(|name| format!("`{name}`")).collect();
        let message =
            format!("`{target}` is neither a document of this file nor a playbook of the project");
        let near = Some(target).filter(short).and_then(|target| nearest(target, names));
        let help = match near {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!(
                "the documents are {}; import the file of `{target}` first if it is another file",
                known.join(", ")
            ),
        };
        Some(Diagnostic::error(Code::NO_SUCH_PLAYBOOK, at, message).help(help))
    }

    /// The document at an index.
    pub(super) fn at(&self, index: usize) -> &Document {
        &self.0[index]
    }
}

/// Translates each document of a file. `name` is the name of the file without folders and suffix.
pub(super) fn convert(name: &str, file: &PositionedFile) -> Conversion {
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
        let mut draft = Draft::new(name);
        convert_document(root, index, &documents, &mut draft);
        let made = draft.finish();
        all.playbooks.extend(made.playbooks);
        all.needs.extend(made.needs);
        for note in made.notes {
            if note.unmapped || hints.insert(note.text.clone()) {
                all.notes.push(note);
            }
        }
    }
    all.notes.sort_by_key(|note| (note.line, !note.unmapped));
    all
}

fn document(file: &str, root: &Positioned) -> Document {
    let fields = Fields::of(root, "");
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
        let fields = Fields::of(root, "");
        let steps = fields.take("steps").map(named).unwrap_or_default();
        let handlers = fields.take("handlerOn").map(Positioned::entries).unwrap_or_default();
        let handlers = handlers.iter().map(|(_, _, step)| step);
        for step in steps.into_iter().map(|(_, step)| step).chain(handlers) {
            let Some(call) = Call::of(&Fields::of(step, ""), &documents) else { continue };
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
