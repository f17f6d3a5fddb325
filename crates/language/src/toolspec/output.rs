//! The tools that read earlier results: `output:read` and `artifact:get`.

use super::spec::{ResultPart, ToolLevel, ToolSpec, texts};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    let reader = ToolSpec {
        name: "output:read".into(),
        level: ToolLevel::Safe,
        description: "Read the next part of a truncated tool result. Pass its ref, and the offset in \
                      characters from the truncation note. In the result, next is the offset of the \
                      following part, or null at the end."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "ref": {"type": "string", "minLength": 1},
                "offset": {"type": "integer", "minimum": 0},
            },
            "required": ["ref"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "content": {"type": "string"},
                "next": {"type": ["integer", "null"]},
            },
            "required": ["content", "next"],
        }),
        only_reads: true,
        always_allowed: true,
        result_part: ResultPart::Rest,
        done: "Read result".into(),
        subject: texts(["ref"]),
        ..ToolSpec::base()
    };
    let artifacts = ToolSpec {
        name: "artifact:get".into(),
        level: ToolLevel::Safe,
        description:
            "Read an artifact of an earlier step. Pass its id from the session state. If next \
                      is not null, pass it as offset to read the following part."
                .into(),
        input: json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "minLength": 1},
                "offset": {"type": "integer", "minimum": 0},
            },
            "required": ["id"],
            "additionalProperties": false,
        }),
        done: "Read artifact".into(),
        subject: texts(["id"]),
        ..reader.clone()
    };
    vec![reader, artifacts]
}
