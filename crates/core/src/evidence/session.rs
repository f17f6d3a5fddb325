//! The session state of a run as one specialist sees it: what earlier steps decided, found and left behind.
//!
//! `run::Session` builds it from events. It is data from models and of bounded size: at most
//! [`INLINE_TOKENS`] estimated tokens for the state, and [`CONTEXT_TOKENS`] more for what gates found out.

use super::handoff::{ARTIFACTS, ArtifactKind};
use kb_base::value::{Json, cut_to_tokens, estimated_tokens};
use serde::Serialize;

/// Estimated tokens of the session state in a prompt.
pub(super) const INLINE_TOKENS: usize = 1_200;
/// Estimated tokens of the history in a prompt.
pub const HISTORY_TOKENS: usize = 500;
/// Estimated tokens of verified facts, known hallucinations and known gaps in a prompt.
pub(super) const CONTEXT_TOKENS: usize = 800;
/// Number of verified facts, and of known hallucinations.
pub const FACTS: usize = 10;
/// Number of known gaps.
pub const GAPS: usize = 5;
/// Tokens of all references to artifacts, and of one fact.
const REFERENCE_TOKENS: usize = 300;
const FACT_TOKENS: usize = CONTEXT_TOKENS / (2 * FACTS + GAPS) - 2;

/// A line of the state with the step instance that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SessionLine {
    /// Name of the step instance.
    pub step: String,
    /// The text, one line.
    pub text: String,
}

/// A reference to an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactRef {
    /// `STEP/NAME`, or `STEP/NUMBER` without a name.
    pub id: String,
    /// What the content is, as the model declared it.
    #[serde(rename = "type")]
    pub kind: ArtifactKind,
    /// The first characters of its content, or one line about it.
    pub preview: String,
    /// Estimated tokens of its content.
    pub tokens: u32,
    /// The step instance that made it.
    pub created_by: String,
    /// When the step ended.
    pub created_at: String,
    /// Digest of the blob with its content; `None` if the content is in the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// What earlier steps decided, found and left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionState {
    /// What the run works towards: the goal of the last handoff, else the description of the playbook.
    pub goal: Option<String>,
    /// Decisions, the oldest first.
    pub key_decisions: Vec<SessionLine>,
    /// What later steps have to respect.
    pub constraints: Vec<SessionLine>,
    /// What prevents progress: blockers of handoffs, and steps that failed.
    pub blockers: Vec<SessionLine>,
    /// What the last handoff suggests as the next specialist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_next: Option<String>,
    /// One line for each step that ended, the oldest first.
    pub history: Vec<SessionLine>,
    /// References to artifacts, the oldest first.
    pub artifacts: Vec<ArtifactRef>,
    /// What gates and judges confirmed.
    pub verified_facts: Vec<SessionLine>,
    /// What gates and judges refuted or could not find.
    pub known_hallucinations: Vec<SessionLine>,
    /// Parts of tasks that judges found without an answer.
    pub known_gaps: Vec<SessionLine>,
}

impl SessionState {
    /// Whether no earlier step left anything.
    pub fn is_empty(&self) -> bool {
        SessionState { goal: None, ..self.clone() } == SessionState::default()
    }

    /// Whether the history needs a summary to stay within its part of the prompt.
    pub fn overflows(&self) -> bool {
        estimated_tokens(&lines(&self.history)) > HISTORY_TOKENS
    }

    /// The lines of the history in one text, the newest that have this many estimated tokens together.
    pub fn history_text(&self, tokens: usize) -> String {
        newest(&self.history, tokens)
    }

    /// The state as text of at most `INLINE_TOKENS` estimated tokens. `summary` stands for the history.
    pub fn to_text(&self, summary: Option<&str>) -> String {
        let history = match summary {
            Some(summary) => cut_to_tokens(summary, HISTORY_TOKENS),
            None => self.history_text(HISTORY_TOKENS),
        };
        // What is cut first if everything together is too long: references, then the history.
        let (mut references, mut kept) = (REFERENCE_TOKENS, HISTORY_TOKENS);
        loop {
            let history = match summary {
                Some(_) => cut_to_tokens(&history, kept),
                None => self.history_text(kept),
            };
            let text = self.sections(&history, references);
            if estimated_tokens(&text) <= INLINE_TOKENS {
                return text;
            }
            match (references, kept) {
                (1.., _) if kept <= HISTORY_TOKENS / 2 => {
                    references = references.saturating_sub(50)
                }
                (_, 0) => return cut_to_tokens(&text, INLINE_TOKENS),
                _ => kept = kept.saturating_sub(50),
            }
        }
    }

    fn sections(&self, history: &str, references: usize) -> String {
        let goal = self.goal.iter().map(|goal| format!("goal: {goal}\n"));
        let next = self.suggested_next.iter().map(|next| format!("suggested next: {next}\n"));
        let titled = |title: &str, body: String| {
            if body.is_empty() { String::new() } else { format!("{title}:\n{body}") }
        };
        goal.chain(next)
            .chain([
                titled("key decisions", lines(&self.key_decisions)),
                titled("constraints", lines(&self.constraints)),
                titled("blockers", lines(&self.blockers)),
                titled("history", with_end(history)),
                titled("artifacts", self.references(references)),
            ])
            .collect()
    }

