//! Pages of `KB086x`: what `kb run verify` finds in the record of a run.

pages! { TABLE;
    CHAIN_BROKEN = "KB0861", "hash chain of a run is broken",
r#"Each event is stored with a digest over the previous digest, the number of the event, its time, the
epoch of the lease and its exact text. The first digest covers the frozen inputs of the run. `kb run
verify` recomputed the digests and found others:

    event 17 is not what was recorded there
    the events from 40 on were cut off

The journal was changed after the run, by a program, a damaged disk or a restored backup. Events before
the first broken one are unchanged. The chain cannot restore the original text: compare with a backup,
or with exported events (`kb run events --json`).

A person who can write the journal can also recompute the whole chain. Keep the `traceHead` of
`run:end` elsewhere and check with `kb run verify RUN --head DIGEST`."#;

    BLOB_DAMAGED = "KB0862", "blob of a run is missing or altered",
r#"Large values are files named by their digest, in `blobs/` of the state folder. One that the run
refers to is missing, cannot be read, or has other content:

    blob `…/blobs/ab/cdef…` is missing (event 12 refers to it)

Restore the file from a backup: its name is the digest of its content. Without it the run can still be
inspected, except for this value."#;

    VERDICT_DIFFERS = "KB0863", "verdict does not follow from its observations",
r#"The verdict of a gate is computed from recorded data alone: the tool calls, the output, the checks
with their values, and the observations of the disk. `kb run verify` computed it again and got another
verdict:

    the verdict on `build` is recorded as passed, and what was observed gives failed: …

Either the record was changed (then the hash chain is broken as well), or the run was made by a version
of `kb` with other rules. `run:start` in `kb run events RUN` names that version."#;

    NO_CHAIN = "KB0864", "run without a hash chain",
r#"The run was recorded by a version of `kb` without hash chains, or the chain was removed from the
journal. Blobs and verdicts are checked, but changes to the events cannot be detected.

New runs have a chain from their first event."#;

    RECORD_INCONSISTENT = "KB0865", "record of a run contradicts itself",
r#"Some data of a run is stored twice, and the two copies differ or cannot be read: the frozen inputs
and their digest in the first event, or the status in the list of runs and in the events.

    the run is listed as succeeded, and by its events it is failed

A program other than `kb` changed the journal. The events are authoritative as far as the hash chain is
intact."#;
}
