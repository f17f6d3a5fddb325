//! The JSON form of playbooks and workflows.

use kb_base::value::Json;
use kb_language::definition::{DefinitionForm, Param, Playbook, Step, StepPhase};
use schemars::JsonSchema;
use serde::Serialize;

/// A playbook or workflow, for `list --json` and `show --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionView {
    /// Id of the definition.
    pub id: String,
    /// Path of its file.
    pub path: String,
    /// `playbook` or `workflow`.
    pub form: &'static str,
    /// Display name.
    pub name: String,
    /// Human-readable description.
    pub description: Option<String>,
    /// Phrases that `kb playbook match` finds it by.
    pub triggers: Vec<String>,
    /// Parameters, in order.
    pub params: Vec<ParamView>,
    /// Steps in file order, then the `finally` steps.
    pub steps: Vec<StepOutline>,
    /// Names of the outputs.
    pub outputs: Vec<String>,
    /// What it uses that is not supported yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_yet: Vec<String>,
}

/// A declared parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParamView {
    /// Name of the parameter.
    pub name: String,
    /// Type of its values.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Whether a run cannot start without a value.
    pub required: bool,
    /// The value of a parameter that is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
    /// Human-readable description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Allowed values; empty if all are allowed.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Json>,
}

/// A step of a definition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepOutline {
    /// Id of the step.
    pub id: String,
    /// Step kind, such as `run`.
    pub kind: &'static str,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the specialist, for specialist steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// Explicit dependencies; `graph --format json` has all of them.
    pub depends_on: Vec<String>,
    /// Condition, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Whether it is a `finally` step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub finally: bool,
}

impl From<&Playbook> for DefinitionView {
    fn from(playbook: &Playbook) -> Self {
        let mut not_yet: Vec<String> = playbook.not_yet.iter().map(|n| n.what.clone()).collect();
        let steps = || playbook.steps.iter().chain(&playbook.finally);
        not_yet.extend(steps().flat_map(|step| &step.details().not_yet).map(|n| n.what.clone()));
        not_yet.sort();
        not_yet.dedup();
        DefinitionView {
            id: playbook.id.to_string(),
            path: playbook.path.clone(),
            form: match playbook.form {
                DefinitionForm::Playbook => "playbook",
                DefinitionForm::Workflow => "workflow",
            },
            name: playbook.name.clone(),
            description: playbook.description.clone(),
            triggers: playbook.triggers.clone(),
            params: playbook.params.iter().map(ParamView::from).collect(),
            steps: steps().map(|step| StepOutline::from(&**step)).collect(),
            outputs: playbook.outputs.iter().map(|(name, _)| name.to_string()).collect(),
            not_yet,
        }
    }
}

impl From<&Param> for ParamView {
    fn from(param: &Param) -> Self {
        ParamView {
            name: param.name.clone(),
            kind: param.kind.as_str(),
            required: param.required,
            default: param.default.clone(),
            description: param.description.clone(),
            one_of: param.one_of.clone(),
        }
    }
}

impl From<&Step> for StepOutline {
    fn from(step: &Step) -> Self {
        StepOutline {
            id: step.id.to_string(),
            kind: step.kind.name(),
            name: step.details().name.as_deref().map(str::to_owned),
            specialist: step.kind.specialist().map(ToString::to_string),
            depends_on: step.depends_on.iter().map(|(id, _)| id.to_string()).collect(),
            condition: step.condition.as_ref().map(|condition| condition.source().to_owned()),
            finally: step.phase == StepPhase::Finally,
        }
    }
}
