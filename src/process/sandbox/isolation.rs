//! The parts of the isolation of a sandboxed process, as they are sent to a namespace worker.

/// A set of restrictions of a process besides its Landlock rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::process) struct Isolation(u8);

impl Isolation {
    /// A new root directory with the mounts of a plan, and its own System V IPC and message queues.
    pub(in crate::process) const MOUNTS: Isolation = Isolation(1);
    /// A network of its own, with a loopback interface.
    pub(in crate::process) const NETWORK: Isolation = Isolation(2);
    /// No Internet sockets.
    pub(in crate::process) const NO_SOCKETS: Isolation = Isolation(4);

    pub(in crate::process) fn has(self, part: Isolation) -> bool {
        self.0 & part.0 == part.0
    }

    #[must_use]
    pub(in crate::process) fn with(self, part: Isolation) -> Isolation {
        Isolation(self.0 | part.0)
    }

    /// The parts that both sets have.
    #[must_use]
    pub(in crate::process) fn and(self, other: Isolation) -> Isolation {
        Isolation(self.0 & other.0)
    }

    #[cfg(target_os = "linux")]
    pub(in crate::process) fn bits(self) -> u8 {
        self.0
    }

    #[cfg(target_os = "linux")]
    pub(in crate::process) fn from_bits(bits: u8) -> Isolation {
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
