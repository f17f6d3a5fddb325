//! An optional time without the memory of an `Option`.

use kb_base::value::Timestamp;

/// An optional time in 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OptionalTime(i64);

impl OptionalTime {
    pub(super) const NONE: OptionalTime = OptionalTime(i64::MIN);

    pub(super) fn at(at: Timestamp) -> OptionalTime {
        OptionalTime(at.0)
    }

    pub(super) fn get(self) -> Option<Timestamp> {
        (self != OptionalTime::NONE).then_some(Timestamp(self.0))
    }
}
