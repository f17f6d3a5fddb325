//! Pages of `KB10xx`: triggers and `kb serve`.

pages! { TABLE;
    BAD_TRIGGER = "KB1001", "invalid trigger",
r#"A trigger below `on:` cannot work as it is written: two triggers have the same name, a webhook names a
secret that the settings do not declare, or a trigger refers to a playbook that does not exist. The message
names the problem.

Wrong:

    on:
      schedule: ["0 6 * * *", "0 18 * * *"]

Fixed:

    on:
      schedule:
        - {name: morning, cron: "0 6 * * *"}
        - {name: evening, cron: "0 18 * * *"}"#;

    BAD_CRON = "KB1002", "invalid cron expression",
r#"A cron expression has five fields: minute, hour, day of month, month, day of week. A field is `*`, a
value, a range `1-5`, a range or `*` with a step (`*/15`, `8-18/2`), or a list of these. Months and weekdays
have names (`JAN`, `MON`), `L` is the last day of a month, `MON#2` the second Monday of a month, and `FRI#L`
the last Friday. `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly` stand for whole expressions.

`kb` is strict where other programs guess: it refuses steps that match one value only (`*/60`), steps without
a range (`5/15`), ranges that end before they start (`22-5`), fields of seconds or years, and dates that never
come (30 February).

Wrong:

    on: {schedule: "*/60 * * * *"}
    on: {schedule: "0 0 6 * * *"}

Fixed:

    on: {schedule: "0 * * * *"}
    on: {schedule: "0 6 * * *"}

`kb trigger next ID` shows the next times of a schedule."#;

    BAD_ZONE = "KB1003", "unknown time zone",
r#"`zone` is the IANA name of a time zone, spelled as in the time zone database: `Europe/Berlin`,
`America/New_York`, `UTC`. Abbreviations such as `CET` name rules that differ from those of a place and names
without a region are not accepted. The database is part of `kb`, so a schedule means the same on every machine.

Wrong:

    on: {schedule: {cron: "0 6 * * *", zone: Berlin}}

Fixed:

    on: {schedule: {cron: "0 6 * * *", zone: Europe/Berlin}}"#;

    TRIGGER_PARAM = "KB1004", "invalid parameter of a trigger",
r#"A trigger starts runs without a person, so it must give every required parameter a value: a fixed one
below `params`, or a part of the payload below `payload`. The message names a parameter that is missing, not
declared, or has a value of another type, or a path that the payload of the trigger never has: that of a
schedule has `nominal`, `local` and `date`. A secret cannot come from a payload, because the sender could name
any variable or file.

Wrong:

    params: [{name: branch, required: true}]
    on: {schedule: "0 6 * * *"}

Fixed:

    params: [{name: branch, required: true}]
    on: {schedule: {cron: "0 6 * * *", params: {branch: main}}}"#;

    TRIGGER_CYCLE = "KB1005", "playbooks trigger each other in a circle",
r#"The ends of runs start runs of other playbooks, and one of them starts the first again. Such runs would
never end, so none of these playbooks is loaded.

Wrong:

    # build.yml
    id: build
    on: {run: report}

    # report.yml
    id: report
    on: {run: build}

Remove one of the triggers. Runs that belong together can be steps of one playbook (`playbook:`)."#;

    TRIGGER_REFUSED = "KB1011", "trigger cannot do this now",
r#"The command does not fit the state of the trigger. A trigger starts runs only after a person has enabled
its definition, and every change of the definition must be enabled again: neither an edit nor a `git pull`
schedules anything by itself.

    kb trigger list               # shows the state of every trigger
    kb trigger enable nightly     # enables the definition as it is now
    kb trigger resume nightly     # ends a pause

The message says what else is possible."#;

    PAYLOAD = "KB1012", "payload does not fit the trigger",
r#"A payload starts a run only if every declared path exists in it and the values have the types of the
parameters. Nothing was started.

    kb trigger test deploy --payload event.json

shows what would start, without starting it."#;

    DAEMON_RUNNING = "KB1013", "kb serve is already running",
r#"Another `kb serve` has the lease of this project's state folder. Two would start runs twice.

    `kb serve` is already running for `/home/me/shop` (process 4711)

Use the running one, or stop it (`kill 4711`); runs that it started continue."#;

    RUN_OF_FIRE = "KB1014", "run of a trigger cannot start",
r#"`kb serve` starts each run as a process of its own. This process found that the start is not valid any
more: the definition was changed after it was enabled, or the run exists already. The trigger lists the start
as skipped.

    kb trigger show nightly
    kb trigger enable nightly     # after a change that is intended"#;

    NOTIFY_FAILED = "KB1016", "notification was not delivered",
r#"A hook of `notify` in the settings did not get the notification: its address did not respond with a status
of 200 to 299, its program did not end with exit code 0, or its playbook cannot start. The message names the
reason. `kb serve` tries again after 5 s, 30 s, 5 min, 30 min, 2 h, 5 h and 10 h, and then gives the
notification up; redirects and the status 410 end the attempts at once.

    kb notify                 # the notifications, and why an attempt failed
    kb notify --test on-call  # sends a test notification

Wrong:

    notify: {webhook: {url: "http://hooks.example.com/kb"}}    # redirects to https

Fixed:

    notify: {webhook: {url: "https://hooks.example.com/kb"}}"#;
}
