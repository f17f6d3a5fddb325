//! [`CodingAgent`]: a program that does the work of a specialist, spoken to by the Agent Client Protocol.

use super::ServerValue;
use kb_base::diagnostic::Span;
use std::time::Duration;

/// A coding agent that settings or a specialist define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodingAgent {
    /// The name, for messages and records.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables of the process, in addition to those of all processes.
    pub env: Vec<(String, ServerValue)>,
    /// Whether it is not offered to read files through the client.
    pub reads_itself: bool,
    /// The mode of the session, as the agent names it; `None`: its default.
    pub mode: Option<String>,
    /// The model of the session, as the agent names it; `None`: its default.
    pub model: Option<String>,
    /// Position of the definition.
    pub span: Span,
}

/// An agent that `kb` knows by name.
#[derive(Debug, Clone, Copy)]
pub struct KnownAgent {
    /// How `agent` of a specialist names it.
    pub name: &'static str,
    /// Program and arguments.
    pub argv: &'static [&'static str],
    /// Variables that keep it from updating itself and from sending what its work does not need.
    pub env: &'static [(&'static str, &'static str)],
    /// How it is installed.
    pub install: &'static str,
    /// The variable from which it reads a key.
    pub key: &'static str,
    /// Whether it reads files by itself: it takes the answer that a file does not exist for a failure.
    pub reads_itself: bool,
}

/// The agents that `kb` knows by name.
pub const KNOWN_AGENTS: [KnownAgent; 5] = [
    KnownAgent {
        name: "claude-code",
        argv: &["claude-agent-acp"],
        env: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        key: "ANTHROPIC_API_KEY",
        reads_itself: false,
    },
    KnownAgent {
        name: "codex",
        argv: &["codex-acp"],
        env: &[],
        install: "npm install -g @agentclientprotocol/codex-acp",
        key: "OPENAI_API_KEY",
        reads_itself: false,
    },
    KnownAgent {
        name: "gemini",
        argv: &["gemini", "--acp"],
        env: &[],
        install: "npm install -g @google/gemini-cli",
        key: "GEMINI_API_KEY",
        reads_itself: true,
    },
    KnownAgent {
        name: "goose",
        argv: &["goose", "acp"],
        env: &[],
        install: "see https://github.com/block/goose",
        key: "OPENAI_API_KEY",
        reads_itself: false,
    },
    KnownAgent {
        name: "opencode",
        argv: &["opencode", "acp"],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        install: "npm install -g opencode-ai",
        key: "ANTHROPIC_API_KEY",
        reads_itself: false,
    },
];

impl KnownAgent {
    /// The agent with this name.
    pub fn find(name: &str) -> Option<&'static KnownAgent> {
        KNOWN_AGENTS.iter().find(|known| known.name == name)
    }

    /// The agent as it is without settings.
    pub fn agent(&self, span: Span) -> CodingAgent {
        let own = |(name, value): &(&str, &str)| {
            ((*name).to_owned(), ServerValue::Text((*value).to_owned()))
        };
        CodingAgent {
            name: self.name.to_owned(),
            argv: self.argv.iter().map(|word| (*word).to_owned()).collect(),
            env: self.env.iter().map(own).collect(),
            reads_itself: self.reads_itself,
            mode: None,
            model: None,
            span,
        }
    }
}

impl CodingAgent {
    /// Maximum tool calls of an attempt without `maxToolCalls`: an agent reads and searches in many small calls.
    pub const TOOL_CALLS: u32 = 200;
    /// Time limit of an attempt without `timeout`.
    pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);

    /// How its program is installed, if that is known.
    pub fn install(&self) -> Option<&'static str> {
        KNOWN_AGENTS
            .iter()
            .find(|known| known.argv.first().copied() == self.argv.first().map(String::as_str))
            .map(|known| known.install)
    }
}
