//! `requires:`: what must hold before a run starts.

use kb_base::diagnostic::Span;

/// `requires:` of a playbook. It is checked before the run is created.
#[derive(Debug, Clone, Default)]
pub struct Requirements {
    /// Programs in `PATH`.
    pub tools: Vec<(String, Span)>,
    /// Project files, as paths or globs.
    pub files: Vec<(String, Span)>,
    /// Environment variables that are set and not empty.
    pub env: Vec<(String, Span)>,
    /// `git: clean`: the project is a git work tree without changes.
    pub clean: Option<Span>,
}

impl Requirements {
    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.files.is_empty()
            && self.env.is_empty()
            && self.clean.is_none()
    }
}
