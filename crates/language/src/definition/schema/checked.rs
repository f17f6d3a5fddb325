//! [`Schema`]: a JSON Schema that was checked when it was loaded.

use super::cost::{self, SchemaCost};
use super::property::{self, Part, Property};
use super::violation::{self, Violation};
use crate::definition::syntax::{Decoder, Node};
use jsonschema::{PatternOptions, Validator};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{Json, JsonMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A checked JSON Schema (draft 2020-12), written as JSON Schema or in the short form.
#[derive(Clone)]
pub struct Schema {
    json: Arc<Json>,
    compiled: Arc<OnceLock<Option<Compiled>>>,
}

impl Schema {
    /// Checks a JSON Schema. The error lists every problem with its location in the schema.
    pub fn new(json: Json) -> Result<Schema, Vec<String>> {
        let faults = faults(&json);
        if !faults.is_empty() {
            return Err(faults);
        }
        let schema = Schema::unchecked(json);
        let compiled = Compiled::new(&schema.json)?;
        // The lock is fresh, so this cannot be refused.
        let _ = schema.compiled.set(Some(compiled));
        Ok(schema)
    }

    /// A schema that is valid by construction; compiled when it is first used.
    pub(super) fn unchecked(json: Json) -> Schema {
        Schema { json: Arc::new(json), compiled: Arc::new(OnceLock::new()) }
    }

    /// Decodes JSON Schema.
    pub(super) fn json_schema(node: &Node, decoder: &mut Decoder) -> Option<Schema> {
        match Schema::new(node.to_json()) {
            Ok(schema) => Some(schema),
            Err(faults) => {
                for fault in faults {
                    decoder.push(
                        Diagnostic::error(Code::BAD_SCHEMA, node.span, fault)
                            .help("write JSON Schema (draft 2020-12), or the short form `files: \"string[]\"`"),
                    );
                }
                None
            }
        }
    }

    /// An object with these required text keys, as in `outputs: [findings]` of a workflow.
    pub fn of_texts<'k>(keys: impl IntoIterator<Item = &'k str>) -> Schema {
        let keys: Vec<&str> = keys.into_iter().collect();
        let properties: JsonMap = keys
            .iter()
            .map(|key| ((*key).to_owned(), serde_json::json!({"type": "string"})))
            .collect();
        Schema::unchecked(
            serde_json::json!({"type": "object", "properties": properties, "required": keys}),
        )
    }

    /// The schema as JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// All violations of a value; empty if it is valid. Takes at most a second and 100 MiB: a value
    /// whose validation would take more is refused with one violation.
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        self.violations_shown(value, &str::to_owned)
    }

    /// Like [`Schema::violations`], with a function that masks texts of the value. Messages quote the
    /// start of a text, so masking comes first.
    pub fn violations_shown(&self, value: &Json, shown: &dyn Fn(&str) -> String) -> Vec<Violation> {
        let compiled = self.compiled.get_or_init(|| Compiled::new(&self.json).ok());
        let Some(Compiled { validator, cost: schema_cost }) = compiled else { return Vec::new() };
        let Some(cost) = schema_cost.of(value, cost::MOST) else {
            return vec![violation::whole(
                "the value is too large or too deep for this schema: its validation would take more \
                 than 2000000 steps",
            )];
        };
        if validator.is_valid(value) {
            return Vec::new();
        }
        if cost <= cost::LISTED {
            return violation::of(validator, value, shown);
        }
        if schema_cost.has_alternatives {
            vec![violation::whole(
                "the value does not match the schema, and is too large to list where",
            )]
        } else {
            violation::first(validator, value, shown)
        }
    }

    /// Whether values of this schema can have that path of keys: `["files", "path"]`.
    pub fn property<S: AsRef<str>>(&self, path: &[S]) -> Property {
        let path: Vec<Part<'_>> = path.iter().map(|key| Part::Key(key.as_ref())).collect();
        property::find(&self.json, &path)
    }

    /// Whether the elements of the list at one path can have another path of keys.
    pub fn property_of_element(&self, list: &[&str], path: &[&str]) -> Property {
        let (list, path) = (list.iter().map(|key| Part::Key(key)), path.iter());
        let path = list.chain([Part::Element]).chain(path.map(|key| Part::Key(key)));
        property::find(&self.json, &path.collect::<Vec<_>>())
    }

    /// The keys in `properties`, for suggestions.
    pub fn keys(&self) -> Vec<&str> {
        let properties = self.json.get("properties").and_then(Json::as_object);
        properties.into_iter().flat_map(|map| map.keys().map(String::as_str)).collect()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.json)
    }
}

const DRAFTS: [&str; 5] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
];

/// What validates values of a schema.
struct Compiled {
    validator: Validator,
    cost: SchemaCost,
}

impl Compiled {
    fn new(json: &Json) -> Result<Compiled, Vec<String>> {
        let cost = SchemaCost::new(json)?;
        Ok(Compiled { validator: compile(json).map_err(|fault| vec![fault])?, cost })
    }
}

fn compile(json: &Json) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
        .build(json)
        .map_err(|error| format!("the schema cannot be used: {error}"))
}

/// Violations of the meta-schema.
fn faults(json: &Json) -> Vec<String> {
    if !(json.is_object() || json.is_boolean()) {
        return vec!["a schema is a map".to_owned()];
    }
    if let Some(draft) = json.get("$schema") {
        let known = draft.as_str().is_some_and(|uri| DRAFTS.contains(&uri.trim_end_matches('#')));
        if !known {
            return vec![format!(
                "`$schema` is {draft}, which is not a supported draft of JSON Schema"
            )];
        }
    }
    let meta = match jsonschema::meta::validator_for(json) {
        Ok(meta) => meta,
        Err(error) => return vec![format!("the schema cannot be used: {error}")],
    };
    let faults = meta.iter_errors(json).map(|error| {
        let location = error.instance_path().as_str().to_owned();
        if location.is_empty() {
            format!("the schema is not valid: {error}")
        } else {
            format!("the schema is not valid at `{location}`: {error}")
        }
    });
    faults.collect()
}
