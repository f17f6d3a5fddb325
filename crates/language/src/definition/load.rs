//! Loads definition files into a [`Catalog`] and collects the diagnostics of all of them.
//!
//! Start at [`load`]. Plugins and settings are read first, because other definitions name plugins and
//! the secrets that settings declare.

use super::by_capability;
use super::check::named_specialists;
use super::mcp::{McpLock, of_specialists, with_server};
use super::same_ids::unique;
use super::script::script;
use super::settings::settings;
use super::syntax::{
    Decoder, FileText, FrontMatterError, Node, agent, playbook, plugin, profile, read_text,
    read_yaml, specialist, split_front_matter,
};
use super::{
    Catalog, CodingAgent, DefinitionForm, FileBytes, McpServer, PinnedTools, Playbook, Plugin,
    RefusedDefinitions, Settings, Specialist,
};
use crate::toolspec::{PLUGINS, ToolCatalog};
use kb_base::diagnostic::{Code, Diagnostic, Sources, Span};
use kb_base::value::{DefinitionId, Digest};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The kind of definition that a file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// YAML, `kb.playbook/1`.
    Playbook,
    /// Markdown with front matter.
    Workflow,
    /// YAML, `kb.specialist/1` or the `agent:` form.
    Specialist,
    /// Markdown with front matter and a system prompt; its id is its path.
    AgentProfile,
    /// YAML, `kb.plugin/1`.
    Plugin,
    /// YAML, `kb.script/1`: it replaces a model. Only its problems are of interest; a run reads it by itself.
    Script,
    /// JSON, `kb.mcp-lock/1`: the tools of servers, as `kb mcp pin` wrote them.
    McpLock,
    /// `.kb/kb.config.json` or `.yml`.
    Settings,
}

/// A definition file to load.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Path, relative to the project root for files inside of it; separated by `/`.
    pub path: String,
    /// Content. Bytes that are not UTF-8 become a diagnostic.
    pub bytes: FileBytes,
    /// Kind of definition.
    pub role: FileRole,
}

/// Loads and checks all files. Returns every valid definition and the diagnostics of all files.
pub fn load(files: Vec<InputFile>) -> (Catalog, Vec<Diagnostic>) {
    load_with(files, ToolCatalog::default())
}

/// As [`load`], where definitions can also name these tools.
pub fn load_with(files: Vec<InputFile>, tools: ToolCatalog) -> (Catalog, Vec<Diagnostic>) {
    let mut loader = Loader { tools, ..Loader::default() };
    // Settings and allow-lists name plugins and pinned tools; templates may refer to the secrets of the settings.
    let of_role = |role| files.iter().filter(move |file| file.role == role);
    of_role(FileRole::Plugin).chain(of_role(FileRole::McpLock)).for_each(|file| loader.file(file));
    loader.finish_plugins();
    of_role(FileRole::Settings).for_each(|file| loader.file(file));
    loader.finish_settings();
    let is_early = |role| matches!(role, FileRole::Plugin | FileRole::McpLock | FileRole::Settings);
    files.iter().filter(|file| !is_early(file.role)).for_each(|file| loader.file(file));
    loader.finish()
}

#[derive(Default)]
struct Loader {
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    playbooks: Vec<Playbook>,
    drafts: Vec<Arc<Playbook>>,
    specialists: Vec<Specialist>,
    plugins: Vec<Plugin>,
    unique_plugins: BTreeMap<DefinitionId, Arc<Plugin>>,
    tools: ToolCatalog,
    lock: Arc<McpLock>,
    pinned: Arc<BTreeMap<String, PinnedTools>>,
    servers: Arc<BTreeMap<String, Arc<McpServer>>>,
    agents: Arc<BTreeMap<String, Arc<CodingAgent>>>,
    /// Those of specialists with errors.
    draft_servers: Vec<Arc<McpServer>>,
    refused: RefusedDefinitions,
    settings: Option<(Settings, Span)>,
    secrets: BTreeSet<String>,
}

