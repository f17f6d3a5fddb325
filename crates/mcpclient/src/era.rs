//! [`Era`]: how a server is spoken to.

use kb_base::value::Json;
use serde_json::json;

/// The version of the protocol without `initialize`.
pub(crate) const STATELESS: &str = "2026-07-28";

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Handshake,
    Stateless,
}

impl Era {
    /// The parameters of a request as this era wants them.
    pub(crate) fn complete(self, mut params: Json) -> Json {
        if self == Era::Stateless {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = client();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities();
        }
        params
    }
}

/// The name and version of this client.
pub(crate) fn client() -> Json {
    json!({"name": "kb", "version": env!("CARGO_PKG_VERSION")})
}

/// What this client offers to servers: to ask a person with a form.
pub(crate) fn capabilities() -> Json {
    json!({"elicitation": {"form": {}}})
}
