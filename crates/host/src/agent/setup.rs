//! The first requests to an agent: the version of the protocol, a session, its mode and its model.

use super::fault::AgentFault;
use super::tool_server::ToolServer;
use super::wire::Wire;
use kb_base::value::{Json, one_line};
use kb_language::definition::{AgentTools, CodingAgent};
use serde_json::json;

/// The version of the protocol.
const VERSION: u64 = 1;
/// Maximum length of the id of a session.
const ID: usize = 500;
/// Characters of the reason for which an agent does not load a session.
const SHOWN: usize = 300;

/// A session that is open.
pub(super) struct Opened {
    pub(super) id: String,
    /// Its modes and models.
    pub(super) offered: Json,
    /// Whether it is one of before, which continues.
    pub(super) is_loaded: bool,
    /// Why the agent did not load that of before.
    pub(super) not_loaded: Option<String>,
}

/// Agrees on the version, and opens a session in a folder: that of before, if the agent can load it.
pub(super) async fn open(
    wire: &Wire,
    agent: &CodingAgent,
    cwd: &str,
    tools: Option<&ToolServer>,
    before: Option<String>,
) -> Result<Opened, AgentFault> {
    // With the tools of `kb` it has no files of the project.
    let has_files = agent.tools == AgentTools::Own;
    let params = json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": has_files && !agent.reads_itself, "writeTextFile": has_files},
            "terminal": false,
        },
        "clientInfo": {"name": "kb", "title": "kb", "version": env!("CARGO_PKG_VERSION")},
    });
    let agreed = wire.ask("initialize", &params).await?;
    match agreed.get("protocolVersion").and_then(Json::as_u64) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(AgentFault::broken(format!("it speaks version {other} of the protocol")));
        }
        None => return Err(AgentFault::broken("it names no version of the protocol")),
    }
    let servers: Vec<Json> = tools.iter().map(|tools| tools.declaration()).collect();
    let mut params = json!({"cwd": cwd, "mcpServers": servers});
    if let Some(meta) = agent.session_meta() {
        params["_meta"] = meta;
    }
    let loads = agreed.pointer("/agentCapabilities/loadSession").and_then(Json::as_bool);
    let mut not_loaded = None;
    if let Some(id) = before.filter(|_| loads == Some(true)) {
        let mut params = params.clone();
        params["sessionId"] = json!(id);
        match wire.ask("session/load", &params).await {
            Ok(offered) => return Ok(Opened { id, offered, is_loaded: true, not_loaded }),
            // It does not know the session any more.
            Err(AgentFault::Refused(_, _, why)) => not_loaded = Some(one_line(&why, SHOWN)),
            Err(fault) => return Err(fault),
        }
    }
    let offered = wire.ask("session/new", &params).await?;
    match offered.get("sessionId").and_then(Json::as_str) {
        Some(id) if !id.is_empty() && id.len() <= ID => {
            Ok(Opened { id: id.to_owned(), offered, is_loaded: false, not_loaded })
        }
        _ => Err(AgentFault::broken("it gave no usable id of a session")),
    }
}

/// Sets the mode and the model that the definition of the agent names.
pub(super) async fn choose(
    wire: &Wire,
    agent: &CodingAgent,
    id: &str,
    offered: &Json,
) -> Result<(), AgentFault> {
    let wanted = [
        (
            "mode",
            &agent.mode,
            Choices {
                list: "/modes/availableModes",
                id: "id",
                set: "session/set_mode",
                key: "modeId",
            },
        ),
        (
            "model",
            &agent.model,
            Choices {
                list: "/models/availableModels",
                id: "modelId",
                set: "session/set_model",
                key: "modelId",
            },
        ),
    ];
    for (what, name, choices) in wanted {
        let Some(name) = name else { continue };
        let options = config(offered, what);
        let has = |known: &[String]| known.iter().any(|known| known == name);
        let known = choices.known(offered);
        if let Some((config, _)) = options.filter(|(_, known)| has(known)) {
            let params = json!({"sessionId": id, "configId": config, "value": name});
            wire.ask("session/set_config_option", &params).await?;
        } else if has(&known) {
            let mut params = json!({"sessionId": id});
            params[choices.key] = json!(name);
            wire.ask(choices.set, &params).await?;
        } else {
            let of_options = config(offered, what).map(|(_, values)| values).unwrap_or_default();
            let known = if known.is_empty() { of_options } else { known };
            return Err(AgentFault::NoChoice(what, name.clone(), known));
        }
    }
    Ok(())
}

/// Where an answer lists the modes or models of a session, and how one is chosen.
struct Choices {
    list: &'static str,
    id: &'static str,
    set: &'static str,
    key: &'static str,
}

impl Choices {
    fn known(&self, offered: &Json) -> Vec<String> {
        let listed = offered.pointer(self.list).and_then(Json::as_array);
        let ids = listed.into_iter().flatten().filter_map(|one| one.get(self.id)?.as_str());
        ids.map(str::to_owned).collect()
    }
}

/// The option of this category and its values, groups included.
fn config(offered: &Json, category: &str) -> Option<(String, Vec<String>)> {
    let options = offered.get("configOptions")?.as_array()?;
    let own =
        options.iter().find(|own| own.get("category").and_then(Json::as_str) == Some(category))?;
    let id = own.get("id")?.as_str()?.to_owned();
    let listed = own.get("options").and_then(Json::as_array);
    let grouped = |one: &Json| one.get("options").and_then(Json::as_array).cloned();
    let all =
        listed.into_iter().flatten().flat_map(|one| grouped(one).unwrap_or(vec![one.clone()]));
    let values = all.filter_map(|one| one.get("value")?.as_str().map(str::to_owned));
    Some((id, values.collect()))
}
