//! Keys of test files: tests of playbooks, for `kb playbook test`.

use super::choice;
use super::table::KeyType::{
    Any, AnyMap, Boolean, Constant, Duration, Integer, List, ListOrOne, Map, MapOf, Number, OneOf,
    Scalar, Text,
};
use super::table::{KeyRule, KeySpec, KeyTable, key, table};
use kb_base::value::{OutcomeKind, RunStatus, StepStatus, Verdict};

pub(crate) static TEST_FILE: KeyTable = table(
    "testFile",
    "a test file",
    "A test file: tests of playbooks. Its keys other than `schema`, `description` and `tests` are defaults of its tests.",
    &[FILE_KEYS, SHARED_KEYS],
);

const FILE_KEYS: &[KeySpec] = &[
    key("schema", Constant("kb.test/1"), "Kind of the file and version of the format.")
        .required()
        .example("kb.test/1"),
    key("description", Any, "Description of the tests.")
        .example("Release notes for a range of commits"),
    key("tests", List(const { &Map(&TEST) }), "The tests. They run in parallel.")
        .required()
        .example(
            "[{name: writes the file, playbook: notes, expect: {files: {out.md: {exists: true}}}}]",
        ),
];

pub(crate) static TEST: KeyTable = table(
    "test",
    "a test",
    "One test: a run of a playbook in a new project folder, and its expected result.",
    &[TEST_KEYS, SHARED_KEYS],
);

const TEST_KEYS: &[KeySpec] = &[
    key("name", Text, "Name of the test; unique in the file.")
        .required()
        .example("writes the file"),
    key("expect", Map(&EXPECT), "The expected result.").default("{status: succeeded}"),
];

/// The keys of a test that the file can provide for all its tests.
const SHARED_KEYS: &[KeySpec] = &[
    key("playbook", Text, "Id of the playbook or workflow.").example("release-notes"),
    key("params", AnyMap, "Parameters of the run.").default("{}").example("{since: v1.0}"),
    key("files", MapOf(&Text), "Files of the new project, by path.")
        .default("{}")
        .example("{src/a.txt: \"one\\n\"}"),
    key(
        "copy",
        ListOrOne(&Text),
        "Globs of files of this project to copy; `!` excludes files. `.kb/` and all definitions are always copied.",
    )
    .default("[]")
    .example("[\"src/**\"]"),
    key("git", Boolean, "Whether the new project is a git repository with one commit of its files.")
        .default("false"),
    key(
        "env",
        MapOf(&Scalar),
        "Environment variables. Of the environment of `kb`, a test only has `PATH`, `HOME`, `USER`, `LANG` and `TMPDIR`.",
    )
    .default("{}")
    .example("{CI: \"1\"}"),
    key(
        "script",
        OneOf(const { &[Text, MapOf(const { &List(const { &Map(&super::script::TURN) }) })] }),
        "Responses in place of the model: the path of a script, relative to the test file, or the `steps` of one.",
    )
    .example("{implement: [{output: {summary: done}}]}"),
    key(
        "stubs",
        MapOf(const { &ListOrOne(const { &Map(&STUB) }) }),
        "Results in place of the execution of steps, by step, item or [name of attempts](../../testing.md#names-of-attempts). A list has one result for each attempt; the last one repeats.",
    )
    .default("{}")
    .example("{deploy: {output: {url: \"https://example.com\"}}}"),
    key(
        "tools",
        MapOf(const { &ListOrOne(const { &Map(&TOOL_STUB) }) }),
        "Results in place of the execution of tool calls, by tool. The policy is applied as in a run. A list has one result for each call of an attempt; the last one repeats.",
    )
    .default("{}")
    .example("{\"http:request\": {output: {status: 200, body: ok}}}"),
    key("faults", List(const { &Map(&FAULT) }), "Injected faults.")
        .default("[]")
        .example("[{step: implement, status: 429, attempts: 2}]"),
    key(
        "answers",
        MapOf(const { &OneOf(const { &[Scalar, Map(&REPLY)] }) }),
        "Replies to steps that wait for a person, by step, item or [name of attempts](../../testing.md#names-of-attempts): `approve`, `reject`, or an answer.",
    )
    .default("{}")
    .example("{ship: approve, name: {answer: Anna}}"),
    key(
        "interruptAfter",
        Text,
        "Step after whose end the run is stopped and resumed; the same as a fault with `kill`.",
    )
    .example("build"),
    key("maxParallel", Integer(1, 1024), "Maximum number of steps that run in parallel."),
    key("timeout", Duration, "Time limit of the test.").default("60s"),
];

