//! The result of a call as the caller sees it.

use crate::fault::Fault;
use kb_base::value::{Json, json_text};
use serde_json::json;

/// The output of a call: `structuredContent`, else the text of the content, else its parts. Media are described and
/// not passed on.
pub(crate) fn output_of(mut result: Json, limit: usize) -> Result<Json, Fault> {
    if json_text(&result).len() > limit {
        return Err(Fault::TooLarge(limit));
    }
    if result.get("resultType").is_some_and(|kind| kind != "complete") {
        let message = "the server asks for more input, which `kb` does not offer";
        return Err(Fault::CallFailed(message.to_owned()));
    }
    let parts = result.get("content").and_then(Json::as_array).cloned().unwrap_or_default();
    let text = |part: &Json| {
        let is_text = part.get("type").and_then(Json::as_str) == Some("text");
        part.get("text").and_then(Json::as_str).filter(|_| is_text).map(str::to_owned)
    };
    let texts: Option<Vec<String>> = parts.iter().map(text).collect();
    if result.get("isError") == Some(&Json::Bool(true)) {
        let shown: Vec<String> = parts.iter().filter_map(text).collect();
        return Err(Fault::CallFailed(shown.join("\n")));
    }
    match (result.get_mut("structuredContent").map(Json::take), texts) {
        (Some(output), _) if !output.is_null() => Ok(output),
        (_, Some(texts)) => Ok(Json::String(texts.join("\n"))),
        (_, None) => Ok(json!({"content": parts.iter().map(described).collect::<Vec<_>>()})),
    }
}

/// A part of the content, without the bytes of media.
fn described(part: &Json) -> Json {
    let mut part = part.clone();
    for pointer in ["/data", "/resource/blob"] {
        if let Some(data) = part.pointer_mut(pointer) {
            let bytes = data.as_str().map_or(0, |text| text.len() / 4 * 3);
            *data = json!(format!("({bytes} bytes, not shown)"));
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_become_outputs() {
        let text = json!({"type": "text", "text": "a"});
        let image = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
        let seen =
            json!({"type": "image", "mimeType": "image/png", "data": "(3 bytes, not shown)"});
        for (result, output) in [
            (json!({"content": [text, text]}), json!("a\na")),
            (json!({"content": []}), json!("")),
            (json!({"content": [text], "structuredContent": {"n": 1}}), json!({"n": 1})),
            (json!({"content": [text, image]}), json!({"content": [text, seen]})),
            (json!({"content": [text], "resultType": "complete"}), json!("a")),
        ] {
            assert_eq!(output_of(result.clone(), 1_000), Ok(output), "{result}");
        }
        let failed = |result, limit| output_of(result, limit).unwrap_err();
        let error = json!({"content": [text], "isError": true, "structuredContent": {}});
        assert_eq!(failed(error, 1_000), Fault::CallFailed("a".to_owned()));
        assert_eq!(failed(json!({"content": [text]}), 10), Fault::TooLarge(10));
        let more = failed(json!({"resultType": "input_required"}), 1_000);
        assert!(matches!(more, Fault::CallFailed(_)));
    }
}
