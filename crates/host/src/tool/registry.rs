//! The implemented tools with their specifications, and the check of call arguments.

use super::builtin::{self, PluginTool};
use super::call::Refusal;
use super::context::Tool;
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use kb_base::diagnostic::{Code, nearest};
use kb_base::value::{Failure, Json};
use kb_language::definition::Plugin;
use kb_language::toolspec::{ToolSpec, find};
use serde_json::json;
use std::sync::{Arc, OnceLock};

/// All implemented tools.
pub(super) struct Registry {
    tools: Vec<RegisteredTool>,
}

/// A tool, its specification and the compiled schema of its arguments.
pub(super) struct RegisteredTool {
    pub(super) tool: Box<dyn Tool>,
    origin: Origin,
    schema: OnceLock<Option<Validator>>,
}

/// Where a tool is defined.
enum Origin {
    Table(&'static ToolSpec),
    Plugin(Arc<Plugin>),
}

impl Registry {
    /// The built-in tools, in the order of the table of tools, and these plugins.
    pub(super) fn new(plugins: &[Arc<Plugin>]) -> Self {
        let register = |tool: Box<dyn Tool>| {
            let origin = Origin::Table(find(tool.name())?);
            Some(RegisteredTool { tool, origin, schema: OnceLock::new() })
        };
        let plugins = plugins.iter().map(|plugin| RegisteredTool {
            tool: Box::new(PluginTool::new(plugin.clone())),
            origin: Origin::Plugin(plugin.clone()),
            schema: OnceLock::new(),
        });
        let built_in = builtin::all().into_iter().filter_map(register);
        Registry { tools: built_in.chain(plugins).collect() }
    }

    /// Their specifications in order.
    pub(super) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(RegisteredTool::spec)
    }

    /// The tool with this name.
    pub(super) fn find(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}

/// Maximum number of violations in one message.
const SHOWN: usize = 10;

impl RegisteredTool {
    pub(super) fn spec(&self) -> &ToolSpec {
        match &self.origin {
            Origin::Table(spec) => spec,
            Origin::Plugin(plugin) => &plugin.spec,
        }
    }

    /// The definition, if the tool is a plugin.
    pub(super) fn plugin(&self) -> Option<&Arc<Plugin>> {
        match &self.origin {
            Origin::Table(_) => None,
            Origin::Plugin(plugin) => Some(plugin),
        }
    }

    /// Refuses arguments that violate the schema. Names all violations, so that a model can fix them
    /// at once.
    pub(super) fn check(&self, args: &Json) -> Result<(), Refusal> {
        let spec = self.spec();
        if let Some(plugin) = self.plugin() {
            let violations = plugin.input.violations(args).into_iter();
            let violations: Vec<(String, String)> =
                violations.map(|found| (found.pointer, found.message)).collect();
            return match violations.is_empty() {
                true => Ok(()),
                false => Err(Refusal::failed(failure(spec, &violations))),
            };
        }
        let compiled = self.schema.get_or_init(|| jsonschema::validator_for(&spec.input).ok());
        let Some(validator) = compiled else {
            let message = format!("the schema of `{}` is invalid", spec.name);
            return Err(Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message)));
        };
        let violations: Vec<(String, String)> = validator
            .iter_errors(args)
            .map(|error| (error.instance_path().as_str().to_owned(), describe(&error, spec)))
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
        .map(|(pointer, what)| match pointer.is_empty() {
            true => what.clone(),
            false => format!("`{}`: {what}", pointer.trim_start_matches('/')),
        })
        .collect();
    let message = format!("invalid arguments for `{}`: {}", spec.name, list.join("; "));
    let details =
        violations.iter().map(|(pointer, what)| json!({"pointer": pointer, "message": what}));
    Failure::new(Code::BAD_ARGUMENTS, message)
        .help(usage(spec))
        .details(json!({ "violations": details.collect::<Vec<_>>() }))
}

/// The text of a violation, without repeating a long value.
fn describe(error: &jsonschema::ValidationError<'_>, spec: &ToolSpec) -> String {
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("`{}` is missing", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let one = |name: &String| match nearest(name, spec.arguments()) {
                Some(similar) => format!("unknown argument `{name}`; did you mean `{similar}`?"),
                None => format!("unknown argument `{name}`"),
            };
            unexpected.iter().map(one).collect::<Vec<_>>().join("; ")
        }
        ValidationErrorKind::Type { .. } => {
            let what = kb_base::value::kind_of(error.instance());
            error.masked().to_string().replacen("value", what, 1)
        }
        _ => error.masked().to_string(),
    }
}

/// The arguments of a tool in one line, such as `` `fs:read` takes `path`, `startLine`? ``.
fn usage(spec: &ToolSpec) -> String {
    let names = spec.arguments().map(|name| match spec.requires(name) {
        true => format!("`{name}`"),
        false => format!("`{name}`?"),
    });
    format!("`{}` takes {}", spec.name, names.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::Registry;
    use kb_language::toolspec;

    #[test]
    fn the_table_of_tools_and_the_implementations_agree() {
        let registry = Registry::new(&[]);
        let implemented: Vec<&str> = registry.specs().map(|spec| &*spec.name).collect();
        let listed: Vec<&str> = toolspec::names().collect();
        assert_eq!(implemented, listed);
        assert_eq!(super::builtin::all().len(), listed.len());
    }
}
