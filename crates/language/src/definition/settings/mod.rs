//! The project settings: one file for each map or a few small ones, which declares its keys.
//!
//! Start at [`Settings`]. The macro `settings!` says what a declaration yields.

mod escalation;
mod file;
mod knowledge;
mod llm;
mod memory;
mod secrets;
mod sections;
mod serve;
mod tools;
mod value_files;
mod verifier;

pub(crate) use escalation::ORCHESTRATOR;
pub use escalation::{EscalationLimits, OrchestratorSettings};
pub use file::Settings;
pub(crate) use file::{SETTINGS, settings};
pub use knowledge::{EmbeddingProvider, EmbeddingSettings, KnowledgeSettings};
pub use llm::{LlmSettings, ModelPrice, TierSettings};
pub use memory::MemorySettings;
pub use secrets::SecretSource;
pub use sections::{
    ApprovalLevel, CacheSettings, EnvSettings, JournalSettings, LimitSettings, ProcessChoice,
    PromptRecording, SandboxSettings, SyncMode,
};
pub use serve::{Queue, ServeSettings, TraceSettings};
pub use tools::{
    GlobalLimits, HttpSettings, SecuritySettings, ToolRules, ToolSecurity, ToolSettings,
};
pub(crate) use tools::{SECURITY, tool_rules};
pub use verifier::VerifierSettings;
