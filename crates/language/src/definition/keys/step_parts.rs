//! Keys of the maps inside a step.

use super::choice;
use super::choice_tables::{OUTCOME_PATTERN, RECOVERY_ACTION_NAMES};
use super::table::KeyType::{
    Choice, Duration, Expression, Integer, List, ListOrOne, Map, OneOf, Pattern, Schema, Steps,
    Text,
};
use super::table::{KeySpec, KeyTable, key, table};
use crate::definition::gate_check::CHECK;
use crate::definition::model::Backoff;

pub(crate) static RETRY: KeyTable =
    table("retry", "`retry`", "The retry policy of a step.", &[RETRY_MAX, ON, DELAYS]);

const RETRY_MAX: &[KeySpec] =
    &[key("max", Integer(0, 1000), "Maximum number of retries.").required().example("2")];

const ON: &[KeySpec] = &[key("on", OUTCOMES, "Outcomes that are retried.")
    .default("`[transient, timeout]`, for `run` also `exit`")
    .example("[transient, \"exit:75\"]")];

const OUTCOMES: super::KeyType = ListOrOne(&Pattern(OUTCOME_PATTERN));

const DELAYS: &[KeySpec] = &[
    key("backoff", choice::<Backoff>(), "How the delay grows from one retry to the next.")
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

pub(crate) static HOOKS: KeyTable =
    table("hooks", "`hooks`", "Steps that follow an event of the run or of a step.", &[HOOKS_KEYS]);

const HOOKS_KEYS: &[KeySpec] = &[
    key("onStart", Steps, "Steps that start with the run or the step.")
        .example("[{id: begin, run: ./begin.sh}]"),
    key("onSuccess", Steps, "Steps that follow its success.")
        .example("[{id: report, run: ./report.sh}]"),
    key("onFailure", Steps, "Steps that follow its failure.")
        .example("[{id: report, run: ./report.sh}]"),
    key("onCancel", Steps, "Steps that follow its cancellation.")
        .example("[{id: undo, run: ./undo.sh}]"),
];

pub(crate) static LOOP: KeyTable = table("loop", "`loop`", "Passes of a step.", &[LOOP_KEYS]);

const LOOP_KEYS: &[KeySpec] = &[
    key(
        "until",
        OneOf(const { &[Expression, List(const { &Map(&CHECK) })] }),
        "The loop ends when this is true after a successful pass, or when these checks pass.",
    )
    .required()
    .example("\"{{review.output.done}}\""),
    key("max", Integer(1, 1000), "Maximum number of passes.").default("10"),
    key("backoff", choice::<Backoff>(), "How the delay grows from one pass to the next.")
        .default("fixed"),
    key("initial", Duration, "Delay before the second pass.").default("none; 1s with `backoff`"),
    key("maxDelay", Duration, "Maximum delay.").default("60s"),
];

pub(crate) static STEP_OUTPUT: KeyTable =
    table("output", "`output`", "The output of a step.", &[STEP_OUTPUT_KEYS]);

const STEP_OUTPUT_KEYS: &[KeySpec] =
    &[key("schema", Schema, "Schema that the output must satisfy.")
        .example("{files: \"string[]\"}")];