impl Loader {
    fn file(&mut self, file: &InputFile) {
        let text = match read_text(&file.path, &file.bytes, &mut self.sources) {
            Ok(text) => text,
            Err(diagnostic) => return self.diagnostics.push(*diagnostic),
        };
        let mut decoder = Decoder::default();
        decoder.names.secrets = self.secrets.clone();
        decoder.tools = self.tools.clone();
        decoder.pinned = self.pinned.clone();
        decoder.servers = self.servers.clone();
        decoder.agents = self.agents.clone();
        decoder.judges_answers = self
            .settings
            .as_ref()
            .is_some_and(|(settings, _)| settings.verifier.judge_every_answer);
        let digest = Digest::of(&*file.bytes);
        match file.role {
            FileRole::Playbook | FileRole::Workflow => {
                self.playbook(file, &text, digest, decoder);
            }
            FileRole::Specialist | FileRole::AgentProfile => {
                self.specialist(file, &text, digest, decoder);
            }
            FileRole::Plugin => self.plugin(file, &text, decoder),
            FileRole::Script => self.script(&text, decoder),
            FileRole::McpLock => self.lock(&text),
            FileRole::Settings => self.settings(&text, decoder),
        }
    }

    fn lock(&mut self, text: &FileText) {
        match McpLock::parse(&text.text[text.start..]) {
            Ok(lock) => {
                self.pinned = Arc::new(lock.tools());
                self.lock = Arc::new(lock);
            }
            Err(why) => {
                let span = Span::new(text.source, text.start, text.start);
                let message = format!("the lock file of MCP servers cannot be used: {why}");
                let help =
                    "restore it from version control, or delete it and pin again with `kb mcp pin`";
                self.diagnostics.push(Diagnostic::error(Code::MCP_LOCK, span, message).help(help));
            }
        }
    }

    /// Makes the servers of the settings known to the other definitions.
    fn finish_settings(&mut self) {
        let Some((settings, _)) = &self.settings else { return };
        for server in settings.mcp.values() {
            self.tools = with_server(&self.tools, server, &self.pinned);
        }
        self.servers = settings.mcp.clone();
        self.agents = settings.agents.clone();
    }

    /// Adds the tools of the servers that specialists define, and refuses those that define one differently.
    fn finish_servers(&mut self) {
        let known = (*self.servers).clone();
        let found = of_specialists(&mut self.specialists, known, (&self.tools, &self.pinned));
        let drafts = self.draft_servers.drain(..);
        self.servers = Arc::new(
            drafts.map(|server| (server.name.clone(), server)).chain(found.servers).collect(),
        );
        self.tools = found.tools;
        self.diagnostics.extend(found.diagnostics);
        for (id, path) in found.refused {
            self.refused.specialists.entry(id).or_default().insert(path);
        }
    }

    /// The problems of a script.
    fn script(&mut self, text: &FileText, mut decoder: Decoder) {
        let root = yaml(text, text.start..text.text.len(), &mut decoder);
        root.and_then(|root| script(&root, &mut decoder));
        self.diagnostics.extend(decoder.finish());
    }

    fn plugin(&mut self, file: &InputFile, text: &FileText, mut decoder: Decoder) {
        let root = yaml(text, text.start..text.text.len(), &mut decoder);
        let mut written = root.as_ref().map(plugin::written_ids).unwrap_or_default();
        let found = root.and_then(|root| {
            plugin::plugins(&root, (&file.path, Digest::of(&*file.bytes)), &mut decoder)
        });
        let clean = !decoder.has_errors();
        if written.is_empty() {
            written.push(refused_id(&file.path, text));
        }
        for id in written.into_iter().filter(|_| !clean) {
            self.refused.plugins.entry(id).or_default().insert(file.path.clone());
        }
        self.diagnostics.extend(decoder.finish());
        self.plugins.extend(found.into_iter().flatten().filter(|_| clean));
    }

    /// Makes the plugins known to the other definitions.
    fn finish_plugins(&mut self) {
        let found = std::mem::take(&mut self.plugins).into_iter();
        let found = found.map(|found| (found.id.clone(), found.path.clone(), found.span, found));
        let refused = &mut self.refused.plugins;
        self.unique_plugins = unique(found, "plugin", refused, &mut self.diagnostics);
        let valid = self.unique_plugins.values().map(|plugin| plugin.spec.clone());
        self.tools = self.tools.with(valid);
        for id in self.refused.plugins.keys() {
            self.tools = self.tools.with_refused(format!("{}{id}", PLUGINS.prefix));
        }
    }

