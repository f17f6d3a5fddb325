//! Reads definition files, at most one byte more than their limit.

use kb_attempt::open_regular;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::limits;
use kb_language::definition::FileBytes;
use std::io::{self, Read};
use std::path::Path;

pub(super) fn read_bounded(path: &Path) -> io::Result<FileBytes> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limits::DEFINITION_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

pub(super) fn unreadable(path: &str, error: &io::Error) -> Diagnostic {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Diagnostic::error(Code::FILE_UNREADABLE, None, format!("cannot read `{path}`: {reason}"))
}
