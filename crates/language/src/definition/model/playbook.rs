//! The model of a playbook or workflow, its parameters and its run limits.

use super::{Concurrency, NotYet, Requirements, Step, Trigger};
use crate::definition::Schema;
use crate::definition::keys::KeyType::{Integer, Pattern};
use crate::definition::keys::{choices, keys};
use crate::expression::{Template, ValueMap};
use kb_base::diagnostic::Span;
use kb_base::value::{DefinitionId, Digest, Json};
use std::sync::Arc;
use std::time::Duration;

/// The file form that a playbook was loaded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionForm {
    /// YAML, `kb.playbook/1`.
    Playbook,
    /// Markdown with front matter.
    Workflow,
}

/// A checked playbook or workflow (see `docs/reference/language.md`).
#[derive(Debug, Clone)]
pub struct Playbook {
    /// Unique id. Default for workflows: the file name.
    pub id: DefinitionId,
    /// The file form it was loaded from.
    pub form: DefinitionForm,
    /// Display name. Default: the id.
    pub name: String,
    /// Description shown in lists.
    pub description: Option<String>,
    /// `version:`, which a `playbook` step can ask for.
    pub version: Option<String>,
    /// Phrases by which a request finds this playbook.
    pub triggers: Vec<String>,
    /// Parameters, in the order of the file.
    pub params: Vec<Param>,
    /// Steps, in the order of the file. `order: sequential` is already part of their `depends_on`.
    pub steps: Vec<Arc<Step>>,
    /// Steps that run once after all others, and the steps of all `hooks`.
    pub finally: Vec<Arc<Step>>,
    /// `concurrency:` of its runs.
    pub concurrency: Option<Box<Concurrency>>,
    /// What must hold before a run starts.
    pub requires: Box<Requirements>,
    /// Outputs of the run, in the order of the file.
    pub outputs: ValueMap,
    /// Environment variables of every process of the run.
    pub env: Vec<(String, Template)>,
    /// Limits of the run.
    pub limits: Limits,
    /// `budget:` of the run.
    pub budget: super::Budget,
    /// Whether each step also depends on the step before it.
    pub order: Order,
    /// Triggers that start runs without a person.
    pub on: Vec<Trigger>,
    /// `script:` file with responses in place of a model, relative to the project root.
    pub script: Option<String>,
    /// Position of the id.
    pub span: Span,
    /// Path of the file, as diagnostics show it.
    pub path: String,
    /// Digest of the file.
    pub digest: Digest,
    /// Features used here that are not supported yet. A run is refused if there are any.
    pub not_yet: Vec<NotYet>,
}

choices! {
    /// `order:`: what determines the order of steps.
    #[derive(Default)]
    pub enum Order {
        /// Dependencies alone.
        #[default]
        Graph = "graph",
        /// Each step starts after the step written before it.
        Sequential = "sequential",
    }
}

keys! {
    /// Limits of a run.
    pub struct Limits(Debug, Clone, Copy, PartialEq, Eq, Default): LIMITS = ("limits", "`limits`") {
        /// Maximum parallel steps.
        max_parallel: Option<u32> = "maxParallel" as Integer(1, 100_000),
            default("number of processors, at least 2"), example("4");
        /// Time limit of the whole run.
        timeout: Option<Duration> = "timeout", example("1h");
        /// Whether the first failure cancels all steps that have not ended.
        fail_fast: bool = "failFast", default("false");
    }
}

keys! {
    /// One parameter of a playbook.
    pub struct Param(Debug, Clone, Default): PARAM = ("param", "a parameter") {
        /// Name of the parameter.
        name: String = "name" as Pattern("^[A-Za-z_][A-Za-z0-9_]*$"), required, example("topic");
        /// Type of the value.
        kind: ParamType = "type", default("string");
        /// Whether a run needs a value.
        required: bool = "required", default("false");
        /// Value if none is given.
        default: Option<Json> = "default", example("\".\"");
        /// Question that asks for the value on a terminal.
        prompt: Option<String> = "prompt", example("Which file?");
        /// Description shown by `kb playbook info`.
        description: Option<String> = "description", example("The file to change");
        /// The allowed values.
        one_of: Vec<Json> = "enum", example("[small, large]");
        /// Regular expression that must match the whole text.
        pattern: Option<String> = "pattern", example("\"[a-z]+\"");
        /// Minimum number, text length or item count.
        min: Option<f64> = "min";
        /// Maximum number, text length or item count.
        max: Option<f64> = "max";
        /// Schema of the value.
        schema: Option<Schema> = "schema", example("{files: \"string[]\"}");
    } plus {
        /// Whether it was inferred from a `{topic}` in the prompt of a workflow.
        inferred: bool,
        /// Position of its declaration or first use.
        span: Span,
    }
}

choices! {
    /// `type:` of a parameter.
    #[derive(Default)]
    pub enum ParamType {
        /// Any text; numbers and booleans of a command line stay text.
        #[default]
        String = "string",
        /// A whole number of 64 bits.
        Integer = "integer",
        /// A whole or decimal number.
        Number = "number",
        /// `true` or `false`.
        Boolean = "boolean",
        /// A list, given as JSON or comma-separated text.
        List = "list",
        /// An object, given as JSON.
        Object = "object",
        /// A path inside the workspace, given as text.
        Path = "path",
        /// A reference to a secret (`env:NAME`, `file:PATH`), never a literal.
        Secret = "secret",
    }
}
