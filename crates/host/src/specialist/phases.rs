//! The phases of a specialist with `agentLoop`: their questions, and what the responses mean.
//!
//! A response that is not the requested JSON object still counts: its text is the understanding or the
//! plan, the task is complex, and a review asks for nothing. The review is the model's opinion of its own
//! work; the gate of the step decides.

use kb_base::value::{Json, json_text};
use kb_core::evidence::{Handoff, Phase};
use serde_json::json;

/// Maximum characters of an understanding, a plan or a review.
const RESULT_CHARS: usize = 2_000;
/// Maximum number of steps of a plan.
const STEPS: usize = 20;

/// The question of `understand`.
pub(super) const UNDERSTAND: &str = "Before you begin: state the task in your own words, with its key requirements. \
Do not call a tool and do not submit yet. Respond with one JSON object: {\"understanding\": text, \
\"complex\": true or false}. `complex` is true if the task needs several steps that build on each other.";
/// The question of `plan`.
pub(super) const PLAN: &str = "Plan the work. Do not call a tool and do not submit yet. Respond with one JSON object: \
{\"plan\": [text, …]}, with one entry for each step, at most 10.";
/// The message at the start of the work.
pub(super) const EXECUTE: &str = "Now do the work with tool calls, then submit the output.";
/// The question of `critique`.
pub(super) const CRITIQUE: &str = "Review your output against the task, its requirements and the results of your tool \
calls. Do not call a tool. Respond with one JSON object: {\"critique\": text, \"needsImprovement\": true or \
false}. Name what is wrong, missing, or not supported by a result of a tool call. `needsImprovement` is false \
if nothing of that is left.";

/// The results of the phases so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Phases {
    pub(super) understanding: Option<String>,
    pub(super) plan: Option<String>,
    pub(super) critique: Option<String>,
    /// The output of the round before the current one.
    pub(super) draft: Option<(Json, Handoff)>,
}

/// The JSON Schema of the answer to the question of a phase.
pub(super) fn answer_schema(phase: Phase) -> Option<Json> {
    let object = |properties: Json| {
        let names: Vec<&String> =
            properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
        let required = json!(names);
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    let text = json!({"type": "string"});
    let flag = json!({"type": "boolean"});
    match phase {
        Phase::Understand => Some(object(json!({"understanding": text, "complex": flag}))),
        Phase::Plan => Some(object(json!({"plan": {"type": "array", "items": text}}))),
        Phase::Critique => Some(object(json!({"critique": text, "needsImprovement": flag}))),
        Phase::Execute | Phase::Finish => None,
    }
}

/// The steps of a plan as a numbered list.
pub(super) fn steps(answer: &Json) -> Option<String> {
    let steps = answer["plan"].as_array().filter(|steps| !steps.is_empty())?;
    let lines = steps.iter().take(STEPS).enumerate();
    let lines: Vec<String> =
        lines.map(|(n, step)| format!("{}. {}", n + 1, json_text(step))).collect();
    Some(lines.join("\n"))
}

/// The text up to its limit; `None` if it is empty.
pub(super) fn bounded(text: &str) -> Option<String> {
    let end = text.char_indices().nth(RESULT_CHARS).map_or(text.len(), |(end, _)| end);
    (!text.is_empty()).then(|| text[..end].to_owned())
}
