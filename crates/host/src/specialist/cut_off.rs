//! Responses that ended at their length limit: the failure of an attempt and the notes that name the limit,
//! and tool calls that are incomplete because of it.

use super::transcript::Response;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_language::definition::Specialist;

/// What limits the length of a response.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit<'a> {
    /// `llm.maxTokens` of the specialist, or what `kb` sends without it; `None`: what the server allows.
    Specialist(&'a Specialist, Option<u32>),
    /// `maxTokens` of the `judge` check.
    Judge(u32),
    /// A number of tokens that no setting changes.
    Fixed(u32),
}

impl Limit<'_> {
    fn text(self) -> String {
        match self {
            Limit::Specialist(specialist, sent) => match (specialist.model.max_tokens, sent) {
                (Some(own), Some(sent)) if sent > own => {
                    format!("its limit is `maxTokens: {own}` with {} for reasoning", sent - own)
                }
                (Some(own), _) => format!("its limit is `maxTokens: {own}`"),
                (None, Some(sent)) => {
                    format!("its limit is {sent} tokens, because no `maxTokens` is set")
                }
                (None, None) => {
                    "its limit is the one of the model or server, because no `maxTokens` is set"
                        .to_owned()
                }
            },
            Limit::Judge(own) => format!("its limit is `maxTokens: {own}` of the `judge` check"),
            Limit::Fixed(own) => format!("its limit is {own} tokens"),
        }
    }

    fn help(self) -> Option<String> {
        let Limit::Specialist(specialist, _) = self else { return None };
        let (id, path) = (&specialist.id, &specialist.path);
        Some(match specialist.model.max_tokens {
            Some(_) => format!(
                "raise `maxTokens` of the specialist `{id}` ({path}), or ask for less at a time"
            ),
            None => format!(
                "set `maxTokens` of the specialist `{id}` ({path}) if the server allows more, ask for \
                 less at a time, or choose a model with longer responses"
            ),
        })
    }
}

/// What happened, such as: the response of the model `m` was cut off after 64 tokens; its limit is
/// `maxTokens: 64`.
pub(super) fn message(model: &str, tokens: u64, limit: Limit<'_>) -> String {
    let after = match tokens {
        0 => String::new(),
        tokens => format!(" after {tokens} tokens"),
    };
    format!("the response of the model `{model}` was cut off{after}; {}", limit.text())
}

/// The same with the code, for texts that have no place of their own for it.
pub(super) fn coded(model: &str, tokens: u64, limit: Limit<'_>) -> String {
    format!("{} [{}]", message(model, tokens, limit), Code::MODEL_TRUNCATED.as_str())
}

/// The failure of an attempt whose last response was cut off.
pub(super) fn failure(cut: &Response, limit: Limit<'_>) -> Failure {
    let failure = Failure::new(Code::MODEL_TRUNCATED, message(&cut.model, cut.tokens, limit));
    match limit.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}

/// Takes the last of the requested calls if its arguments are not whole. Missing arguments are read as an
/// empty object.
pub(super) fn take_incomplete(calls: &mut Vec<(String, Json)>) -> Option<(String, Json)> {
    calls.pop_if(|(_, args)| args.as_object().is_none_or(|map| map.is_empty()))
}

/// What the model reads after a response whose last tool call was cut off.
pub(super) fn told(tool: &str) -> String {
    format!(
        "Your response was truncated at its length limit. The call of `{tool}` at its end was incomplete and \
         not executed. Repeat it with shorter arguments; write a long file in several parts."
    )
}
