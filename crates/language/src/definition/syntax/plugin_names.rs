//! Names of plugins in allow-lists, settings and steps.

use super::Decoder;
use crate::toolspec::{PLUGIN_PREFIX, ToolSpec, permits, plugin_id};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::ToolName;
use std::sync::Arc;

impl Decoder {
    /// The plugins that an entry of an allow-list names: `plugin:ID`, or a glob such as `plugin:*`. An
    /// entry that names none is reported.
    pub(crate) fn plugin_names(&mut self, text: &str, span: Span) -> Vec<ToolName> {
        if text.contains('*') {
            let all = self.plugins.iter().filter(|(_, plugin)| plugin.is_some());
            let all = all.map(|(id, _)| format!("{PLUGIN_PREFIX}{id}"));
            return all
                .filter(|name| permits(text, name))
                .filter_map(|name| ToolName::new(name).ok())
                .collect();
        }
        match self.plugin(text, span) {
            Some(_) => ToolName::new(text).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// The tool of the plugin with this name. A name without a valid plugin is reported.
    pub(crate) fn plugin(&mut self, name: &str, span: Span) -> Option<Arc<ToolSpec>> {
        let id = plugin_id(name).unwrap_or_default();
        let (message, help) = match self.plugins.get(id) {
            Some(Some(tool)) => return Some(tool.clone()),
            Some(None) => (
                format!("the plugin `{id}` has errors"),
                "fix its definition; `kb playbook validate` shows the errors of all files"
                    .to_owned(),
            ),
            None => {
                let known: Vec<String> =
                    self.plugins.keys().map(|id| format!("{PLUGIN_PREFIX}{id}")).collect();
                let help = match self.nearest(name, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => {
                        format!("define it in `.kb/plugins/{id}.yml`")
                    }
                    None => format!("known plugins: {}", known.join(", ")),
                };
                (format!("unknown tool `{name}`"), help)
            }
        };
        self.push(Diagnostic::error(Code::NO_SUCH_TOOL, span, message).help(help));
        None
    }
}
