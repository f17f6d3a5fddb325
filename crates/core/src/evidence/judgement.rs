//! The assessment of an answer by a judge: `submit_verification`, with its fields and their validation.

use kb_base::value::Json;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The code of a warning that the judge itself gave, in the recorded assessment.
pub const VERIFICATION_WARNING: &str = "VERIFICATION_WARNING";

/// The key of the recorded assessment with the gaps that a rework is asked to close; empty if the answer is complete.
pub const FOLLOW_UP: &str = "followUp";

/// The tool with which a judge submits its assessment.
pub const SUBMIT_VERIFICATION: &str = "submit_verification";

/// Limits of an assessment: entries of a list, characters of an entry and of the reasoning, bytes of all.
const ENTRIES: usize = 100;
const ENTRY_CHARS: usize = 200;
const REASONING_CHARS: usize = 1_000;
const BYTES: usize = 256 << 10;

/// A validated assessment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// Files, packages and names in the answer.
    pub mentions: Vec<String>,
    /// Mentions that tool results confirm.
    pub verified: Vec<String>,
    /// Mentions that no tool result confirms.
    pub unverified: Vec<String>,
    /// How likely the answer is correct, 0–1.
    pub confidence: f64,
    /// How completely it answers the task, 0–1.
    pub completeness: f64,
    /// Parts of the task without an answer.
    pub gaps: Vec<String>,
    /// Contradictions and other problems.
    pub warnings: Vec<String>,
    /// The reason in a sentence or two, as the model wrote it.
    pub reasoning: String,
}

impl Judgement {
    /// The description of the tool for models, and the JSON Schema of its arguments.
    pub fn tool() -> (&'static str, Json) {
        // The bounds keep the longest assessment within the tokens of one reply.
        let list = |most: u32, text: &str| {
            let item = json!({"type": "string", "maxLength": 100});
            json!({"type": "array", "items": item, "maxItems": most, "description": text})
        };
        let (texts, few) = (|text: &str| list(12, text), |text: &str| list(5, text));
        let share =
            |text: &str| json!({"type": "number", "minimum": 0, "maximum": 1, "description": text});
        let properties = json!({
            "mentions": texts("All file paths, package names, class and function names in the answer"),
            "verified": texts("Mentions that appear in the tool results"),
            "unverified": texts("Mentions that do not appear in the tool results"),
            "confidence": share("How likely the answer is correct: 1.0 certain, 0.7 fairly sure, 0.5 uncertain, 0.3 likely wrong"),
            "completeness": share("How completely the answer covers the task: 1.0 fully, 0.7 mostly, 0.5 partly, 0.3 barely"),
            "gaps": few("Parts of the task that the answer does not cover"),
            "warnings": few("Contradictions, invented facts and other reasons not to rely on the answer; none if it is fine"),
            "reasoning": {"type": "string", "maxLength": 300, "description": "A brief reason for the assessment"},
        });
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": [
                "mentions", "verified", "unverified", "confidence", "completeness", "gaps", "warnings",
                "reasoning",
            ],
        });
        ("Submit the assessment of the answer. Call it exactly once.", schema)
    }

    /// Validates the arguments of a judge about an answer. A mention is the name that the answer has, without what the judge wrote
    /// beside it (``the package `x` ``). Mentions that are not in the answer are left out, and long lists and texts are cut.
    pub fn decode(args: &Json, answer: &str) -> Result<Judgement, String> {
        let bytes = args.to_string().len();
        if bytes > BYTES {
            return Err(format!("the assessment has {bytes} bytes, and {BYTES} are allowed"));
        }
        let answer = answer.to_lowercase();
        let mentioned = |key: &str| -> Result<Vec<String>, String> {
            let mut found: Vec<String> = Vec::new();
            for name in texts(args, key)?.iter().filter_map(|text| name_in(text, &answer)) {
                if !found.iter().any(|own| own == name) {
                    found.push(name.to_owned());
                }
            }
            Ok(found)
        };
        let unverified = mentioned("unverified")?;
        let verified = mentioned("verified")?;
        let verified = verified.into_iter().filter(|name| !unverified.contains(name)).collect();
        let reasoning = args["reasoning"].as_str().ok_or("`reasoning` is no text")?;
        Ok(Judgement {
            mentions: mentioned("mentions")?,
            verified,
            unverified,
            confidence: share(args, "confidence")?,
            completeness: share(args, "completeness")?,
            gaps: texts(args, "gaps")?,
            warnings: texts(args, "warnings")?,
            reasoning: cut(reasoning, REASONING_CHARS),
        })
    }
}

