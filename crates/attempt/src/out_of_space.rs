//! Errors of a full disk.

use std::io;

/// Whether the error means that space is exhausted: disk, quota or file size limit (`ulimit -f`).
pub fn is_out_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
