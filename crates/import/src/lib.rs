//! Translates files of other tools into playbooks and specialists.
//!
//! Pure: text in, texts and notes out. One file per format. What a converter takes from a
//! `Fields` is mapped; everything that is left is reported with its line when the fields are dropped. What has no
//! exact translation makes the steps of its scope wait for a step that fails (`Draft::scope`). Start at [`convert`].

mod actions;
mod actions_condition;
mod actions_defaults;
mod actions_events;
mod actions_expression;
mod actions_job;
mod actions_lowered;
mod actions_machine;
mod actions_matrix;
mod actions_output;
mod actions_scope;
mod actions_step;
mod actions_syntax;
mod actions_text;
mod archon;
mod around;
mod dagu;
mod dagu_call;
mod dagu_command;
mod dagu_condition;
mod dagu_continue;
mod dagu_documents;
mod dagu_environment;
mod dagu_file;
mod dagu_http;
mod dagu_order;
mod dagu_outputs;
mod dagu_params;
mod dagu_pattern;
mod dagu_references;
mod dagu_script;
mod dagu_step;
mod dagu_version;
mod draft;
mod fields;
mod goose;
mod guard;
mod held;
mod markdown;
mod names;
mod output;
mod placeholders;
mod report;
mod shell;
mod shell_code;
mod tools;
mod unset;
mod wave;

pub use around::Around;
pub use draft::Conversion;
use draft::Draft;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Json;
use kb_language::definition::{Documents, Positioned, PositionedFile, PositionedValue};
pub use markdown::with_quoted_hint;
pub use report::{Effect, ImportNote};
pub use unset::unset_variables;

/// The format of a file of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A GitHub Actions workflow.
    GithubActions,
    /// A Dagu workflow.
    Dagu,
    /// A goose recipe.
    Goose,
    /// An Archon workflow.
    Archon,
    /// A Wave pipeline.
    Wave,
    /// A workflow of GitHub Agentic Workflows.
    GhAw,
    /// A slash command of Claude Code.
    ClaudeCommand,
}

impl Format {
    /// All formats with their names on the command line.
    pub const ALL: [(&'static str, Format); 7] = [
        ("github-actions", Format::GithubActions),
        ("dagu", Format::Dagu),
        ("goose", Format::Goose),
        ("archon", Format::Archon),
        ("wave", Format::Wave),
        ("gh-aw", Format::GhAw),
        ("claude-command", Format::ClaudeCommand),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Format::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// How many documents a file of this format may have.
    pub fn documents(self) -> Documents {
        match self {
            Format::Dagu => Documents::Several,
            _ => Documents::One,
        }
    }

    /// The format of a file by its content; `None` if it is none of these.
    pub fn detect(path: &str, file: &PositionedFile) -> Option<Format> {
        // The documents before the first with a value are reported later.
        let empty = |root: &&Positioned| matches!(root.value, PositionedValue::Scalar(Json::Null));
        let mut roots = std::iter::once(&file.root).chain(&file.more);
        let PositionedValue::Map(entries) = &roots.find(|root| !empty(root))?.value else {
            return None;
        };
        let has = |name: &str| entries.iter().any(|(key, _, _)| key == name);
        if file.body.is_some() {
            let command = ["allowed-tools", "argument-hint", "disable-model-invocation"];
            if path.contains(".claude/commands/") || command.iter().any(|key| has(key)) {
                return Some(Format::ClaudeCommand);
            }
            let agentic = ["safe-outputs", "engine", "permissions", "timeout-minutes"];
            return (has("on") && agentic.iter().any(|key| has(key))).then_some(Format::GhAw);
        }
        if has("schema") {
            return None;
        }
        let kind = entries.iter().find(|(key, _, _)| key == "kind").map(|(_, _, value)| value);
        if kind.and_then(Positioned::text) == Some("WavePipeline") {
            return Some(Format::Wave);
        }
        if has("jobs") && (has("on") || has("true")) {
            return Some(Format::GithubActions);
        }
        if has("nodes") {
            return Some(Format::Archon);
        }
        if has("recipe") || has("title") && (has("prompt") || has("instructions")) {
            return Some(Format::Goose);
        }
        has("steps").then_some(Format::Dagu)
    }
}

/// Whether a file says that it is a definition of `kb`.
pub fn is_definition(file: &PositionedFile) -> bool {
    let PositionedValue::Map(entries) = &file.root.value else { return false };
    entries.iter().any(|(key, _, _)| key == "schema")
}

/// Whether a markdown file is a subagent of Claude Code, which loads as an agent profile as it is.
pub fn is_subagent(file: &PositionedFile) -> bool {
    let PositionedValue::Map(entries) = &file.root.value else { return false };
    let has = |name: &str| entries.iter().any(|(key, _, _)| key == name);
    file.body.is_some() && has("name") && has("description") && !has("steps") && !has("on")
}

/// Translates a file. `name` is its name without folders and suffix, for an id.
pub fn convert(format: Format, name: &str, file: &PositionedFile, around: &Around) -> Conversion {
    if !file.root.is_map() && file.more.is_empty() && format != Format::ClaudeCommand {
        let message = format!("the file of the format `{}` is no map", format.name());
        let problem = Diagnostic::error(Code::WRONG_TYPE, file.root.span, message)
            .help("name the format of the file with `--from`");
        return Conversion { problems: vec![problem], ..Conversion::default() };
    }
    let mut draft = Draft::new(name, around);
    let body = (file.body.as_deref().unwrap_or_default(), file.body_line);
    match format {
        Format::GithubActions => actions::convert(&file.root, &mut draft),
        Format::Dagu => return dagu_file::convert(name, file, around),
        Format::Goose => goose::convert(&file.root, &mut draft),
        Format::Archon => archon::convert(&file.root, &mut draft),
        Format::Wave => wave::convert(&file.root, &mut draft),
        Format::GhAw => markdown::agentic(&file.root, body, &mut draft),
        Format::ClaudeCommand => markdown::command(&file.root, body, &mut draft),
    }
    draft.finish()
}
