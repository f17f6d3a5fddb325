use super::NewRun;
use crate::value::{Digest, Hasher, RunId, Timestamp};

/// Begins every digest of this form, so that none of another kind can be taken for it.
const FORM: &[u8] = b"kb hash chain 1\0";

/// The head of a run's hash chain. Each stored event's digest covers the digest before it, the
/// event's place and its exact text, so that one digest stands for everything up to there.
///
/// The first link covers what the run was begun with. Whoever can write the journal can compute all
/// of it anew: the chain proves that nothing was changed only to someone who has kept a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    seq: u64,
    head: Digest,
}

impl Chain {
    /// Before the first event: the run's id, its definition, its beginning, the `kb` that began it
    /// and the text of everything frozen.
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

    /// Of a run that is about to begin, whose frozen state has this text.
    pub(super) fn of(new: &NewRun, frozen: &str) -> Chain {
        Chain::begin(&new.run, &new.definition, new.at, env!("CARGO_PKG_VERSION"), frozen)
    }

    /// As it was stored.
    pub fn at(seq: u64, head: Digest) -> Chain {
        Chain { seq, head }
    }

    /// The number of the last event that it covers.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Its head.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Takes the next event in, as the text that is stored; its digest is the new head.
    pub fn add(&mut self, at: Timestamp, epoch: u64, body: &[u8]) -> Digest {
        self.seq += 1;
        // With the digest before it, the place fills one block of the hash.
        let mut place = [0; 64];
        place[..32].copy_from_slice(self.head.as_bytes());
        place[32..40].copy_from_slice(&self.seq.to_be_bytes());
        place[40..48].copy_from_slice(&at.0.to_be_bytes());
        place[48..56].copy_from_slice(&epoch.to_be_bytes());
        place[56..].copy_from_slice(&(body.len() as u64).to_be_bytes());
        let mut hasher = Hasher::default();
        hasher.update(place);
        hasher.update(body);
        self.head = hasher.finish();
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written down once: a chain that an older `kb` has stored must hold for all time.
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
