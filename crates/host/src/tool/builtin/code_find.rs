//! `code:find-definition` and `code:find-usages`: find a name in source files.

use super::code_files::CodeFiles;
use super::code_outline::symbol_json;
use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use kb_code::Symbol;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    name: String,
    path: Option<String>,
    glob: Option<String>,
    max_results: Option<usize>,
}

impl Args {
    fn files<'a>(&'a self, files: &'a FileAccess, cancel: &'a CancellationToken) -> CodeFiles<'a> {
        let (path, glob) = (self.path.as_deref(), self.glob.as_deref());
        CodeFiles { files, cancel, path, glob, max_results: self.max_results }
    }
}

/// The implementation of `code:find-definition`.
pub(super) fn definition() -> impl Tool {
    FileTool::new("code:find-definition", |args: &Args, files, cancel| {
        let asked = Asked::new(&args.name);
        args.files(files, cancel).collect("definitions", Some(asked.name), |file| {
            let all = file.symbols();
            let named = all.iter().filter(|symbol| asked.is(symbol));
            named.map(|symbol| symbol_json(file, symbol)).collect()
        })
    })
}

/// The implementation of `code:find-usages`.
pub(super) fn usages() -> impl Tool {
    FileTool::new("code:find-usages", find_usages)
}

fn find_usages(
    args: &Args,
    files: &FileAccess,
    cancel: &CancellationToken,
) -> Result<CallResult, Refusal> {
    let name = Asked::new(&args.name).name;
    args.files(files, cancel).collect("usages", Some(name), |file| {
        let all = file.usages(name).into_iter();
        let shown = all.map(|usage| {
            json!({
                "path": file.path,
                "line": usage.line,
                "defines": usage.defines,
                "text": usage.text,
            })
        });
        shown.collect()
    })
}

/// A name with the definition around it: `Type.method`, `Type::method`, `Type#method`.
pub(super) struct Asked<'a> {
    around: Option<&'a str>,
    pub(super) name: &'a str,
}

impl<'a> Asked<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let text = text.trim().trim_end_matches("()");
        let split = |mark: &str| text.rsplit_once(mark).filter(|(_, name)| is_word(name));
        let found = ["::", ".", "#"].into_iter().find_map(split);
        match found {
            Some((around, name)) => Asked { around: Some(around), name },
            None => Asked { around: None, name: text },
        }
    }

    /// Whether this is the definition. The definition around it is compared by its last name, without type parameters.
    pub(super) fn is(&self, symbol: &Symbol) -> bool {
        let last = |path: &'a str| path.rsplit(['.', ':', '#', '/']).next().unwrap_or(path);
        let within = |around: &'a str| {
            let container = symbol.container.rsplit('.').next().unwrap_or_default();
            container.split('<').next() == Some(last(around))
        };
        symbol.name == self.name && self.around.is_none_or(within)
    }
}

/// Whether a text is one name, so that a heading such as `a. b` is not split.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}
