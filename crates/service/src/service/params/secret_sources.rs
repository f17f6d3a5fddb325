//! Where the values of secret parameters come from.

use super::value::{check, unfit};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Json;
use kb_language::definition::{Param, ParamType, SecretSource};
use std::collections::BTreeMap;
use std::path::Path;

/// What references to secrets read: `env:NAME` a variable, `file:PATH` a file below the project.
#[derive(Debug, Clone, Copy)]
pub struct SecretSources<'a> {
    /// The environment of `kb`.
    pub variables: &'a BTreeMap<String, String>,
    /// The root of the project.
    pub root: &'a Path,
}

impl SecretSources<'_> {
    /// Checks a value by its declaration and, if it `is_given`, that a reference to a secret gives one.
    pub(super) fn check(
        &self,
        param: &Param,
        value: Json,
        is_given: bool,
    ) -> Result<Json, Box<Diagnostic>> {
        let reference = value.as_str().filter(|_| is_given && param.kind == ParamType::Secret);
        let problem = reference.and_then(|reference| self.problem_of(reference));
        match reference.zip(problem) {
            Some((reference, (why, fix))) => {
                let message = format!("`{}` is given `{reference}`, but {why}", param.name);
                Err(unfit(message, fix))
            }
            None => check(param, value),
        }
    }

    /// The problem of a default that a step needs: the reference gives no value.
    pub fn check_default(&self, param: &Param) -> Option<Diagnostic> {
        let reference = param.default.as_ref().filter(|_| param.kind == ParamType::Secret)?;
        let reference = reference.as_str()?;
        let (why, fix) = self.problem_of(reference)?;
        let message =
            format!("the default of the parameter `{}` is `{reference}`, but {why}", param.name);
        let help = format!("{fix}, or give another one: `--param {}=env:NAME`", param.name);
        Some(Diagnostic::error(Code::PARAMETER_INVALID, param.span, message).help(help))
    }

    /// What a reference names; `None` for a text that is none.
    pub fn source(reference: &str) -> Option<SecretSource> {
        match reference.split_once(':')? {
            ("env", name) => Some(SecretSource::Env(name.to_owned())),
            ("file", path) => Some(SecretSource::File(path.to_owned())),
            _ => None,
        }
    }

    /// Why a reference gives no value, and the fix.
    pub fn problem_of(&self, reference: &str) -> Option<(String, String)> {
        self.problem(&Self::source(reference)?)
    }

    /// Why a source gives no value, and the fix. A command is not run to find out.
    pub fn problem(&self, source: &SecretSource) -> Option<(String, String)> {
        match source {
            SecretSource::Command(_) => None,
            SecretSource::Env(name) => match self.variables.get(name).map(String::as_str) {
                None => Some((format!("{name} is not set"), format!("`export {name}=…` first"))),
                Some("") => Some((format!("{name} is empty"), format!("`export {name}=…` first"))),
                Some(_) => None,
            },
            SecretSource::File(path) => {
                if self.root.join(path).is_file() {
                    None
                } else {
                    Some((
                        format!("there is no file `{path}`"),
                        "the path is relative to the project folder".to_owned(),
                    ))
                }
            }
        }
    }
}

/// The usual name of the variable for a secret: `apiToken` becomes `API_TOKEN`.
pub(super) fn variable_name(param: &str) -> String {
    let mut name = String::new();
    let mut was_lower = false;
    for c in param.chars() {
        if c.is_ascii_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = c.is_ascii_lowercase();
        name.push(c.to_ascii_uppercase());
    }
    name
}
