//! Decodes `output:` and `outputs:` of a step.

use super::{Decoder, Fields};
use crate::definition::keys::keys;
use crate::definition::schema::Schema;

keys! {
    /// The output of a step.
    struct OutputKeys(): STEP_OUTPUT = ("output", "`output`") {
        /// Schema that the output must satisfy.
        schema: Option<Schema> = "schema", example("{files: \"string[]\"}");
    }
}

/// The schema that the output of a step must satisfy.
pub(super) fn output_schema(fields: &Fields<'_>, decoder: &mut Decoder) -> Option<Schema> {
    let short = fields.get("outputs").map(|node| decoder.texts(node, "outputs"));
    match fields.get("output") {
        Some(node) => OutputKeys::from_node(node, decoder)?.schema,
        None => short.map(|keys| Schema::of_texts(keys.iter().map(String::as_str))),
    }
}
