pages! { TABLE;
    CHAIN_BROKEN = "KB0861", "the hash chain of a run does not hold",
        "Each event of a run is stored with a digest over the digest before it, its number, its
time, its holder's epoch and its exact text; the first covers what the run was begun with.
`kb run verify` computed them again and found others.

    event 17 is not what was recorded there
    the events from 40 on were cut off

Somebody or something changed the journal after the run: a program, a damaged disk, a restored
backup. What stands before the first such event is as it was recorded. The chain does not say
what was there; compare with a backup, or with events that were kept (`--json`).

Who can write the journal can compute the whole chain anew. Keep the `traceHead` of `run:end`
elsewhere, and check with `kb run verify RUN --head DIGEST`.";
    BLOB_DAMAGED = "KB0862", "a blob of a run is missing or altered",
        "Large outputs lie in files named by their digest, in `blobs/` of the state folder. One that
the run refers to is not there, cannot be read, or has another content.

    blob `…/blobs/ab/cdef…` is missing (event 12 refers to it)

Restore the file from a backup: its name says what its content must be. Without it the run can
still be looked at; what was in the blob cannot.";
    VERDICT_DIFFERS = "KB0863", "a verdict is not what its observations give",
        "A gate's verdict is a pure function of what was recorded: the calls, the output, the checks
with their values, and what was seen on disk. `kb run verify` computed it again.

    the verdict on `build` is recorded as passed, and what was observed gives failed: …

Either the record was changed (then the hash chain does not hold either), or this `kb` judges
otherwise than the one that ran; `run:start` in `kb run events RUN` says which that was.";
    NO_CHAIN = "KB0864", "a run without a hash chain",
        "The run was recorded by a `kb` that kept no hash chain, or the chain was taken out of the
journal. Its blobs and verdicts are checked all the same; whether its events are as they were
recorded cannot be told.

A new run has a chain from its first event on.";
    RECORD_INCONSISTENT = "KB0865", "the record of a run contradicts itself",
        "Something that is stored of the run twice is not the same in both places, or cannot be
read: what it froze and the digest of it in its first event, or how it is listed and what its
events say.

    the run is listed as succeeded, and by its events it is failed

The journal was changed by something other than `kb`. The events are what counts, as far as the
hash chain holds.";
}
