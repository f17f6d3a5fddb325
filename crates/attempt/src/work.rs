//! The work of an attempt, one variant per step kind that is executed.

use super::{Live, ParentFacts};
use kb_base::value::{DefinitionId, Json, JsonMap, RunId, Usage, json_text};
use kb_core::evidence::{Feedback, Record, SessionBrief};
use kb_language::definition::{JudgeCheck, OutputParse, Schema, Specialist};
use kb_language::plan::Facts;
use kb_language::toolspec::ToolSpec;
use serde_json::json;
use std::ops::Range;
use std::sync::Arc;

/// The work of one attempt, with all values rendered.
#[derive(Debug, Clone)]
pub enum StepWork {
    /// Run the agent loop of a specialist.
    Specialist(SpecialistWork),
    /// Run a process and record its output.
    Run {
        /// The process to run.
        command: CommandLine,
        /// How stdout is parsed into the output.
        parse: OutputParse,
    },
    /// Call one tool, approved by the author of the playbook.
    Tool {
        /// Its entry in the catalog of the run.
        tool: Arc<ToolSpec>,
        /// Arguments of the call.
        args: Json,
    },
    /// Send one HTTP request.
    Http(HttpWork),
    /// Execute a child run.
    Playbook(ChildWork),
}

impl StepWork {
    /// Whether the work is one process, which keeps running while `kb` leaves, and whose idle timeout the
    /// supervisor applies.
    pub fn is_process(&self) -> bool {
        match self {
            StepWork::Run { .. } => true,
            StepWork::Specialist(_)
            | StepWork::Tool { .. }
            | StepWork::Http(_)
            | StepWork::Playbook(_) => false,
        }
    }
}

/// The files of the project that some work can use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileUse<'w> {
    /// It uses no files.
    Nothing,
    /// It can use any file.
    Everything {
        /// Whether it can change them.
        writes: bool,
    },
    /// Those that a call of this tool uses.
    Tool(&'w ToolSpec),
}

impl StepWork {
    /// The files that the work can use. The steps of a child run have work of their own.
    pub fn file_use(&self) -> FileUse<'_> {
        match self {
            StepWork::Run { .. } => FileUse::Everything { writes: true },
            StepWork::Specialist(work) => FileUse::Everything { writes: work.specialist.writes() },
            StepWork::Tool { tool, .. } => FileUse::Tool(tool),
            StepWork::Http(_) | StepWork::Playbook(_) => FileUse::Nothing,
        }
    }

    /// The specialist that does the work.
    pub fn specialist(&self) -> Option<&Specialist> {
        match self {
            StepWork::Specialist(work) => Some(&work.specialist),
            StepWork::Run { .. }
            | StepWork::Tool { .. }
            | StepWork::Http(_)
            | StepWork::Playbook(_) => None,
        }
    }

    /// Everything that the work consists of, by name: equal work has equal parts.
    pub fn parts(&self) -> Vec<(&'static str, Json)> {
        match self {
            StepWork::Run { command, parse } => {
                let command = match command {
                    CommandLine::Shell(script) => json!(script),
                    CommandLine::Argv(words) => words.iter().map(|word| &*word.text).collect(),
                };
                vec![("command", command), ("form of the output", json!(format!("{parse:?}")))]
            }
            StepWork::Tool { tool, args } => {
                vec![("tool", json!(tool.name)), ("arguments", args.clone())]
            }
            StepWork::Http(HttpWork { args, expect }) => {
                let (method, url) = (json_text(&args["method"]), json_text(&args["url"]));
                vec![
                    ("request", json!(format!("{method} {url}"))),
                    ("query", args["query"].clone()),
                    ("headers", args["headers"].clone()),
                    ("body", args["body"].clone()),
                    ("expected statuses", json!(expect)),
                ]
            }
            StepWork::Specialist(work) => {
                let Specialist { id, digest, model, agent, .. } = &*work.specialist;
                let agent = agent.as_ref().map(|own| {
                    let tools = format!("{:?}", own.tools);
                    (&own.name, &own.argv, &own.mode, &own.model, tools)
                });
                let schema = work.output_schema.as_ref().map(|schema| schema.json().clone());
                let name = model.model.as_deref().unwrap_or_default();
                // As texts, because references contain times.
                let session = work.session.as_deref().map(|session| {
                    let state = &session.state;
                    json!([state.to_text(None), state.context_text(), session.artifacts])
                });
                vec![
                    ("specialist", json!(format!("{id} {digest}"))),
                    ("task", json!(work.task)),
                    ("input", json!(work.input)),
                    ("output schema", json!(schema)),
                    ("session", json!(session)),
                    ("tier", json!(format!("{} {name}", model.tier).trim_end())),
                    ("agent", json!(agent)),
                ]
            }
            StepWork::Playbook(ChildWork { definition, params, .. }) => vec![
                ("definition", json!(definition.as_str())),
                ("parameters", Json::Object(params.clone())),
            ],
        }
    }
}

