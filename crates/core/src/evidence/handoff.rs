//! What a specialist passes on to later steps: decisions, constraints, blockers and artifacts.
//!
//! The model writes it as `handoff` of its output; the runtime adds the files that it recorded as changed.
//! Everything in it is data of bounded size. Start at [`Handoff`].

use super::record::Payload;
use kb_base::value::{Json, cut_to_chars, cut_to_tokens, estimated_tokens, json_text};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The key of `submit_output` under which a model passes on.
pub const HANDOFF: &str = "handoff";

/// Limits of the session state: key decisions and their tokens.
pub const DECISIONS: usize = 5;
/// Tokens of one decision or constraint.
pub const DECISION_TOKENS: usize = 40;
/// Number of blockers.
pub const BLOCKERS: usize = 3;
/// Maximum length of one blocker in tokens.
pub const BLOCKER_TOKENS: usize = 50;
/// Maximum length of the goal in tokens.
pub const GOAL_TOKENS: usize = 50;
/// Number of artifacts of a step, and of references in a prompt.
pub const ARTIFACTS: usize = 10;
/// Characters of a preview.
pub const PREVIEW_CHARS: usize = 200;
/// Tokens of the summary of a step in the history.
pub const SUMMARY_TOKENS: usize = 60;
/// Bytes of the content of one artifact. A larger one is replaced by a note, never cut: a cut could leave a
/// part of a secret.
const CONTENT_BYTES: usize = 256 << 10;
const NAME_CHARS: usize = 40;

/// What the content of an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// A piece of code.
    CodeSnippet,
    /// The path of a file in the workspace.
    FilePath,
    /// Something that was found out.
    Fact,
    /// A decision with its reasons.
    Decision,
    /// The output of something that failed.
    ErrorLog,
    /// The result of a test run.
    TestResult,
}

impl ArtifactKind {
    /// All kinds.
    pub const ALL: [ArtifactKind; 6] = [
        ArtifactKind::CodeSnippet,
        ArtifactKind::FilePath,
        ArtifactKind::Fact,
        ArtifactKind::Decision,
        ArtifactKind::ErrorLog,
        ArtifactKind::TestResult,
    ];

    /// The name in prompts and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ArtifactKind::CodeSnippet => "code_snippet",
            ArtifactKind::FilePath => "file_path",
            ArtifactKind::Fact => "fact",
            ArtifactKind::Decision => "decision",
            ArtifactKind::ErrorLog => "error_log",
            ArtifactKind::TestResult => "test_result",
        }
    }

    fn named(name: &str) -> Option<ArtifactKind> {
        ArtifactKind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// One artifact: its content, and what stands for it in prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Name within its step; `None`: its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the content is, as the model declared it.
    #[serde(rename = "type")]
    pub kind: ArtifactKind,
    /// The first characters of the content, or what the model wrote as preview.
    pub preview: String,
    /// Estimated tokens of the content.
    pub tokens: u32,
    /// The content: a text.
    pub content: Payload,
}

impl Artifact {
    /// An artifact with this content.
    pub fn new(kind: ArtifactKind, content: String) -> Artifact {
        let tokens = u32::try_from(estimated_tokens(&content)).unwrap_or(u32::MAX);
        let content = Payload::inline(Json::String(content));
        Artifact { name: None, kind, preview: String::new(), tokens, content }
    }
}

/// What a specialist passes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    /// The summary of its output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What the next step works towards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Decisions that later steps keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// What later steps must not do, or must do in a certain way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// What prevents progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// The specialist or step that should follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_next: Option<String>,
    /// Results whose full text a later step may need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
}

impl Handoff {
    /// The JSON Schema of `handoff` for models.
    pub fn schema() -> Json {
        let texts = |most: usize, text: &str| json!({"type": "array", "items": {"type": "string"}, "maxItems": most, "description": text});
        let kinds: Vec<&str> = ArtifactKind::ALL.iter().map(|kind| kind.as_str()).collect();
        json!({
            "type": "object",
            "description": "Optional: what the next specialist needs to know beyond your output",
            "properties": {
                "decisions": texts(DECISIONS, "Decisions that later steps must keep to, one short line each"),
                "goal": {"type": "string", "description": "What the next step should achieve, in one line"},
                "constraints": texts(DECISIONS, "What later steps must respect, such as: do not change the API"),
                "blockers": texts(BLOCKERS, "What prevents progress"),
                "suggestedNext": {"type": "string", "description": "The specialist that should follow"},
                "artifacts": {
                    "type": "array",
                    "maxItems": ARTIFACTS,
                    "description": "Results whose full text a later step may need",
                    "items": {
                        "type": "object",
                        "properties": {
                            "type": {"type": "string", "enum": kinds},
                            "name": {"type": "string", "description": "A short name without spaces"},
                            "content": {"type": "string"},
                            "preview": {"type": "string", "description": "One line about it"},
                        },
                        "required": ["type", "content"],
                    },
                },
            },
        })
    }

