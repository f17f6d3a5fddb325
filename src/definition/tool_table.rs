/// How dangerous a tool is (003 §4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolLevel {
    /// Nothing needs to be allowed.
    Safe,
    /// Reads inside of the allowed paths.
    Moderate,
    /// Needs an explicit permission; a specialist's whitelist is one.
    Restricted,
    /// Runs code: needs a sandbox or a person.
    Critical,
}

impl ToolLevel {
    /// The name as people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolLevel::Safe => "safe",
            ToolLevel::Moderate => "moderate",
            ToolLevel::Restricted => "restricted",
            ToolLevel::Critical => "critical",
        }
    }
}

/// One argument of a built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolArgument {
    /// Its name.
    pub name: &'static str,
    /// Whether a call needs it.
    pub required: bool,
}

/// A built-in tool as the language knows it (LANGUAGE §7). The registry of tools is held to this table
/// by a test, so that definitions can be checked without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownTool {
    /// Its name.
    pub name: &'static str,
    /// How dangerous it is.
    pub level: ToolLevel,
    /// What it takes.
    pub arguments: &'static [ToolArgument],
}

const fn must(name: &'static str) -> ToolArgument {
    ToolArgument { name, required: true }
}

const fn may(name: &'static str) -> ToolArgument {
    ToolArgument { name, required: false }
}

const fn tool(
    name: &'static str,
    level: ToolLevel,
    arguments: &'static [ToolArgument],
) -> KnownTool {
    KnownTool { name, level, arguments }
}

static TOOLS: [KnownTool; 10] = [
    tool("fs:read", ToolLevel::Moderate, &[must("path"), may("startLine"), may("endLine")]),
    tool("fs:list", ToolLevel::Moderate, &[may("path"), may("glob"), may("depth")]),
    tool(
        "fs:search",
        ToolLevel::Moderate,
        &[must("pattern"), may("path"), may("glob"), may("maxResults")],
    ),
    tool("fs:exists", ToolLevel::Safe, &[must("path")]),
    tool("fs:write", ToolLevel::Restricted, &[must("path"), must("content")]),
    tool("fs:edit", ToolLevel::Restricted, &[must("path"), must("old"), must("new"), may("all")]),
    tool("fs:delete", ToolLevel::Restricted, &[must("path")]),
    tool(
        "shell:exec",
        ToolLevel::Critical,
        &[may("command"), may("argv"), may("cwd"), may("env"), may("timeoutMs")],
    ),
    tool(
        "http:request",
        ToolLevel::Restricted,
        &[must("url"), may("method"), may("headers"), may("query"), may("body")],
    ),
    tool("output:read", ToolLevel::Safe, &[must("ref"), may("offset")]),
];

/// Families of tools that the documents describe and that come later.
const LATER: &[&str] = &[
    "mind", "code", "memory", "mcp", "bus", "board", "faq", "git", "web", "plugin", "session",
    "notebook", "task",
];

/// What other documents and tools call ours: 003 §4.2 and Claude Code's subagents.
const ALIASES: &[(&str, &[&str])] = &[
    ("file_read", &["fs:read"]),
    ("file_write", &["fs:write"]),
    ("file_edit", &["fs:edit"]),
    ("file_list", &["fs:list"]),
    ("file_delete", &["fs:delete"]),
    ("shell", &["shell:exec"]),
    ("api_call", &["http:request"]),
    ("web_fetch", &["http:request"]),
    ("Read", &["fs:read", "fs:exists"]),
    ("Write", &["fs:write"]),
    ("Edit", &["fs:edit"]),
    ("MultiEdit", &["fs:edit"]),
    ("Glob", &["fs:list"]),
    ("LS", &["fs:list"]),
    ("Grep", &["fs:search"]),
    ("Bash", &["shell:exec"]),
    ("WebFetch", &["http:request"]),
];

/// Tools under other names that come later.
const LATER_NAMES: &[&str] = &[
    "web_search",
    "memory_read",
    "memory_write",
    "code_execute",
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

/// The built-in tools, in the order of the language's table.
pub fn known_tools() -> &'static [KnownTool] {
    &TOOLS
}

/// What a written tool name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolPattern {
    /// These built-in tools.
    Known(Vec<&'static KnownTool>),
    /// One that the documents know and that comes later.
    Later,
    /// None.
    Unknown,
}

/// Resolves a tool's name, a glob such as `fs:*`, or another document's name of a tool.
pub(crate) fn resolve_tool(text: &str) -> ToolPattern {
    let exact: Vec<_> = TOOLS.iter().filter(|tool| tool.name == text).collect();
    if !exact.is_empty() {
        return ToolPattern::Known(exact);
    }
    if let Some((_, names)) = ALIASES.iter().find(|(alias, _)| *alias == text) {
        return ToolPattern::Known(
            TOOLS.iter().filter(|tool| names.contains(&tool.name)).collect(),
        );
    }
    if text.contains('*') {
        let matching: Vec<_> = TOOLS.iter().filter(|tool| glob(text, tool.name)).collect();
        if !matching.is_empty() {
            return ToolPattern::Known(matching);
        }
    }
    let family = text.split(':').next().unwrap_or(text);
    let later = LATER_NAMES.contains(&text)
        || text.contains(':') && LATER.contains(&family)
        || text.starts_with("mcp__")
        || text
            .split_once('(')
            .is_some_and(|(name, _)| ALIASES.iter().any(|(own, _)| *own == name));
    if later { ToolPattern::Later } else { ToolPattern::Unknown }
}

/// `*` matches any run of letters.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|skip| rest.get(skip..).is_some_and(|rest| glob(after, rest)))
        }),
    }
}
