use super::call::Refusal;
use super::{Tool, ToolSpec};
use crate::diagnostic::{Code, nearest};
use crate::value::{Failure, Json};
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::json;
use std::sync::OnceLock;

/// Every tool by name.
pub(super) struct Registry {
    tools: Vec<Registered>,
}

/// A tool and the compiled schema of its arguments.
pub(super) struct Registered {
    pub(super) tool: Box<dyn Tool>,
    schema: OnceLock<Option<Validator>>,
}

impl Registry {
    /// The tools of LANGUAGE §7.
    pub(super) fn built_in() -> Self {
        let tools: Vec<Box<dyn Tool>> = vec![
            Box::new(super::fs_read::tool()),
            Box::new(super::fs_list::tool()),
            Box::new(super::fs_search::tool()),
            Box::new(super::fs_exists::tool()),
            Box::new(super::fs_write::tool()),
            Box::new(super::fs_edit::tool()),
            Box::new(super::fs_delete::tool()),
            Box::new(super::shell_exec::ShellExec::new()),
            Box::new(super::http_request::HttpRequestTool::new()),
            Box::new(super::output_read::OutputRead::new()),
        ];
        let register = |tool| Registered { tool, schema: OnceLock::new() };
        Registry { tools: tools.into_iter().map(register).collect() }
    }

    /// In the order of the language's table.
    pub(super) fn all(&self) -> impl Iterator<Item = &Registered> {
        self.tools.iter()
    }

    /// Their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().map(|tool| tool.tool.spec().name)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Registered> {
        self.tools.iter().find(|tool| tool.tool.spec().name == name)
    }
}

/// Violations that one message lists at most.
const SHOWN: usize = 10;

impl Registered {
    /// Refuses arguments that do not fit, with all violations, so that a model can mend them.
    pub(super) fn check(&self, args: &Json) -> Result<(), Refusal> {
        let spec = self.tool.spec();
        let compiled = self.schema.get_or_init(|| jsonschema::validator_for(&spec.input).ok());
        let Some(validator) = compiled else {
            let message = format!("the schema of `{}` cannot be used", spec.name);
            return Err(Refusal::failed(Failure::new(Code::BAD_ARGUMENTS.as_str(), message)));
        };
        let violations: Vec<(String, String)> = validator
            .iter_errors(args)
            .map(|error| (error.instance_path().as_str().to_owned(), worded(&error, spec)))
            .collect();
        if violations.is_empty() {
            return Ok(());
        }
        Err(Refusal::failed(failure(spec, &violations)))
    }
}

fn failure(spec: &ToolSpec, violations: &[(String, String)]) -> Failure {
    let list: Vec<String> = violations
        .iter()
        .take(SHOWN)
        .map(|(place, what)| match place.is_empty() {
            true => what.clone(),
            false => format!("`{}`: {what}", place.trim_start_matches('/')),
        })
        .collect();
    let message = format!("the arguments do not fit `{}`: {}", spec.name, list.join("; "));
    let details = violations.iter().map(|(place, what)| json!({"pointer": place, "message": what}));
    Failure::new(Code::BAD_ARGUMENTS.as_str(), message)
        .help(usage(spec))
        .details(json!({ "violations": details.collect::<Vec<_>>() }))
}

/// A violation in our words, without repeating a long value.
fn worded(error: &jsonschema::ValidationError<'_>, spec: &ToolSpec) -> String {
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("`{}` is missing", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let one = |name: &String| match nearest(name, argument_names(spec)) {
                Some(known) => format!("there is no `{name}`; did you mean `{known}`?"),
                None => format!("there is no `{name}`"),
            };
            unexpected.iter().map(one).collect::<Vec<_>>().join("; ")
        }
        ValidationErrorKind::Type { .. } => {
            let what = crate::value::kind_of(error.instance());
            error.masked().to_string().replacen("value", what, 1)
        }
        _ => error.masked().to_string(),
    }
}

fn argument_names(spec: &ToolSpec) -> impl Iterator<Item = &str> {
    let properties = spec.input.get("properties").and_then(Json::as_object);
    properties.into_iter().flat_map(|map| map.keys().map(String::as_str))
}

/// `fs:read takes path, startLine?, endLine?`.
fn usage(spec: &ToolSpec) -> String {
    let required: Vec<&str> = spec
        .input
        .get("required")
        .and_then(Json::as_array)
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    let names = argument_names(spec).map(|name| match required.contains(&name) {
        true => format!("`{name}`"),
        false => format!("`{name}`?"),
    });
    format!("`{}` takes {}", spec.name, names.collect::<Vec<_>>().join(", "))
}
