//! `code:outline`: lists the definitions of source files.

use super::code_files::{CodeFile, CodeFiles};
use super::file_tool::FileTool;
use crate::tool::context::Tool;
use kb_base::value::Json;
use kb_code::Symbol;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    path: Option<String>,
    glob: Option<String>,
    depth: Option<u32>,
    max_results: Option<usize>,
}

/// The implementation of `code:outline`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("code:outline", |args: &Args, files, cancel| {
        let (path, glob) = (args.path.as_deref(), args.glob.as_deref());
        let asked = CodeFiles { files, cancel, path, glob, max_results: args.max_results };
        asked.collect("symbols", None, |file| {
            let depth = args.depth.unwrap_or(if file.is_named { u32::MAX } else { 1 });
            let all = file.symbols();
            let shown = all.iter().filter(|symbol| symbol.depth < depth);
            shown.map(|symbol| symbol_json(file, symbol)).collect()
        })
    })
}

/// A definition as the tools show it.
pub(super) fn symbol_json(file: &CodeFile<'_>, symbol: &Symbol) -> Json {
    json!({
        "path": file.path,
        "name": symbol.name,
        "kind": symbol.kind,
        "in": symbol.container,
        "line": symbol.line,
        "endLine": symbol.end_line,
        "text": symbol.text,
    })
}
