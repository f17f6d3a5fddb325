use crate::definition::Specialist;
use crate::value::Json;
use serde::Serialize;

/// A specialist, for `kb specialist list --json` and `info --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecialistView {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: String,
    /// For people.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// Its model tier.
    pub tier: &'static str,
    /// A model by name, which holds over the tier.
    pub model: Option<String>,
    /// The allow-list.
    pub tools: Vec<String>,
    /// Whitelisted tools that this version does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_tools: Vec<String>,
    /// Whether one of its tools writes files or runs commands.
    pub writes: bool,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// What it is given, as JSON Schema.
    pub input_schema: Option<Json>,
    /// What it hands back, as JSON Schema.
    pub output_schema: Option<Json>,
}

impl From<&Specialist> for SpecialistView {
    fn from(specialist: &Specialist) -> Self {
        let names =
            |tools: &[crate::value::ToolName]| tools.iter().map(|t| t.to_string()).collect();
        SpecialistView {
            id: specialist.id.to_string(),
            path: specialist.path.clone(),
            name: specialist.name.clone(),
            description: specialist.description.clone(),
            version: specialist.version.clone(),
            tier: specialist.model.tier.as_str(),
            model: specialist.model.model.clone(),
            tools: names(&specialist.tools),
            unknown_tools: names(&specialist.unknown_tools),
            writes: specialist.writes(),
            capabilities: specialist.capabilities.clone(),
            input_schema: specialist.input_schema.as_ref().map(|schema| schema.json().clone()),
            output_schema: specialist.output_schema.as_ref().map(|schema| schema.json().clone()),
        }
    }
}
