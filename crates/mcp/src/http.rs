//! The MCP server behind the HTTP server of `kb serve`: each message is answered by itself, so there are no sessions of the
//! protocol and no streams. Who asks, and from which site, was checked before.

use crate::server::{INSTRUCTIONS, call_tool, read_resource, resources_listed, templates, tools};
use crate::session::Session;
use futures::FutureExt;
use futures::future::BoxFuture;
use kb_base::value::{Json, JsonMap};
use kb_serve::serve::SharedProject;
use kb_serve::web::McpMessages;
use kb_service::service::Environment;
use rmcp::ErrorData;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The versions of the protocol, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Answers the clients of a daemon.
pub fn over_http() -> Arc<dyn McpMessages> {
    Arc::new(OverHttp::default())
}

/// What clients share, for each project.
#[derive(Default)]
struct OverHttp {
    sessions: Mutex<BTreeMap<PathBuf, Arc<Session>>>,
}

impl McpMessages for OverHttp {
    fn answer(
        &self,
        project: &SharedProject,
        may_run: bool,
        message: Json,
    ) -> BoxFuture<'static, Option<Json>> {
        let (context, daemon) = (&project.context, project.daemon.clone());
        let session = {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let own = sessions.entry(context.root.clone()).or_insert_with(|| {
                let cwd = context.root.clone();
                let environment = Environment { cwd, ..context.environment.clone() };
                Arc::new(Session::of_daemon(environment, daemon))
            });
            own.clone()
        };
        async move { answer(&session, may_run, message).await }.boxed()
    }
}

async fn answer(session: &Session, may_run: bool, message: Json) -> Option<Json> {
    let Json::Object(mut message) = message else {
        return Some(failed(Json::Null, &ErrorData::invalid_request("this is no message", None)));
    };
    let method = message.get("method").and_then(Json::as_str).map(str::to_owned);
    // Notifications, and answers to requests, which this server does not send.
    let (id, Some(method)) = (message.remove("id")?, method) else { return None };
    let params = match message.remove("params") {
        Some(Json::Object(params)) => params,
        None | Some(Json::Null) => JsonMap::new(),
        Some(_) => {
            let error = ErrorData::invalid_params("`params` is not an object", None);
            return Some(failed(id, &error));
        }
    };
    Some(match perform(session, may_run, &method, params).await {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => failed(id, &error),
    })
}

async fn perform(
    session: &Session,
    may_run: bool,
    method: &str,
    params: JsonMap,
) -> Result<Json, ErrorData> {
    match method {
        "initialize" => Ok(initialised(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => written(&tools()),
        "tools/call" => written(&call_tool(session, read(params)?, may_run).await?),
        "resources/list" => written(&resources_listed()),
        "resources/templates/list" => written(&templates()),
        "resources/read" => written(&read_resource(session, read(params)?)?),
        _ => {
            let code = rmcp::model::ErrorCode::METHOD_NOT_FOUND;
            Err(ErrorData::new(code, "this server does not offer the method", None))
        }
    }
}

fn initialised(params: &JsonMap) -> Json {
    let wanted = params.get("protocolVersion").and_then(Json::as_str);
    let version = VERSIONS.iter().find(|known| Some(**known) == wanted).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "kb", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

fn read<T: DeserializeOwned>(params: JsonMap) -> Result<T, ErrorData> {
    serde_json::from_value(Json::Object(params)).map_err(|error| {
        ErrorData::invalid_params(format!("the parameters do not fit: {error}"), None)
    })
}

fn written(value: &impl Serialize) -> Result<Json, ErrorData> {
    let mut value = serde_json::to_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    // A key of later versions of the protocol.
    if let Some(result) = value.as_object_mut() {
        result.remove("resultType");
    }
    Ok(value)
}

fn failed(id: Json, error: &ErrorData) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}
