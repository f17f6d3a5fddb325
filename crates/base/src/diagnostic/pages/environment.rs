//! Pages of `KB080x` and `KB081x`: the journal, leases, and files of the project.

pages! { TABLE;
    JOURNAL_UNUSABLE = "KB0801", "journal cannot be used",
r#"The journal is the database in which `kb` records runs. It could not be opened, read or written, so
nothing was started: every step is recorded before it runs.

    the journal file is damaged: file is not a database
    I/O error of the journal: disk I/O error: `/home/me/.local/state/kb/shop-1a2b3c4d`
    cannot make `/home/me/.local/state/kb/shop-1a2b3c4d`: Permission denied

After a disk error the run stops at once, because the result of a later sync cannot be trusted. Fix the
disk (`dmesg` shows its errors), then run `kb run resume @last`.

If a step or another program removes or replaces the journal while a run uses it, the run stops at the next
event, because nothing that it records from then on would be kept.

    the journal was removed or replaced during the run: `/home/me/.local/state/kb/shop-1a2b3c4d/journal.sqlite3`

`kb doctor` names the state folder and the problem. Make the folder writable, or set `XDG_STATE_HOME` to
a folder on a local disk. A damaged journal is never modified: move the folder away to start with an
empty one; the runs in it can then no longer be resumed."#;

    JOURNAL_FULL = "KB0802", "disk of the journal is full",
r#"There was no space to record the next event, so the run stopped before the step: the disk, a quota or
the file size limit (`ulimit -f`) is exhausted. Everything recorded before is intact and can be read with
`kb run show` and `kb run events`.

    the disk of the journal is full: `/home/me/.local/state/kb/shop-1a2b3c4d`

Free space on the disk of the state folder (`kb doctor` names it), then run `kb run resume @last`. The
largest part is usually `blobs/` of old runs."#;

    JOURNAL_NEWER = "KB0803", "journal was written by a newer kb",
r#"The journal of this project has a newer format than this `kb` can read. It was not modified.

    the journal has version 3; this `kb` reads up to 2

Use the newer `kb` (`kb --version` shows the version), or set `XDG_STATE_HOME` to another folder to start
with an empty journal."#;

    RUN_LEASED = "KB0804", "run is leased by another process",
r#"A run is driven by one process at a time, the lease owner. Another live process has the lease.

    run `add-feature-20261121-1` is leased by another process

Watch the run with `kb run logs RUN --follow`, or stop it with `kb run cancel RUN`. When the lease owner
ends, for whatever reason, the lease is released at once; no cleanup is needed."#;

    LEASE_LOST = "KB0805", "lease was lost to another process",
r#"Another process has taken over the run, so writes of this process are refused and it stops. Otherwise
two processes would run the same steps.

    this process no longer owns the lease of run `add-feature-20261121-1`

This happens after the process was suspended for a long time, for example in a suspended virtual machine.
`kb run show RUN` shows the current state of the run."#;

    NO_SUCH_RUN = "KB0806", "unknown run",
r#"The argument names no run of this project, or several.

    no run `2026-x`
    `add-` names 3 runs

A run is named by its id, by a unique prefix of its id, or by `@last`, the run that was started last.
`kb run list` shows the runs of the project."#;

    JOURNAL_LOCKED = "KB0807", "journal is locked by another process",
r#"SQLite lets one process write at a time. `kb` waits up to 15 seconds for the others, which hold the journal for
milliseconds. Another program, such as a backup, a database browser or a process that was stopped (`Ctrl-Z`), has kept it
locked for longer. Nothing that was recorded is lost.

    another process has locked the journal

`fuser journal.sqlite3` in the state folder names the process (`kb doctor` prints the folder). End it, then repeat the
command, or continue a run that has started with `kb run resume @last`. `kb serve` tries such a start again by itself.
`kb backup` copies the journal without locking it."#;

    FILE_UNREADABLE = "KB0810", "file of the project cannot be read",
r#"A file or folder that can contain definitions exists but cannot be read. The other files are read.

    cannot read `.kb/playbooks/release.yml`: Permission denied

Make it readable (`chmod u+r FILE`), or delete it."#;

    LINK_OUT_OF_PROJECT = "KB0811", "symbolic link out of the project",
r#"Definitions must be inside the project, because they are frozen with each run and identified by their
path. This one is a symbolic link to a path outside and was not read.

    `.kb/agents/shared` is a link to `/srv/agents`, outside the project

Copy the target into the project, or name the file on the command line."#;

    FILE_EXISTS = "KB0812", "file already exists",
r#"`kb` does not overwrite an existing file when it creates a definition.

    `.kb/playbooks/release.yml` is there already

Choose another name, or move the file."#;
}
