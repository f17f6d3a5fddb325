//! Importing definitions and files of other tools into a project.

use super::import_checks::{checked, is_missing};
use super::writing::write_files;
use super::{Project, ServiceError};
use crate::project::ProjectFolder;
use kb_base::diagnostic::{Diagnostic, Sources};
use kb_base::value::Json;
use kb_core::wire;
use kb_import::{
    Around, Effect, Format, ImportNote, convert, is_definition, is_subagent, unset_variables,
    with_quoted_hint,
};
use kb_language::definition::{
    Catalog, Documents, FileRole, InputFile, RunCommand, StepKind, load_positioned,
};
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How files are imported.
#[derive(Debug, Clone, Default)]
pub struct ImportRequest {
    /// The files.
    pub paths: Vec<PathBuf>,
    /// The format of all files; without it, their content decides.
    pub from: Option<Format>,
    /// The folder for the results, instead of `.kb/`.
    pub out: Option<PathBuf>,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// A note about a file of another tool.
#[derive(Debug, Clone)]
pub struct FileNote {
    /// Path of the file that was imported.
    pub file: String,
    /// What was not translated or needs a look, with its line.
    pub note: ImportNote,
}

/// The result of [`import`].
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// What was not mapped of files of other tools, and hints.
    pub notes: Vec<FileNote>,
    /// The texts of the definitions that were not written, by path.
    pub texts: Vec<(String, String)>,
    /// Imported files, as pairs of source and target path.
    pub copied: Vec<(String, String)>,
    /// Refused files, as pairs of source path and reason.
    pub refused: Vec<(String, String)>,
    /// Problems of the first refused file with errors.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the problems point into.
    pub sources: Sources,
}

impl Imported {
    /// How many parts of the files were not translated: those whose steps fail, and those that are left out.
    pub fn not_translated(&self) -> (usize, usize) {
        let count = |effect: Effect| self.notes.iter().filter(|n| n.note.effect == effect).count();
        (count(Effect::Fails), count(Effect::LeftOut))
    }

    /// The JSON form.
    pub fn view(&self) -> Json {
        let problems: Vec<wire::Problem> =
            self.diagnostics.iter().map(|d| wire::Problem::of(d, &self.sources)).collect();
        let pair = |names: [&'static str; 2]| move |(a, b): &(String, String)| json!({names[0]: a, names[1]: b});
        let copied: Vec<Json> = self.copied.iter().map(pair(["from", "to"])).collect();
        let refused: Vec<Json> = self.refused.iter().map(pair(["from", "why"])).collect();
        let note = |note: &FileNote| {
            let FileNote { file, note } = note;
            json!({"file": file, "line": note.line, "effect": note.effect.name(), "text": note.text})
        };
        let notes: Vec<Json> = self.notes.iter().map(note).collect();
        let text = |(path, text): &(String, String)| json!({"path": path, "text": text});
        let texts: Vec<Json> = self.texts.iter().map(text).collect();
        let (fails, left_out) = self.not_translated();
        json!({
            "fails": fails,
            "leftOut": left_out,
            "imported": copied,
            "refused": refused,
            "problems": problems,
            "notes": notes,
            "texts": texts,
        })
    }
}

/// Copies definition files into `.kb/`, and translates files of other tools into definitions there. Each
/// result is checked together with the definitions of the project; nothing is overwritten.
pub fn import(project: &Project, request: &ImportRequest) -> Result<Imported, ServiceError> {
    let folder = ProjectFolder::at(&project.context.root);
    let mut import =
        Import { project, request, known: project.files.clone(), done: Imported::default() };
    // A file that runs one which comes later waits for it.
    let mut open: VecDeque<&PathBuf> = request.paths.iter().collect();
    let mut waiting = 0;
    while let Some(path) = open.pop_front() {
        let from = path.display().to_string();
        let file = match folder.read_file(&project.context.environment.absolute(path)) {
            Ok(file) => file,
            Err(problem) => {
                import.done.refused.push((from, problem.message));
                continue;
            }
        };
        match import.translated(path, &file, waiting < open.len())? {
            Kind::Waits => {
                open.push_back(path);
                waiting += 1;
                continue;
            }
            Kind::Translated => {}
            Kind::Definition(role) => import.definition(path, InputFile { role, ..file })?,
        }
        waiting = 0;
    }
    Ok(import.done)
}

/// What a file was found to be.
enum Kind {
    /// A file of another tool that runs a playbook which does not exist yet.
    Waits,
    /// A file of another tool, which was translated or refused.
    Translated,
    /// A definition of this role.
    Definition(FileRole),
}

struct Import<'a> {
    project: &'a Project,
    request: &'a ImportRequest,
    /// The definitions of the project, and those that were imported before.
    known: Vec<InputFile>,
    done: Imported,
}

