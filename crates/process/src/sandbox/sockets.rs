//! The Unix sockets of servers on this machine.
//!
//! Neither a read-only mount nor Landlock refuses to connect to a socket with a path, so those in folders that every
//! sandboxed process may read are hidden from it.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The real paths of the sockets that exist in this network namespace. Source: `/proc/net/unix`.
pub(super) fn of_machine() -> Vec<PathBuf> {
    // A system without the file has no namespaces either.
    paths(&std::fs::read("/proc/net/unix").unwrap_or_default())
}

fn paths(table: &[u8]) -> Vec<PathBuf> {
    let mut folders: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
    let named = table.split(|byte| *byte == b'\n').filter_map(path_of_line);
    let real = named.filter_map(|path| {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let real = folders.entry(folder.to_owned()).or_insert_with(|| folder.canonicalize().ok());
        Some(real.as_ref()?.join(name))
    });
    real.collect()
}

/// The path in the last of eight columns. A name that is no path starts with `@`.
fn path_of_line(line: &[u8]) -> Option<&Path> {
    let mut rest = line;
    for _ in 0..7 {
        let start = rest.iter().position(|byte| *byte != b' ')?;
        let length = rest[start..].iter().position(|byte| *byte == b' ')?;
        rest = &rest[start + length..];
    }
    let path = rest.strip_prefix(b" ")?;
    path.starts_with(b"/").then(|| Path::new(std::ffi::OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_sockets_are_read_with_their_spaces() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let table = format!(
            "Num       RefCount Protocol Flags    Type St Inode Path\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 16381 {0}/a b.sock\n\
             0000000000000000: 00000003 00000000 00000000 0001 03     9\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 16382 @/abstract\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 16383 {0}/missing/c.sock\n",
            root.display()
        );
        assert_eq!(paths(table.as_bytes()), [root.join("a b.sock")]);
    }
}
