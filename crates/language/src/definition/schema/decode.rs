//! Decodes a schema in either form.

use super::checked::Schema;
use super::{recognise, short_form};
use crate::definition::syntax::{Decoder, Node};

impl Schema {
    /// Decodes either form; problems go to the decoder.
    pub(crate) fn decode(node: &Node, decoder: &mut Decoder) -> Option<Schema> {
        if !recognise::is_json_schema(node) {
            return short_form::read(node, decoder).map(Schema::unchecked);
        }
        Schema::json_schema(node, decoder)
    }
}
