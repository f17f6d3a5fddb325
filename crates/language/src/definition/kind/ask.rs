//! `ask:`: waits for the answer of a person.

use super::answer::AnswerRule;
use super::execution::{Ask, Execution, OnTimeout, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{self, Any, ListOrOne, Map, OneOf, Text};
use crate::definition::keys::{KeySpec, KeyTable, key, table};
use crate::definition::schema::Schema;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::value::one_line;
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

static ASK: KeyTable = table("ask", "`ask`", "The question of an `ask` step.", &[ASK_KEYS]);

const ASK_KEYS: &[KeySpec] = &[
    key("question", KeyType::Template, "Text of the question.")
        .required()
        .example("\"Which version?\""),
    key("options", ListOrOne(&Text), "The accepted answers.")
        .default("any")
        .example("[stable, beta]"),
    key("schema", KeyType::Schema, "Schema of the answer; not together with `options`.")
        .default("text")
        .example("integer"),
    key("default", Any, "Answer that an empty reply or the timeout stands for.").example("stable"),
    key("timeout", KeyType::Duration, "How long the question waits; needs a `default`.")
        .example("1h"),
];

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
        let question = decoder
            .required(&fields, "question")
            .and_then(|node| decoder.template(node, "question", Secrets::Refused));
        let options = fields.get("options").map(|node| options(node, decoder));
        let schema = match fields.get("schema") {
            Some(node) => Some(Schema::decode(node, decoder)?),
            None => None,
        };
        if let (Some(_), Some((key, _))) = (&options, fields.entry("schema")) {
            let message = "`ask` has `options` or `schema`, not both".to_owned();
            let help = "keep `options` for a choice, or write an `enum` in the schema".to_owned();
            decoder.bad_value(key.span, message, help);
        }
        let timeout = fields.duration("timeout", decoder);
        if let (Some((key, _)), None) = (fields.entry("timeout"), fields.get("default")) {
            let message = "`timeout` of `ask` needs a `default`".to_owned();
            let help = "add `default:`, the answer that is taken when the time is up".to_owned();
            decoder.bad_value(key.span, message, help);
        }
        let options = options.unwrap_or_default();
        let question = question?;
        let mut answer = AnswerRule { options, schema, default: None };
        if let Some(node) = fields.get("default") {
            let default = node.to_json();
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
fn options(node: &Node, decoder: &mut Decoder) -> Vec<String> {
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
