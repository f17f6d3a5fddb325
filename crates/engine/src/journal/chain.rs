//! The hash chain over the events of a run, which makes changes to the journal visible.

use super::NewRun;
use kb_base::value::{Digest, Hasher, RunId, Timestamp};

/// Prefix of the first hashed block, so that no digest of another kind can equal a chain digest.
const FORM: &[u8] = b"kb hash chain 1\0";

/// The head of a run's hash chain. The digest of each stored event covers the previous digest, the
/// event's position and its exact text, so one digest represents everything up to that event.
///
/// The first digest covers the data that the run was created with. A writer of the journal can
/// compute a new chain, so the chain proves that nothing changed only to a reader who kept a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    seq: u64,
    head: Digest,
}

impl Chain {
    /// The chain before the first event. It covers the run id, the definition, the start time, the
    /// version of `kb` and the frozen text.
    pub fn begin(
        run: &RunId,
        definition: &str,
        at: Timestamp,
        kb_version: &str,
        frozen: &str,
    ) -> Chain {
        let mut hasher = Hasher::default();
        hasher.update(FORM);
        for text in [run.as_str(), definition, kb_version, frozen] {
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text);
        }
        hasher.update(at.0.to_be_bytes());
        Chain { seq: 0, head: hasher.finish() }
    }

    /// The chain of a new run, whose frozen state has this text.
    pub(super) fn of(new: &NewRun, frozen: &str) -> Chain {
        Chain::begin(&new.run, &new.definition, new.at, env!("CARGO_PKG_VERSION"), frozen)
    }

    /// A chain with a stored head.
    pub fn at(seq: u64, head: Digest) -> Chain {
        Chain { seq, head }
    }

    /// Number of the last event that the chain covers.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Digest of the last event.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Adds the next event by its stored text and returns the new head.
    pub fn add(&mut self, at: Timestamp, epoch: u64, body: &[u8]) -> Digest {
        self.seq += 1;
        // The previous digest and the position fill one block of the hash.
        let mut position = [0; 64];
        position[..32].copy_from_slice(self.head.as_bytes());
        position[32..40].copy_from_slice(&self.seq.to_be_bytes());
        position[40..48].copy_from_slice(&at.0.to_be_bytes());
        position[48..56].copy_from_slice(&epoch.to_be_bytes());
        position[56..].copy_from_slice(&(body.len() as u64).to_be_bytes());
        let mut hasher = Hasher::default();
        hasher.update(position);
        hasher.update(body);
        self.head = hasher.finish();
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain that an older `kb` stored must stay valid.
    #[test]
    fn the_form_never_changes() {
        let run = RunId::new("r1").unwrap();
        let mut chain = Chain::begin(&run, "demo", Timestamp(5), "0.1.0", "{}");
        assert_eq!(
            chain.head().to_string(),
            "92adfebb8bca8a25859cd58b17a2756d0fbea42862dd90b3d780cf52286b345d"
        );
        chain.add(Timestamp(6), 1, b"{\"type\":\"draining\",\"reason\":\"x\"}");
        assert_eq!(
            chain.head().to_string(),
            "b9ffeb8b50ce805fedbc2bdda41060bad740ad8a28ab2aafa8d11d2649e241d5"
        );
        chain.add(Timestamp(6), 1, b"");
        assert_eq!(
            chain.head().to_string(),
            "08e281a6fefde2d81bcc45b439240b1031dbd0ab351693fcd6824252234caeda"
        );
        assert_eq!(chain.seq(), 2);
    }

    #[test]
    fn everything_of_an_event_is_covered() {
        let head = |seq, at, epoch, body: &str| {
            Chain::at(seq, Digest::of("before")).add(Timestamp(at), epoch, body.as_bytes())
        };
        let heads = [
            head(1, 2, 3, "a"),
            head(9, 2, 3, "a"),
            head(1, 9, 3, "a"),
            head(1, 2, 9, "a"),
            head(1, 2, 3, "b"),
        ];
        assert!((1..heads.len()).all(|i| !heads[..i].contains(&heads[i])), "{heads:?}");
    }
}
