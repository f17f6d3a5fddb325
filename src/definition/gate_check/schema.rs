//! `schema:`: the output of the step satisfies a schema.

use super::spec::CheckKind;
use crate::definition::model::Check;
use crate::definition::schema::Schema;

pub(super) static SCHEMA: CheckKind = CheckKind {
    key: "schema",
    decode: |node, _, decoder| Schema::decode(node, decoder).map(Check::Schema),
};
