//! The fields of an answer with a schema, which the terminal asks for one by one.

use super::render::table::plain;
use kb_base::value::{Json, json_text};
use kb_service::service::{field_limits, misfit};
use serde_json::json;

/// Maximum number of fields; an answer with more is written as JSON.
const MOST_FIELDS: usize = 30;

/// One property of an object schema.
#[derive(Debug)]
pub(super) struct Field {
    /// Name of the property.
    pub(super) name: String,
    /// Whether the answer needs it.
    pub(super) is_required: bool,
    /// What an empty line stands for.
    pub(super) default: Option<Json>,
    about: Option<String>,
    options: Vec<Json>,
    kind: Kind,
    schema: Json,
}

/// What a line is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    /// Texts with commas between them, or a JSON list.
    Texts,
    Json,
}

impl Kind {
    fn of(schema: &Json) -> Kind {
        let is_text = |schema: &Json| schema["type"] == "string";
        match schema["type"].as_str() {
            Some("string") => Kind::Text,
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("boolean") => Kind::Boolean,
            Some("array") if is_text(&schema["items"]) => Kind::Texts,
            _ => Kind::Json,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Kind::Text => "a text",
            Kind::Integer => "a whole number",
            Kind::Number => "a number",
            Kind::Boolean => "yes or no",
            Kind::Texts => "texts with commas between them",
            Kind::Json => "a JSON value",
        }
    }

    /// The value of a line; `None` if it is of another type.
    fn read(self, line: &str) -> Option<Json> {
        let parsed = || serde_json::from_str::<Json>(line).ok();
        match self {
            Kind::Text => Some(json!(line)),
            Kind::Integer => parsed().filter(|value| value.is_i64() || value.is_u64()),
            Kind::Number => parsed().filter(Json::is_number),
            Kind::Boolean => match line.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Some(json!(true)),
                "n" | "no" | "false" => Some(json!(false)),
                _ => None,
            },
            Kind::Texts if line.starts_with('[') => parsed(),
            Kind::Texts => Some(line.split(',').map(|text| json!(text.trim())).collect()),
            Kind::Json => parsed(),
        }
    }
}

/// The fields of an object schema, in their order. `None` if the answer is not an object of few fields.
pub(super) fn fields(schema: &Json, default: Option<&Json>) -> Option<Vec<Field>> {
    let properties = schema["properties"].as_object()?;
    if properties.is_empty() || properties.len() > MOST_FIELDS {
        return None;
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let field = |(name, part): (&String, &Json)| Field {
        name: name.clone(),
        is_required: required.contains(&name.as_str()),
        default: default.and_then(|all| all.get(name)).or(part.get("default")).cloned(),
        about: part["description"].as_str().or(part["title"].as_str()).map(str::to_owned),
        options: part["enum"].as_array().cloned().unwrap_or_default(),
        kind: Kind::of(part),
        schema: part.clone(),
    };
    Some(properties.iter().map(field).collect())
}

impl Field {
    /// What the field takes, in one line.
    /// `given` is an earlier answer to it.
    pub(super) fn hint(&self, given: Option<&Json>) -> String {
        let mut parts: Vec<String> = self.about.iter().map(|about| plain(about)).collect();
        for (number, option) in (1..).zip(&self.options) {
            parts.push(format!("{number}) {}", plain(&json_text(option))));
        }
        if self.options.is_empty() {
            parts.push(self.kind.words().to_owned());
        }
        parts.extend(field_limits(&self.schema).map(|limits| plain(&limits)));
        match (given, &self.default) {
            (Some(given), _) => parts.push(format!("empty keeps {}", plain(&json_text(given)))),
            (None, Some(default)) => {
                parts.push(format!("empty takes {}", plain(&json_text(default))));
            }
            (None, None) if self.is_required => {}
            (None, None) => parts.push("empty leaves it out".to_owned()),
        }
        parts.join("  ")
    }

    /// The name with what the field takes, for a list of fields.
    pub(super) fn summary(&self) -> String {
        let default = self.default.as_ref();
        let default = default.map(|default| format!("; default {}", plain(&json_text(default))));
        let optional = (!self.is_required && default.is_none()).then_some("; optional");
        let rest = default.as_deref().or(optional).unwrap_or_default();
        format!("{} ({}{rest})", plain(&self.name), self.takes())
    }

    /// The value of a line that is not empty, or what the field takes.
    pub(super) fn read(&self, line: &str) -> Result<Json, String> {
        let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen = number.and_then(|number| self.options.get(number));
        let named = self.options.iter().find(|option| json_text(option) == line);
        if let Some(option) = named.or(chosen) {
            return Ok(option.clone());
        }
        match self.kind.read(line) {
            Some(value) if self.options.is_empty() => self.checked(value),
            _ => Err(format!("`{}` takes {}", plain(&self.name), self.takes())),
        }
    }

    /// The value if it fits the schema of the field.
    fn checked(&self, value: Json) -> Result<Json, String> {
        match misfit(&self.schema, &value) {
            Some(problem) => Err(format!("`{}`: {}", plain(&self.name), plain(&problem))),
            None => Ok(value),
        }
    }

    fn takes(&self) -> String {
        if self.options.is_empty() {
            let limits = field_limits(&self.schema).map(|limits| format!(", {}", plain(&limits)));
            return format!("{}{}", self.kind.words(), limits.unwrap_or_default());
        }
        let options: Vec<String> =
            self.options.iter().map(|option| plain(&json_text(option))).collect();
        format!("one of: {}", options.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_values_of_the_type_of_their_field() {
        let schema = json!({"properties": {
            "name": {"type": "string"}, "count": {"type": "integer"}, "sure": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}}, "zone": {"enum": ["eu", "us"]},
            "any": {},
        }});
        let fields = fields(&schema, None).unwrap();
        let read = |name: &str, line: &str| {
            fields.iter().find(|field| field.name == name).unwrap().read(line).ok()
        };
        assert_eq!(read("name", "12"), Some(json!("12")));
        assert_eq!((read("count", "12"), read("count", "1.5")), (Some(json!(12)), None));
        assert_eq!((read("sure", "No"), read("sure", "maybe")), (Some(json!(false)), None));
        assert_eq!(read("tags", "a, b"), Some(json!(["a", "b"])));
        assert_eq!(read("tags", "[\"a, b\"]"), Some(json!(["a, b"])));
        assert_eq!((read("zone", "2"), read("zone", "eu")), (Some(json!("us")), Some(json!("eu"))));
        assert_eq!((read("zone", "3"), read("any", "{\"a\": 1}")), (None, Some(json!({"a": 1}))));
    }
}
