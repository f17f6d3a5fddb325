//! The types that loading produces. Fields are public for reading; only `definition::load` creates
//! these values.

mod budget;
mod cache;
mod capability;
mod catalog;
mod coding_agent;
pub(super) mod concurrency;
mod context;
mod delegation;
pub(super) mod duration_policy;
mod for_each;
pub(super) mod gate;
mod hook;
mod located;
mod mcp;
mod memory;
mod network;
mod not_yet;
pub(super) mod playbook;
mod plugin;
mod recovery;
mod repeat;
mod requirements;
mod sandbox;
mod specialist;
mod step;
pub(super) mod trigger;

pub use budget::Budget;
pub use cache::{Cache, CacheScope};
pub use capability::Capability;
pub use catalog::{Catalog, RefusedDefinitions};
pub use coding_agent::{AgentTools, CodingAgent, KNOWN_AGENTS, KnownAgent};
pub use concurrency::{Concurrency, ConflictPolicy};
pub use context::{ContextProfile, Reasoning, Retrieval};
pub use delegation::DelegationLimits;
pub use duration_policy::{Backoff, Delays, RetryPolicy, Timeout};
pub use for_each::{ForEach, ItemSource, Matrix, OnItemError};
pub use gate::{ClaimPolicy, FailurePolicy, InconclusivePolicy, Undecided, Verify};
pub use hook::{Hook, HookEvent};
pub use located::{Located, LocatedMap};
pub use mcp::{McpServer, PinnedTools, ServerEndpoint, ServerValue};
pub use memory::MemoryUse;
pub use network::NetworkAccess;
pub use not_yet::NotYet;
pub use playbook::{DefinitionForm, Limits, Order, Param, ParamType, Playbook};
pub use plugin::{Plugin, Probe};
pub use recovery::{OnError, RecoveryAction, RecoveryKind, RecoveryRule, UNLIMITED_QUESTIONS};
pub use repeat::{Loop, Until};
pub use requirements::Requirements;
pub use sandbox::{AuthorSandbox, SandboxOpening, StepSandbox};
pub use specialist::{Example, LoopLimits, LoopPhases, ModelChoice, Specialist};
pub use step::{
    EvidenceMode, Isolation, MergePolicy, RunIf, Step, StepDetails, StepPhase, WorkspaceMode,
};
pub use trigger::{
    FileTrigger, HeaderSignature, NamedForm, PayloadPath, RunEnd, RunTrigger, SignatureEncoding,
    Trigger, TriggerSource, WHEN_NAMES, Webhook, WebhookForm, is_topic,
};
