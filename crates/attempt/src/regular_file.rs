//! Opens files that others may have replaced: a pipe or a device in place of a file never waits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading. A folder, pipe, socket or device is an error of the kind
/// [`InvalidInput`](io::ErrorKind::InvalidInput), also if it takes the place of the file at this moment: the call does
/// not wait for a writer.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |found: fs::Metadata| {
        if found.is_file() {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
        }
    };
    // Before it is opened: opening some devices has an effect.
    regular(fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// The content of a regular file of at most `most` bytes. A larger one is an error of the kind
/// [`FileTooLarge`](io::ErrorKind::FileTooLarge).
pub fn read_regular(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() <= most {
        Ok(bytes)
    } else {
        Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")))
    }
}
