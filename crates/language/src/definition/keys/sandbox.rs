//! Keys of `sandbox:`, in the settings and of a step.

use super::choices::{AUTHOR_SANDBOX_NAMES, NETWORK_NAMES, PROCESSES_NAMES, SANDBOX_LEVEL_NAMES};
use super::table::KeyType::{Choice, ListOrOne, Text};
use super::table::{KeySpec, KeyTable, key, table};

pub(crate) static SANDBOX: KeyTable =
    table("sandbox", "`sandbox`", "Confinement of processes.", &[SANDBOX_KEYS]);

const SANDBOX_KEYS: &[KeySpec] = &[
    key(
        "require",
        Choice(SANDBOX_LEVEL_NAMES),
        "Minimum sandbox level; runs below it are refused.",
    )
    .default("none"),
    key(
        "criticalUnapprovedAt",
        Choice(SANDBOX_LEVEL_NAMES),
        "Sandbox level from which critical tools run without approval.",
    )
    .default("kernel"),
    key("processes", Choice(PROCESSES_NAMES), "How the processes of a step are isolated.")
        .default("auto"),
    key(
        "steps",
        Choice(AUTHOR_SANDBOX_NAMES),
        "Whether the commands of steps without `sandbox` run in the sandbox.",
    )
    .default("auto"),
    key(
        "read",
        ListOrOne(&Text),
        "Additional paths that sandboxed commands may read; `~/` is the home directory.",
    )
    .example("[~/.cargo]"),
    key("write", ListOrOne(&Text), "Additional paths that sandboxed commands may read and write.")
        .example("[/tmp/cache]"),
];

pub(crate) static STEP_SANDBOX: KeyTable = table(
    "stepSandbox",
    "`sandbox` of a step",
    "What the sandbox of the commands of a step opens; with it, they always run there.",
    &[STEP_SANDBOX_KEYS],
);

const STEP_SANDBOX_KEYS: &[KeySpec] = &[
    key("network", Choice(NETWORK_NAMES), "The network that they can use.").default("loopback"),
    key("read", ListOrOne(&Text), "Additional paths to read; `~/` is the home directory.")
        .example("[~/models]"),
    key("write", ListOrOne(&Text), "Additional paths to read and write.").example("[.git]"),
];
