//! The levels of process control.

/// How reliably the processes of a step end with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessLevel {
    /// A process group for each step. `kb` adopts orphans, and a watchdog acts after `kb` was
    /// killed.
    Group,
    /// A PID namespace for each running step. The kernel ends every process in it.
    PidNamespace,
}

impl ProcessLevel {
    /// The name in events and in `kb doctor`.
    pub fn as_str(self) -> &'static str {
        match self {
            ProcessLevel::Group => "group",
            ProcessLevel::PidNamespace => "pidNamespace",
        }
    }

    /// A human-readable description.
    pub fn description(self) -> &'static str {
        match self {
            ProcessLevel::Group => {
                "each step runs in a process group; `kb` finds and ends processes that leave it"
            }
            ProcessLevel::PidNamespace => {
                "each step runs in a PID namespace; the kernel ends the processes that it leaves"
            }
        }
    }
}
