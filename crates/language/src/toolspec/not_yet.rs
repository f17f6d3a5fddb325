//! Names of tools that are planned or belong to other formats. Definitions with them load with a
//! warning.

use super::name_glob::glob_matches;

/// Patterns of such names; `*` matches any text.
const NOT_YET: &[&str] = &[
    // Families that the language reserves.
    "mind:*",
    "code:*",
    "memory:*",
    "knowledge:*",
    "bus:*",
    "board:*",
    "faq:*",
    "git:*",
    "web:*",
    "session:*",
    "notebook:*",
    "task:*",
    "devkit:*",
    "workflow:*",
    "deploy:*",
    "llm:*",
    "api:*",
    "http:get",
    "http:head",
    "http:post",
    "http:put",
    "http:patch",
    "http:delete",
    // Names without a family.
    "web_search",
    "memory_*",
    "knowledge_*",
    "bus_*",
    "code_execute",
    "query_documents",
    "ingest_file",
    // Claude Code.
    "mcp__*",
    "WebSearch",
    "Task",
    "Agent",
    "TodoWrite",
    "TodoRead",
    "NotebookEdit",
    "NotebookRead",
    "Skill",
    "SlashCommand",
    "KillShell",
    "KillBash",
    "BashOutput",
    "ExitPlanMode",
    "AskUserQuestion",
];

/// Whether a name, or a pattern of names, belongs to tools that do not exist yet.
pub(super) fn is_not_yet(text: &str) -> bool {
    NOT_YET.iter().any(|pattern| *pattern == text || glob_matches(pattern, text))
}
