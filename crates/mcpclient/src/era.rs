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
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": client(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        params
    }
}

/// The name and version of this client.
pub(crate) fn client() -> Json {
    json!({"name": "kb", "version": env!("CARGO_PKG_VERSION")})
}
