//! The versions of the protocol: up to 2025-11-25 a connection begins with `initialize`, from 2026-07-28 on each
//! request names its version.

use crate::era::{Era, STATELESS, capabilities, client};
use crate::fault::Fault;
use crate::server::Server;
use kb_base::value::Json;
use kb_jsonrpc::RemoteError;
use serde_json::json;

/// The latest version with `initialize`.
const HANDSHAKE: &str = "2025-11-25";
/// All versions with it that list and call tools in the same way.
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE];

/// Agrees on a version with a server that has just started.
pub(crate) async fn shake_hands(server: &Server) -> Result<Era, Fault> {
    let params = json!({"protocolVersion": HANDSHAKE, "capabilities": capabilities(), "clientInfo": client()});
    let refusal = match server.request("initialize", params).await {
        Ok(Ok(agreed)) => {
            let version = agreed.get("protocolVersion").and_then(Json::as_str).unwrap_or_default();
            if !HANDSHAKES.contains(&version) {
                let shown = version.chars().take(40).collect::<String>();
                return Err(Fault::Broken(format!("it speaks version `{shown}` of the protocol")));
            }
            server.agreed(version);
            server.notify("notifications/initialized").await;
            return require_tools(&agreed).map(|()| Era::Handshake);
        }
        Ok(Err(refusal)) => Ok(refusal),
        // A server over HTTP that knows no `initialize` may answer with a status alone.
        Err(fault @ Fault::Status(400 | 404 | 405, ..)) => Err(fault),
        Err(fault) => return Err(fault),
    };
    server.agreed(STATELESS);
    let params = Era::Stateless.complete(json!({}));
    let found = server.request("server/discover", params).await;
    let refusal = match (refusal, &found) {
        (Ok(refusal), _) => refusal,
        (Err(_), Ok(Ok(_))) => RemoteError { code: 0, message: String::new(), data: Json::Null },
        (Err(fault), _) => return Err(fault),
    };
    match found? {
        Ok(found) => {
            let versions = found.get("supportedVersions").and_then(Json::as_array);
            let mut versions = versions.into_iter().flatten().filter_map(Json::as_str);
            if versions.any(|version| version == STATELESS) {
                return require_tools(&found).map(|()| Era::Stateless);
            }
            Err(Fault::Broken("it speaks no version of the protocol that `kb` speaks".to_owned()))
        }
        Err(_) if !supported(&refusal).is_empty() => {
            let supported = supported(&refusal).join(", ");
            Err(Fault::Broken(format!("it speaks the versions {supported} of the protocol")))
        }
        Err(_) => Err(Fault::Refused("initialize", refusal.code, refusal.message)),
    }
}

/// The versions of the protocol that a refusal names.
fn supported(refusal: &RemoteError) -> Vec<&str> {
    let named = refusal.data.get("supported").and_then(Json::as_array);
    named.into_iter().flatten().filter_map(Json::as_str).collect()
}

fn require_tools(found: &Json) -> Result<(), Fault> {
    match found.pointer("/capabilities/tools") {
        Some(Json::Object(_)) => Ok(()),
        _ => Err(Fault::Broken("it offers no tools".to_owned())),
    }
}
