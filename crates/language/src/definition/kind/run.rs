//! `run:`: a shell script, or a program with arguments.

use super::execution::{Effects, Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::check::{argv, shell_text};
use crate::definition::keys::KeyType::{List, OneOf, ScalarTemplate, Text};
use crate::definition::keys::{KeySpec, choice, choices, key};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::diagnostic::Span;
use kb_base::value::one_line;

/// `run:`: a shell script or program.
#[derive(Debug, Clone)]
pub struct RunStep {
    /// The script, or program and arguments.
    pub command: RunCommand,
    /// How stdout is parsed into the output.
    pub parse: OutputParse,
}

/// `run:`: what a `run` step executes.
#[derive(Debug, Clone)]
pub enum RunCommand {
    /// One literal script for `bash -euo pipefail`, without placeholders.
    Shell(Box<str>),
    /// Program and arguments, without a shell; the program is literal.
    Argv(Box<[Template]>),
}

choices! {
    /// `parse:` of a `run` step.
    #[derive(Default)]
    pub enum OutputParse {
        /// The text of stdout without its last newline.
        #[default]
        Text = "text",
        /// One JSON value, parsed from stdout.
        Json = "json",
        /// The lines of stdout as a list.
        Lines = "lines",
    }
}

impl StepType for RunStep {
    const KEYS: &'static [KeySpec] = &[key(
        "run",
        OneOf(&[Text, List(&ScalarTemplate)]),
        "A shell script (`bash -euo pipefail`, without placeholders), or a program and its arguments.",
    )
    .example("[cargo, test]")];
    const OWN_KEYS: &'static [KeySpec] =
        &[key("parse", choice::<OutputParse>(), "How stdout becomes the output.")
            .only(&["run"])
            .default("text")];
    const RULES: KindRules = KindRules {
        unused_input: Some("pass values in `env:` or as arguments"),
        retries_exit: true,
        ..KindRules::PROCESS
    };

    fn decode(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<RunStep> {
        let parse = fields.choice("parse", decoder);
        let command = match node.as_seq() {
            Some(words) => RunCommand::Argv(argv_words(words, node.span, decoder)?.into()),
            None if node.as_text().is_some() => {
                let text = decoder.text(node, "run")?;
                shell_text::check(text, node, decoder);
                shell_text::check_variables(text, node, decoder);
                if text.trim().is_empty() {
                    let message = "the script is empty".to_owned();
                    decoder.bad_value(node.span, message, "write a command".to_owned());
                }
                RunCommand::Shell(text.into())
            }
            None => {
                decoder.wrong_type(
                    node,
                    "run",
                    "a text (a shell script) or a list (a program and its arguments)",
                );
                return None;
            }
        };
        Some(RunStep { command, parse: parse.unwrap_or_default() })
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Attempt(Effects {
            runs_program: true,
            starts_processes: true,
            ..Effects::default()
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        match &self.command {
            RunCommand::Argv(words) => {
                words.iter().map(|word| word.references().collect()).collect()
            }
            RunCommand::Shell(..) => Vec::new(),
        }
    }

    fn output(&self) -> OutputForm<'_> {
        match self.parse {
            OutputParse::Text => OutputForm::Text,
            OutputParse::Json | OutputParse::Lines => OutputForm::Any,
        }
    }

    fn worker(&self) -> String {
        match &self.command {
            RunCommand::Argv(words) => {
                one_line(words.first().and_then(|word| word.as_literal()).unwrap_or("…"), 24)
            }
            RunCommand::Shell(..) => String::new(),
        }
    }

    fn detail(&self) -> String {
        match &self.command {
            RunCommand::Argv(words) => {
                let program = words.first().and_then(|word| word.as_literal()).unwrap_or_default();
                format!("{program} …")
            }
            RunCommand::Shell(script) => {
                let first = script.trim().lines().next().unwrap_or_default();
                let more = if script.trim().lines().count() > 1 { " …" } else { "" };
                format!("{}{more}", one_line(first, 40))
            }
        }
    }
}

fn argv_words(nodes: &[Node], span: Span, decoder: &mut Decoder) -> Option<Vec<Template>> {
    if nodes.is_empty() {
        let message = "the command is empty".to_owned();
        decoder.bad_value(span, message, "write `[program, argument]`".to_owned());
        return None;
    }
    let mut words = Vec::with_capacity(nodes.len());
    for node in nodes {
        // In the code of an interpreter, `$x` and `{x}` are its own.
        decoder.is_code = words.last().and_then(Template::as_literal).is_some_and(argv::takes_code);
        words.extend(decoder.scalar_template(node, "run", Secrets::Refused));
        decoder.is_code = false;
    }
    if words.len() != nodes.len() {
        return None;
    }
    argv::check(&words, nodes, decoder);
    Some(words)
}
