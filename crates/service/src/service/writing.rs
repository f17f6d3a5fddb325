//! Writes new files; never overwrites one.

use super::ServiceError;
use crate::project::{NewFiles, write_new_files};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use std::path::Path;

/// Writes files below a folder; never overwrites one.
pub(super) fn write_files(folder: &Path, files: &[(&str, &str)]) -> Result<NewFiles, ServiceError> {
    write_new_files(folder, files).map_err(|(path, error)| {
        let message = format!("`{}` cannot be written: {error}", path.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })
}
