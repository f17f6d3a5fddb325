//! [`ToolRules`]: restrictions of tools that narrow those of the settings.

use super::{Settings, ToolSecurity};
use kb_base::value::ToolName;
use std::collections::BTreeMap;

/// `security` of a specialist: restrictions of its tools. They only narrow those of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRules {
    /// Restrictions by tool.
    pub tools: BTreeMap<ToolName, ToolSecurity>,
    /// `allowed_tools`: no other tool may be called.
    pub allowed: Option<Vec<ToolName>>,
}

impl ToolRules {
    /// The settings with these restrictions added: what either forbids is forbidden.
    #[must_use]
    pub fn narrow(&self, settings: &Settings) -> Settings {
        let mut narrowed = settings.clone();
        for (tool, rules) in &self.tools {
            narrowed.tool_security.entry(tool.clone()).or_default().narrow(rules);
        }
        if let Some(allowed) = &self.allowed {
            narrowed.allow_only(allowed.clone());
        }
        narrowed
    }
}
