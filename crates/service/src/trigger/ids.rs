//! Ids of triggers and of the runs that they start, and the digest of what a trigger runs.

use kb_base::value::{Digest, RunId, Timestamp};

/// The id of a trigger: `PLAYBOOK.NAME`.
pub fn trigger_id(playbook: &str, name: &str) -> String {
    format!("{playbook}.{name}")
}

/// The id of the playbook of a trigger with this id.
pub fn playbook_of(trigger: &str) -> &str {
    trigger.split('.').next().unwrap_or(trigger)
}

/// The key of a fire for a nominal time.
pub fn schedule_key(nominal: Timestamp) -> String {
    nominal.0.to_string()
}

/// A content of a path for which a file trigger fired. Its key has a number, so that a path fires again when it
/// returns to an earlier content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FiredFile {
    /// Number of the fire of this path, from 1.
    pub number: u32,
    /// Digest of the content.
    pub digest: Digest,
}

impl FiredFile {
    /// The key of the fire.
    pub fn key(&self, path: &str) -> String {
        format!("{}{:010}:{}", FiredFile::keys(path).0, self.number, self.digest)
    }

    /// The start of all keys of a path, and the first text after them. A path has no empty part.
    pub(super) fn keys(path: &str) -> (String, String) {
        (format!("file:{path}//"), format!("file:{path}/0"))
    }

    /// Reads the rest of a key after its start.
    pub(super) fn parse(rest: &str) -> Option<FiredFile> {
        let (number, digest) = rest.split_once(':')?;
        Some(FiredFile { number: number.parse().ok()?, digest: Digest::from_hex(digest)? })
    }
}

/// The id of the run that a trigger starts for a key. The same for every process, so that the journal
/// refuses a second run for the same key.
pub fn run_id(trigger: &str, key: &str) -> RunId {
    const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let digest = Digest::of(format!("{trigger}\n{key}"));
    let bytes = digest.as_bytes();
    let text: String = bytes[1..15].iter().map(|b| LETTERS[usize::from(b % 32)] as char).collect();
    RunId::new(format!("r{}{text}", bytes[0] % 10)).expect("letters and digits are a run id")
}

/// The digest of everything that a run of a playbook executes: the digests and paths of its own file, of those of its
/// specialists and child runs, and of their task files. An enabled trigger is enabled for one digest.
pub fn definition_digest<'p>(files: impl IntoIterator<Item = (Digest, &'p str)>) -> Digest {
    let part = |(digest, path)| format!("{digest} {path}\n");
    let mut parts: Vec<String> = files.into_iter().map(part).collect();
    parts.sort();
    Digest::of(parts.concat())
}
