//! Formatting of YAML files: layout changes, values and comments stay.
//!
//! The result is used only if it has the value of the text before; decision 0009 says why a library does this.

use super::{Environment, Project, ResourceKind, ServiceError};
use crate::project::{ProjectFolder, test_files};
use kb_attempt::replace_file;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Failure;
use kb_language::definition::load_value;
use pretty_yaml::config::{FormatOptions, LanguageOptions, LayoutOptions};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Number of columns within which a map or list stays on one line.
const COLUMNS: usize = 110;

/// A file with its formatted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormattedFile {
    /// Path as it was given, or relative to the project.
    pub shown: String,
    /// The formatted text, if it differs from the file.
    pub text: Option<String>,
    path: PathBuf,
}

impl FormattedFile {
    /// Writes the formatted text, if it differs.
    pub fn write(&self) -> Result<(), ServiceError> {
        let Some(text) = &self.text else { return Ok(()) };
        // A definition can be a link inside the project.
        let written =
            self.path.canonicalize().and_then(|path| replace_file(&path, text.as_bytes()));
        written.map_err(|error| {
            let message = format!("`{}` cannot be written: {error}", self.shown);
            ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
        })
    }
}

/// Formats these YAML files; without names, all YAML files of the project. No file is written. A file with
/// a syntax error is an error.
pub fn format_files(
    environment: &Environment,
    names: &[PathBuf],
) -> Result<Vec<FormattedFile>, ServiceError> {
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for (shown, path) in chosen(environment, names)? {
        if !seen.insert(path.clone()) {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|error| {
            let message = format!("`{shown}` cannot be read: {error}");
            ServiceError::refused(Failure::new(Code::FILE_UNREADABLE, message))
        })?;
        let text = formatted(&shown, &bytes)?;
        all.push(FormattedFile { shown, text: text.filter(|text| text.as_bytes() != bytes), path });
    }
    Ok(all)
}

/// The formatted text of a YAML file, if it differs. `shown` is its path in problems. A syntax error is an error; a file of
/// another kind stays as it is.
pub fn format_text(shown: &str, text: &str) -> Result<Option<String>, ServiceError> {
    if !is_yaml(Path::new(shown)) {
        return Ok(None);
    }
    Ok(formatted(shown, text.as_bytes())?.filter(|formatted| formatted != text))
}

fn chosen(
    environment: &Environment,
    names: &[PathBuf],
) -> Result<Vec<(String, PathBuf)>, ServiceError> {
    if names.is_empty() {
        let project = Project::find(environment)?;
        let root = &project.context.root;
        let folder = ProjectFolder::at(root);
        let files = project.files.iter().map(|file| root.join(&file.path));
        let all = files.chain(test_files(root)).filter(|path| is_yaml(path));
        return Ok(all.map(|path| (folder.relative(&path), path)).collect());
    }
    let mut found = Vec::new();
    for name in names {
        let (shown, path) = (name.display().to_string(), environment.absolute(name));
        match path.canonicalize() {
            Ok(path) if path.is_file() && is_yaml(&path) => found.push((shown, path)),
            Ok(path) if path.is_dir() => {
                let message = format!("`{shown}` is a folder");
                let failure = Failure::new(Code::BAD_ARGUMENT, message);
                let help = "name files, or nothing for all definition files of the project";
                return Err(ServiceError::refused(failure.help(help)));
            }
            Ok(_) => {
                let message = format!("`{shown}` is not a YAML file (`.yml`, `.yaml`)");
                return Err(ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, message)));
            }
            Err(_) => {
                let none: [String; 0] = [];
                return Err(ServiceError::unknown(ResourceKind::File, shown, none));
            }
        }
    }
    Ok(found)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}

/// The formatted text of a file; `None` if the library would change its value, which leaves the file as it is.
fn formatted(shown: &str, bytes: &[u8]) -> Result<Option<String>, ServiceError> {
    // The loader limits size and depth, so that the library only sees texts within the limits.
    let (before, sources, diagnostics) = load_value(shown, bytes);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(ServiceError::Definitions { diagnostics, sources: Box::new(sources) });
    }
    let (Some(before), Ok(text)) = (before, std::str::from_utf8(bytes)) else { return Ok(None) };
    let Ok(after) = pretty_yaml::format_text(text, &options()) else { return Ok(None) };
    let (value, ..) = load_value(shown, after.as_bytes());
    let is_same = value.is_some_and(|value| value.value == before.value);
    Ok(is_same.then_some(after))
}

fn options() -> FormatOptions {
    FormatOptions {
        layout: LayoutOptions { print_width: COLUMNS, ..LayoutOptions::default() },
        language: LanguageOptions {
            brace_spacing: false,
            trailing_comma: false,
            trim_trailing_whitespaces: true,
            ignore_comment_directive: "kb-fmt-ignore".to_owned(),
            ..LanguageOptions::default()
        },
    }
}
