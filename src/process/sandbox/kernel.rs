use super::rules::Rules;
use std::sync::OnceLock;

/// What this kernel can hold a process to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSandbox {
    landlock: u32,
}

/// The variable that makes `kb` take the sandbox for weaker than it is: `none` or `process`. It
/// only ever narrows, since less is approved at a lower level.
const AT_MOST: &str = "KB_SANDBOX_AT_MOST";

impl KernelSandbox {
    /// What is there and is not to be left unused; `None` where the kernel cannot hold what is
    /// needed. Tried out once, on a thread that ends.
    pub fn detect() -> Option<KernelSandbox> {
        static ANSWER: OnceLock<Option<KernelSandbox>> = OnceLock::new();
        *ANSWER.get_or_init(|| {
            if level_cap().is_some() {
                return None;
            }
            let tried = std::thread::spawn(|| Rules::new().and_then(Rules::restrict).ok());
            let landlock = tried.join().ok().flatten()?;
            Some(KernelSandbox { landlock })
        })
    }

    /// What commands are held to, for people.
    pub fn description(self) -> String {
        let more = match self.landlock {
            ..=4 => "",
            5 => ", and keeps them from devices",
            _ => ", and keeps their signals and sockets among themselves",
        };
        format!("Landlock {} holds what commands read and write{more}", self.landlock)
    }
}

/// The level that `KB_SANDBOX_AT_MOST` names, where it names one below the kernel's.
pub fn level_cap() -> Option<&'static str> {
    let named = std::env::var(AT_MOST).ok()?;
    match named.as_str() {
        "kernel" => None,
        "none" => Some("none"),
        // What cannot be read must not make it stronger.
        _ => Some("process"),
    }
}