impl Import<'_> {
    fn refuse(&mut self, from: &str, why: impl Into<String>) {
        self.done.refused.push((from.to_owned(), why.into()));
    }

    /// Shows the problems of the first file that has some: each file has its own sources.
    fn show(&mut self, sources: Sources, problems: Vec<Diagnostic>) {
        if self.done.diagnostics.is_empty() {
            (self.done.sources, self.done.diagnostics) = (sources, problems);
        }
    }

    /// Copies a definition.
    fn definition(&mut self, path: &Path, file: InputFile) -> Result<(), ServiceError> {
        let from = path.display().to_string();
        let Some(to) = destination(path, file.role) else {
            self.refuse(&from, "it is not a playbook, workflow or specialist");
            return Ok(());
        };
        let to = self.placed(&to);
        let Ok(text) = std::str::from_utf8(&file.bytes).map(str::to_owned) else {
            let (_, sources, problems) = load_positioned(&from, &file.bytes, Documents::One);
            let help = "import reads text in UTF-8: YAML, JSON or markdown";
            let problems: Vec<Diagnostic> =
                problems.into_iter().map(|problem| problem.help(help)).collect();
            self.refuse(&from, problems.first().map_or("it is not UTF-8", |first| &first.message));
            self.show(sources, problems);
            return Ok(());
        };
        self.admit(&from, vec![(InputFile { path: to, ..file }, text)], self.request.dry_run)
    }

    /// Translates a file of another tool. `may_wait`: a file behind it can be what it runs.
    fn translated(
        &mut self,
        path: &Path,
        file: &InputFile,
        may_wait: bool,
    ) -> Result<Kind, ServiceError> {
        let from = path.display().to_string();
        let shown = path.to_string_lossy().replace('\\', "/");
        let text = std::str::from_utf8(&file.bytes).ok().filter(|_| shown.ends_with(".md"));
        let readable = text.map(with_quoted_hint);
        let bytes = readable.as_deref().map_or(&file.bytes[..], str::as_bytes);
        let (tree, sources, problems) = load_positioned(&shown, bytes, Documents::Several);
        let Some(tree) = tree else {
            // A file that is not text is reported as such.
            if std::str::from_utf8(&file.bytes).is_err() && self.request.from.is_none() {
                return Ok(Kind::Definition(file.role));
            }
            if self.request.from.is_none() && !has_known_suffix(path) {
                self.refuse(&from, OF_ANOTHER_LANGUAGE);
                return Ok(Kind::Translated);
            }
            self.refuse(&from, problems.first().map_or("it is empty", |problem| &problem.message));
            self.show(sources, problems);
            return Ok(Kind::Translated);
        };
        let Some(format) = self.request.from.or_else(|| Format::detect(&shown, &tree)) else {
            let role = if is_subagent(&tree) { FileRole::AgentProfile } else { file.role };
            if role == FileRole::Playbook && !is_definition(&tree) && !has_known_suffix(path) {
                self.refuse(&from, OF_ANOTHER_LANGUAGE);
                return Ok(Kind::Translated);
            }
            if role == FileRole::Playbook && !is_definition(&tree) {
                let names: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
                self.refuse(&from, format!(
                    "its keys are those of no known format; `--from FORMAT` names it ({}), and definitions of kb begin \
                     with `schema:`",
                    names.join(", ")
                ));
                return Ok(Kind::Translated);
            }
            return Ok(Kind::Definition(role));
        };
        if !tree.more.is_empty() && format.documents() == Documents::One {
            let (_, sources, problems) = load_positioned(&shown, bytes, Documents::One);
            let help = "only Dagu has files with several documents: move the text after `---` to another file";
            let problems = problems.into_iter().map(|problem| problem.help(help)).collect();
            self.refuse(&from, "it has several documents");
            self.show(sources, problems);
            return Ok(Kind::Translated);
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let around = self.around();
        let mut made = convert(format, &stem, &tree, &around);
        let needs = std::mem::take(&mut made.needs).into_iter();
        let missing: Vec<_> = needs.filter(|(id, _)| !around.playbooks.contains(id)).collect();
        let is_open = !missing.is_empty() || !made.waits.is_empty();
        if may_wait && made.problems.is_empty() && is_open {
            return Ok(Kind::Waits);
        }
        made.problems.extend(missing.into_iter().map(|(_, why)| why));
        if !made.problems.is_empty() {
            self.refuse(&from, made.problems[0].message.clone());
            self.show(sources, made.problems);
            return Ok(Kind::Translated);
        }
        let note = |note: ImportNote| FileNote { file: from.clone(), note };
        self.done.notes.extend(made.notes.into_iter().map(note));
        let own = |name: &str| self.placed(&format!(".kb/{name}"));
        let file = |path: String, text: String, role: FileRole| {
            (InputFile { path, bytes: text.as_bytes().into(), role }, text)
        };
        let mut files = Vec::new();
        for (id, text) in made.playbooks {
            files.push(file(own(&format!("playbooks/{id}.yml")), text, FileRole::Playbook));
        }
        for (id, text) in made.specialists {
            files.push(file(own(&format!("specialists/{id}.yml")), text, FileRole::Specialist));
        }
        self.admit(&from, files, true)?;
        Ok(Kind::Translated)
    }

    /// What a translation has to know of the project and of what was imported before.
    fn around(&self) -> Around {
        let catalog = &self.project.catalog;
        let made = |folder: &str| {
            let folder = self.placed(&format!(".kb/{folder}/"));
            self.known.iter().filter_map(move |file| {
                let id = file.path.strip_prefix(&folder)?.strip_suffix(".yml")?;
                Some((id.to_owned(), String::from_utf8(file.bytes.to_vec()).ok()))
            })
        };
        let own = catalog.playbooks.keys().map(|id| id.as_str().to_owned());
        let playbooks = made("playbooks").map(|(id, _)| id).chain(own).collect();
        let own = catalog.specialists.keys().map(|id| (id.as_str().to_owned(), None));
        // The text of a file says whether it is the same specialist.
        let specialists = own.chain(made("specialists")).collect();
        let root = self.project.context.root.clone();
        let has_file = move |path: &str| root.join(path).is_file();
        let (playbooks, specialists) = (Arc::new(playbooks), Arc::new(specialists));
        Around { playbooks, specialists, has_file: Some(Arc::new(has_file)) }
    }

    /// The path of a result: below `--out` instead of `.kb/`.
    fn placed(&self, path: &str) -> String {
        match &self.request.out {
            Some(out) => out.join(path.trim_start_matches(".kb/")).display().to_string(),
            None => path.to_owned(),
        }
    }

    /// Notes the variables that the shell scripts of a result read and nothing sets. The lines are those of
    /// the result.
    fn note_unset(&mut self, from: &str, path: &str, translated: bool, catalog: &Catalog) {
        let Some(playbook) = catalog.playbooks.values().find(|known| known.path == path) else {
            return;
        };
        let mut noted: BTreeSet<String> = BTreeSet::new();
        for step in playbook.steps.iter().chain(&playbook.finally) {
            let StepKind::Run(run) = &step.kind else { continue };
            let RunCommand::Shell(script) = &run.command else { continue };
            let mut names = unset_variables(script);
            names.retain(|name| {
                is_missing(name, step, playbook, &catalog.settings) && noted.insert(name.clone())
            });
            let Some(first) = names.first() else { continue };
            let read: Vec<String> = names.iter().map(|name| format!("`${name}`")).collect();
            let text = format!(
                "nothing sets {} for the step `{}`, which would fail with \"unbound variable\"; pass variables \
                 of this shell on with `env: {{pass: [{}]}}` in the settings, set them with `env:` in the step, or \
                 write `${{{first}:-}}`",
                read.join(", "),
                step.id,
                names.join(", "),
            );
            let line = catalog.sources.position(step.span.source, step.span.start).line;
            let note = ImportNote { line, effect: Effect::Hint, text };
            let file = if translated { path } else { from };
            self.done.notes.push(FileNote { file: file.to_owned(), note });
        }
    }

    /// Writes definitions that have no errors together with those of the project. With `show`, the texts of
    /// those with errors are part of the result.
    fn admit(
        &mut self,
        from: &str,
        made: Vec<(InputFile, String)>,
        show: bool,
    ) -> Result<(), ServiceError> {
        let root = &self.project.context.root;
        let exists = |path: &str| {
            self.known.iter().any(|file| file.path == path) || root.join(path).exists()
        };
        if let Some((file, _)) = made.iter().find(|(file, _)| exists(&file.path)) {
            let why = format!("`{}` exists already", file.path);
            self.refuse(from, why);
            return Ok(());
        }
        let candidates: Vec<InputFile> = made.iter().map(|(file, _)| file.clone()).collect();
        let (after, own) = checked(self.project, &self.known, &candidates);
        let texts = made.iter().map(|(file, text)| (file.path.clone(), text.clone()));
        if own.iter().any(Diagnostic::is_error) {
            self.done.texts.extend(texts.filter(|_| show));
            self.refuse(from, if show { "the result has errors" } else { "it has errors" });
            self.show(after.catalog.sources, own);
            return Ok(());
        }
        for (file, _) in &made {
            self.note_unset(from, &file.path, show, &after.catalog);
        }
        if self.request.dry_run {
            self.done.texts.extend(texts);
        } else {
            let files: Vec<(&str, &str)> =
                made.iter().map(|(file, text)| (file.path.as_str(), text.as_str())).collect();
            if let Some(kept) = write_files(root, &files)?.kept.first() {
                let why = format!("`{kept}` exists already");
                self.refuse(from, why);
                return Ok(());
            }
        }
        let copied = made.iter().map(|(file, _)| (from.to_owned(), file.path.clone()));
        self.done.copied.extend(copied);
        self.known.extend(candidates);
        Ok(())
    }
}

