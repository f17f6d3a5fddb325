//! Keys of the maps inside a step.

use super::choices::{BACKOFF_NAMES, ON_TIMEOUT_NAMES, OUTCOME_PATTERN, RECOVERY_ACTION_NAMES};
use super::table::KeyType::{
    Any, Choice, Duration, Expression, Integer, ListOrOne, MapOf, Pattern, ScalarTemplate, Schema,
    Template, Text,
};
use super::table::{KeySpec, KeyTable, key, table};

pub(crate) static HTTP: KeyTable =
    table("http", "`http`", "The request of an `http` step.", &[HTTP_KEYS]);

const HTTP_KEYS: &[KeySpec] = &[
    key("method", Text, "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.").default("GET"),
    key("url", Template, "URL; scheme and host are literal.")
        .required()
        .example("\"https://example.org/items/{{id}}\""),
    key("headers", MapOf(&ScalarTemplate), "Request headers.")
        .example("{Authorization: \"Bearer {{secrets.TOKEN}}\"}"),
    key("query", MapOf(&Any), "Query parameters.").example("{page: 1}"),
    key("body", Any, "Request body; text is sent as it is, other values as JSON."),
    key("expect", ListOrOne(&Integer(100, 599)), "Statuses that count as success.")
        .default("200–299")
        .example("[200, 404]"),
];

pub(crate) static ASK: KeyTable =
    table("ask", "`ask`", "The question of an `ask` step.", &[ASK_KEYS]);

const ASK_KEYS: &[KeySpec] = &[
    key("question", Template, "Text of the question.").required().example("\"Which version?\""),
    key("options", ListOrOne(&Text), "The accepted answers.")
        .default("any")
        .example("[stable, beta]"),
    key("schema", Schema, "Schema of the answer; not together with `options`.")
        .default("text")
        .example("integer"),
    key("default", Any, "Answer that an empty reply or the timeout stands for.").example("stable"),
    key("timeout", Duration, "How long the question waits; needs a `default`.").example("1h"),
];

pub(crate) static APPROVE: KeyTable =
    table("approve", "`approve`", "The request of an `approve` step.", &[APPROVE_KEYS]);

const APPROVE_KEYS: &[KeySpec] = &[
    key("message", Template, "What is to be approved.").required().example("\"Deploy?\""),
    key("timeout", Duration, "How long the request waits.").default("unlimited").example("1h"),
    key(
        "onTimeout",
        Choice(ON_TIMEOUT_NAMES),
        "What follows when the time limit has passed; needs a `timeout`.",
    )
    .default("fail"),
];

pub(crate) static WAIT: KeyTable = table("wait", "`wait`", "A moment to wait for.", &[WAIT_KEYS]);

const WAIT_KEYS: &[KeySpec] =
    &[key("until", Template, "Time in RFC 3339.").required().example("\"2026-11-23T09:00:00Z\"")];

pub(crate) static TIMEOUT: KeyTable =
    table("timeout", "`timeout`", "Time limits of one attempt.", &[TIMEOUT_KEYS]);

const TIMEOUT_KEYS: &[KeySpec] = &[
    key("attempt", Duration, "Limit of the whole attempt.").example("10m"),
    key("idle", Duration, "Limit without any output, tool call or token.").example("60s"),
];

pub(crate) static RETRY: KeyTable =
    table("retry", "`retry`", "The retry policy of a step.", &[RETRY_MAX, ON, DELAYS]);

const RETRY_MAX: &[KeySpec] =
    &[key("max", Integer(0, 1000), "Maximum number of retries.").required().example("2")];

const ON: &[KeySpec] = &[key("on", OUTCOMES, "Outcomes that are retried.")
    .default("`[transient, timeout]`, for `run` also `exit`")
    .example("[transient, \"exit:75\"]")];

const OUTCOMES: super::KeyType = ListOrOne(&Pattern(OUTCOME_PATTERN));

const DELAYS: &[KeySpec] = &[
    key("backoff", Choice(BACKOFF_NAMES), "How the delay grows from one retry to the next.")
        .default("exponential"),
    key("initial", Duration, "Delay before the first retry.").default("1s"),
    key("maxDelay", Duration, "Maximum delay.").default("60s"),
];

pub(crate) static RECOVERY: KeyTable = table(
    "recovery",
    "a row of `recovery`",
    "One rule of the recovery table. The first rule that matches the outcome and has attempts left applies.",
    &[RECOVERY_KEYS, DELAYS],
);

const RECOVERY_KEYS: &[KeySpec] = &[
    key("on", OUTCOMES, "Outcomes that the rule applies to; `*` is any.")
        .required()
        .example("[transient, timeout]"),
    key("do", Choice(RECOVERY_ACTION_NAMES), "What follows the outcome.")
        .required()
        .example("retry"),
    key("max", Integer(0, 1000), "How often the rule applies.")
        .default("1; 1000 for `askUser`")
        .example("2"),
    key("to", Text, "Id of the specialist for `switchSpecialist`.").example("senior"),
];

pub(crate) static LOOP: KeyTable = table("loop", "`loop`", "Passes of a step.", &[LOOP_KEYS]);

const LOOP_KEYS: &[KeySpec] = &[
    key("until", Expression, "The loop ends when this is true after a successful pass.")
        .required()
        .example("\"{{review.output.done}}\""),
    key("max", Integer(1, 1000), "Maximum number of passes.").default("10"),
    key("backoff", Choice(BACKOFF_NAMES), "How the delay grows from one pass to the next.")
        .default("fixed"),
    key("initial", Duration, "Delay before the second pass.").default("none; 1s with `backoff`"),
    key("maxDelay", Duration, "Maximum delay.").default("60s"),
];

pub(crate) static STEP_OUTPUT: KeyTable =
    table("output", "`output`", "The output of a step.", &[STEP_OUTPUT_KEYS]);

const STEP_OUTPUT_KEYS: &[KeySpec] =
    &[key("schema", Schema, "Schema that the output must satisfy.")
        .example("{files: \"string[]\"}")];
