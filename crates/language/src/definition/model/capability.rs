//! [`Capability`]: a task that a specialist can be asked to do by name.

use crate::definition::Schema;
use kb_base::value::{Json, json_text};
use std::ops::Range;

/// An entry of `capabilities` that a step can name (`capability: write_article`).
#[derive(Debug, Clone)]
pub struct Capability {
    /// The name, unique within the specialist.
    pub name: String,
    /// What it does, as human-readable text.
    pub description: Option<String>,
    /// `inputSchema`: schema of the step's `input`.
    pub input_schema: Option<Schema>,
    /// `outputSchema`: schema that the output of the step must satisfy.
    pub output_schema: Option<Schema>,
    /// `promptTemplate`: the task; `{key}` stands for a value of the input.
    pub prompt: Option<String>,
}

impl Capability {
    /// The task, with the ranges of the values in it. A key without a value takes the `default` of the
    /// input schema; braces around anything else stay.
    pub fn task(&self, input: Option<&Json>) -> Option<(String, Vec<Range<usize>>)> {
        let template = self.prompt.as_deref()?;
        let (mut text, mut ranges, mut rest) = (String::new(), Vec::new(), template);
        while let Some(at) = rest.find('{') {
            text.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let value =
                after.find('}').and_then(|end| Some((end, self.value(&after[..end], input)?)));
            match value {
                Some((end, value)) => {
                    let start = text.len();
                    text.push_str(&json_text(value));
                    ranges.push(start..text.len());
                    rest = &after[end + 1..];
                }
                None => {
                    text.push('{');
                    rest = after;
                }
            }
        }
        text.push_str(rest);
        Some((text, ranges))
    }

    fn value<'v>(&'v self, key: &str, input: Option<&'v Json>) -> Option<&'v Json> {
        let properties = || self.input_schema.as_ref()?.json().get("properties");
        let default = || properties()?.get(key)?.get("default");
        input.and_then(|input| input.get(key)).or_else(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_and_defaults_take_the_place_of_their_keys() {
        let schema = json!({"properties": {"style": {"type": "string", "default": "formal"}}});
        let capability = Capability {
            name: "write".to_owned(),
            description: None,
            input_schema: Schema::new(schema).ok(),
            output_schema: None,
            prompt: Some("On {topic}, {style}, {unknown} {{x}} {".to_owned()),
        };
        let (text, ranges) = capability.task(Some(&json!({"topic": "{style}"}))).unwrap();
        assert_eq!(text, "On {style}, formal, {unknown} {{x}} {");
        let values: Vec<&str> = ranges.into_iter().map(|range| &text[range]).collect();
        assert_eq!(values, ["{style}", "formal"]);
    }
}
