//! The implemented tools with their specifications, and the check of call arguments.

use super::builtin;
use super::call::Refusal;
use super::context::Tool;
use super::implementation::ToolImplementation;
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use kb_base::diagnostic::{Code, nearest};
use kb_base::value::{Failure, Json};
use kb_language::definition::Schema;
use kb_language::toolspec::{self, ToolCatalog, ToolSpec};
use serde_json::json;
use std::sync::{Arc, OnceLock};

/// All implemented tools.
pub(super) struct Registry {
    tools: Vec<RegisteredTool>,
    catalog: ToolCatalog,
}

/// A tool, its entry and the compiled schema of its arguments.
pub(super) struct RegisteredTool {
    pub(super) tool: Arc<dyn Tool>,
    spec: Arc<ToolSpec>,
    schema: OnceLock<Option<ArgumentSchema>>,
}

/// The schema of the arguments of a tool.
enum ArgumentSchema {
    /// That of a built-in tool, whose violations are explained.
    Own(Validator),
    /// One that came from elsewhere: a validation has limits of time and memory.
    Declared(Schema),
}

impl Registry {
    /// The built-in tools, in the order of the table of tools, and these.
    pub(super) fn new(added: &[ToolImplementation]) -> Self {
        let built_in = builtin::all().into_iter();
        let built_in = built_in.map(|tool| (toolspec::built_in().entry(tool.name()), tool));
        let added = added.iter().map(|own| (own.spec.clone(), own.tool.clone()));
        let all = built_in.chain(added);
        let tools = all.map(|(spec, tool)| RegisteredTool { tool, spec, schema: OnceLock::new() });
        let tools: Vec<RegisteredTool> = tools.collect();
        let catalog = ToolCatalog::default().with(tools.iter().map(|tool| tool.spec.clone()));
        Registry { tools, catalog }
    }

    /// Their entries.
    pub(super) fn catalog(&self) -> &ToolCatalog {
        &self.catalog
    }

    /// The tool with this name.
    pub(super) fn find(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }
}

/// Maximum number of violations in one message.
const SHOWN: usize = 10;

impl RegisteredTool {
    pub(super) fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// Refuses arguments that violate the schema. Names all violations, so that a model can fix them
    /// at once.
    pub(super) fn check(&self, args: &Json) -> Result<(), Refusal> {
        let spec = &self.spec;
        let compile = || {
            if spec.namespace.is_empty() {
                jsonschema::validator_for(&spec.input).ok().map(ArgumentSchema::Own)
            } else {
                Schema::new(spec.input.clone()).ok().map(ArgumentSchema::Declared)
            }
        };
        let violations: Vec<(String, String)> = match self.schema.get_or_init(compile) {
            Some(ArgumentSchema::Own(validator)) => validator
                .iter_errors(args)
                .map(|error| (error.instance_path().as_str().to_owned(), describe(&error, spec)))
                .collect(),
            Some(ArgumentSchema::Declared(schema)) => {
                let found = schema.violations(args).into_iter();
                found.map(|found| (found.pointer, found.message)).collect()
            }
            None => {
                let message = format!("the schema of `{}` is invalid", spec.name);
                return Err(Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message)));
            }
        };
        if violations.is_empty() {
            Ok(())
        } else {
            Err(Refusal::failed(failure(spec, &violations)))
        }
    }
}

fn failure(spec: &ToolSpec, violations: &[(String, String)]) -> Failure {
    let list: Vec<String> = violations
        .iter()
        .take(SHOWN)
        .map(|(pointer, what)| {
            if pointer.is_empty() {
                what.clone()
            } else {
                format!("`{}`: {what}", pointer.trim_start_matches('/'))
            }
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
    let names = spec
        .arguments()
        .map(|name| if spec.requires(name) { format!("`{name}`") } else { format!("`{name}`?") });
    format!("`{}` takes {}", spec.name, names.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::Registry;
    use kb_language::toolspec;

    #[test]
    fn the_table_of_tools_and_the_implementations_agree() {
        let registry = Registry::new(&[]);
        let implemented: Vec<&str> = registry.tools.iter().map(|tool| &*tool.spec.name).collect();
        let listed: Vec<&str> = toolspec::built_in().names().collect();
        assert_eq!(implemented, listed);
    }
}
