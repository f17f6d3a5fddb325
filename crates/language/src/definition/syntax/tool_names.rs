//! Names of tools in allow-lists, settings and steps.

use super::Decoder;
use crate::toolspec::{ToolMatch, ToolSpec};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use std::sync::Arc;

impl Decoder {
    /// The tools that a name stands for, as the catalog resolved it. A name that stands for none is reported.
    pub(crate) fn named_tools(
        &mut self,
        text: &str,
        span: Span,
        found: ToolMatch,
    ) -> Vec<Arc<ToolSpec>> {
        match found {
            ToolMatch::Tools(tools) => return tools,
            ToolMatch::NotYet => self.comes_later(text, span),
            ToolMatch::Refused(namespace) => {
                let id = text.strip_prefix(&*namespace.prefix).unwrap_or(text);
                let message = format!("the {} `{id}` has errors", namespace.what);
                let help =
                    "fix its definition; `kb playbook validate` shows the errors of all files";
                self.push(Diagnostic::error(Code::NO_SUCH_TOOL, span, message).help(help));
            }
            ToolMatch::Unusable(namespace) => {
                let found = namespace.problem_of(text);
                self.extend(found.map(|(code, message, help)| {
                    Diagnostic::error(code, span, message).help(help)
                }));
            }
            ToolMatch::Undefined(namespace) => {
                let all = self.tools.names().filter(|name| name.starts_with(&*namespace.prefix));
                let known: Vec<&str> = all.collect();
                let id = text.strip_prefix(&*namespace.prefix).unwrap_or(text);
                let help = match self.nearest(text, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => {
                        format!("define it in {}", namespace.defined_in.replace("{}", id))
                    }
                    None => format!("known {}s: {}", namespace.what, known.join(", ")),
                };
                let message = format!("unknown tool `{text}`");
                self.push(Diagnostic::error(Code::NO_SUCH_TOOL, span, message).help(help));
            }
            ToolMatch::Unknown => {
                let tools = self.tools.clone();
                let near = self.nearest(text, tools.names());
                self.unknown_tool(text, span, near);
            }
        }
        Vec::new()
    }

    /// As [`Decoder::named_tools`], for a restriction, or for all tools of a server. Those of a server that is not pinned
    /// cannot be called, so that a restriction of them is no error: otherwise nothing could pin them.
    pub(crate) fn restricted_tools(
        &mut self,
        text: &str,
        span: Span,
        found: ToolMatch,
    ) -> Vec<Arc<ToolSpec>> {
        let ToolMatch::Unusable(namespace) = &found else {
            return self.named_tools(text, span, found);
        };
        let found = namespace.problem_of(text);
        self.extend(
            found.map(|(code, message, help)| Diagnostic::warning(code, span, message).help(help)),
        );
        Vec::new()
    }

    /// Reports a name that is not the name of a tool.
    pub(crate) fn unknown_tool(&mut self, text: &str, span: Span, meant: Option<&str>) {
        let help = match meant {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                format!("known tools: {}", self.tools.names().collect::<Vec<_>>().join(", "))
            }
        };
        self.push(
            Diagnostic::error(Code::NO_SUCH_TOOL, span, format!("unknown tool `{text}`"))
                .help(help),
        );
    }
}