    fn playbook(
        &mut self,
        file: &InputFile,
        text: &FileText,
        digest: Digest,
        mut decoder: Decoder,
    ) {
        let form = match file.role {
            FileRole::Workflow => DefinitionForm::Workflow,
            _ => DefinitionForm::Playbook,
        };
        let root = match form {
            DefinitionForm::Playbook => yaml(text, text.start..text.text.len(), &mut decoder),
            DefinitionForm::Workflow => {
                markdown(&file.path, text, &mut decoder).map(|(root, _)| root)
            }
        };
        let origin = playbook::Origin { form, path: &file.path, digest };
        let written = root.as_ref().and_then(|root| root.get("id")?.as_text()).map(str::to_owned);
        let found = root.and_then(|root| playbook::playbook(root, &origin, &mut decoder));
        let clean = !decoder.has_errors();
        if !clean {
            let id = written.unwrap_or_else(|| refused_id(&file.path, text));
            self.refused.playbooks.entry(id).or_default().insert(file.path.clone());
        }
        self.diagnostics.extend(decoder.finish());
        match found {
            Some(found) if clean => self.playbooks.push(found),
            Some(draft) => self.drafts.push(Arc::new(draft)),
            None => {}
        }
    }

    fn specialist(
        &mut self,
        file: &InputFile,
        text: &FileText,
        digest: Digest,
        mut decoder: Decoder,
    ) {
        let path = &file.path;
        let mut written = None;
        let found = match file.role {
            FileRole::AgentProfile => {
                written = Some(profile::path_id(path));
                markdown(path, text, &mut decoder).and_then(|(root, body)| {
                    profile::profile(&root, &text.text[body], path, digest, &mut decoder)
                })
            }
            _ => yaml(text, text.start..text.text.len(), &mut decoder).and_then(|root| {
                // With an id of its own, the specialist has a coding agent.
                let wrapped = root.get("agent").filter(|_| root.get("id").is_none());
                let id = wrapped.map_or_else(|| root.get("id"), |agent| agent.get("name"));
                written = id.and_then(Node::as_text).map(str::to_owned);
                if wrapped.is_some() {
                    agent::agent(&root, path, digest, &mut decoder)
                } else {
                    specialist::specialist(&root, path, digest, &mut decoder)
                }
            }),
        };
        let clean = !decoder.has_errors();
        if !clean {
            let id = written.unwrap_or_else(|| refused_id(path, text));
            self.refused.specialists.entry(id).or_default().insert(path.clone());
        }
        self.diagnostics.extend(decoder.finish());
        match found {
            Some(found) if clean => self.specialists.push(found),
            Some(draft) => self.draft_servers.extend(draft.mcp_servers),
            None => {}
        }
    }

    fn settings(&mut self, text: &FileText, mut decoder: Decoder) {
        let whole = text.start..text.text.len();
        let root = yaml(text, whole, &mut decoder);
        // The secrets of invalid settings count as declared: otherwise every use of one would be
        // reported and hide the real error.
        let secrets = root.as_ref().and_then(|root| root.get("secrets")?.as_map());
        self.secrets.extend(secrets.into_iter().flatten().map(|(key, _)| key.text.to_string()));
        let found = root.and_then(|root| Some((settings(&root, &mut decoder)?, root.span)));
        let clean = !decoder.has_errors();
        self.diagnostics.extend(decoder.finish());
        let Some((found, span)) = found.filter(|_| clean) else { return };
        if let Some((_, first)) = &self.settings {
            let message = "the project has settings in two files";
            self.diagnostics.push(
                Diagnostic::error(Code::DUPLICATE_DEFINITION, span, message)
                    .label(*first, "these settings are used")
                    .help("keep one of the two files"),
            );
            return;
        }
        self.settings = Some((found, span));
    }

