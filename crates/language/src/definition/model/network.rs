//! `network:`: the network that sandboxed commands can use.

use serde::{Deserialize, Serialize};

/// `network:` of a specialist: the network that its commands, and the commands that check its work,
/// can use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    /// A private loopback interface: servers that a command starts can be reached by itself.
    #[default]
    Loopback,
    /// No interface and no Internet sockets.
    None,
    /// The network of this machine.
    Open,
}
