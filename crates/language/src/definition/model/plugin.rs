//! [`Plugin`]: a tool that a project defines.

use super::NetworkAccess;
use crate::definition::Schema;
use crate::expression::{Expression, ValueTemplate};
use crate::toolspec::ToolSpec;
use kb_base::diagnostic::Span;
use kb_base::value::{DefinitionId, Digest, ToolName};
use std::sync::Arc;
use std::time::Duration;

/// A plugin: a program that reads JSON on stdin and writes JSON on stdout.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// The id; the name of the tool is `plugin:ID`.
    pub id: DefinitionId,
    /// The tool as specialists and policies see it.
    pub spec: Arc<ToolSpec>,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Schema of the arguments.
    pub input: Schema,
    /// Schema of the output.
    pub output: Schema,
    /// The network that the program can use.
    pub network: NetworkAccess,
    /// Time limit of a call.
    pub timeout: Duration,
    /// Checks after each successful call, in order.
    pub probes: Vec<Probe>,
    /// Digest of its file.
    pub digest: Digest,
    /// Path of its file.
    pub path: String,
    /// Position of the definition.
    pub span: Span,
}

/// A check after a call of a plugin: a call of a tool that changes nothing, and the expected result.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Its name in messages and records.
    pub id: String,
    /// Name of a tool that only reads, which the probe calls.
    pub tool: ToolName,
    /// Its arguments, over `input` and `output`.
    pub input: ValueTemplate,
    /// The condition, over `input`, `output` and `result`.
    pub expect: Expression,
}
