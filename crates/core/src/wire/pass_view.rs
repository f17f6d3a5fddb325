//! The public form of a pass of a loop.

use schemars::JsonSchema;
use serde::Serialize;

/// A pass of a `loop` that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PassView {
    /// The number of the pass, from 1.
    pub pass: u32,
    /// Whether `until` was true.
    pub done: bool,
    /// When the next pass starts, in RFC 3339; absent if at once or never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}
