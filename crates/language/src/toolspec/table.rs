//! The table itself, in the order of the reference page.

use super::spec::ToolSpec;
use super::{git, http, output, read_files, shell, write_files};
use std::sync::LazyLock;

static TABLE: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
    let families = [
        read_files::specs(),
        write_files::specs(),
        git::specs(),
        shell::specs(),
        http::specs(),
        output::specs(),
    ];
    families.into_iter().flatten().collect()
});

/// The tool whose path rules apply to every tool that reads files.
pub const FILE_READER: &str = "fs:read";
/// The tool that reads the rest of a truncated result.
pub const OUTPUT_READER: &str = "output:read";
/// The tool that reads artifacts of earlier steps.
pub const ARTIFACT_READER: &str = "artifact:get";
/// The tool that executes `http` steps.
pub const HTTP_REQUEST: &str = "http:request";

/// All built-in tools.
pub fn tools() -> &'static [ToolSpec] {
    &TABLE
}

/// The built-in tool with this name; aliases do not count.
pub fn find(name: &str) -> Option<&'static ToolSpec> {
    TABLE.iter().find(|tool| tool.name == name)
}

/// The names of all built-in tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|tool| &*tool.name)
}
