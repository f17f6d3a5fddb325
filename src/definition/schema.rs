use crate::value::Json;

/// A checked JSON Schema (draft 2020-12), written as such or in the documents' short form.
#[derive(Debug, Clone)]
pub struct Schema {
    json: Json,
}

/// One way in which a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer into the value; empty is the whole.
    pub pointer: String,
    /// What is wrong, a fragment.
    pub message: String,
}

impl Schema {
    /// The JSON Schema.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// Every way in which a value does not fit; empty where it does.
    pub fn violations(&self, _value: &Json) -> Vec<Violation> {
        Vec::new()
    }
}
