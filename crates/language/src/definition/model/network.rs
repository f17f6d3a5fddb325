//! `network:`: the network that sandboxed commands can use.

use crate::definition::keys::choices;
use serde::{Deserialize, Serialize};

choices! {
    /// `network:` of a specialist: the network that its commands, and the commands that check its work,
    /// can use.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum NetworkAccess {
        /// A private loopback interface: servers that a command starts can be reached by itself.
        #[default]
        Loopback = "loopback",
        /// No interface and no Internet sockets.
        None = "none",
        /// The network of this machine.
        Open = "open",
    }
}

impl NetworkAccess {
    /// The one that reaches more.
    #[must_use]
    pub fn wider(self, other: NetworkAccess) -> NetworkAccess {
        if self.width() >= other.width() { self } else { other }
    }

    /// The one that reaches less.
    #[must_use]
    pub fn narrower(self, other: NetworkAccess) -> NetworkAccess {
        if self.width() <= other.width() { self } else { other }
    }

    fn width(self) -> u8 {
        match self {
            NetworkAccess::None => 0,
            NetworkAccess::Loopback => 1,
            NetworkAccess::Open => 2,
        }
    }
}