    /// Reads what a model wrote. A text in place of a list is its only entry, and a text in place of all is a decision. Entries of
    /// another form are left out: nothing in it is required.
    pub fn decode(value: &Json) -> Handoff {
        if let Json::String(text) = value {
            let decisions = non_empty(text).into_iter().collect();
            return Handoff { decisions, ..Handoff::default() };
        }
        let text = |key: &str| value.get(key).and_then(Json::as_str).and_then(non_empty);
        let texts = |key: &str, most: usize| -> Vec<String> {
            let entries = match value.get(key) {
                Some(Json::Array(entries)) => entries.as_slice(),
                Some(one) => std::slice::from_ref(one),
                None => &[],
            };
            let texts = entries.iter().filter_map(Json::as_str).filter_map(non_empty);
            texts.take(most).collect()
        };
        let listed = value.get("artifacts").and_then(Json::as_array).into_iter().flatten();
        Handoff {
            summary: String::new(),
            goal: text("goal"),
            decisions: texts("decisions", DECISIONS),
            constraints: texts("constraints", DECISIONS),
            blockers: texts("blockers", BLOCKERS),
            suggested_next: text("suggestedNext"),
            artifacts: listed.filter_map(artifact).take(ARTIFACTS).collect(),
        }
    }

    /// The same with texts cut to their limits and with previews. Called after masking: a cut text could
    /// hold a part of a secret that is no longer recognised.
    #[must_use]
    pub fn bounded(mut self) -> Handoff {
        let cut = |texts: Vec<String>, tokens: usize| -> Vec<String> {
            texts.iter().map(|text| cut_to_tokens(text, tokens)).collect()
        };
        self.summary = cut_to_tokens(&self.summary, SUMMARY_TOKENS);
        self.goal = self.goal.map(|goal| cut_to_tokens(&goal, GOAL_TOKENS));
        self.decisions = cut(self.decisions, DECISION_TOKENS);
        self.constraints = cut(self.constraints, DECISION_TOKENS);
        self.blockers = cut(self.blockers, BLOCKER_TOKENS);
        self.suggested_next = self.suggested_next.map(|next| cut_to_chars(&next, NAME_CHARS));
        self.artifacts.truncate(ARTIFACTS);
        for artifact in &mut self.artifacts {
            artifact.preview = match &artifact.content {
                Payload::Inline(content) if artifact.preview.trim().is_empty() => {
                    cut_to_chars(&json_text(content), PREVIEW_CHARS)
                }
                _ => cut_to_chars(&artifact.preview, PREVIEW_CHARS),
            };
        }
        self
    }
}

fn artifact(value: &Json) -> Option<Artifact> {
    // A kind that is not known, or none, is no reason to lose the content.
    let kind = value.get("type").and_then(Json::as_str).and_then(ArtifactKind::named);
    let kind = kind.unwrap_or(ArtifactKind::Fact);
    let content = match value.get("content")? {
        Json::Null => return None,
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let content = match content.len() {
        0 => return None,
        1..=CONTENT_BYTES => content,
        bytes => {
            format!("(an artifact of {bytes} bytes was left out; {CONTENT_BYTES} are possible)")
        }
    };
    let preview = value.get("preview").and_then(Json::as_str).unwrap_or_default().to_owned();
    let name = value.get("name").and_then(Json::as_str).filter(|name| is_name(name));
    let name = name.map(str::to_owned);
    Some(Artifact { name, preview, ..Artifact::new(kind, content) })
}

/// Whether a text can be the name of an artifact. Digits alone would look like a number.
fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=NAME_CHARS).contains(&text.len())
        && text.chars().all(allowed)
        && text.chars().any(|c| c.is_ascii_alphabetic())
}

fn non_empty(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_hands_over_is_bounded_and_never_an_error() {
        for odd in
            [json!(null), json!([1]), json!(" "), json!({"decisions": 7, "artifacts": {"a": 1}})]
        {
            assert_eq!(Handoff::decode(&odd), Handoff::default(), "{odd}");
        }
        for (text, key) in
            [(json!("use x"), "decisions"), (json!({"constraints": "use x"}), "constraints")]
        {
            assert_eq!(
                serde_json::to_value(Handoff::decode(&text)).unwrap(),
                json!({key: ["use x"]})
            );
        }
        let many: Vec<String> = (0..50).map(|n| format!("{n} {}", "long ".repeat(500))).collect();
        let artifacts: Vec<Json> = (0..50)
            .map(|n| json!({"type": "fact", "name": format!("n{n}"), "content": "word ".repeat(100)}))
            .chain([json!({"type": "poem", "content": "x"}), json!({"content": "x"})])
            .collect();
        let found = Handoff::decode(&json!({
            "decisions": many, "blockers": many, "goal": many[0], "artifacts": artifacts,
        }))
        .bounded();
        assert_eq!(
            (found.decisions.len(), found.blockers.len(), found.artifacts.len()),
            (5, 3, 10)
        );
        assert!(found.decisions.iter().all(|text| estimated_tokens(text) <= DECISION_TOKENS));
        assert!(found.blockers.iter().all(|text| estimated_tokens(text) <= BLOCKER_TOKENS));
        assert!(found.artifacts.iter().all(|a| a.preview.chars().count() <= PREVIEW_CHARS));
        let odd = json!({"artifacts": [{"type": "poem", "content": "x"}, {"content": "y"}]});
        let kinds = Handoff::decode(&odd).artifacts.into_iter().map(|own| own.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [ArtifactKind::Fact; 2]);
        let huge = json!({"artifacts": [{"type": "fact", "content": "x".repeat(300 << 10)}]});
        assert!(Handoff::decode(&huge).bounded().artifacts[0].preview.contains("was left out"));
    }
}
