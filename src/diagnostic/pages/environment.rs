pages! { TABLE;
    JOURNAL_UNUSABLE = "KB0801", "the journal cannot be used",
        "The journal is the file in which `kb` records what happened in each run. It could not be
opened, read or written, so nothing is started: a step never runs before its start is
recorded.

    the journal file is damaged: file is not a database
    the disk of the journal fails: disk I/O error: `/home/me/.local/state/kb/shop-1a2b3c4d`
    cannot make `/home/me/.local/state/kb/shop-1a2b3c4d`: Permission denied

After a failure of the disk the run stops at once, for a sync that failed is not to be believed
the next time; once the disk works (`dmesg` tells), `kb run resume @last` goes on.

`kb doctor` names the state folder and what is wrong with it. Give yourself the right to
write there, or set `XDG_STATE_HOME` to a folder on a local disk. A damaged journal is left
as it is: move the folder away to begin anew; the runs in it can then no longer be resumed.";
    JOURNAL_FULL = "KB0802", "the disk of the journal is full",
        "There was no room to record what happened next, so the run stopped before doing it: the disk,
a quota, or the largest size that a file may have (`ulimit -f`) is exhausted. What was
recorded until then is whole, and `kb run show` and `kb run events` read it.

    the disk that holds the journal is full: `/home/me/.local/state/kb/shop-1a2b3c4d`

Free some room on the disk of the state folder (`kb doctor` names it), then go on with
`kb run resume @last`. Blobs of old runs in `blobs/` take the most room.";
    JOURNAL_NEWER = "KB0803", "the journal is of a newer kb",
        "A newer `kb` has written this project's journal, in a form that this one does not know. It
was not touched.

    the journal has version 3; this `kb` reads up to 2

Use the newer `kb` (`kb --version` says which one this is), or set `XDG_STATE_HOME` to
another folder to begin with an empty journal.";
    RUN_LEASED = "KB0804", "another process has the run",
        "One process at a time goes on with a run. Another one, which is alive, has it now.

    run `add-feature-20261121-1` has another holder

Watch it with `kb run logs RUN --follow`, or stop it with `kb run cancel RUN`. When that
process ends, in whatever way, the run is free at once; nothing has to be cleaned up.";
    LEASE_LOST = "KB0805", "this process no longer has the run",
        "Another process took the run over, so this one's writes are refused and it stops: two
holders would run the same steps twice.

    this process no longer holds run `add-feature-20261121-1`

It happens after this process was stopped for long, such as in a suspended terminal or
virtual machine. `kb run show RUN` says where the run stands now.";
    NO_SUCH_RUN = "KB0806", "no such run",
        "The text names no run of this project, or several.

    no run `2026-x`
    `add-` names 3 runs

A run is named by its id, by the beginning of its id where that is unique, or by `@last`,
the run that began last. `kb run list` shows all runs of the project.";
    FILE_UNREADABLE = "KB0810", "a file of the project cannot be read",
        "A file or folder that may hold definitions is there and cannot be read. The others are
read all the same.

    cannot read `.kb/playbooks/release.yml`: Permission denied

Give yourself the right to read it (`chmod u+r FILE`), or remove it.";
    LINK_OUT_OF_PROJECT = "KB0811", "a link leads out of the project",
        "A definition is frozen with its run and its path is part of its name, so definitions lie
in the project. This one is a link to something outside and is not read.

    `.kb/agents/shared` leads out of the project, to `/srv/agents`

Copy what it names into the project, or name the file itself on the command line.";
    FILE_EXISTS = "KB0812", "a file is there already",
        "`kb` never overwrites a file that it is asked to make anew.

    `.kb/playbooks/release.yml` is there already

Take another name, or move the file away first.";
}
