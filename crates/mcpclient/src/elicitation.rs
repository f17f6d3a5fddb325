//! [`Elicitation`]: a question of a server to a person, as `elicitation/create` has it.

use kb_base::value::Json;
use kb_language::definition::Schema;
use serde_json::json;
use std::time::Duration;

/// Characters of a question.
const MESSAGE: usize = 4_000;
/// Number of fields of a form.
const FIELDS: usize = 20;
/// Characters of the schema of a form.
const SCHEMA: usize = 16_000;
/// What a field can declare. Everything else is left out.
const KEYS: [&str; 14] = [
    "type",
    "title",
    "description",
    "default",
    "enum",
    "enumNames",
    "oneOf",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
];
/// Words of the name or title of a text that is a secret.
const SECRET_WORDS: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "credential",
    "credentials",
    "apikey",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "pwd",
    "privatekey",
];
/// The same in two words.
const SECRET_PAIRS: [[&str; 2]; 6] = [
    ["api", "key"],
    ["private", "key"],
    ["access", "key"],
    ["secret", "key"],
    ["ssh", "key"],
    ["security", "code"],
];

/// A question of a server to a person, with the form for the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The name of the server.
    pub server: String,
    /// The question.
    pub message: String,
    /// The JSON Schema of the answer: an object of texts, numbers, truth values and choices. Without fields the answer is
    /// a decision.
    pub schema: Json,
    /// How long a person has for the answer; `None` without a limit.
    pub within: Option<Duration>,
}

/// Why a question is not passed on to a person.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// Its parameters break the protocol or a limit.
    Invalid(String),
    /// This field asks for a secret.
    Secret(String),
}

/// The message and the schema of the form of a question.
pub(crate) fn form_of(params: &Json) -> Result<(String, Json), Unasked> {
    let invalid = |why: &str| Err(Unasked::Invalid(why.to_owned()));
    if params.get("mode").is_some_and(|mode| mode != "form") {
        return invalid("only the mode `form` is offered");
    }
    let message = params.get("message").and_then(Json::as_str).unwrap_or_default().trim();
    if message.is_empty() || message.chars().count() > MESSAGE {
        return invalid(&format!("`message` must have 1 to {MESSAGE} characters"));
    }
    let nothing = json!({"type": "object", "properties": {}});
    let asked = params.get("requestedSchema").unwrap_or(&nothing);
    let empty = serde_json::Map::new();
    let properties = match (asked.get("type"), asked.get("properties")) {
        (Some(Json::String(kind)), None) if kind == "object" => &empty,
        (Some(Json::String(kind)), Some(Json::Object(properties))) if kind == "object" => {
            properties
        }
        _ => return invalid("`requestedSchema` must be an object with `properties`"),
    };
    if properties.len() > FIELDS {
        return invalid(&format!("a form has at most {FIELDS} fields"));
    }
    let mut fields = serde_json::Map::new();
    for (name, own) in properties {
        let Some(field) = field_of(own) else {
            return invalid(&format!(
                "the field `{}` must be a text, a number, a boolean or a choice",
                name.escape_debug()
            ));
        };
        let title = own.get("title").and_then(Json::as_str).unwrap_or_default();
        let is_text = own.get("type").and_then(Json::as_str) == Some("string");
        let has_choice = own.get("enum").or(own.get("oneOf")).is_some();
        let is_secret = own.get("format").and_then(Json::as_str) == Some("password")
            || names_secret(name)
            || names_secret(title);
        if is_text && !has_choice && is_secret {
            return Err(Unasked::Secret(name.clone()));
        }
        fields.insert(name.clone(), field);
    }
    let required = asked.get("required").and_then(Json::as_array).into_iter().flatten();
    let required: Vec<&Json> = required
        .filter(|name| name.as_str().is_some_and(|name| fields.contains_key(name)))
        .collect();
    let schema = json!({
        "type": "object", "properties": fields, "required": required, "additionalProperties": false,
    });
    if schema.to_string().chars().count() > SCHEMA || Schema::new(schema.clone()).is_err() {
        return invalid("`requestedSchema` is no valid schema, or is too large");
    }
    Ok((message.to_owned(), schema))
}