/// The part of a mention that the answer, in lower case, has: all of it, or the word of it that looks most like a name.
fn name_in<'m>(mention: &'m str, answer: &str) -> Option<&'m str> {
    let has = |text: &str| !text.is_empty() && answer.contains(&text.to_lowercase());
    if has(mention) {
        return Some(mention);
    }
    let is_mark = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.' | '/' | '@' | ':');
    let words = mention.split(is_mark).flat_map(|word| {
        let word =
            word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '/' | '@'));
        std::iter::once(word).chain(word.split(['.', ':']))
    });
    let is_name = |word: &str| {
        word.contains(|c: char| !c.is_alphabetic()) || word.chars().skip(1).any(char::is_uppercase)
    };
    words.filter(|word| has(word)).max_by_key(|word| (is_name(word), word.chars().count()))
}

/// The texts under a key, each once.
fn texts(args: &Json, key: &str) -> Result<Vec<String>, String> {
    let list = args.get(key).and_then(Json::as_array);
    let list = list.ok_or_else(|| format!("`{key}` is no list"))?;
    let mut found: Vec<String> = Vec::new();
    for entry in list.iter().take(ENTRIES) {
        let text = entry.as_str().ok_or_else(|| format!("an entry of `{key}` is no text"))?;
        let text = cut(text.trim(), ENTRY_CHARS);
        if !text.is_empty() && !found.contains(&text) {
            found.push(text);
        }
    }
    Ok(found)
}

fn share(args: &Json, key: &str) -> Result<f64, String> {
    let value = args.get(key).unwrap_or(&Json::Null);
    let number = value.as_f64().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| {
        format!("`{key}` is {}, not a number from 0 to 1", cut(&value.to_string(), 40))
    })
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> Json {
        json!({
            "mentions": ["src/a.rs", "invented"], "verified": ["src/a.rs"], "unverified": ["src/a.rs"],
            "confidence": 0.5, "completeness": 1, "gaps": [], "warnings": [], "reasoning": "x",
        })
    }

    #[test]
    fn an_assessment_is_validated_and_bounded() {
        let found = Judgement::decode(&args(), "It is in SRC/a.rs.").unwrap();
        assert_eq!(found.mentions, ["src/a.rs"]);
        assert_eq!((found.verified, found.unverified), (vec![], vec!["src/a.rs".to_owned()]));
        let mut spelled = args();
        spelled["unverified"] = json!([
            "package mind-auth",
            "`mind-cache`",
            "mind-zero (package)",
            "GhostServer.start()",
            "other"
        ]);
        let answer =
            "The packages are mind-auth, mind-cache and mind-zero; GhostServer starts them.";
        let found = Judgement::decode(&spelled, answer).unwrap().unverified;
        assert_eq!(found, ["mind-auth", "mind-cache", "mind-zero", "GhostServer"]);
        for (key, value, error) in [
            ("confidence", json!(7), "`confidence` is 7, not a number from 0 to 1"),
            ("confidence", json!(-0.1), "`confidence` is -0.1, not a number from 0 to 1"),
            ("completeness", json!("high"), "`completeness` is \"high\", not a number from 0 to 1"),
            ("completeness", Json::Null, "`completeness` is null, not a number from 0 to 1"),
            ("gaps", json!("none"), "`gaps` is no list"),
            ("mentions", json!([1]), "an entry of `mentions` is no text"),
            ("reasoning", json!(null), "`reasoning` is no text"),
            ("warnings", json!(["x".repeat(1 << 20)]), "and 262144 are allowed"),
        ] {
            let mut args = args();
            args[key] = value;
            let found = Judgement::decode(&args, "a").unwrap_err();
            assert!(found.contains(error), "{found}");
        }
        let mut many = args();
        many["gaps"] = (0..5_000).map(|n| json!(format!("gap {n}"))).collect();
        many["reasoning"] = json!("r".repeat(5_000));
        let found = Judgement::decode(&many, "a").unwrap();
        assert_eq!((found.gaps.len(), found.reasoning.chars().count()), (100, 1_001));
    }
}
