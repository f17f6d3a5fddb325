use super::temporary::Temporary;
use super::watchdog::{HELPER_MARKER, MARKER};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What this process is called among others, and what it keeps for all its steps.
pub(super) struct Instance {
    name: String,
    inherited: Option<String>,
    temporary: Option<Temporary>,
    counter: AtomicU64,
}

impl Instance {
    /// The one of this process; the first call makes its temporary directory.
    pub(super) fn of_process() -> &'static Instance {
        static INSTANCE: OnceLock<Instance> = OnceLock::new();
        INSTANCE.get_or_init(|| {
            let name = format!("{}-{:x}", std::process::id(), crate::clock::now().0);
            let temporary = Temporary::make(&std::env::temp_dir(), &name).ok();
            let inherited = std::env::var(MARKER).ok();
            Instance { name, inherited, temporary, counter: AtomicU64::new(1) }
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A name for one step's processes, unique on this machine.
    pub(super) fn next_token(&self) -> String {
        format!("{}-{}", self.name, self.counter.fetch_add(1, Ordering::Relaxed))
    }

    /// The marker's value for a token.
    pub(super) fn marker(&self, token: &str) -> String {
        match &self.inherited {
            Some(outer) => format!("{outer},{token}"),
            None => token.to_owned(),
        }
    }

    /// What marks everything here as part of the step that this process belongs to itself.
    pub(super) fn inherited_mark(&self) -> Option<(&'static str, &str)> {
        Some((MARKER, self.inherited.as_deref()?))
    }

    /// What marks a process of `kb`'s own beside its steps: it belongs to nobody's step here, and to
    /// the step of another `kb` that this one runs in.
    pub(super) fn helper_variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [(HELPER_MARKER, self.name.as_str())].into_iter().chain(self.inherited_mark())
    }

    /// The private directory for what processes write and forget.
    pub(super) fn temporary_directory(&self) -> Option<&Path> {
        self.temporary.as_ref().map(Temporary::path)
    }
}
