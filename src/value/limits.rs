//! Size limits of the language and the runtime, in one place.

/// A definition file, in bytes (LANGUAGE §1).
pub const DEFINITION_BYTES: usize = 1 << 20;
/// Nesting of a definition file.
pub const DEFINITION_DEPTH: usize = 32;
/// Nodes of a definition file after its aliases are expanded.
pub const DEFINITION_NODES: usize = 10_000;
/// Instances that one `forEach` may expand to.
pub const FOR_EACH_ITEMS: usize = 100_000;
/// Outputs up to this many bytes of JSON stay in the event; larger ones become blobs (DESIGN §4).
pub const INLINE_OUTPUT_BYTES: usize = 8 << 10;
/// A stored event; the whole text of a larger one becomes a blob, and its row says which.
pub const EVENT_BYTES: usize = 32 << 10;
/// What is kept of each of a process's two streams; the rest is counted and cut.
pub const STREAM_BYTES: usize = 1 << 20;
/// What an expression or template may produce, in bytes.
pub const RENDERED_BYTES: usize = 4 << 20;
/// Characters of a tool result that reach a model's context (000, Phase 4).
pub const TOOL_RESULT_CHARS: usize = 800;
