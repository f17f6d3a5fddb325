use crate::wire;
use std::borrow::Cow;

/// The kinds of files that have a JSON Schema.
pub const SCHEMA_NAMES: [&str; 6] =
    ["playbook", "workflow", "specialist", "script", "settings", "events"];

/// The JSON Schema of a kind of file, as text.
pub fn schema(name: &str) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match name {
        "playbook" => include_str!("../../assets/schemas/playbook.json"),
        "workflow" => include_str!("../../assets/schemas/workflow.json"),
        "specialist" => include_str!("../../assets/schemas/specialist.json"),
        "script" => include_str!("../../assets/schemas/script.json"),
        "settings" => include_str!("../../assets/schemas/settings.json"),
        "events" => return Some(Cow::Owned(format!("{:#}\n", wire::event_schema()))),
        _ => return None,
    }))
}
