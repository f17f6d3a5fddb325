//! Keys of `on:`, the triggers of a playbook.

use super::choice;
use super::table::KeyType::{
    Any, Duration, Expression, Integer, ListOrOne, Map, MapOf, OneOf, Pattern, Text,
};
use super::table::{KeySpec, KeyTable, KeyType, key, table};
use crate::definition::model::{NamedForm, RunEnd, SignatureEncoding};
use crate::schedule::{Keep, Overlap};

pub(crate) static TRIGGERS: KeyTable = table(
    "on",
    "`on`",
    "Triggers of a playbook. A trigger starts runs once a person has enabled it with `kb trigger enable` and while `kb serve` runs.",
    &[TRIGGERS_KEYS],
);

const TRIGGERS_KEYS: &[KeySpec] = &[
    key("schedule", ONE_OR_MORE_SCHEDULES, "Times at which a run starts.").example("\"0 6 * * *\""),
    key("webhook", ListOrOne(const { &Map(&WEBHOOK) }), "HTTP requests that start a run.")
        .example("{secret: GITHUB_HOOK, form: github}"),
    key("file", ONE_OR_MORE_FILES, "New and changed files that start a run.")
        .example("\"inbox/*.csv\""),
    key("message", ONE_OR_MORE_MESSAGES, "Messages of other runs that start a run.")
        .example("orders"),
    key("run", ONE_OR_MORE_RUNS, "Ends of other runs that start a run.").example("build"),
];

const ONE_OR_MORE_SCHEDULES: KeyType =
    ListOrOne(const { &OneOf(const { &[Text, Map(&SCHEDULE)] }) });
const ONE_OR_MORE_FILES: KeyType = ListOrOne(const { &OneOf(const { &[Text, Map(&FILE)] }) });
const ONE_OR_MORE_MESSAGES: KeyType = ListOrOne(const { &OneOf(const { &[Text, Map(&MESSAGE)] }) });
const ONE_OR_MORE_RUNS: KeyType = ListOrOne(const { &OneOf(const { &[Text, Map(&RUN)] }) });

const NAME_PATTERN: &str = "^[a-z][a-z0-9_-]{0,63}$";

const COMMON: &[KeySpec] = &[
    key(
        "name",
        Pattern(NAME_PATTERN),
        "Name of the trigger; needed if the playbook has several of a kind.",
    )
    .default("the kind")
    .example("nightly"),
    key("params", MapOf(&Any), "Parameters of the run with fixed values.")
        .example("{branch: main}"),
    key(
        "pauseAfter",
        Integer(1, 1000),
        "Number of failed runs in a row after which the trigger pauses itself.",
    )
    .default("never")
    .example("3"),
];

/// The key `overlap` with the default of one kind.
const fn overlap(default: &'static str) -> KeySpec {
    key(
        "overlap",
        choice::<Overlap>(),
        "What happens to a start while a run that the trigger started has not ended.",
    )
    .default(default)
}

/// The key `when` of the kinds that react to events.
const fn when(example: &'static str) -> KeySpec {
    key(
        "when",
        Expression,
        "Which events start a run: an expression over `payload`, and for a webhook `headers` (names in lower case).",
    )
    .default("all")
    .example(example)
}

/// The key `payload` with a path into the payload of one kind.
const fn payload(example: &'static str) -> KeySpec {
    key("payload", MapOf(&Text), "Parameters of the run whose values are parts of the payload: a path such as `issue.number`, or a JSON Pointer.")
        .example(example)
}

pub(crate) static SCHEDULE: KeyTable = table(
    "schedule",
    "`schedule`",
    "A schedule. A text is short for `{cron: TEXT}`.",
    &[SCHEDULE_KEYS, COMMON, const { &[payload("{day: date}"), overlap("skip")] }],
);

const SCHEDULE_KEYS: &[KeySpec] = &[
    key("cron", Text, "Minute, hour, day of month, month, day of week (OCPS 1.0), or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.")
        .example("\"30 6 * * MON-FRI\""),
    key("every", Duration, "Time between two starts, instead of `cron`. It is counted from `from`, or from 1970-01-01 in UTC.")
        .example("36h"),
    key("at", ListOrOne(&Text), "Local times, instead of `cron`: each starts one run.")
        .example("\"2027-03-01T09:00\""),
    key("from", Text, "The first local time that counts, or a date.").default("none").example("2027-01-01"),
    key("until", Text, "The last local time that counts, or a date, which counts as a whole.")
        .default("none")
        .example("2027-06-30"),
    key("except", ListOrOne(&Text), "Dates without a start.").default("none").example("[2027-12-25, 2027-12-26]"),
    key("zone", Text, "Time zone, by its IANA name.").default("UTC").example("Europe/Berlin"),
    key("catchUp", Map(&CATCH_UP), "What follows from times that passed while `kb serve` did not run.")
        .example("{window: 6h}"),
    key("jitter", Duration, "Maximum delay of a start; the delay of each time is fixed.")
        .default("none")
        .example("5m"),
];

