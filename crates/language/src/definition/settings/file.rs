//! [`Settings`]: the whole file, `.kb/kb.config.json` or `.yml`.

use super::escalation::OrchestratorSettings;
use super::knowledge::KnowledgeSettings;
use super::llm::LlmSettings;
use super::memory::{MEMORY_SETTINGS, MemorySettings, memory};
use super::secrets::{SECRET_VALUE, SecretSource, secrets};
use super::sections::{
    CacheSettings, EnvSettings, JournalSettings, LimitSettings, SANDBOX_VALUE, SandboxSettings,
    sandbox,
};
use super::serve::ServeSettings;
use super::tools::{SecuritySettings, ToolSettings};
use super::verifier::VerifierSettings;
use crate::definition::keys::KeyType::{Any, ListOrOne, Map, MapOf, Text};
use crate::definition::keys::{KeySpec, key, settings};
use crate::definition::mcp::with_server;
use crate::definition::model::{CodingAgent, McpServer, NotYet, Undecided};
use crate::definition::notify::{NOTIFY, NotifyHook, notify};
use crate::definition::syntax::coding_agent::{AGENTS, agents};
use crate::definition::syntax::mcp::{MCP, mcp};
use crate::definition::syntax::{Decoder, Node};
use std::collections::BTreeMap;
use std::sync::Arc;

settings! {
    /// The project settings: `.kb/kb.config.yml` or `.kb/kb.config.json`. Every key is optional.
    pub struct Settings(Debug, Clone, PartialEq): SETTINGS = ("settings", "the settings", first SCHEMA_KEYS, also LOOP_KEY) {
        /// Models and prices.
        [inner] llm: LlmSettings = "llm", example("{tiers: {small: {provider: ollama, model: qwen3}}}");
        /// Tool policies.
        [inner] tools: ToolSettings = "tools";
        /// Tool policies in the form of agent files.
        [inner] security: SecuritySettings = "security";
        /// Sources of secrets by name.
        [own] secrets: BTreeMap<String, SecretSource> = "secrets" as MapOf(&SECRET_VALUE) => earlier, example("{TOKEN: env:GITHUB_TOKEN}");
        /// Environment of processes.
        [inner] env: EnvSettings = "env", example("{pass: [CI]}");
        /// Confinement of processes; `required` is short for `{require: kernel}`.
        [inner] sandbox: SandboxSettings = "sandbox" as SANDBOX_VALUE => sandbox, example("{require: process}");
        /// Limits of runs.
        [inner] limits: LimitSettings = "limits", example("{maxParallel: 4}");
        /// The daemon.
        [inner] serve: ServeSettings = "serve", example("{maxRuns: 4}");
        /// Receivers of notifications about runs, while `kb serve` runs.
        [own] notify: Vec<NotifyHook> = "notify" as ListOrOne(const { &Map(&NOTIFY) }) => notify, example("[{command: [./notify.sh]}]");
        /// Servers of the Model Context Protocol.
        [own] mcp: Arc<BTreeMap<String, Arc<McpServer>>> = "mcp" as Map(&MCP) => earlier, example("{servers: {files: {command: [mcp-files, docs]}}}");
        /// Coding agents by name, for `agent` of specialists. An entry with the name of a known agent changes it.
        [own] agents: Arc<BTreeMap<String, Arc<CodingAgent>>> = "agents" as AGENTS => agents, example("{mine: {command: [my-agent, --acp]}}");
        /// Stored results of steps with `cache`.
        [inner] cache: CacheSettings = "cache", example("{maxMib: 4096}");
        /// The journal.
        [inner] journal: JournalSettings = "journal", example("{sync: full}");
        /// Gates.
        [inner] verifier: VerifierSettings = "verifier", example("{inconclusivePolicy: fail}");
        /// Planning and escalation.
        [inner] orchestrator: OrchestratorSettings = "orchestrator";
        /// Command texts that count as a test run.
        [own] test_commands: Vec<String> = "testCommands", example("[make check]");
        /// What is remembered across runs.
        [inner] memory: MemorySettings = "memory" as Map(&MEMORY_SETTINGS) => memory, example("{enabled: true}");
        /// The index of the project files.
        [inner] knowledge: KnowledgeSettings = "knowledge", example("{exclude: [\"vendor/**\"]}");
    } plus {
        /// Limits in these settings that are not supported yet. A run is refused if there are any.
        not_yet: Vec<NotYet>,
        /// The files that specialists and playbooks name by `file:`.
        of_definitions: Vec<String>,
    }
}

const SCHEMA_KEYS: &[KeySpec] = &[
    key("$schema", Text, "Address of the JSON Schema, for editors.")
        .example("https://example.org/kb.config.schema.json"),
    key("schema", Any, "Not used: the settings are recognised by their path.")
        .example("kb.config/1"),
];

const LOOP_KEY: &[KeySpec] =
    &[key("agentLoop", Any, "Limits of the loop of model calls. Use `limits` of a specialist.")
        .example("{maxSteps: 20}")
        .planned()];

/// Decodes the settings of a project.
pub(crate) fn settings(root: &Node, decoder: &mut Decoder) -> Option<Settings> {
    let fields = decoder.fields(root, &SETTINGS)?;
    fields.text("$schema", decoder);
    // Other keys name the secrets, and the tools of the servers.
    let secrets = fields.get("secrets").map(|node| secrets(node, decoder)).unwrap_or_default();
    decoder.names.secrets.extend(secrets.keys().cloned());
    let servers = fields.get("mcp").map(|node| mcp(node, decoder)).unwrap_or_default();
    for server in servers.values() {
        decoder.tools = with_server(&decoder.tools, server, &decoder.pinned);
    }
    let mut found = Settings::of(&fields, decoder)?;
    found.tools.security = found.tools.security.narrowed_by(&found.security.tools);
    found.secrets = secrets;
    found.mcp = Arc::new(servers);
    found.not_yet.append(&mut decoder.refused);
    Some(found)
}

/// The value of a key that was decoded before the others.
fn earlier<T: Default>(_: &Node, _: &str, _: &mut Decoder) -> T {
    T::default()
}

impl Settings {
    /// What follows the verdicts that are neither `passed` nor `failed`.
    pub fn undecided(&self) -> Undecided {
        Undecided {
            inconclusive: self.verifier.inconclusive.action,
            unchecked: self.verifier.unchecked,
        }
    }
}