    /// Leaves out definitions that share an id, because it is unclear which one is meant.
    fn finish(mut self) -> (Catalog, Vec<Diagnostic>) {
        self.finish_servers();
        let mut settings = self.settings.map(|(own, _)| own).unwrap_or_default();
        settings.add_files_of(&self.specialists, &self.playbooks);
        let mut catalog = Catalog { settings: Arc::new(settings), ..Catalog::default() };
        let specialists = self.specialists.into_iter();
        let specialists =
            specialists.map(|found| (found.id.clone(), found.path.clone(), found.span, found));
        let refused = &mut self.refused.specialists;
        catalog.specialists = unique(specialists, "specialist", refused, &mut self.diagnostics);
        let drafts = self.drafts.iter_mut().map(Arc::make_mut);
        for playbook in self.playbooks.iter_mut().chain(drafts) {
            by_capability::resolve(playbook, &catalog.specialists);
        }
        let playbooks = self.playbooks.into_iter();
        let playbooks =
            playbooks.map(|found| (found.id.clone(), found.path.clone(), found.span, found));
        let refused = &mut self.refused.playbooks;
        catalog.playbooks = unique(playbooks, "playbook", refused, &mut self.diagnostics);
        let named = &catalog.settings.orchestrator.escalation.named;
        self.diagnostics.extend(named_specialists::check(named, &catalog));
        catalog.plugins = self.unique_plugins;
        catalog.tools = self.tools;
        catalog.lock = self.lock;
        catalog.servers = Arc::unwrap_or_clone(self.servers);
        catalog.drafts = self.drafts;
        catalog.refused = self.refused;
        catalog.sources = self.sources;
        (catalog, self.diagnostics)
    }
}

/// The id of a file that cannot be parsed: from the first line that looks like `id:`, else the file
/// name.
fn refused_id(path: &str, text: &FileText) -> String {
    let line = text.text.lines().find_map(|line| line.strip_prefix("id:"));
    let written = line.map(|rest| rest.split(" #").next().unwrap_or_default());
    let written = written.map(|id| id.trim().trim_matches(['"', '\'']));
    let name = match path.strip_suffix("/specialist.yml") {
        Some(folder) => folder.rsplit('/').next().unwrap_or(folder),
        None => playbook::file_stem(path),
    };
    written.filter(|id| !id.is_empty()).unwrap_or(name).to_owned()
}

/// Parses a part of a text as YAML; an empty document is an error.
pub(super) fn yaml(text: &FileText, part: Range<usize>, decoder: &mut Decoder) -> Option<Node> {
    let (root, found) = read_yaml(&text.text[part.clone()], part.start, text.source);
    let unreadable = !found.is_empty();
    decoder.extend(found);
    match root {
        Some(root) if root.is_null() => {
            decoder.push(empty(text, part.start));
            None
        }
        None if !unreadable => {
            decoder.push(empty(text, part.start));
            None
        }
        root => root,
    }
}

fn empty(text: &FileText, at: usize) -> Diagnostic {
    Diagnostic::error(Code::EMPTY_FILE, Span::new(text.source, at, at), "the file is empty")
        .help("write a definition, or delete the file")
}

/// Parses the front matter; returns its tree and the range of the body. A `README.md` without front
/// matter is documentation and not reported.
fn markdown(path: &str, text: &FileText, decoder: &mut Decoder) -> Option<(Node, Range<usize>)> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let at = |from: usize, to: usize| Span::new(text.source, text.start + from, text.start + to);
    match split_front_matter(&text.text, text.start) {
        Ok(split) => Some((yaml(text, split.matter, decoder)?, split.body)),
        Err(FrontMatterError::Missing) if name.eq_ignore_ascii_case("readme.md") => None,
        Err(FrontMatterError::Missing) => {
            let message = "the file does not start with front matter";
            decoder.push(
                Diagnostic::error(Code::FRONT_MATTER, at(0, 0), message)
                    .help("start with a line `---`, then the keys, then another line `---`"),
            );
            None
        }
        Err(FrontMatterError::Unclosed) => {
            decoder.push(
                Diagnostic::error(Code::FRONT_MATTER, at(0, 3), "the front matter is never closed")
                    .help("end it with a line `---`"),
            );
            None
        }
    }
}
