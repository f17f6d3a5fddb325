//! Reads the content of a file once: its digest and, for small files, its bytes.

use kb_base::value::{Digest, Hasher};
use rustix::fd::AsFd;
use std::io::{self, Read};

/// Files of up to this many bytes are kept in memory when they are read.
pub(super) const SMALL: u64 = 64 << 10;
/// Files of less than so many bytes are read in one step.
const USUAL: usize = 8 << 10;
/// Larger files are not hashed: they are compared by their stat data only.
pub(super) const MAX_HASHED: u64 = 256 << 20;

/// The content of a file, read once.
pub(super) struct Content {
    /// `None` for files larger than [`MAX_HASHED`].
    pub(super) sha256: Option<Digest>,
    /// All bytes of a file of at most [`SMALL`] bytes. The size that stat reported is not used,
    /// because the file may have grown since.
    pub(super) small: Option<Vec<u8>>,
}

impl Content {
    /// Reads a file to its end and keeps at most [`SMALL`] bytes of it.
    pub(super) fn of(mut file: impl Read) -> io::Result<Content> {
        // An empty buffer would grow in steps, each with a read of its own.
        let mut begin = Vec::with_capacity(USUAL);
        file.by_ref().take(SMALL + 1).read_to_end(&mut begin)?;
        if begin.len() as u64 <= SMALL {
            return Ok(Content { sha256: Some(Digest::of(&begin)), small: Some(begin) });
        }
        let mut hasher = Hasher::default();
        hasher.update(&begin);
        let mut size = begin.len() as u64;
        // The buffer is reused; the bytes in it are already hashed.
        while size <= MAX_HASHED {
            match file.read(&mut begin) {
                Ok(0) => return Ok(Content { sha256: Some(hasher.finish()), small: None }),
                Ok(n) => {
                    hasher.update(&begin[..n]);
                    size += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Content { sha256: None, small: None })
    }
}

/// The digest of the target of a link.
pub(super) fn link_digest(folder: impl AsFd, name: impl rustix::path::Arg) -> Option<Digest> {
    let target = rustix::fs::readlinkat(folder, name, Vec::new()).ok()?;
    Some(Digest::of(target.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{Content, SMALL};
    use kb_base::value::Digest;

    /// A reader that returns few bytes at a time.
    struct Slow<'b>(&'b [u8]);

    impl std::io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let few = buffer.len().min(1_000).min(self.0.len());
            let (now, rest) = self.0.split_at(few);
            buffer[..few].copy_from_slice(now);
            self.0 = rest;
            Ok(few)
        }
    }

    #[test]
    fn every_byte_is_hashed_and_only_small_contents_are_kept() {
        for (len, kept) in [(0, true), (SMALL, true), (SMALL + 1, false), (5 * SMALL + 7, false)] {
            let bytes: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            let content = Content::of(Slow(&bytes)).unwrap();
            assert_eq!(content.sha256, Some(Digest::of(&bytes)), "{len}");
            assert_eq!(content.small, kept.then_some(bytes), "{len}");
        }
    }

    #[test]
    fn an_endless_file_is_not_hashed() {
        let content = Content::of(std::io::repeat(0)).unwrap();
        assert!(content.sha256.is_none() && content.small.is_none());
    }
}
