//! The command that continues a run.

use super::table::plain;
use kb_base::value::Json;
use kb_core::wire::RunStatus;

/// A question of a waiting run that needs an answer.
#[derive(Debug, Clone)]
pub(in crate::cli) struct OpenQuestion {
    step: String,
    /// The answers that are accepted; `None` accepts any text.
    accepted: Option<Accepted>,
}

#[derive(Debug, Clone)]
enum Accepted {
    Options(Vec<String>),
    Schema(String),
}

/// Number of characters of a schema that are shown.
const SCHEMA_CHARS: usize = 80;

impl OpenQuestion {
    /// The question of a step or item with its accepted answers.
    pub(in crate::cli) fn new(step: &str, options: &[String], schema: Option<&Json>) -> Self {
        let accepted = if options.is_empty() {
            schema.map(|schema| Accepted::Schema(schema.to_string()))
        } else {
            Some(Accepted::Options(options.to_vec()))
        };
        OpenQuestion { step: step.to_owned(), accepted }
    }

    /// The command that answers it. What is accepted follows as a comment of the shell, so that the whole
    /// line can be copied.
    pub(super) fn command(&self, program: &str, run: &str) -> String {
        let step = quoted(&self.step);
        let command = |word: &str| format!("{program} run answer {run} {step} {word}");
        match &self.accepted {
            None => command("TEXT"),
            Some(Accepted::Options(options)) => {
                let options: Vec<String> =
                    options.iter().map(|text| quoted(&plain(text))).collect();
                format!("{}  # one of: {}", command("OPTION"), options.join(", "))
            }
            Some(Accepted::Schema(schema)) if schema.chars().count() > SCHEMA_CHARS => {
                format!("{}  # the question has a schema", command("JSON"))
            }
            Some(Accepted::Schema(schema)) => {
                format!("{}  # of the schema {}", command("JSON"), plain(schema))
            }
        }
    }
}

/// The command that continues a run, if it can be continued. `question` is one of a waiting run that needs an
/// answer. `has_changed`: a file of its definitions is not what it was when the run started.
pub(in crate::cli) fn next_command(
    program: &str,
    run: &str,
    status: RunStatus,
    question: Option<&OpenQuestion>,
    waits_for_budget: bool,
    has_changed: bool,
) -> Option<String> {
    match status {
        RunStatus::Failed | RunStatus::Cancelled if has_changed => {
            Some(format!("{program} run retry {run} --with-current"))
        }
        RunStatus::Failed | RunStatus::Cancelled => Some(format!("{program} run retry {run}")),
        RunStatus::Interrupted => Some(format!("{program} run resume {run}")),
        RunStatus::Waiting => Some(match question {
            Some(question) => question.command(program, run),
            None if waits_for_budget => format!(
                "{program} run resume {run} --budget USD  # for other limits --max-tokens N, --max-tool-calls N"
            ),
            None => format!("{program} run approve {run}"),
        }),
        RunStatus::Running | RunStatus::Succeeded => None,
    }
}

/// A name as one word of a shell command.
pub(in crate::cli) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}
