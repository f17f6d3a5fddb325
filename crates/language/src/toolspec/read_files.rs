//! The tools that read files: `fs:read`, `fs:list`, `fs:search`, `fs:exists`.

use super::spec::{ResultPart, ToolLevel, ToolSpec, texts};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![read(), list(), search(), exists()]
}

fn read() -> ToolSpec {
    ToolSpec {
        name: "fs:read".into(),
        aliases: texts(["file_read", "Read"]),
        groups: texts(["file_read"]),
        level: ToolLevel::Moderate,
        description: "Read a text file. Pass startLine and endLine (1-based, inclusive) to read \
                  part of a large file."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the project root."},
                "startLine": {"type": "integer", "minimum": 1},
                "endLine": {"type": "integer", "minimum": 1},
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "content": {"type": "string"},
                "totalLines": {"type": "integer"},
                "note": {"type": "string", "description": "What was omitted and how to get it."},
            },
            "required": ["content", "totalLines"],
        }),
        reads_files: true,
        only_reads: true,
        result_part: ResultPart::File,
        done: "Read file".into(),
        subject: texts(["path"]),
        ..ToolSpec::base()
    }
}

fn list() -> ToolSpec {
    ToolSpec {
        name: "fs:list".into(),
        aliases: texts(["file_list", "Glob", "LS"]),
        groups: texts(["file_read"]),
        level: ToolLevel::Moderate,
        description: "List the entries of a directory. Pass depth to descend more levels, or a \
                  glob such as `**/*.rs` to search the whole tree. Files ignored by git are \
                  omitted unless path itself is ignored."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Directory relative to the project root; default: the project root."},
                "glob": {"type": "string", "description": "Return only matching paths. A pattern without `/` matches names at any depth."},
                "depth": {"type": "integer", "minimum": 1, "maximum": 64},
            },
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "entries": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "kind": {"enum": ["file", "directory", "symlink", "other"]},
                        "size": {"type": "integer"},
                    },
                    "required": ["path", "kind", "size"],
                }},
                "note": {"type": "string", "description": "What was omitted and how to get it."},
            },
            "required": ["entries"],
        }),
        reads_files: true,
        only_reads: true,
        done: "Listed".into(),
        subject: texts(["glob", "path"]),
        ..ToolSpec::base()
    }
}

fn search() -> ToolSpec {
    ToolSpec {
        name: "fs:search".into(),
        aliases: texts(["Grep"]),
        groups: texts(["file_read"]),
        level: ToolLevel::Moderate,
        description: "Search the contents of text files with a regular expression (Rust syntax, \
                  matched line by line). Returns path, line number and text of each match. \
                  Files ignored by git and binary files are omitted."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1},
                "path": {"type": "string", "description": "Directory or file to search; default: the project root."},
                "glob": {"type": "string", "description": "Search only matching files, such as `*.rs` or `src/**/*.ts`."},
                "maxResults": {"type": "integer", "minimum": 1, "maximum": 1000},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "matches": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "line": {"type": "integer"},
                        "text": {"type": "string"},
                    },
                    "required": ["path", "line", "text"],
                }},
                "note": {"type": "string", "description": "What was omitted and how to get it."},
            },
            "required": ["matches"],
        }),
        reads_files: true,
        only_reads: true,
        result_part: ResultPart::Ends,
        done: "Searched".into(),
        subject: texts(["pattern"]),
        ..ToolSpec::base()
    }
}

fn exists() -> ToolSpec {
    ToolSpec {
        name: "fs:exists".into(),
        aliases: texts(["Read"]),
        groups: texts(["file_read"]),
        level: ToolLevel::Safe,
        description: "Check whether a path exists and whether it is a file or a directory.".into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the project root."},
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "exists": {"type": "boolean"},
                "kind": {"enum": ["file", "directory", "symlink", "other", null]},
            },
            "required": ["exists", "kind"],
        }),
        reads_files: true,
        only_reads: true,
        done: "Checked".into(),
        subject: texts(["path"]),
        ..ToolSpec::base()
    }
}
