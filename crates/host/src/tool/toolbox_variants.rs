//! The same tools for other surroundings: an attempt, other files, further restrictions.

use super::delegates::Delegates;
use super::toolbox::{Toolbox, ToolboxParts};
use crate::workspace::Workspace;
use kb_attempt::{Live, Recorder};
use kb_language::definition::ToolRules;
use kb_language::plan::Confined;
use std::sync::Arc;
use std::time::Duration;

impl Toolbox {
    /// The same tools, whose calls say something to the other steps through this recorder.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Arc<dyn Recorder>) -> Toolbox {
        self.recorder = Some(recorder);
        self
    }

    /// The same tools, whose calls of `delegate` are executed by this.
    #[must_use]
    pub(crate) fn with_delegates(mut self, delegates: Arc<dyn Delegates>) -> Toolbox {
        self.delegates = Some(delegates);
        self
    }

    /// The same tools, whose processes end after this time without output.
    #[must_use]
    pub fn with_idle(self, idle: Option<Duration>) -> Toolbox {
        Toolbox { idle, ..self }
    }

    /// The same tools, whose commands of the author run in the sandbox if this says so when they start.
    #[must_use]
    pub fn with_author_confined(self, confined: Live<Option<Confined>>) -> Toolbox {
        Toolbox { confined, ..self }
    }

    /// These tools under additional restrictions.
    #[must_use]
    pub fn narrowed(&self, rules: &ToolRules) -> Toolbox {
        let parts = self.shared.parts.clone();
        let mut settings = (*parts.settings).clone();
        settings.tools.security = settings.tools.security.narrowed_by(rules);
        let settings = Arc::new(settings);
        let narrowed = Toolbox::new(ToolboxParts { settings, ..parts });
        let (limit, idle, delegates) = (self.limit, self.idle, self.delegates.clone());
        Toolbox { limit, idle, delegates, ..narrowed }
    }

    /// The same tools for other files.
    #[must_use]
    pub fn within(&self, workspace: &Workspace) -> Toolbox {
        let parts = ToolboxParts { workspace: workspace.clone(), ..self.shared.parts.clone() };
        let present = self.present.clone();
        Toolbox { limit: self.limit, idle: self.idle, present, ..Toolbox::new(parts) }
    }
}
