//! The JSON Schema of an answer.

use kb_base::value::Json;
use serde_json::json;

/// Maximum number of subtasks of a plan.
pub const MAX_SUBTASKS: usize = 20;
/// Maximum number of checks of a goal or subtask.
pub const MAX_CHECKS: usize = 10;

/// What a planner may answer, with the ids of the specialists that a subtask can name.
pub fn answer_schema(team: &[String]) -> Json {
    let confidence = json!({"type": "number", "minimum": 0, "maximum": 1});
    let ids = json!({"type": "array", "items": {"type": "string"}, "maxItems": MAX_SUBTASKS});
    let checks = json!({"type": "array", "items": check(), "maxItems": MAX_CHECKS});
    let subtask = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "task"],
        "properties": {
            "id": {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,31}$"},
            "specialist": {"type": "string", "enum": team},
            "capability": {"type": "string", "minLength": 1, "maxLength": 100},
            "task": {"type": "string", "minLength": 1, "maxLength": 4000},
            "needs": ids,
            "inputs": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 10},
            "includeArtifacts": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 10},
            "checks": checks,
            "confidence": confidence,
        },
    });
    json!({
        "type": "object",
        "required": ["summary", "subtasks", "checks", "confidence"],
        "properties": {
            "summary": {"type": "string", "maxLength": 1000},
            "subtasks": {"type": "array", "items": subtask, "maxItems": MAX_SUBTASKS},
            "checks": checks,
            "confidence": confidence,
            "takes": {
                "type": "object",
                "additionalProperties": false,
                "required": ["step", "action"],
                "properties": {
                    "step": {"type": "string", "maxLength": 200},
                    "action": {"type": "string", "maxLength": 100},
                },
            },
            "question": {"type": "string", "maxLength": 1000},
        },
    })
}

fn check() -> Json {
    let word = json!({"type": "string", "maxLength": 1000});
    json!({"oneOf": [
        {
            "type": "object",
            "additionalProperties": false,
            "required": ["command"],
            "properties": {
                "command": {"type": "array", "items": word, "minItems": 1, "maxItems": 30},
            },
        },
        {
            "type": "object",
            "additionalProperties": false,
            "required": ["file"],
            "properties": {"file": {
                "type": "object",
                "additionalProperties": false,
                "required": ["path"],
                "properties": {
                    "path": {"type": "string", "minLength": 1, "maxLength": 500},
                    "contains": {"type": "string", "minLength": 1, "maxLength": 500},
                    "absent": {"type": "boolean"},
                },
            }},
        },
    ]})
}
