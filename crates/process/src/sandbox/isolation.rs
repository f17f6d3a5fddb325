//! The parts of the isolation of a sandboxed process, as they are sent to a namespace worker.

/// A set of restrictions of a process besides its Landlock rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Isolation(u8);

impl Isolation {
    /// A new root directory with the mounts of a plan, and its own System V IPC and message queues.
    pub(crate) const MOUNTS: Isolation = Isolation(1);
    /// A network of its own, with a loopback interface.
    pub(crate) const NETWORK: Isolation = Isolation(2);
    /// No Internet sockets.
    pub(crate) const NO_SOCKETS: Isolation = Isolation(4);
    /// Folders of the system through an overlay: no server answers behind a socket in it.
    pub(crate) const OVERLAYS: Isolation = Isolation(8);

    pub(crate) fn has(self, part: Isolation) -> bool {
        self.0 & part.0 == part.0
    }

    #[must_use]
    pub(crate) fn with(self, part: Isolation) -> Isolation {
        Isolation(self.0 | part.0)
    }

    /// The parts that both sets have.
    #[must_use]
    pub(crate) fn and(self, other: Isolation) -> Isolation {
        Isolation(self.0 & other.0)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn from_bits(bits: u8) -> Isolation {
        Isolation(bits)
    }
}

/// The network that a sandboxed process can use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Network {
    /// A private loopback interface, where the system has network namespaces.
    #[default]
    Loopback,
    /// No interface, and no Internet sockets.
    None,
    /// The network of this machine.
    Open,
}
