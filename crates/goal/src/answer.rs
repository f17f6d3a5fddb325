//! The answer of a planner.

use crate::check::GoalCheck;
use kb_base::value::Json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A plan, as a planner answers it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The plan in a sentence.
    pub summary: String,
    /// The subtasks, in the order in which they are written.
    #[serde(default)]
    pub subtasks: Vec<Subtask>,
    /// The checks of the whole goal.
    #[serde(default)]
    pub checks: Vec<GoalCheck>,
    /// How sure the planner is that the plan reaches the goal, from 0 to 1.
    #[serde(default)]
    pub confidence: f64,
    /// The suggestion of a failure report that the plan follows, if it replaces steps after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<Taken>,
    /// What a person must say before there can be a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// A suggestion of a failure report, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The step that failed.
    pub step: String,
    /// The action that was suggested, such as `switch_specialist`.
    pub action: String,
}

/// A task for one specialist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subtask {
    /// Its name in the plan, the id of its step.
    pub id: String,
    /// What the specialist has to do.
    pub task: String,
    /// Id of a specialist. Without one, `capability` names what it must be able to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// A capability of that specialist, or of exactly one of the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// Subtasks that must have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Names of the input, each with the subtask whose output it receives. Without any, `context` receives the outputs
    /// of all needed ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// Artifacts of earlier subtasks whose whole text it reads: `SUBTASK` or `SUBTASK/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_artifacts: Vec<String>,
    /// What must hold after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<GoalCheck>,
    /// How sure the planner is of the choice of the specialist, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

impl Answer {
    /// Reads an answer that satisfies [`answer_schema`](crate::answer_schema). Keys that it does not know, such as
    /// those that every output may have, are left out.
    ///
    /// # Errors
    ///
    /// If the value has another form.
    pub fn read(value: &Json) -> Result<Answer, String> {
        Answer::deserialize(value).map_err(|error| error.to_string())
    }

    /// The lowest confidence: of the plan or of one of its choices.
    pub fn least_confidence(&self) -> f64 {
        let own = self.subtasks.iter().filter_map(|subtask| subtask.confidence);
        own.fold(self.confidence, f64::min)
    }

    /// The question to a person, if the planner asks one in place of a plan.
    pub fn open_question(&self) -> Option<&str> {
        self.question.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }
}
