//! Answers of tools: JSON of a limited length, with a link to the whole.

use kb_base::value::Json;
use serde::Serialize;

/// The longest text of an answer, in bytes.
const MAX_BYTES: usize = 8 * 1024;
/// Characters of a text and entries of a list that are kept, from generous to strict.
const KEPT: [(usize, usize); 7] =
    [(4000, 200), (1500, 60), (600, 30), (250, 15), (120, 8), (60, 4), (30, 2)];

/// What a tool answers.
#[derive(Debug)]
pub(crate) struct Answer {
    /// JSON of at most 8 KiB.
    pub(crate) text: String,
    /// The resource with the whole value, if the text is shortened.
    pub(crate) link: Option<String>,
}

impl Answer {
    /// A value that the resource `uri` has as a whole.
    pub(crate) fn of(value: &impl Serialize, uri: &str) -> Answer {
        let whole = serde_json::to_value(value).unwrap_or_default();
        let text = whole.to_string();
        if text.len() <= MAX_BYTES {
            return Answer { text, link: None };
        }
        Answer { text: shortened(&whole, MAX_BYTES), link: Some(uri.to_owned()) }
    }
}

/// A value as JSON of at most `limit` bytes: long texts and lists are cut, with what is left out counted.
pub(crate) fn shortened(value: &Json, limit: usize) -> String {
    let all =
        KEPT.iter().map(|(characters, entries)| cut(value, *characters, *entries).to_string());
    let fits = all.into_iter().find(|text| text.len() <= limit);
    fits.unwrap_or_else(|| Json::from("the value is too large to be shown in part").to_string())
}

fn cut(value: &Json, characters: usize, entries: usize) -> Json {
    match value {
        Json::String(text) => match text.char_indices().nth(characters) {
            Some((at, _)) => {
                let left = text[at..].chars().count();
                Json::from(format!("{}… ({left} more characters)", &text[..at]))
            }
            None => value.clone(),
        },
        Json::Array(all) => {
            let mut kept: Vec<Json> =
                all.iter().take(entries).map(|one| cut(one, characters, entries)).collect();
            if all.len() > entries {
                kept.push(Json::from(format!("… ({} more)", all.len() - entries)));
            }
            Json::Array(kept)
        }
        Json::Object(all) => {
            let mut kept: kb_base::value::JsonMap = all
                .iter()
                .take(entries.max(40))
                .map(|(name, one)| (name.clone(), cut(one, characters, entries)))
                .collect();
            if all.len() > kept.len() {
                kept.insert("…".to_owned(), Json::from(format!("{} more", all.len() - kept.len())));
            }
            Json::Object(kept)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_values_are_shortened_and_what_is_left_out_is_counted() {
        let value = json!({"id": "r1", "steps": vec![json!({"text": "ä".repeat(10_000)}); 500]});
        let answer = Answer::of(&value, "kb://run/r1");
        assert!(answer.text.len() <= MAX_BYTES, "{}", answer.text.len());
        assert_eq!(answer.link.as_deref(), Some("kb://run/r1"));
        let short: Json = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(short["id"], "r1");
        let last = short["steps"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        assert!(last.ends_with("more)"), "{last}");
        let kept = short["steps"].as_array().unwrap().len() - 1;
        assert_eq!(last, format!("… ({} more)", 500 - kept));
        assert_eq!(Answer::of(&json!({"a": 1}), "kb://run/r1").link, None);
    }
}
