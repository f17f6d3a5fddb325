//! `ask:`: waits for the answer of a person.

use super::answer::AnswerRule;
use super::execution::{Ask, Execution, OnTimeout, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{Map, OneOf, Text};
use crate::definition::keys::{KeySpec, key, keys};
use crate::definition::schema::Schema;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::value::{Json, one_line};
use std::time::Duration;

/// `ask:`, a question to a person. The answer is the step's output.
#[derive(Debug, Clone)]
pub struct AskStep {
    /// The question that the person sees, rendered when the step starts.
    pub question: Template,
    /// The accepted answers.
    pub answer: AnswerRule,
    /// How long the question waits; needs a default.
    pub timeout: Option<Duration>,
}

keys! {
    /// The question of an `ask` step.
    struct Question(): ASK = ("ask", "`ask`") {
        /// Text of the question.
        question: Template = "question", required, example("\"Which version?\"");
        /// The accepted answers.
        options: Vec<String> = "options" => options, default("any"), example("[stable, beta]");
        /// Schema of the answer; not together with `options`.
        schema: Option<Schema> = "schema", default("text"), example("integer");
        /// Answer that an empty reply or the timeout stands for.
        default: Option<Json> = "default", example("stable");
        /// How long the question waits; needs a `default`.
        timeout: Option<Duration> = "timeout", example("1h");
    }
}

impl StepType for Box<AskStep> {
    const KEYS: &'static [KeySpec] =
        &[key("ask", OneOf(const { &[Text, Map(&ASK)] }), "Question to a person.")
            .example("{question: \"Which version?\"}")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules::waiting(waiting_exclusions!(
        "ask",
        "write it in `ask: {question: ..., timeout: ..., default: ...}`",
        "write `ask: {question: ..., schema: ...}`"
    ));

    /// Decodes a text (the question) or a map.
    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Box<AskStep>> {
        if node.as_text().is_some() {
            let question = decoder.template(node, "ask", Secrets::Refused)?;
            let ask = AskStep { question, answer: AnswerRule::default(), timeout: None };
            return Some(Box::new(ask));
        }
        if node.as_map().is_none() {
            decoder.wrong_type(node, "ask", "a text (the question) or a map");
            return None;
        }
        let fields = decoder.fields(node, &ASK)?;
        let found = Question::of(&fields, decoder);
        if let (Some(_), Some((key, _))) = (fields.get("options"), fields.entry("schema")) {
            let message = "`ask` has `options` or `schema`, not both".to_owned();
            let help = "keep `options` for a choice, or write an `enum` in the schema".to_owned();
            decoder.bad_value(key.span, message, help);
        }
        if let (Some((key, _)), None) = (fields.entry("timeout"), fields.get("default")) {
            let message = "`timeout` of `ask` needs a `default`".to_owned();
            let help = "add `default:`, the answer that is taken when the time is up".to_owned();
            decoder.bad_value(key.span, message, help);
        }
        let Question { question, options, schema, default, timeout } = found?;
        let has_schema = fields.get("schema").is_none() || schema.is_some();
        let mut answer = AnswerRule { options, schema, default: None };
        if let (Some(node), Some(default), true) = (fields.get("default"), default, has_schema) {
            match answer.check(&default) {
                Ok(()) => answer.default = Some(default),
                Err(expected) => {
                    let message = format!("the default is not an accepted answer: {expected}");
                    decoder.bad_value(node.span, message, "correct the default".to_owned());
                    return None;
                }
            }
        }
        Some(Box::new(AskStep { question, answer, timeout }))
    }

    fn execution(&self) -> Execution<'_> {
        let on_timeout = match self.answer.default {
            Some(_) => OnTimeout::Approve,
            None => OnTimeout::Fail,
        };
        Execution::Ask(Ask {
            text: &self.question,
            answer: Some(&self.answer),
            timeout: self.timeout,
            on_timeout,
            on_reject: None,
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        vec![self.question.references().collect()]
    }

    fn output(&self) -> OutputForm<'_> {
        match self.answer.schema {
            Some(_) => OutputForm::Any,
            None => OutputForm::Text,
        }
    }

    fn worker(&self) -> String {
        String::new()
    }

    fn detail(&self) -> String {
        self.question.as_literal().map(|text| one_line(text, 40)).unwrap_or_default()
    }
}

/// The accepted answers: at least one, each once.
fn options(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<String> {
    let items = decoder.list(node, "options");
    if node.as_seq().is_some_and(<[Node]>::is_empty) {
        let help = "write the accepted answers, or remove the key to accept any".to_owned();
        decoder.bad_value(node.span, "`options` is empty".to_owned(), help);
    }
    let mut options: Vec<String> = Vec::new();
    for item in items {
        let Some(option) = decoder.text(item, "options") else { continue };
        if option.trim().is_empty() || options.iter().any(|known| known == option) {
            let message = match option.trim() {
                "" => "an option is empty".to_owned(),
                _ => format!("`{option}` is an option twice"),
            };
            decoder.bad_value(item.span, message, "remove it".to_owned());
            continue;
        }
        options.push(option.to_owned());
    }
    options
}
