//! What an index holds, in one line.

use crate::cli::render::bytes;
use kb_base::value::counted;
use kb_service::service::IndexStatus;

/// The numbers of files and parts, and the size of the database.
pub(super) fn summary(status: &IndexStatus) -> String {
    let vectors = status.vectors.map(|count| format!(", {count} with a vector"));
    format!(
        "{} and {} in {}{}, {}\n",
        counted(status.code as usize, "source file"),
        counted(status.docs as usize, "document"),
        counted(status.chunks as usize, "part"),
        vectors.unwrap_or_default(),
        bytes(status.bytes)
    )
}
