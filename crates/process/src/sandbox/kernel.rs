//! What the kernel of this machine can enforce.

use super::rules::{Rules, SOCKETS, landlock_version};

/// The restrictions that this kernel can enforce on a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSandbox {
    landlock: u32,
}

/// An upper limit on the sandbox level, from the variable `KB_SANDBOX_AT_MOST`. A lower level only
/// narrows what runs without approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxCap {
    /// No limit: the kernel sandbox is used where it is available.
    #[default]
    Kernel,
    /// Treat this machine as one without a kernel sandbox.
    Process,
    /// Treat this machine as one that restricts nothing.
    None,
}

impl SandboxCap {
    pub(crate) const VARIABLE: &str = "KB_SANDBOX_AT_MOST";

    /// Parses the value of the variable. An unknown value must not raise the level.
    pub(crate) fn parse(value: &str) -> SandboxCap {
        match value {
            "kernel" => SandboxCap::Kernel,
            "none" => SandboxCap::None,
            _ => SandboxCap::Process,
        }
    }
}

impl KernelSandbox {
    /// What the kernel can enforce, or `None` if it lacks a required feature. Asks the kernel with two
    /// system calls and restricts nothing.
    pub fn detect() -> Option<KernelSandbox> {
        Rules::new().ok()?;
        landlock_version().map(|landlock| KernelSandbox { landlock })
    }

    /// Whether the kernel refuses to connect to Unix sockets, whatever their paths are.
    pub(crate) fn restricts_sockets() -> bool {
        landlock_version().is_some_and(|version| version >= SOCKETS)
    }

    /// A human-readable description of the restrictions.
    pub fn description(self) -> String {
        let more = match self.landlock {
            ..=4 => "",
            5 => ", and denies ioctl on devices",
            _ => {
                ", and denies ioctl on devices, and signals and abstract sockets to other programs"
            }
        };
        format!("Landlock {} restricts the files that commands read and write{more}", self.landlock)
    }
}
