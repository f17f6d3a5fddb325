//! The small maps of the settings: `env`, `sandbox`, `limits`, `cache` and `journal`.

use crate::definition::keys::KeyType::{self, Constant, Integer, Map, OneOf};
use crate::definition::keys::{choices, settings};
use crate::definition::model::StepSandbox;
use crate::definition::syntax::{Decoder, Node};
use std::time::Duration;

settings! {
    /// Environment of processes.
    pub struct EnvSettings(Debug, Clone, PartialEq, Eq): ENV = ("envSettings", "`env`") {
        /// Variables that processes inherit from the environment of `kb`.
        [common] pass: Vec<String> = "pass", example("[CI]");
    }

    /// Confinement of processes.
    pub struct SandboxSettings(Debug, Clone, PartialEq, Eq): SANDBOX = ("sandbox", "`sandbox`") {
        /// Minimum sandbox level; runs below it are refused.
        [higher] require: Option<ApprovalLevel> = "require", default("none");
        /// Sandbox level from which critical tools run without approval.
        [higher] critical_unapproved_at: ApprovalLevel = "criticalUnapprovedAt", default("kernel");
        /// How the processes of a step are isolated.
        [higher] processes: ProcessChoice = "processes", default("auto");
        /// `sandbox` of the steps without one of their own.
        [inner] steps: StepSandbox = "steps", default("auto"), example("{network: open}");
        /// Additional paths that sandboxed commands may read; `~/` is the home directory.
        [common] read: Vec<String> = "read", example("[~/.cargo]");
        /// Additional paths that sandboxed commands may read and write.
        [common] write: Vec<String> = "write", example("[/tmp/cache]");
    }

    /// Limits of runs.
    pub struct LimitSettings(Debug, Clone, Copy, PartialEq, Eq): LIMITS = ("limitSettings", "`limits`") {
        /// Maximum parallel steps of playbooks without a limit of their own.
        [own] max_parallel: Option<u32> = "maxParallel" as Integer(1, 100_000), default("number of processors, at least 2");
    }

    /// Stored results of steps with `cache`.
    pub struct CacheSettings(Debug, Clone, Copy, PartialEq, Eq): CACHE = ("cacheSettings", "`cache`") {
        /// Size in MiB above which the results that were not used for the longest time are removed.
        [own] max_mib: u32 = "maxMib" as Integer(1, 1 << 20), default("1024");
    }

    /// What the journal keeps, and when it is synced.
    pub struct JournalSettings(Debug, Clone, Copy, PartialEq, Eq): JOURNAL = ("journal", "`journal`") {
        /// `full` syncs every event to disk before its effect.
        [own] sync: SyncMode = "sync", default("normal");
        /// Whether the journal keeps the prompts of model calls, or only their digests.
        [higher] prompts: PromptRecording = "prompts", default("full");
        /// Output in MiB that is kept of one attempt: its beginning, samples, and its end.
        [own] step_log_mib: u32 = "stepLogMib" as Integer(1, 1 << 20), default("64");
        /// Output in MiB that is kept of one run; after it, the end of each attempt only.
        [own] run_log_mib: u32 = "runLogMib" as Integer(1, 1 << 20), default("4096");
        /// Age from which `kb run prune` removes ended runs.
        [own] retention: Option<Duration> = "retention", default("30d"), example("90d");
    }
}

/// `sandbox`: a map, or one word for the strictest.
pub(super) const SANDBOX_VALUE: KeyType = OneOf(const { &[Constant("required"), Map(&SANDBOX)] });

/// Decodes `sandbox`.
pub(super) fn sandbox(node: &Node, _: &str, decoder: &mut Decoder) -> SandboxSettings {
    if node.as_text() == Some("required") {
        let require = Some(ApprovalLevel::Kernel);
        return SandboxSettings { require, ..SandboxSettings::default() };
    }
    SandboxSettings::from_node(node, decoder).unwrap_or_default()
}

choices! {
    /// A sandbox level: how far a process is confined.
    #[derive(PartialOrd, Ord, Default)]
    pub enum ApprovalLevel {
        /// Nothing restricts the commands.
        None = "none",
        /// Its processes are stopped when the step ends.
        Process = "process",
        /// The kernel restricts which files it reads and writes.
        #[default]
        Kernel = "kernel",
    }

    /// `sandbox.processes`, from weakest to strongest.
    #[derive(PartialOrd, Ord, Default)]
    pub enum ProcessChoice {
        /// Process groups, even if PID namespaces are available.
        Group = "group",
        /// PID namespaces if the system allows them, else process groups.
        #[default]
        Auto = "auto",
        /// PID namespaces; runs are refused without them.
        PidNamespace = "pidNamespace",
    }

    /// `journal.prompts`: what the journal keeps of the prompts of model calls.
    #[derive(PartialOrd, Ord, Default)]
    pub enum PromptRecording {
        /// Every message, masked, each stored once per attempt.
        #[default]
        Full = "full",
        /// Only the digests of prompts and responses are kept.
        Digest = "digest",
    }

    /// `journal.sync`: when events are synced to disk.
    #[derive(Default)]
    pub enum SyncMode {
        /// Durable events before their effect, other events within 50 ms.
        #[default]
        Normal = "normal",
        /// Every event before its effect.
        Full = "full",
    }
}
