//! Reads whole files of a workspace through the path guard.

use super::path_error::PathError;
use super::path_guard::Workspace;
use std::io::Read as _;

impl Workspace {
    /// Reads the whole content of a regular file.
    pub fn read_file(&self, path: &str) -> Result<Vec<u8>, PathError> {
        let mut bytes = Vec::new();
        let mut file = self.open_file(&self.locate(path)?)?;
        file.read_to_end(&mut bytes).map_err(|error| PathError::io(path, error))?;
        Ok(bytes)
    }

    /// Reads a regular file of at most this many bytes.
    pub fn read_at_most(&self, path: &str, most: usize) -> Result<Vec<u8>, PathError> {
        let mut bytes = Vec::new();
        let file = self.open_file(&self.locate(path)?)?;
        let read = file.take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| PathError::io(path, error))?;
        if bytes.len() > most {
            return Err(PathError::TooMuch(format!("`{path}` has more than {most} bytes")));
        }
        Ok(bytes)
    }
}
