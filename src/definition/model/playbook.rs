use super::Step;
use crate::definition::Schema;
use crate::diagnostic::Span;
use crate::expression::{Template, ValueMap};
use crate::value::{DefinitionId, Digest, Json};
use std::sync::Arc;
use std::time::Duration;

/// Which spelling a definition was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionForm {
    /// YAML, `kb.playbook/1`.
    Playbook,
    /// Markdown with front matter (004).
    Workflow,
}

/// A checked playbook or workflow (LANGUAGE §2).
#[derive(Debug, Clone)]
pub struct Playbook {
    /// Its id; a workflow's is its file's name where it says none.
    pub id: DefinitionId,
    /// Which spelling it was written in.
    pub form: DefinitionForm,
    /// For people; the id where it says none.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// Phrases that find it.
    pub triggers: Vec<String>,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// The steps, in file order. `order: sequential` is already in their `depends_on`.
    pub steps: Vec<Arc<Step>>,
    /// Steps that run once after the others.
    pub finally: Vec<Arc<Step>>,
    /// What the run hands out, in order.
    pub outputs: ValueMap,
    /// Environment of every shell of the run.
    pub env: Vec<(String, Template)>,
    /// Bounds of the run.
    pub limits: Limits,
    /// Whether steps are chained as written.
    pub order: Order,
    /// Where it starts.
    pub span: Span,
    /// Its file as people know it.
    pub path: String,
    /// Digest of its file.
    pub digest: Digest,
    /// What it uses that is not built yet; running it is refused while this is not empty.
    pub not_yet: Vec<NotYet>,
}

/// A key or value that the language has and this version does not carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotYet {
    /// What, such as `budget` or `loop`.
    pub what: String,
    /// Where.
    pub span: Span,
}

/// `order:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By the graph alone.
    #[default]
    Graph,
    /// As written, one after the other.
    Sequential,
}

/// `limits:` of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Steps at the same time; `None`: the number of processors, at least 2.
    pub max_parallel: Option<u32>,
    /// The whole run.
    pub timeout: Option<Duration>,
    /// Whether the first failure cancels what has not ended.
    pub fail_fast: bool,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// `[A-Za-z_]\w*`.
    pub name: String,
    /// What it takes.
    pub kind: ParamType,
    /// Whether a run needs a value.
    pub required: bool,
    /// The value without one.
    pub default: Option<Json>,
    /// The question on a terminal.
    pub prompt: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// The only values, where given.
    pub one_of: Vec<Json>,
    /// A regular expression that a text must match as a whole.
    pub pattern: Option<String>,
    /// The least number, length or count.
    pub min: Option<f64>,
    /// The largest number, length or count.
    pub max: Option<f64>,
    /// A schema for lists and objects.
    pub schema: Option<Schema>,
    /// Whether it was inferred from a bare `{topic}` of a workflow.
    pub inferred: bool,
    /// Where it is declared or first used.
    pub span: Span,
}

/// `type:` of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParamType {
    /// Text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list, given as JSON or comma-separated text.
    List,
    /// An object, given as JSON.
    Object,
    /// A path inside the workspace.
    Path,
    /// A reference to a secret (`env:NAME`, `file:PATH`), never a literal.
    Secret,
}
