//! Size limits of the language and the runtime.

/// Maximum size of a definition file, in bytes.
pub const DEFINITION_BYTES: usize = 1 << 20;
/// Maximum size of a `taskFile`, in bytes.
pub const TASK_FILE_BYTES: usize = 1 << 20;
/// Maximum nesting depth of a definition file.
pub const DEFINITION_DEPTH: usize = 32;
/// Maximum number of YAML documents of a file that is imported.
pub const DEFINITION_DOCUMENTS: usize = 100;
/// Maximum number of nodes of a definition file after alias expansion.
pub const DEFINITION_NODES: usize = 10_000;
/// Maximum size of a glob, in bytes.
pub const GLOB_BYTES: usize = 4_096;
/// Maximum number of items of one `forEach`.
pub const FOR_EACH_ITEMS: usize = 100_000;
/// Maximum size of an output that is stored in its event, in bytes of JSON; larger ones become blobs.
pub const INLINE_OUTPUT_BYTES: usize = 8 << 10;
/// Maximum size of an event row, in bytes; the text of a larger event becomes a blob.
pub const EVENT_BYTES: usize = 32 << 10;
/// Bytes that are kept of stdout and of stderr of a process; the rest is only counted.
pub const STREAM_BYTES: usize = 1 << 20;
/// Maximum size of the result of an expression or template, in bytes.
pub const RENDERED_BYTES: usize = 4 << 20;
/// Characters of a tool result that are sent to a model; `output:read` reads the rest.
pub const TOOL_RESULT_CHARS: usize = 800;
