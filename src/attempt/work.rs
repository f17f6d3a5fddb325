use crate::definition::{OutputParse, Schema, Specialist};
use crate::evidence::{Feedback, Record};
use crate::value::{Json, ToolName};
use std::ops::Range;
use std::sync::Arc;

/// What to do.
#[derive(Debug, Clone)]
pub enum StepWork {
    /// Let a specialist work.
    Specialist(SpecialistWork),
    /// Run a process.
    Run {
        /// The program and its arguments, or bash with a literal script.
        command: CommandLine,
        /// How stdout becomes the output.
        parse: OutputParse,
    },
    /// Call one tool, with the author's word as approval.
    Tool {
        /// Which.
        tool: ToolName,
        /// Its arguments.
        args: Json,
    },
    /// Make one request.
    Http {
        /// Upper case.
        method: String,
        /// Statuses that count as done; 200–299 where empty.
        expect: Vec<u16>,
        /// Rendered.
        url: String,
        /// Rendered, in order.
        headers: Vec<(String, String)>,
        /// Rendered, in order.
        query: Vec<(String, String)>,
        /// Rendered.
        body: Option<Json>,
    },
}

/// A process.
#[derive(Debug, Clone)]
pub enum CommandLine {
    /// `bash -euo pipefail -c SCRIPT`.
    Shell(String),
    /// Without a shell.
    Argv(Vec<Argument>),
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Rendered.
    pub text: String,
    /// Whether a placeholder made it, so that nobody saw it when the definition was loaded.
    pub computed: bool,
}

/// A specialist's work.
#[derive(Debug, Clone)]
pub struct SpecialistWork {
    /// Who.
    pub specialist: Arc<Specialist>,
    /// What to do, rendered.
    pub task: String,
    /// The byte ranges of `task` that placeholders rendered, in order.
    pub task_values: Vec<Range<usize>>,
    /// Structured input, rendered.
    pub input: Option<Json>,
    /// The step's own `output.schema`; holds over the specialist's.
    pub output_schema: Option<Schema>,
    /// What failed before.
    pub feedback: Option<Arc<Feedback>>,
    /// What this attempt had recorded before its holder died, in order; empty at first.
    pub history: Vec<Record>,
    /// The key of a script's turns: instance text and step id are derived from the request.
    pub params: Arc<Json>,
}
