use crate::definition::{DefinitionForm, Param, ParamType, Playbook, Step, StepKind, StepPhase};
use crate::value::Json;
use serde::Serialize;

/// A playbook or workflow, for `list --json` and `show --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionView {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: String,
    /// `playbook` or `workflow`.
    pub form: &'static str,
    /// For people.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// Phrases that find it.
    pub triggers: Vec<String>,
    /// Its parameters, in order.
    pub params: Vec<ParamView>,
    /// Its steps in file order, then those of `finally`.
    pub steps: Vec<StepOutline>,
    /// The names of the outputs.
    pub outputs: Vec<String>,
    /// What it uses that is not supported yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_yet: Vec<String>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParamView {
    /// Its name.
    pub name: String,
    /// What it takes.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Whether a run needs a value.
    pub required: bool,
    /// The value without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The only values, where given.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Json>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepOutline {
    /// Its id.
    pub id: String,
    /// Its kind key.
    pub kind: &'static str,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its specialist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// Its explicit dependencies; `graph --format json` has all of them.
    pub depends_on: Vec<String>,
    /// Its condition, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Whether it is one of `finally`.
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
            kind: match param.kind {
                ParamType::String => "string",
                ParamType::Integer => "integer",
                ParamType::Number => "number",
                ParamType::Boolean => "boolean",
                ParamType::List => "list",
                ParamType::Object => "object",
                ParamType::Path => "path",
                ParamType::Secret => "secret",
            },
            required: param.required,
            default: param.default.clone(),
            description: param.description.clone(),
            one_of: param.one_of.clone(),
        }
    }
}

impl From<&Step> for StepOutline {
    fn from(step: &Step) -> Self {
        let specialist = match &step.kind {
            StepKind::Specialist { specialist, .. } => Some(specialist.to_string()),
            _ => None,
        };
        StepOutline {
            id: step.id.to_string(),
            kind: step.kind.name(),
            name: step.details().name.as_deref().map(str::to_owned),
            specialist,
            depends_on: step.depends_on.iter().map(|(id, _)| id.to_string()).collect(),
            condition: step.condition.as_ref().map(|condition| condition.source().to_owned()),
            finally: step.phase == StepPhase::Finally,
        }
    }
}