pub(crate) static CATCH_UP: KeyTable = table(
    "catchUp",
    "`catchUp`",
    "Late starts. A time that is at most 60 s old always counts as on time.",
    &[CATCH_UP_KEYS],
);

const CATCH_UP_KEYS: &[KeySpec] = &[
    key("window", Duration, "How old a time may be to be started late.").required().example("6h"),
    key(
        "keep",
        choice::<Keep>(),
        "`latest` starts one run for all late times, `all` one for each.",
    )
    .default("latest"),
    key("max", Integer(1, 1000), "Maximum number of late starts with `keep: all`.").default("10"),
];

pub(crate) static WEBHOOK: KeyTable = table(
    "webhook",
    "`webhook`",
    "Signed HTTP requests to `/hooks/PATH` of `kb serve`.",
    &[
        WEBHOOK_KEYS,
        COMMON,
        const {
            &[
                payload("{issue: issue.number}"),
                when("\"headers['x-github-event'] == 'push'\""),
                overlap("queueAll"),
            ]
        },
    ],
);

const WEBHOOK_KEYS: &[KeySpec] = &[
    key("path", Pattern(NAME_PATTERN), "Last part of the address.")
        .default("the id of the playbook")
        .example("deploy"),
    key(
        "form",
        OneOf(const { &[choice::<NamedForm>(), Map(&SIGNATURE)] }),
        "How requests are signed: by Standard Webhooks, in the form of a service, or as a map says.",
    )
    .default("standard")
    .example("slack"),
    key(
        "secret",
        ListOrOne(&Text),
        "Names of secrets of the settings that sign requests; two while one replaces the other.",
    )
    .required()
    .example("GITHUB_HOOK"),
];

pub(crate) static SIGNATURE: KeyTable = table(
    "webhookForm",
    "`form` of a webhook",
    "An HMAC with SHA-256 of the body in a header of the request.",
    &[SIGNATURE_KEYS],
);

const SIGNATURE_KEYS: &[KeySpec] = &[
    key("header", Pattern(HEADER_PATTERN), "Name of the header with the signature.")
        .required()
        .example("X-Signature"),
    key("prefix", Text, "What stands before the signature in the header.")
        .default("nothing")
        .example("\"sha256=\""),
    key("encoding", choice::<SignatureEncoding>(), "How the signature is written.")
        .default("hex"),
    key(
        "timestamp",
        Pattern(HEADER_PATTERN),
        "Name of a header with the time in seconds. `TIME.BODY` is signed then, and a request is valid for 5 minutes.",
    )
    .default("the body alone is signed")
    .example("X-Timestamp"),
];

/// The form of the name of a header.
const HEADER_PATTERN: &str = "^[A-Za-z][A-Za-z0-9-]{0,63}$";

pub(crate) static FILE: KeyTable = table(
    "fileTrigger",
    "`file`",
    "Files. A text is short for `{paths: TEXT}`.",
    &[
        FILE_KEYS,
        COMMON,
        const {
            &[
                payload("{file: path}"),
                when("\"payload.path != 'inbox/draft.csv'\""),
                overlap("queueAll"),
            ]
        },
    ],
);

const FILE_KEYS: &[KeySpec] =
    &[key("paths", ListOrOne(&Text), "Globs of paths relative to the project root.")
        .required()
        .example("\"inbox/*.csv\"")];

pub(crate) static MESSAGE: KeyTable = table(
    "message",
    "`message`",
    "Messages of a topic. A text is short for `{topic: TEXT}`.",
    &[
        MESSAGE_KEYS,
        COMMON,
        const {
            &[
                payload("{order: message.id}"),
                when("\"payload.message.total > 100\""),
                overlap("queueAll"),
            ]
        },
    ],
);

const MESSAGE_KEYS: &[KeySpec] =
    &[key("topic", Pattern(TOPIC_PATTERN), "The topic.").required().example("orders")];

/// The form of a topic of messages.
pub(crate) const TOPIC_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$";

pub(crate) static RUN: KeyTable = table(
    "runTrigger",
    "`run`",
    "Ends of runs of another playbook. A text is short for `{playbook: TEXT}`.",
    &[
        RUN_KEYS,
        COMMON,
        const {
            &[
                payload("{text: outputs.text}"),
                when("\"payload.outputs.failed == 0\""),
                overlap("queueAll"),
            ]
        },
    ],
);

const RUN_KEYS: &[KeySpec] = &[
    key("playbook", Text, "Id of the playbook whose runs count.").required().example("build"),
    key("status", ListOrOne(const { &choice::<RunEnd>() }), "Which ends count.")
        .default("succeeded"),
];
