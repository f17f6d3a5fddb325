//! `schema:`: the output of the step satisfies a schema.

use super::spec::CheckKind;
use crate::definition::keys::{KeySpec, KeyType, key};
use crate::definition::schema::Schema;
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;

impl CheckKind for Schema {
    const NAME: &'static str = "schema";
    const KEYS: &'static [KeySpec] =
        &[key("schema", KeyType::Schema, "The output of the step satisfies this schema.")
            .example("{files: \"string[]\"}")];

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Schema> {
        Schema::decode(node, decoder)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        Vec::new()
    }

    fn reads_changes(&self) -> bool {
        false
    }
}
