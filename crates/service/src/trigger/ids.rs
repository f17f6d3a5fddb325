//! Ids of triggers and of the runs that they start, and the digest of what a trigger runs.

use kb_base::value::{Digest, RunId, Timestamp};

/// The id of a trigger: `PLAYBOOK.NAME`.
pub fn trigger_id(playbook: &str, name: &str) -> String {
    format!("{playbook}.{name}")
}

/// The key of a fire for a nominal time.
pub fn schedule_key(nominal: Timestamp) -> String {
    nominal.0.to_string()
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
