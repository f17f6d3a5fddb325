//! The tools that read source files as code: `code:outline`, `code:find-definition`, `code:find-usages`.

use super::spec::{ResultPart, ToolLevel, ToolSpec, texts};
use kb_base::value::Json;
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![outline(), find_definition(), find_usages()]
}

fn outline() -> ToolSpec {
    ToolSpec {
        name: "code:outline".into(),
        description: "List the definitions of a source file with their lines: functions, methods, types, \
                      constants, and the headings of Markdown. Of a directory, the definitions at the top level of \
                      all files. C, Go, Java, JavaScript, Markdown, Python, Rust, TypeScript."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File or directory; default: the project root."},
                "glob": {"type": "string", "description": "Only matching files of the directory, such as `*.rs`."},
                "depth": {"type": "integer", "minimum": 1, "maximum": 64, "description": "Levels of definitions; default: all of a file, 1 of a directory."},
                "maxResults": {"type": "integer", "minimum": 1, "maximum": 2000},
            },
            "additionalProperties": false,
        }),
        output: symbols("symbols"),
        done: "Listed definitions".into(),
        subject: texts(["path"]),
        ..base()
    }
}

fn find_definition() -> ToolSpec {
    ToolSpec {
        name: "code:find-definition".into(),
        description:
            "Find where a function, method, type, constant or heading is defined. `Type.method` \
                      asks for a method of that type. Files ignored by git are omitted."
                .into(),
        input: by_name(),
        output: symbols("definitions"),
        done: "Looked up definition".into(),
        subject: texts(["name"]),
        ..base()
    }
}

fn find_usages() -> ToolSpec {
    let usage = json!({
        "path": {"type": "string"},
        "line": {"type": "integer"},
        "defines": {"type": "boolean", "description": "Whether the line defines the name."},
        "text": {"type": "string"},
    });
    ToolSpec {
        name: "code:find-usages".into(),
        description: "Find the lines whose code uses a name. Comments and texts are not code. Equal names of \
                      different things are all found. Files ignored by git are omitted."
            .into(),
        input: by_name(),
        output: result("usages", &usage, &["path", "line", "defines", "text"]),
        done: "Looked up usages".into(),
        subject: texts(["name"]),
        ..base()
    }
}

fn base() -> ToolSpec {
    ToolSpec {
        level: ToolLevel::Moderate,
        reads_files: true,
        only_reads: true,
        result_part: ResultPart::Ends,
        ..ToolSpec::base()
    }
}

fn by_name() -> Json {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "path": {"type": "string", "description": "Directory or file to search; default: the project root."},
            "glob": {"type": "string", "description": "Search only matching files, such as `*.rs` or `src/**/*.ts`."},
            "maxResults": {"type": "integer", "minimum": 1, "maximum": 2000},
        },
        "required": ["name"],
        "additionalProperties": false,
    })
}

/// A result with definitions under this key.
fn symbols(key: &str) -> Json {
    let symbol = json!({
        "path": {"type": "string"},
        "name": {"type": "string"},
        "kind": {"type": "string", "description": "Such as function, method, struct, class, heading."},
        "in": {"type": "string", "description": "The definitions around it, separated by `.`."},
        "line": {"type": "integer"},
        "endLine": {"type": "integer"},
        "text": {"type": "string", "description": "Its first line."},
    });
    result(key, &symbol, &["path", "name", "kind", "in", "line", "endLine", "text"])
}

fn result(key: &str, entry: &Json, required: &[&str]) -> Json {
    json!({
        "type": "object",
        "properties": {
            key: {"type": "array", "items": {"type": "object", "properties": entry, "required": required}},
            "note": {"type": "string", "description": "What was omitted and how to get it."},
        },
        "required": [key],
    })
}
