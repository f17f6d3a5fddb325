//! The use cases: everything that a user can ask for, independent of how it is displayed.
//!
//! This module loads and checks projects, plans and starts runs, and reads recorded ones. Its error
//! type, [`ServiceError`], is what the command line maps to messages and exit codes. It never
//! prints, exits the process, or reads the terminal, the working directory, the environment or the
//! clock of the process: the caller passes an [`Environment`]. Start at [`Project::find`], [`start`] and
//! [`runs`].

mod adopting;
mod agents;
mod asks;
mod backup;
mod caching;
mod changed_file;
mod claim_hints;
mod demo;
mod difference;
mod digests;
mod doctor;
mod doctor_embeddings;
mod doctor_triggers;
mod early_hints;
mod environment;
mod error;
mod evaluation;
mod faq;
mod field_limits;
mod finding;
mod fires;
mod formatting;
mod hook_secrets;
mod import_checks;
mod importing;
mod index_rules;
mod indexing;
mod learning;
mod matching;
mod mcp_servers;
mod memory;
mod notify;
mod outgoing;
mod pages;
pub mod params;
mod plan_view;
pub mod planning;
mod playbooks;
mod plugins;
mod project;
mod project_files;
mod pruning;
mod recorded;
pub mod runs;
mod sandbox_hints;
mod scaffold;
mod schemas;
mod specialist_templates;
mod specialists;
mod start_request;
mod templates;
mod testing;
mod traces;
mod validation;
mod writing;

pub use adopting::{Adopted, adopt, trust_owners};
pub use agents::new_agent_specialist;
pub use asks::{AskEvidence, AskReply, AskView, Decided, asks_of, decide, open_asks};
pub use backup::{Restored, back_up, restore};
pub use caching::{
    CacheSheet, CachedView, Cleared, LookupView, PartState, PartView, clear_cache, list_cached,
    show_cached,
};
pub use changed_file::{FileContent, changed_file};
pub use demo::{Demo, create_demo};
pub use difference::{Difference, Seen, Unshown};
pub use digests::DefinitionDigests;
pub use doctor::doctor;
pub use environment::Environment;
pub use error::{ResourceKind, ServiceError};
pub use evaluation::{EvalRequest, evaluate};
pub use faq::{FaqAnswer, add_faq, ask_faq, list_faq};
pub use field_limits::field_limits;
pub use finding::{Finding, FindingLevel};
pub use fires::start_fire;
pub use formatting::{FormattedFile, format_files, format_text};
pub use hook_secrets::{
    hook_secrets, learn_secrets, open_triggers, unset_hook_secret, unset_hook_secrets,
};
pub use importing::{FileNote, ImportRequest, Imported, import};
pub use indexing::{
    HitView, IndexAnswer, IndexQuestion, IndexStatus, index_status, query_index, rebuild_index,
};
pub use kb_attempt::Progress;
pub use kb_clock::Clock;
pub use kb_core::evidence::SessionLine;
pub use kb_core::redaction::{Masked, Redactors};
pub use kb_core::run::RunStatus;
pub use kb_engine::engine::{EventReceiver, RunControl, Summary, Update, event_channel};
pub use kb_engine::inspect::{
    Attempts, Audit, AuditedCall, CacheUse, CurrentAttempts, Fault, FileDiff, FileDiffKind,
    FileSnapshot, InspectError, LiveReader, LiveUpdate, LogEntry, Patch, Reader, RunDiff,
    RunFilter, SessionView, StepDiff,
};
pub use kb_engine::journal::JournalError;
pub use kb_host::llm::provider_names;
pub use kb_import::{Effect as ImportEffect, Format as ImportFormat};
pub use kb_language::expression::Strength;
pub use kb_language::plan::ConfinedAhead;
pub use kb_memory::{
    Entry as MemoryEntry, Forgotten, Hit as MemoryHit, Kind as MemoryKind, Query as MemoryQuery,
    State as MemoryState, Stats as MemoryStats,
};
pub use kb_memory::{FaqCategory, FaqEntry};
pub use learning::{
    Applied, Learned, ROUTES, Suggestion, apply_suggestion, learned, write_suggestions,
};
pub use matching::{Choice, Match, choose, match_phrase};
pub use mcp_servers::{
    PartDifference, PinState, Pinned, ServerTool, ServerView, ToolDifference, call_server,
    diff_server, list_servers, pin_server, server_tools,
};
pub use memory::{
    Approved, MemoryAdd, MemoryChecked, MemoryEntryView, MemoryView, add_memory, approve_memory,
    check_memory, export_memory, forget_memory, list_memory, memory_stats, reject_memory,
    review_memory, search_memory, show_memory,
};
pub use notify::{
    TEST_RUN, TriggerNews, notification, send_notification, test_notification, trigger_notification,
};
pub use outgoing::DeliveryFailure;
pub use pages::{CodePage, all_codes, explain};
pub use params::{Ask, ParamQuestion, params_schema};
pub use plan_view::{
    CostRange, Edge, PlanModels, PlanView, PlannedStep, Prompt, TimeRange, plan_models, plan_view,
};
pub use playbooks::{
    ConfinedChild, DefinitionSheet, GraphFormat, StepLine, graph, list_playbooks, show_playbook,
};
pub use plugins::{PluginTest, PluginView, broken_plugins, list_plugins, show_plugin, test_plugin};
pub use project::{BrokenFile, Project};
pub use project_files::ProjectFiles;
pub use pruning::{PruneRequest, Pruned, prune_runs};
pub use recorded::{
    PointInTime, audit_run, audited_calls, damaged_runs, difference, has_changed,
    has_changed_since, list_runs, read_run, run_diff, run_output, run_session, show_children,
    show_run,
};
pub use runs::start;
pub use scaffold::{Initialized, init};
pub use schemas::{SCHEMA_NAMES, misfit, schema, write_schemas};
pub use specialist_templates::{
    NewSpecialist, SpecialistForm, new_specialist, specialist_templates,
};
pub use specialists::{SpecialistSheet, broken_specialists, list_specialists, show_specialist};
pub use start_request::{Selection, StartRequest};
pub use templates::{NewDefinition, TemplateView, new_playbook, templates};
pub use testing::{
    LoadedTests, PlaybookTest, RecordedFiles, RecordedTest, TestOptions, TestReport,
    TestReportView, load_tests, run_tests, write_recorded_test,
};
pub use traces::{export_trace, run_trace};
pub use validation::{Report, validate_playbooks, validate_specialists};