/// The message for a `Makefile` or `justfile`, also of one that happens to be YAML.
const OF_ANOTHER_LANGUAGE: &str = "its format is not known: import reads YAML, JSON and markdown; for make and just see \
                                   docs/migration/make-and-just.md";

/// Whether the name of a file says that it is in a language that is read here; a `Makefile` is in none.
fn has_known_suffix(path: &Path) -> bool {
    let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    ["yml", "yaml", "json", "md"].contains(&suffix)
}

fn destination(path: &Path, role: FileRole) -> Option<String> {
    let folder = match role {
        FileRole::Playbook => "playbooks",
        FileRole::Workflow => "workflows",
        FileRole::Specialist => "specialists",
        FileRole::AgentProfile => "agents",
        FileRole::Plugin => "plugins",
        FileRole::Settings | FileRole::McpLock | FileRole::Script => return None,
    };
    let name = match path.file_name()?.to_str()? {
        // The id of `ID/specialist.yml` is the name of its folder.
        "specialist.yml" => format!("{}/specialist.yml", path.parent()?.file_name()?.to_str()?),
        // So has a skill of Claude Code.
        "SKILL.md" => format!("{}.md", path.parent()?.file_name()?.to_str()?),
        name => name.to_owned(),
    };
    Some(format!(".kb/{folder}/{name}"))
}