/// Whether the file can provide a key for all its tests.
pub(crate) fn is_shared(name: &str) -> bool {
    SHARED_KEYS.iter().any(|key| key.name == name)
}

/// The keys of which a stub has exactly one.
pub(crate) const STUB_NAMES: &[&str] = &["output", "error"];

pub(crate) static STUB: KeyTable =
    table("stub", "a stub", "The result of one attempt of a step.", &[STUB_KEYS])
        .rule(KeyRule::ExactlyOne(STUB_NAMES));

const STUB_KEYS: &[KeySpec] = &[
    key("output", Any, "The attempt succeeds with this output.")
        .example("{url: \"https://example.com\"}"),
    key("error", Text, "The attempt fails with this message.").example("the server is down"),
    key("kind", choice::<OutcomeKind>(), "Kind of the failure, for `retry.on` and `recovery`.")
        .default("tool_error, or exit with `exitCode`"),
    key("exitCode", Integer(0, 255), "Exit code of the process."),
    key("delay", Duration, "Duration of the attempt.").example("200ms"),
];

/// The keys of which the stub of a tool has exactly one.
pub(crate) const TOOL_STUB_NAMES: &[&str] = &["output", "error"];

pub(crate) static TOOL_STUB: KeyTable =
    table("toolStub", "a stub of a tool", "The result of calls of a tool.", &[TOOL_STUB_KEYS])
        .rule(KeyRule::ExactlyOne(TOOL_STUB_NAMES));

const TOOL_STUB_KEYS: &[KeySpec] = &[
    key(
        "args",
        AnyMap,
        "Arguments that a call must have, compared by the listed keys; such stubs are tried first.",
    )
    .default("any arguments")
    .example("{url: \"https://example.com/a\"}"),
    key("output", Any, "The call succeeds with this result.").example("{status: 200, body: ok}"),
    key("error", Text, "The call fails with this message.").example("connection refused"),
];

/// The keys of which a fault has exactly one.
pub(crate) const FAULT_NAMES: &[&str] =
    &["status", "cut", "slow", "lie", "tool", "kill", "diskFull"];

pub(crate) static FAULT: KeyTable =
    table("fault", "a fault", "A fault that a test injects.", &[FAULT_KEYS])
        .rule(KeyRule::ExactlyOne(FAULT_NAMES));

const FAULT_KEYS: &[KeySpec] = &[
    key("step", Text, "Step or item that has the fault.").required().example("implement"),
    key("status", Integer(400, 599), "A model call answers with this HTTP status.").example("429"),
    key("retryAfter", Duration, "How long the provider of the status asks to wait.").example("30s"),
    key("cut", Boolean, "The response of a model call ends in the middle."),
    key("slow", Duration, "A model call takes this much longer.").example("20m"),
    key("lie", Boolean, "The model submits its output without the tool calls before it."),
    key("tool", Text, "One call of this tool fails.").example("\"fs:write\""),
    key("error", Text, "Message of the failed tool call.")
        .default("injected fault")
        .example("disk quota exceeded"),
    key("call", Integer(1, 100_000), "Which call of the tool in the attempt fails.").default("1"),
    key("turn", Integer(1, 100_000), "Which model call of the attempt fails.").default("1"),
    key("attempts", Integer(1, 1000), "How many attempts have the fault, from the first.")
        .default("1"),
    key(
        "kill",
        Boolean,
        "`kb` is killed after it has stored the end of the step, and the run is resumed.",
    ),
    key(
        "diskFull",
        Boolean,
        "The disk of the journal is full when the end of the step is to be stored; the run is resumed.",
    ),
];

