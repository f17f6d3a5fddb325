//! Keys of `verify` and of checks.

use super::choices::{CLAIMS_NAMES, ON_FAILED_NAMES, ON_INCONCLUSIVE_NAMES};
use super::table::KeyType::{
    Any, Boolean, Choice, Duration, Expression, Integer, List, ListOrOne, Map, OneOf,
    ScalarTemplate, Schema, Template, Text,
};
use super::table::{KeyRule, KeySpec, KeyTable, key, table};

pub(crate) static VERIFY: KeyTable =
    table("verify", "`verify`", "The gate of a step.", &[VERIFY_KEYS]);

const VERIFY_KEYS: &[KeySpec] = &[
    key(
        "claims",
        Choice(CLAIMS_NAMES),
        "How strictly claims in the output are compared with the evidence.",
    )
    .default("`strict` for specialists, else `none`"),
    key(
        "expectChanges",
        Boolean,
        "Whether a step without file changes makes the gate inconclusive.",
    )
    .default("`true` for specialists with a writing tool"),
    key("checks", List(const { &Map(&CHECK) }), "The checks, in order.")
        .example("[{file: out.txt}]"),
    key("onFailed", Choice(ON_FAILED_NAMES), "What follows a `failed` verdict.")
        .default("`rework` for specialists, else `fail`"),
    key("onInconclusive", Choice(ON_INCONCLUSIVE_NAMES), "What follows an `inconclusive` verdict.")
        .default("`verifier.inconclusivePolicy` of the settings, else `warn`"),
    key(
        "maxReworks",
        Integer(0, 100),
        "Maximum number of reworks or retries that `onFailed` starts.",
    )
    .default("2"),
];

/// The keys of which a check has exactly one.
pub(crate) const CHECK_NAMES: &[&str] = &["schema", "file", "command", "expr", "diff", "judge"];

pub(crate) static CHECK: KeyTable = table(
    "check",
    "a check",
    "One check of a gate. It has exactly one of `schema`, `file`, `command`, `expr`, `diff` and `judge`.",
    &[CHECK_KEYS],
)
.rule(KeyRule::ExactlyOne(CHECK_NAMES));

const COMMAND: &[&str] = &["command"];

const CHECK_KEYS: &[KeySpec] = &[
    key("schema", Schema, "The output of the step satisfies this schema.")
        .example("{files: \"string[]\"}"),
    key("file", OneOf(const { &[Template, Map(&FILE)] }), "Files exist, with a path or glob.")
        .example("\"src/**/*.rs\""),
    key("command", List(&ScalarTemplate), "A program with arguments exits with status 0.")
        .example("[cargo, test]"),
    key("expr", Expression, "The expression is true.")
        .example("\"{{build.output.warnings}} == 0\""),
    key("diff", Any, "Limits which files may change. A gate with this check is inconclusive.")
        .example("{only: [\"src/**\"], maxFiles: 10}")
        .gate_inconclusive(),
    key("judge", Any, "A model reviews the output. A gate with this check is inconclusive.")
        .example("{minConfidence: 0.6}")
        .gate_inconclusive(),
    key(
        "inputs",
        ListOrOne(&Text),
        "Globs of files that decide the result and that the step must not change.",
    )
    .only(COMMAND)
    .example("[\"tests/**\"]"),
    key(
        "mustFailBefore",
        Boolean,
        "Whether the command must fail on the files as they were before the step.",
    )
    .only(COMMAND)
    .default("false")
    .run_refused(),
    key("tests", Map(&TESTS), "Requirements on the tests that the command ran.")
        .only(COMMAND)
        .example("{minCount: 1}")
        .run_refused(),
    key("timeout", Duration, "Time limit of the command.").only(COMMAND).example("5m"),
];

pub(crate) static FILE: KeyTable =
    table("file", "a `file` check", "Files that must exist or must not exist.", &[FILE_KEYS]);

const FILE_KEYS: &[KeySpec] = &[
    key("path", Template, "Path or glob inside the workspace.")
        .required()
        .example("\"src/**/*.rs\""),
    key("minCount", Integer(0, u32::MAX), "Minimum number of matching files.").default("1"),
    key("count", Map(&COUNT), "A pattern that the matching files contain together.")
        .example("{pattern: \"pub fn\", min: 4}"),
    key(
        "changed",
        Boolean,
        "Whether the evidence must show that the step changed a matching file.",
    ),
    key("absent", Boolean, "Whether the path must not exist.").default("false"),
];

pub(crate) static COUNT: KeyTable =
    table("count", "`count`", "How often a pattern occurs in the matching files.", &[COUNT_KEYS]);

const COUNT_KEYS: &[KeySpec] = &[
    key("pattern", Text, "Regular expression.").required().example("\"pub fn\""),
    key("min", Integer(0, u32::MAX), "Minimum number of matches.").default("1, or 0 with `max`"),
    key("max", Integer(0, u32::MAX), "Maximum number of matches."),
];

pub(crate) static TESTS: KeyTable =
    table("tests", "`tests`", "Requirements on the tests of a `command` check.", &[TESTS_KEYS]);

const TESTS_KEYS: &[KeySpec] = &[
    key("minCount", Any, "Minimum number of tests."),
    key("notFewer", Any, "Whether there must be at least as many tests as before the step."),
];
