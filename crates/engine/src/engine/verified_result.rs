//! [`VerifiedResult`]: a result of an earlier run that the gate of this run judges again.

use kb_core::evidence::CacheHit;
use kb_core::run::KeptResult;
use std::collections::BTreeMap;

/// The results of an earlier run that attempts of this run take, by the name of the instance.
pub type VerifiedResults = BTreeMap<String, VerifiedResult>;

/// A result of an earlier run, with the record of the calls that it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedResult {
    /// The record of the attempt that takes the result.
    pub hit: CacheHit,
    /// The result, as the earlier run recorded it.
    pub result: KeptResult,
}
