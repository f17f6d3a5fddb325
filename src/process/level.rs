/// How surely nothing of a step outlives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessLevel {
    /// A process group a step, orphans taken back, a watchdog against the end of `kb`.
    Group,
    /// A PID namespace for each step at work: the kernel ends everything in it.
    PidNamespace,
}

impl ProcessLevel {
    /// The name as events and `kb doctor` show it.
    pub fn as_str(self) -> &'static str {
        match self {
            ProcessLevel::Group => "group",
            ProcessLevel::PidNamespace => "pidNamespace",
        }
    }

    /// What that means, for people.
    pub fn description(self) -> &'static str {
        match self {
            ProcessLevel::Group => {
                "each step has a process group; what leaves it is found and ended"
            }
            ProcessLevel::PidNamespace => {
                "each step lives in a PID namespace; the kernel ends what it leaves"
            }
        }
    }
}
