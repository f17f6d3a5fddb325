//! The tools that run commands: `shell:exec`.

use super::spec::{InputCheck, ResultPart, ToolLevel, ToolSpec, texts};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "shell:exec".into(),
        aliases: texts(["shell", "Bash"]),
        groups: texts(["shell"]),
        restricted_by: texts(["code_execute"]),
        level: ToolLevel::Critical,
        description: "Run a command and wait until it exits. Pass either command (a script for \
                          bash -euo pipefail) or argv (a program with its arguments, without a \
                          shell). Background processes are stopped when the command exits."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "cwd": {"type": "string", "description": "Working directory relative to the project root; default: the working directory of the step."},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "timeoutMs": {"type": "integer", "minimum": 1},
            },
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "exitCode": {"type": ["integer", "null"], "description": "Exit code; null if the process was stopped."},
                "stdout": {"type": "string"},
                "stderr": {"type": "string"},
                "note": {"type": "string", "description": "What was omitted."},
                "error": {"type": "object"},
            },
            "required": ["exitCode", "stdout", "stderr"],
        }),
        writes: true,
        runs_processes: true,
        input_check: InputCheck::Command,
        result_part: ResultPart::Ends,
        done: "Ran command".into(),
        subject: texts(["command", "argv"]),
        ..ToolSpec::base()
    }]
}