/// The keys of which a reply has exactly one.
pub(crate) const REPLY_NAMES: &[&str] = &["answer", "approve", "reject"];

pub(crate) static REPLY: KeyTable =
    table("reply", "a reply", "The reply of a person.", &[REPLY_KEYS])
        .rule(KeyRule::ExactlyOne(REPLY_NAMES));

const REPLY_KEYS: &[KeySpec] = &[
    key("answer", Any, "The answer to a question: a value that fits its form.").example("Anna"),
    key("approve", OneOf(const { &[Boolean, Text] }), "Approves; a text is the comment."),
    key("reject", OneOf(const { &[Boolean, Text] }), "Rejects; a text is the comment.")
        .example("the plan has no tests"),
];

pub(crate) static EXPECT: KeyTable = table(
    "expect",
    "`expect`",
    "The expected result of a run. What is not listed is not checked.",
    &[EXPECT_KEYS],
);

const EXPECT_KEYS: &[KeySpec] = &[
    key("status", choice::<RunStatus>(), "Status of the run.").default("succeeded"),
    key("steps", MapOf(const { &choice::<StepStatus>() }), "Statuses of steps and items.")
        .example("{build: succeeded, publish: skipped}"),
    key("attempts", MapOf(&Integer(0, u32::MAX)), "Numbers of attempts of steps and items.")
        .example("{build: 2}"),
    key("verdicts", MapOf(const { &choice::<Verdict>() }), "Verdicts of gates of steps and items.")
        .example("{implement: passed}"),
    key(
        "errors",
        MapOf(&Text),
        "Parts of the code or message of the failures of steps and items; `run` is the run itself.",
    )
    .example("{deploy: KB0551}"),
    key(
        "outputs",
        AnyMap,
        "Outputs of the run. Of a map, the listed keys are compared; of a list, all items.",
    )
    .example("{count: 3}"),
    key("stepOutputs", AnyMap, "Outputs of steps and items, compared as `outputs`.")
        .example("{notes: {commits: 3}}"),
    key(
        "files",
        MapOf(const { &OneOf(const { &[Text, Map(&FILE_EXPECT)] }) }),
        "Files of the project after the run, by path. A text is the whole content.",
    )
    .example("{NOTES.md: {contains: \"## Fixed\"}}"),
    key(
        "changes",
        ListOrOne(&Text),
        "Globs of the files that the run creates, changes or deletes: each such file matches one, and each glob matches one.",
    )
    .example("[\"src/**\", NOTES.md]"),
    key(
        "events",
        List(const { &AnyMap }),
        "Events that occur in this order, as `--json` prints them; each lists the fields to compare.",
    )
    .example("[{type: \"attempt:end\", step: build}]"),
    key("maxCost", Number(0.0, f64::INFINITY), "Maximum cost of the run in US dollars."),
    key(
        "snapshot",
        Boolean,
        "Whether statuses, verdicts, outputs and changed files equal those of a stored file; `kb playbook test --update` writes it.",
    )
    .default("false"),
];

pub(crate) static FILE_EXPECT: KeyTable = table(
    "fileExpectation",
    "an expected file",
    "The expected state of a file after the run.",
    &[FILE_EXPECT_KEYS],
);

const FILE_EXPECT_KEYS: &[KeySpec] = &[
    key("exists", Boolean, "Whether the file exists.").default("true"),
    key("equals", Text, "The whole content.").example("\"done\\n\""),
    key("contains", ListOrOne(&Text), "Texts that the content contains.").example("\"## Fixed\""),
    key("lacks", ListOrOne(&Text), "Texts that the content does not contain.").example("TODO"),
    key("matches", Text, "Regular expression that the content matches.").example("\"^# v[0-9]+\""),
];
