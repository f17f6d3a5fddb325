//! The input of a verdict except for the observations.

use super::asked_work::AskedWork;
use super::check::Criterion;
use super::earlier_step::EarlierStep;
use crate::evidence::Invocation;
use kb_base::value::Json;
use kb_language::definition::{ClaimPolicy, Schema};
use kb_language::toolspec::ToolCatalog;
use std::sync::Arc;

/// The gate of one attempt, with all placeholders evaluated.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The checks, in order.
    pub criteria: Vec<Criterion>,
    /// How strictly the claims of the output are compared with the evidence.
    pub claims: ClaimPolicy,
    /// Whether a step without any file change is inconclusive.
    pub expect_changes: bool,
    /// Whether the definition of the step says so (`expectChanges: true`), and not only its tools.
    pub changes_declared: bool,
    /// Whether the gate refuted an earlier attempt of the pass.
    pub after_refuted: bool,
    /// The output of the step.
    pub output: Arc<Json>,
    /// The schema that the output must satisfy.
    pub output_schema: Option<Schema>,
    /// The recorded tool calls of all attempts of this iteration, in order.
    pub trace: Vec<Invocation>,
    /// Whether a command of the step ran whose changes of files were not recorded.
    pub unwatched: bool,
    /// The absolute path of the workspace, to recognise absolute paths in claims.
    pub root: String,
    /// `testCommands` of the settings.
    pub test_commands: Vec<String>,
    /// Whether the names in the answer are looked up, because the specialist only reads.
    pub looks_up_names: bool,
    /// The keys of the output that the author calls commentary, and those that a check reads.
    pub excused: Vec<String>,
    /// What the task asks to be changed.
    pub asked: AskedWork,
    /// What specialists changed before that can decide what a command does.
    pub earlier: Vec<EarlierStep>,
    /// The tools of the run.
    pub tools: ToolCatalog,
}

impl Gate {
    /// A gate of checks alone: there is no output, and nothing was done.
    pub fn of_checks(criteria: Vec<Criterion>) -> Gate {
        Gate {
            criteria,
            claims: ClaimPolicy::None,
            expect_changes: false,
            changes_declared: false,
            after_refuted: false,
            output: Arc::new(Json::Null),
            output_schema: None,
            trace: Vec::new(),
            unwatched: false,
            root: String::new(),
            test_commands: Vec::new(),
            looks_up_names: false,
            excused: Vec::new(),
            asked: AskedWork::default(),
            earlier: Vec::new(),
            tools: ToolCatalog::default(),
        }
    }
}