/// The declaration of a field, as far as the protocol has it; `None` if it is none of its types.
fn field_of(own: &Json) -> Option<Json> {
    let mut field = serde_json::Map::new();
    for key in KEYS {
        if let Some(value) = own.get(key) {
            field.insert(key.to_owned(), value.clone());
        }
    }
    match own.get("type")?.as_str()? {
        "string" | "number" | "integer" | "boolean" => {}
        "array" => {
            let items = own.get("items")?;
            let (key, choices) = match (items.get("enum"), items.get("anyOf")) {
                (Some(choices), _) => ("enum", choices),
                (None, choices) => ("anyOf", choices?),
            };
            let mut kept = json!({key: choices.as_array()?});
            if key == "enum" {
                kept["type"] = json!("string");
            }
            field.insert("items".to_owned(), kept);
        }
        _ => return None,
    }
    for choices in ["enum", "oneOf"] {
        if field.get(choices).is_some_and(|choices| !choices.is_array()) {
            return None;
        }
    }
    Some(Json::Object(field))
}

/// Whether a name or title says that the value is a secret.
fn names_secret(name: &str) -> bool {
    let words = words(name);
    let is_pair = |pair: &[String]| SECRET_PAIRS.iter().any(|known| pair == known);
    words.iter().any(|word| SECRET_WORDS.contains(&word.as_str())) || words.windows(2).any(is_pair)
}

/// The words of a name, in small letters: `apiKey`, `API_KEY` and `api key` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(fields: Json) -> Result<(String, Json), Unasked> {
        let schema = json!({"type": "object", "properties": fields, "required": ["a", "gone"]});
        form_of(&json!({"message": " Which? ", "requestedSchema": schema}))
    }

    #[test]
    fn a_form_keeps_what_the_protocol_has() {
        let fields = json!({
            "a": {"type": "string", "enum": ["x", "y"], "x-evil": {"$ref": "https://evil.example"}},
            "b": {"type": "integer", "minimum": 1, "description": "How many"},
            "c": {"type": "array", "items": {"type": "string", "enum": ["p"], "$ref": "#/x"}},
        });
        let (message, schema) = asked(fields).unwrap();
        assert_eq!(message, "Which?");
        assert_eq!(schema["required"], json!(["a"]));
        assert_eq!(schema["properties"]["a"], json!({"type": "string", "enum": ["x", "y"]}));
        assert_eq!(schema["properties"]["c"]["items"], json!({"type": "string", "enum": ["p"]}));
        assert_eq!(schema["additionalProperties"], false);
        let (_, empty) = form_of(&json!({"message": "Sure?"})).unwrap();
        assert_eq!(empty["properties"], json!({}));
    }

    #[test]
    fn forms_that_the_protocol_does_not_have_are_invalid() {
        let many: serde_json::Map<_, _> =
            (0..21).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
        for fields in [
            json!({"a": {"type": "object"}}),
            json!({"a": {"$ref": "https://evil.example/x"}}),
            json!({"a": {"type": "array", "items": {"type": "object"}}}),
            json!({"a": {"type": "string", "enum": "x"}}),
            json!({"a": {"type": "string", "minLength": -1}}),
            json!({"a": {"type": "string", "description": "x".repeat(20_000)}}),
            json!(many),
            json!([]),
        ] {
            assert!(matches!(asked(fields.clone()), Err(Unasked::Invalid(_))), "{fields}");
        }
        for params in [
            json!({}),
            json!({"message": ""}),
            json!({"message": "x".repeat(5_000)}),
            json!({"message": "Open it", "mode": "url", "url": "https://evil.example"}),
        ] {
            assert!(matches!(form_of(&params), Err(Unasked::Invalid(_))), "{params}");
        }
    }

    #[test]
    fn a_form_asks_for_no_secret() {
        for name in [
            "password",
            "Password",
            "dbPassword",
            "API_KEY",
            "apiKey",
            "api-key",
            "access_token",
            "client secret",
            "PIN",
            "cvv",
            "sshKey",
            "security code",
        ] {
            let secret = Err(Unasked::Secret(name.to_owned()));
            assert_eq!(asked(json!({name: {"type": "string"}})), secret);
            let titled = asked(json!({"x": {"type": "string", "title": name}}));
            assert_eq!(titled, Err(Unasked::Secret("x".to_owned())), "{name}");
        }
        let format = asked(json!({"x": {"type": "string", "format": "password"}}));
        assert_eq!(format, Err(Unasked::Secret("x".to_owned())));
        for (name, kind) in [
            ("resetPassword", json!({"type": "boolean"})),
            ("maxTokens", json!({"type": "integer"})),
            ("token", json!({"type": "string", "enum": ["keep", "rotate"]})),
            ("pinned", json!({"type": "string"})),
            ("key", json!({"type": "string"})),
        ] {
            assert!(asked(json!({name: kind})).is_ok(), "{name}");
        }
    }
}
