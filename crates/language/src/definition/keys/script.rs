//! Keys of scripts: written responses of a model.

use super::table::KeyType::{Any, Constant, Integer, List, Map, MapOf, Number, Text};
use super::table::{KeyRule, KeySpec, KeyTable, key, table};

pub(crate) static SCRIPT: KeyTable = table(
    "script",
    "a script",
    "A script: the responses of a model, as `--record` writes and `--script` plays them.",
    &[SCRIPT_KEYS],
);

const SCRIPT_KEYS: &[KeySpec] = &[
    key("schema", Constant("kb.script/1"), "Kind of the file and version of the format.")
        .required()
        .example("kb.script/1"),
    key("description", Any, "Description of the script.").example("The second attempt succeeds"),
    key("params", Any, "Parameters of the recorded run, for information.").example("{topic: tea}"),
    key(
        "steps",
        MapOf(const { &List(const { &Map(&TURN) }) }),
        "Turns by step (`implement`), item (`review[a.rs]`) or another [name of attempts](../../testing.md#names-of-attempts) (`implement#2`, `fix#2/review`).",
    )
    .required()
    .example("{implement: [{output: {summary: done}}]}"),
];

/// The keys of which a turn has at least one.
pub(crate) const RESPONSE_NAMES: &[&str] = &["say", "calls", "output", "error"];

pub(crate) static TURN: KeyTable =
    table("turn", "a turn", "One response of the model.", &[TURN_KEYS])
        .rule(KeyRule::AtLeastOne(RESPONSE_NAMES));

const TURN_KEYS: &[KeySpec] = &[
    key("say", Text, "Text of the response.").example("\"I read the file first.\""),
    key("calls", List(const { &Map(&CALL) }), "Tool calls.")
        .example("[{tool: fs:read, args: {path: a.txt}}]"),
    key("output", Any, "Final output; can contain placeholders over `params`.")
        .example("{summary: done}"),
    key("usage", Map(&USAGE), "Reported tokens.").example("{prompt: 900, completion: 120}"),
    key("delayMs", Integer(0, 3_600_000), "Delay before the response in milliseconds.")
        .default("0"),
    key("error", Map(&ERROR), "Error instead of a response.")
        .example("{status: 429, retryAfter: 2}"),
    key("given", List(&Text), "What the model was given since the turn before, as names with digests. `--record` writes it; `kb playbook test` compares it to explain why a recording no longer fits.")
        .default("[]")
        .example("[\"src/main.rs 3f2a9c01\"]"),
];

pub(crate) static CALL: KeyTable = table("call", "a call", "One tool call.", &[CALL_KEYS]);

const CALL_KEYS: &[KeySpec] = &[
    key("tool", Text, "Name of the tool.").required().example("fs:write"),
    key("args", Any, "Arguments; can contain placeholders over `params`.")
        .example("{path: a.txt}")
        .default("{}"),
];

pub(crate) static USAGE: KeyTable =
    table("usage", "`usage`", "Tokens of one response.", &[USAGE_KEYS]);

const USAGE_KEYS: &[KeySpec] = &[
    key("prompt", Integer(0, u32::MAX), "Prompt tokens.").default("0"),
    key("completion", Integer(0, u32::MAX), "Completion tokens.").default("0"),
];

pub(crate) static ERROR: KeyTable =
    table("error", "`error`", "An error of the provider.", &[ERROR_KEYS]);

const ERROR_KEYS: &[KeySpec] = &[
    key("status", Integer(0, 599), "HTTP status; 0 stands for a broken stream.").default("0"),
    key("retryAfter", Number(0.0, 86_400.0), "Seconds that the provider asks to wait."),
    key("message", Text, "Error message of the provider.").example("overloaded"),
];
