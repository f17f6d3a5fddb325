//! Keys of `serve:` of the settings.

use super::table::KeyType::{Integer, ListOrOne, Map, MapOf, OneOf, Pattern, Text};
use super::table::{KeySpec, KeyTable, key, table};

pub(crate) static SERVE: KeyTable =
    table("serveSettings", "`serve`", "The daemon `kb serve`.", &[SERVE_KEYS]);

const SERVE_KEYS: &[KeySpec] = &[
    key(
        "maxRuns",
        Integer(1, 10_000),
        "Maximum number of runs that triggers and the API keep running; further starts wait.",
    )
    .default("number of processors, at least 2"),
    key(
        "projects",
        ListOrOne(&Text),
        "Further projects that a `kb serve` of this project serves, relative to the project root; `~/` is the home directory.",
    )
    .example("[../website, ~/reports]"),
    key(
        "queues",
        MapOf(const { &Map(&QUEUE) }),
        "Named queues: playbooks whose runs share a limit and a priority.",
    )
    .example("{deploy: {playbooks: [deploy, migrate], maxRuns: 1}}"),
    key(
        "userHeader",
        Pattern("^[A-Za-z0-9-]+$"),
        "Header with the name of the person, which a proxy on this machine sets.",
    )
    .example("X-Forwarded-User"),
    key(
        "url",
        Pattern("^https?://.+"),
        "Address of the pages for the links of notifications, as people reach it.",
    )
    .default("the address that `kb serve` listens on")
    .example("https://kb.example.org"),
    key(
        "traces",
        OneOf(const { &[Text, Map(&TRACES)] }),
        "Sends the trace of each run that has ended to a collector. A text is short for `{endpoint: TEXT}`.",
    )
    .example("{endpoint: \"http://127.0.0.1:4318\"}"),
];

pub(crate) static QUEUE: KeyTable = table(
    "queueSettings",
    "a queue of `serve`",
    "Playbooks whose runs share a limit and a priority.",
    &[QUEUE_KEYS],
);

const QUEUE_KEYS: &[KeySpec] = &[
    key("playbooks", ListOrOne(&Text), "Ids of the playbooks; a playbook is in at most one queue.")
        .required()
        .example("[deploy, migrate]"),
    key(
        "maxRuns",
        Integer(1, 10_000),
        "Maximum number of runs of these playbooks that have started and not ended; further starts wait.",
    )
    .default("`maxRuns` of `serve`")
    .example("1"),
    key(
        "priority",
        Integer(0, 1000),
        "Of waiting starts, those with the highest priority are next. Playbooks without a queue have 100.",
    )
    .default("100")
    .example("200"),
];

pub(crate) static TRACES: KeyTable = table(
    "traceSettings",
    "`traces` of `serve`",
    "Export of traces as OTLP/JSON over HTTP.",
    &[TRACES_KEYS],
);

const TRACES_KEYS: &[KeySpec] = &[
    key(
        "endpoint",
        Pattern("^(https?://|env:|file:).+"),
        "Address of the collector, or a reference to it: `env:NAME` or `file:PATH`. `/v1/traces` is added if it is missing.",
    )
    .required()
    .example("http://127.0.0.1:4318"),
    key("headers", MapOf(&Text), "Headers of each request; `env:NAME` and `file:PATH` are references.")
        .example("{authorization: env:OTLP_AUTHORIZATION}"),
    key("service", Text, "The attribute `service.name` of all spans.").default("kb").example("kb-ci"),
];
