//! The ids of child runs.

use kb_base::value::{Digest, RunId};

/// The id of a child run that is started at this place: it depends on the place alone, so that a resumed parent finds
/// the child run.
pub fn child_run_id(place: &str) -> RunId {
    const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let digest = Digest::of(place);
    let bytes = digest.as_bytes();
    let text: String = bytes[1..11].iter().map(|b| LETTERS[usize::from(b % 32)] as char).collect();
    RunId::new(format!("r{}{text}", bytes[0] % 10)).expect("letters and digits are a run id")
}
