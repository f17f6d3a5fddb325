//! [`TurnEnd`]: how a turn of an agent ended, as it says.

use super::fault::AgentFault;
use kb_base::value::{Json, Usage};

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TurnEnd {
    pub(crate) stop: TurnStop,
    /// Tokens of the turn; none if the agent does not say.
    pub(crate) usage: Usage,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnStop {
    /// The agent has finished.
    Finished,
    /// Its last response was cut off at a limit.
    CutOff,
    /// It was cancelled.
    Cancelled,
}

impl TurnEnd {
    /// Reads the answer to `session/prompt`.
    pub(crate) fn of(answer: &Json) -> Result<TurnEnd, AgentFault> {
        let stop = match answer.get("stopReason").and_then(Json::as_str) {
            Some("end_turn") => TurnStop::Finished,
            Some("max_tokens") => TurnStop::CutOff,
            Some("cancelled") => TurnStop::Cancelled,
            Some("refusal") => {
                return Err(AgentFault::Stopped("it refuses to continue".to_owned()));
            }
            Some("max_turn_requests") => {
                let why = "it reached its own limit of model calls".to_owned();
                return Err(AgentFault::Stopped(why));
            }
            Some(other) => return Err(AgentFault::Stopped(format!("`{other}`"))),
            None => return Err(AgentFault::broken("its turn ended without a `stopReason`")),
        };
        Ok(TurnEnd { stop, usage: usage_of(answer) })
    }
}

/// The tokens, as far as the agent names them: in `usage`, or where Gemini writes them.
fn usage_of(answer: &Json) -> Usage {
    let read = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| answer.pointer(key)?.as_u64());
        found.unwrap_or_default().min(1 << 40)
    };
    let cached = read(["/usage/cachedReadTokens", "/usage/cached_read_tokens"]);
    let written = read(["/usage/cachedWriteTokens", "/usage/cached_write_tokens"]);
    let input = read(["/usage/inputTokens", "/_meta/quota/token_count/input_tokens"]);
    Usage {
        prompt_tokens: input + cached + written,
        completion_tokens: read(["/usage/outputTokens", "/_meta/quota/token_count/output_tokens"]),
        cached_tokens: cached,
        cache_write_tokens: written,
        cost_usd: None,
        model_calls: 1,
        ..Usage::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_turn_ends_with_a_reason_and_its_tokens() {
        let usage = json!({"inputTokens": 10, "outputTokens": 3, "cachedReadTokens": 5});
        let end = TurnEnd::of(&json!({"stopReason": "end_turn", "usage": usage})).unwrap();
        assert_eq!(end.stop, TurnStop::Finished);
        assert_eq!((end.usage.prompt_tokens, end.usage.completion_tokens), (15, 3));
        assert_eq!(end.usage.cost_usd, None);
        for (answer, fault) in [
            (json!({"stopReason": "refusal"}), "refuses"),
            (json!({"stopReason": "tired"}), "tired"),
            (json!({}), "stopReason"),
        ] {
            let found = format!("{:?}", TurnEnd::of(&answer).unwrap_err());
            assert!(found.contains(fault), "{found}");
        }
    }
}
