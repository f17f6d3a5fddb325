//! The answers that a question to a person accepts.

use crate::definition::schema::Schema;
use kb_base::value::Json;

/// The answers that a question accepts.
#[derive(Debug, Clone, Default)]
pub struct AnswerRule {
    /// The accepted answers; empty accepts any.
    pub options: Vec<String>,
    /// The JSON Schema of the answer; without it and without options the answer is text.
    pub schema: Option<Schema>,
    /// The answer that an empty reply, or the timeout, stands for.
    pub default: Option<Json>,
}

impl AnswerRule {
    /// Reads a reply as it was typed: empty is the default; with a schema that is not a plain string,
    /// JSON is read, and fields that are absent get their defaults. An error says what is expected.
    pub fn read(&self, reply: &str) -> Result<Json, String> {
        let reply = reply.trim();
        if let (true, Some(default)) = (reply.is_empty(), &self.default) {
            return Ok(default.clone());
        }
        let text = Json::String(reply.to_owned());
        let value = match &self.schema {
            Some(schema) if !schema.violations(&text).is_empty() => {
                self.with_defaults(serde_json::from_str(reply).unwrap_or(text), schema.json())
            }
            _ => text,
        };
        self.check(&value).map(|()| value)
    }

    /// The value with the fields that it lacks, if the default of the question or of the field has them.
    fn with_defaults(&self, value: Json, schema: &Json) -> Json {
        let (Json::Object(mut value), Some(fields)) =
            (value.clone(), schema["properties"].as_object())
        else {
            return value;
        };
        for (name, field) in fields {
            let whole = self.default.as_ref().and_then(|default| default.get(name));
            if let (false, Some(default)) =
                (value.contains_key(name), whole.or(field.get("default")))
            {
                value.insert(name.clone(), default.clone());
            }
        }
        Json::Object(value)
    }

    /// Whether a value is an accepted answer. An error says what is expected.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        if !self.options.is_empty() {
            let known = value.as_str().is_some_and(|text| self.options.iter().any(|o| o == text));
            return if known {
                Ok(())
            } else {
                Err(format!("the answer must be one of {}", self.options.join(", ")))
            };
        }
        if let Some(schema) = &self.schema {
            let violations = schema.violations(value);
            return if violations.is_empty() {
                Ok(())
            } else {
                Err(violations
                    .iter()
                    .map(|violation| match violation.pointer.as_str() {
                        "" => violation.message.clone(),
                        pointer => format!("{pointer}: {}", violation.message),
                    })
                    .collect::<Vec<_>>()
                    .join("; "))
            };
        }
        match value.as_str() {
            Some(text) if !text.is_empty() => Ok(()),
            _ => Err("the answer must not be empty".to_owned()),
        }
    }
}
