//! [`CodingAgent`]: a program that does the work of a specialist, spoken to by the Agent Client Protocol.

use super::ServerValue;
use crate::definition::keys::choices;
use kb_base::diagnostic::Span;
use kb_base::value::Json;
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
    /// Which tools it works with.
    pub tools: AgentTools,
    /// Position of the definition.
    pub span: Span,
}

choices! {
    /// Which tools a coding agent works with.
    #[derive(Default)]
    pub enum AgentTools {
        /// Those of the specialist. Each call is recorded, and the agent itself changes nothing in the project.
        #[default]
        Kb = "kb",
        /// Its own. What they do is only reported, and their changes of files are compared.
        Own = "own",
    }
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
    /// Whether it loses a session that it loads in the minute in which that began.
    pub loses_new_sessions: bool,
    /// How its own tools are switched off.
    pub tools_off: ToolsOff,
}

/// How the own tools of an agent are switched off, as far as it has settings for that.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolsOff {
    /// Variables with a JSON object, to which the settings are added.
    pub env: &'static [(&'static str, &'static str)],
    /// `_meta` of `session/new`: a JSON object.
    pub meta: Option<&'static str>,
}

impl ToolsOff {
    /// It has no settings for that: its permission requests are refused, and the sandbox holds it.
    const NONE: ToolsOff = ToolsOff { env: &[], meta: None };
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
        loses_new_sessions: false,
        tools_off: ToolsOff { env: &[], meta: Some(r#"{"disableBuiltInTools": true}"#) },
    },
    KnownAgent {
        name: "codex",
        argv: &["codex-acp"],
        env: &[],
        install: "npm install -g @agentclientprotocol/codex-acp",
        key: "OPENAI_API_KEY",
        reads_itself: false,
        loses_new_sessions: false,
        tools_off: ToolsOff::NONE,
    },
    KnownAgent {
        name: "gemini",
        argv: &["gemini", "--acp"],
        env: &[],
        install: "npm install -g @google/gemini-cli",
        key: "GEMINI_API_KEY",
        reads_itself: true,
        loses_new_sessions: true,
        tools_off: ToolsOff::NONE,
    },
    KnownAgent {
        name: "goose",
        argv: &["goose", "acp"],
        env: &[],
        install: "see https://github.com/block/goose",
        key: "OPENAI_API_KEY",
        reads_itself: false,
        loses_new_sessions: false,
        tools_off: ToolsOff::NONE,
    },
    KnownAgent {
        name: "opencode",
        argv: &["opencode", "acp"],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        install: "npm install -g opencode-ai",
        key: "ANTHROPIC_API_KEY",
        reads_itself: false,
        loses_new_sessions: false,
        tools_off: ToolsOff {
            env: &[(
                "OPENCODE_CONFIG_CONTENT",
                r#"{"permission": {"*": "deny", "kb_*": "allow"}}"#,
            )],
            meta: None,
        },
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
            tools: AgentTools::default(),
            span,
        }
    }
}

impl CodingAgent {
    /// Maximum tool calls of an attempt without `maxToolCalls`: an agent reads and searches in many small calls.
    pub const TOOL_CALLS: u32 = 200;
    /// Time limit of an attempt without `timeout`.
    pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);

    /// The known agent that it is, by its name or its program.
    fn known(&self) -> Option<&'static KnownAgent> {
        let program =
            self.argv.first().map(|program| program.rsplit('/').next().unwrap_or(program));
        let has_program = |known: &&KnownAgent| known.argv.first().copied() == program;
        KnownAgent::find(&self.name).or_else(|| KNOWN_AGENTS.iter().find(has_program))
    }

    /// Whether it must not load a session in the minute in which that began. It names the file of a session by the minute,
    /// and begins a new one there before it reads the old one.
    pub fn loses_new_sessions(&self) -> bool {
        self.known().is_some_and(|known| known.loses_new_sessions)
    }

    /// How its program is installed, if that is known.
    pub fn install(&self) -> Option<&'static str> {
        self.known().map(|known| known.install)
    }

    /// How its own tools are switched off, if it works with those of the specialist.
    fn tools_off(&self) -> Option<ToolsOff> {
        self.known().map(|known| known.tools_off).filter(|_| self.tools == AgentTools::Kb)
    }

    /// `_meta` of the request for a session.
    pub fn session_meta(&self) -> Option<Json> {
        serde_json::from_str(self.tools_off()?.meta?).ok()
    }

    /// Adds to the values of its variables what switches its own tools off.
    pub fn switch_tools_off(&self, env: &mut Vec<(String, String)>) {
        for (name, settings) in self.tools_off().iter().flat_map(|off| off.env) {
            let before = env.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
            let mut merged =
                before.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            if let Ok(settings) = serde_json::from_str(settings) {
                add_to(&mut merged, settings);
            }
            env.retain(|(own, _)| own != name);
            env.push(((*name).to_owned(), merged.to_string()));
        }
    }
}

/// Adds settings to others; where both say something, the added ones hold.
fn add_to(settings: &mut Json, added: Json) {
    match (settings, added) {
        (Json::Object(own), Json::Object(added)) => {
            for (key, value) in added {
                add_to(own.entry(key).or_insert(Json::Null), value);
            }
        }
        (own, added) => *own = added,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_base::diagnostic::SourceId;
    use serde_json::json;

    #[test]
    fn the_settings_of_the_user_stay_and_the_own_tools_are_off() {
        let agent = KnownAgent::find("opencode").unwrap().agent(Span::new(SourceId(0), 0, 0));
        let own = json!({"provider": {"p": {}}, "permission": {"bash": "allow"}});
        let mut env = vec![("OPENCODE_CONFIG_CONTENT".to_owned(), own.to_string())];
        agent.switch_tools_off(&mut env);
        let [(_, value)] = env.as_slice() else { panic!("{env:?}") };
        let found: Json = serde_json::from_str(value).unwrap();
        let permission = json!({"bash": "allow", "*": "deny", "kb_*": "allow"});
        assert_eq!(found, json!({"provider": {"p": {}}, "permission": permission}));
        let mut env = Vec::new();
        CodingAgent { tools: AgentTools::Own, ..agent }.switch_tools_off(&mut env);
        assert!(env.is_empty());
    }

    #[test]
    fn the_settings_that_switch_tools_off_are_objects() {
        for known in &KNOWN_AGENTS {
            let texts =
                known.tools_off.env.iter().map(|(_, text)| *text).chain(known.tools_off.meta);
            for text in texts {
                assert!(serde_json::from_str::<kb_base::value::JsonMap>(text).is_ok(), "{text}");
            }
        }
    }
}