    /// One line for each artifact, with previews that fit.
    fn references(&self, tokens: usize) -> String {
        let shown = self.artifacts.len().min(ARTIFACTS);
        let each = tokens / shown.max(1);
        let line = |artifact: &ArtifactRef| {
            let head = format!(
                "- {} {}, {} tokens: ",
                artifact.id,
                artifact.kind.as_str(),
                artifact.tokens
            );
            let rest = each.saturating_sub(estimated_tokens(&head) + 1);
            format!("{head}{}\n", cut_to_tokens(&artifact.preview, rest))
        };
        if each == 0 {
            return String::new();
        }
        self.artifacts[self.artifacts.len() - shown..].iter().map(line).collect()
    }

    /// Verified facts, known hallucinations and known gaps as text of at most `CONTEXT_TOKENS`
    /// estimated tokens; empty without any.
    pub fn context_text(&self) -> String {
        let titled = |title: &str, listed: &[SessionLine]| {
            let cut =
                |line: &SessionLine| format!("- {}\n", cut_to_tokens(&line.text, FACT_TOKENS));
            if listed.is_empty() {
                String::new()
            } else {
                format!("{title}:\n{}", listed.iter().map(cut).collect::<String>())
            }
        };
        let all = [
            titled("verified facts", &self.verified_facts),
            titled("known hallucinations", &self.known_hallucinations),
            titled("known gaps", &self.known_gaps),
        ];
        all.concat()
    }

    /// Estimated tokens of the state in a prompt.
    pub fn inline_tokens(&self) -> usize {
        estimated_tokens(&self.to_text(None))
    }
}

/// The session as the attempt of a specialist gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionBrief {
    /// Decisions, constraints, blockers and history that the prompt contains.
    pub state: SessionState,
    /// The content of each artifact that the attempt can read, by id.
    pub artifacts: Vec<(String, Json)>,
    /// Ids of the artifacts whose content is part of the prompt (`includeArtifacts`).
    pub included: Vec<String>,
}

fn lines(listed: &[SessionLine]) -> String {
    listed.iter().map(|line| format!("- {}: {}\n", line.step, line.text)).collect()
}

/// The newest lines that have this many tokens together, with a note on those left out.
fn newest(listed: &[SessionLine], tokens: usize) -> String {
    let all = lines(listed);
    if estimated_tokens(&all) <= tokens {
        return all;
    }
    let mut first = listed.len();
    let note = |first: usize| format!("- ({first} earlier steps left out)\n");
    while first > 0 {
        let text = note(first - 1) + &lines(&listed[first - 1..]);
        if estimated_tokens(&text) > tokens {
            break;
        }
        first -= 1;
    }
    let text = note(first) + &lines(&listed[first..]);
    if estimated_tokens(&text) <= tokens { text } else { String::new() }
}

fn with_end(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{
        BLOCKER_TOKENS, BLOCKERS, DECISION_TOKENS, DECISIONS, GOAL_TOKENS, PREVIEW_CHARS,
    };

    fn many(count: usize, tokens: usize, word: &str) -> Vec<SessionLine> {
        let text = || cut_to_tokens(&word.repeat(400), tokens);
        (0..count).map(|n| SessionLine { step: format!("step-{n}"), text: text() }).collect()
    }

    #[test]
    fn a_full_state_stays_within_its_tokens() {
        for word in ["long ", "долго ", "漢字 "] {
            for count in [0, 1, 7, 40, 3_000] {
                let artifact = |n: usize| ArtifactRef {
                    id: format!("a-step-with-a-rather-long-name[item-{n}]/artifact-{n}"),
                    kind: ArtifactKind::CodeSnippet,
                    preview: word.repeat(400).chars().take(PREVIEW_CHARS).collect(),
                    tokens: 60_000,
                    created_by: "x".to_owned(),
                    created_at: String::new(),
                    blob: None,
                };
                let state = SessionState {
                    goal: Some(cut_to_tokens(&word.repeat(400), GOAL_TOKENS)),
                    key_decisions: many(count.min(DECISIONS), DECISION_TOKENS, word),
                    constraints: many(count.min(DECISIONS), DECISION_TOKENS, word),
                    blockers: many(count.min(BLOCKERS), BLOCKER_TOKENS, word),
                    history: many(count, 60, word),
                    artifacts: (0..count.min(ARTIFACTS)).map(artifact).collect(),
                    verified_facts: many(count.min(FACTS), 200, word),
                    known_hallucinations: many(count.min(FACTS), 200, word),
                    known_gaps: many(count.min(GAPS), 200, word),
                    suggested_next: None,
                };
                let summary = word.repeat(4_000);
                for summary in [None, Some(summary.as_str())] {
                    let text = state.to_text(summary);
                    assert!(
                        estimated_tokens(&text) <= INLINE_TOKENS,
                        "{}",
                        estimated_tokens(&text)
                    );
                }
                let context = state.context_text();
                assert!(
                    estimated_tokens(&context) <= CONTEXT_TOKENS,
                    "{}",
                    estimated_tokens(&context)
                );
                assert_eq!(state.overflows(), count > 7);
            }
        }
    }
}
