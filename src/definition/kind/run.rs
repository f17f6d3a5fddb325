//! `run:`: a shell script, or a program with arguments.

use super::spec::Kind;
use crate::definition::check::{argv, shell_text};
use crate::definition::keys::choices::PARSE;
use crate::definition::model::{NotYet, RunCommand, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::diagnostic::Span;
use crate::expression::Template;

pub(super) static RUN: Kind = Kind {
    unused_input: Some("pass values in `env:` or as arguments"),
    retries_exit: true,
    ..Kind::new("run", decode)
};

fn decode(
    node: &Node,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    let parse = fields.choice("parse", PARSE, decoder);
    let command = match node.as_seq() {
        Some(words) => RunCommand::Argv(argv_words(words, node.span, decoder)?.into()),
        None if node.as_text().is_some() => {
            let text = decoder.text(node, "run")?;
            shell_text::check(text, node, decoder);
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
    Some(StepKind::Run { command, parse: parse.unwrap_or_default() })
}

fn argv_words(nodes: &[Node], span: Span, decoder: &mut Decoder) -> Option<Vec<Template>> {
    if nodes.is_empty() {
        let message = "the command is empty".to_owned();
        decoder.bad_value(span, message, "write `[program, argument]`".to_owned());
        return None;
    }
    let words: Vec<_> = nodes
        .iter()
        .filter_map(|node| decoder.scalar_template(node, "run", Secrets::Refused))
        .collect();
    if words.len() != nodes.len() {
        return None;
    }
    argv::check(&words, nodes, decoder);
    Some(words)
}
