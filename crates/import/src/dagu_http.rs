//! The `http` executor of Dagu: one request, which fails unless its status is 200 to 299.

use super::dagu_environment::template_text;
use super::draft::Draft;
use super::fields::{Fields, words};
use super::output::Out;
use kb_language::definition::Positioned;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Whether a step is a request, and only prints the response.
pub(super) fn is_request(fields: &Fields<'_>) -> bool {
    let kind = fields.peek("executor").or_else(|| fields.peek("type"));
    let kind = kind.and_then(|of| of.words().or_else(|| Fields::ahead(of).text("type")));
    let others = ["output", "script", "stdout", "stderr", "dir", "workingDir"];
    kind.as_deref() == Some("http") && !others.iter().any(|key| fields.peek(key).is_some())
}

/// Takes the request of a step. `known` has the values that it may read. What has no counterpart is reported.
pub(super) fn request(
    fields: &Fields<'_>,
    line: u32,
    known: &[(String, String)],
    map: &mut Vec<(&'static str, Out)>,
    draft: &mut Draft,
) {
    let executor = fields.take("executor").or_else(|| fields.take("type"));
    let of = executor.filter(|of| of.is_map());
    let of = of.map(|of| Fields::of(of, "executor.", draft));
    if let Some(of) = &of {
        of.take("type");
    }
    let own = of.as_ref().and_then(|of| of.nested("config")).or_else(|| fields.nested("config"));
    let of_config = |key: &str| own.as_ref().and_then(|own| own.text(key));
    let command = fields.text("command").unwrap_or_default();
    let (first, rest) = command.trim().split_once(char::is_whitespace).unwrap_or_default();
    let mut method = of_config("method").unwrap_or_else(|| first.to_owned()).to_uppercase();
    let mut url = of_config("url").unwrap_or_else(|| rest.trim().to_owned());
    let is_plain = !url.contains(['$', '`', '{']) && url.starts_with("http");
    if !METHODS.contains(&method.as_str()) || !is_plain {
        draft.fails(line, format!("the request `{method} {url}` is not mapped"));
        // It is not made.
        (method, url) = ("GET".to_owned(), "https://example.invalid/".to_owned());
    }
    let mut http = vec![("method", method.into()), ("url", url.into())];
    for key in ["headers", "query"] {
        let Some(value) = own.as_ref().and_then(|own| own.take(key)) else { continue };
        let pairs = texts(value, key, known, draft);
        http.extend((!pairs.is_empty()).then_some((key, Out::Map(pairs))));
    }
    if let Some(body) = own.as_ref().and_then(|own| own.take("body")) {
        let text = words(body, "body", draft).unwrap_or_default();
        match template_text(&text, known) {
            Some(text) => http.push(("body", text.into())),
            None => draft.fails(body.line, "the body of the request is computed and is not mapped"),
        }
    }
    if let Some(seconds) = of_config("timeout").filter(|_| fields.peek("timeoutSec").is_none()) {
        map.push(("timeout", format!("{seconds}s").into()));
    }
    of_config("silent");
    // Dagu repeats after every failure, `kb` after those that may pass.
    if let Some(retry) = fields.peek("retryPolicy") {
        draft.fails(retry.line, "`retryPolicy` of a request is not mapped");
    }
    draft.hint(line, "Dagu prints the response of a request; here it is the output of the step");
    map.push(("http", Out::map(http)));
}

/// The texts of a map as templates.
fn texts(
    value: &Positioned,
    key: &str,
    known: &[(String, String)],
    draft: &Draft,
) -> Vec<(String, Out)> {
    let mut found = Vec::new();
    for (name, line, value) in value.entries() {
        let text = words(value, key, draft).unwrap_or_default();
        match template_text(&text, known) {
            Some(text) => found.push((name.clone(), text.into())),
            None => {
                draft.fails(*line, format!("`{key}.{name}: {text}` is computed and is not mapped"))
            }
        }
    }
    found
}
