//! Keys of `verify`. The keys of a check are beside its decoder, in `gate_check`.

use super::choice;
use super::table::KeyType::{Boolean, Integer, List, Map, Text};
use super::table::{KeySpec, KeyTable, key, table};
use crate::definition::gate_check::CHECK;
use crate::definition::model::{ClaimPolicy, FailurePolicy, InconclusivePolicy};

pub(crate) static VERIFY: KeyTable =
    table("verify", "`verify`", "The gate of a step.", &[VERIFY_KEYS]);

const VERIFY_KEYS: &[KeySpec] = &[
    key(
        "claims",
        choice::<ClaimPolicy>(),
        "How strictly claims in the output are compared with the evidence.",
    )
    .default("`strict` for specialists, else `none`"),
    key(
        "expectChanges",
        Boolean,
        "Whether the step is there to change files: no claim and no change then fails the gate.",
    )
    .default("`true` for specialists with a writing tool"),
    key(
        "commentary",
        List(&Text),
        "Keys of the output whose texts comment on the work: what no check reads there leaves the verdict as it is.",
    )
    .example("[summary]"),
    key("checks", List(const { &Map(&CHECK) }), "The checks, in order.")
        .example("[{file: out.txt}]"),
    key("onFailed", choice::<FailurePolicy>(), "What follows a `failed` verdict.")
        .default("`rework` for specialists, else `fail`"),
    key("onInconclusive", choice::<InconclusivePolicy>(), "What follows an `inconclusive` verdict.")
        .default("`verifier.inconclusivePolicy` of the settings, else `warn`"),
    key("onUnchecked", choice::<InconclusivePolicy>(), "What follows an `unchecked` verdict.")
        .default("`verifier.uncheckedPolicy` of the settings, else `warn`"),
    key(
        "maxReworks",
        Integer(0, 100),
        "Maximum number of reworks or retries that `onFailed` starts.",
    )
    .default("2"),
];
