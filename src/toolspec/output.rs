//! The tools that read earlier results: `output:read`.

use super::spec::{ResultPart, ToolLevel, ToolSpec};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "output:read",
        level: ToolLevel::Safe,
        description: "Continue reading an earlier tool result that was truncated. Pass its ref \
                          and the offset in characters from the truncation note. The result \
                          contains next, the offset of the following part, or null at the end.",
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
        done: "Read result",
        subject: &["ref"],
        ..ToolSpec::base()
    }]
}