/// A child run to start, or to continue after a crash.
#[derive(Debug, Clone)]
pub struct ChildWork {
    /// Id of the playbook or workflow.
    pub definition: DefinitionId,
    /// Rendered values of its parameters, not checked yet.
    pub params: JsonMap,
    /// The child run that an earlier attempt of the step executed and that did not succeed, or whose
    /// result is not recorded.
    pub previous: Option<PreviousChild>,
    /// What is known of its parameters.
    pub facts: Facts,
    /// What its parent knows of the files, asked for each process when it starts.
    pub parent: Live<ParentFacts>,
}

/// A child run of an earlier attempt, or of this attempt before a resume.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviousChild {
    /// Id of the child run.
    pub run: RunId,
    /// Whether the attempt that executed it has ended, so that its result is recorded.
    pub attempt_ended: bool,
    /// The part of its usage that earlier attempts reported.
    pub reported: Usage,
}

/// An HTTP request.
#[derive(Debug, Clone)]
pub struct HttpWork {
    /// The rendered arguments of the tool `http:request`.
    pub args: Json,
    /// Expected statuses; empty: 200–299.
    pub expect: Vec<u16>,
}

/// The command of a process.
#[derive(Debug, Clone)]
pub enum CommandLine {
    /// A script for `bash -euo pipefail -c`.
    Shell(String),
    /// A program with its arguments, run without a shell.
    Argv(Vec<Argument>),
}

/// One argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The rendered argument.
    pub text: String,
    /// Whether it contains a placeholder, so that the loader could not check its text.
    pub computed: bool,
}

/// What an attempt of a specialist executes: its definition and the rendered task, input and
/// session.
#[derive(Debug, Clone)]
pub struct SpecialistWork {
    /// The definition of the specialist.
    pub specialist: Arc<Specialist>,
    /// The rendered task.
    pub task: String,
    /// The byte ranges of `task` that placeholders rendered, in order.
    pub task_values: Vec<Range<usize>>,
    /// The file of the project that the task was read from.
    pub task_file: Option<Box<str>>,
    /// The rendered input.
    pub input: Option<Json>,
    /// `output.schema` of the step; takes precedence over the schema of the specialist.
    pub output_schema: Option<Schema>,
    /// Why the previous attempt failed.
    pub feedback: Option<Arc<Feedback>>,
    /// Records of this attempt from before a resume, in order; empty for a new attempt.
    pub history: Vec<Record>,
    /// Parameters of the run, for placeholders in scripts.
    pub params: Arc<Json>,
    /// What earlier steps left behind; `None` if nothing, or if the step does not want it.
    pub session: Option<Arc<SessionBrief>>,
    /// Whether a later specialist sees what this one passes on.
    pub hands_over: bool,
    /// The `judge` check of the step, whose model a person may have to permit before the attempt.
    pub judge: Option<Box<JudgeCheck>>,
}
