//! [`Decoder`]: reads typed values from a tree and collects diagnostics.

use super::{Node, Number, Scalar, ScalarKind, Value, usual_mistake};
use crate::definition::keys::Choice;
use crate::definition::model::{CodingAgent, McpServer, NotYet, PinnedTools};
use crate::expression::{Names, Root, Style};
use crate::toolspec::ToolCatalog;
use kb_base::diagnostic::{Code, Diagnostic, Severity, Span};
use kb_base::value::{counted, parse_duration};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of errors of one file that are listed.
const MOST_ERRORS: usize = 500;

/// Decodes values of a tree and collects diagnostics. A method that returns `None` has reported the
/// reason, so callers continue with the other keys.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    diagnostics: Vec<Diagnostic>,
    /// Names that the templates of this definition can refer to.
    pub(crate) names: Names,
    /// The kinds of placeholders that this definition supports.
    pub(crate) style: Style,
    /// The tools that this definition can name.
    pub(crate) tools: ToolCatalog,
    /// What is pinned of servers.
    pub(crate) pinned: Arc<BTreeMap<String, PinnedTools>>,
    /// The servers of the settings.
    pub(crate) servers: Arc<BTreeMap<String, Arc<McpServer>>>,
    /// The agents of the settings.
    pub(crate) agents: Arc<BTreeMap<String, Arc<CodingAgent>>>,
    /// Whether the current texts are code of another language, in which `$x` is no mistake.
    pub(crate) is_code: bool,
    /// Parameters of type `secret`.
    pub(crate) secret_params: BTreeSet<String>,
    /// Every reference in an `env:`: the variable, and what it reads.
    pub(crate) env_sources: Vec<(String, Root)>,
    /// Whether the gate of each specialist step has a judge (`verifier.judgeEveryAnswer`).
    pub(crate) judges_answers: bool,
    /// What refuses runs, until the definition or step that has it takes it.
    pub(crate) refused: Vec<NotYet>,
    /// Variables that are read where secrets are not allowed.
    pub(crate) env_reads: Vec<(String, Span)>,
}

impl Decoder {
    /// Adds a diagnostic.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds diagnostics.
    pub(crate) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        self.diagnostics.extend(diagnostics);
    }

    /// Whether there is a diagnostic that makes the definition invalid.
    pub(crate) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// All diagnostics in the order of the file, but at most 500 errors. A problem in `defaults`, found once for
    /// every step, is reported once.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        let mut seen = BTreeSet::new();
        let mut kept = self.diagnostics;
        kept.sort_by_key(|found| found.span.map(|span| span.start));
        kept.retain(|found| seen.insert((found.span, found.code, found.message.clone())));
        let mut errors = 0;
        let mut unlisted: Option<Diagnostic> = None;
        kept.retain(|found| {
            errors += usize::from(found.severity == Severity::Error);
            let listed = found.severity != Severity::Error || errors <= MOST_ERRORS;
            if !listed && unlisted.is_none() {
                unlisted = Some(found.clone());
            }
            listed
        });
        if let Some(first) = unlisted {
            let more = counted(errors - MOST_ERRORS, "error");
            let message = format!("{more} of this file from here on are not listed");
            let help = "correct the listed errors first";
            kept.push(
                Diagnostic { labels: Vec::new(), caption: String::new(), message, ..first }
                    .help(help),
            );
        }
        kept
    }

    /// The known name closest to `word`; see [`Suggestions`](kb_base::diagnostic::Suggestions).
    pub(crate) fn nearest<'a>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        self.names.suggestions.nearest(word, known)
    }

    /// Reports `expected …, found …`, with a fix for the usual mistake.
    pub(crate) fn wrong_type(&mut self, node: &Node, key: &str, expected: &str) {
        if matches!(node.value, Value::Invalid) {
            return;
        }
        self.wrong_type_with(node, key, expected, || usual_mistake::of_type(key, expected));
    }

    /// As [`Decoder::wrong_type`], with the help where no usual mistake says more.
    pub(crate) fn wrong_type_with(
        &mut self,
        node: &Node,
        key: &str,
        expected: &str,
        help: impl FnOnce() -> String,
    ) {
        if matches!(node.value, Value::Invalid) {
            return;
        }
        let message = format!("{} takes {expected}, found {}", name(key), node.kind());
        let help = usual_mistake::of_shape(node, key, expected).unwrap_or_else(help);
        self.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
    }

    /// Reports a value that is not allowed.
    pub(crate) fn bad_value(&mut self, span: Span, message: String, help: String) {
        self.push(Diagnostic::error(Code::BAD_VALUE, span, message).help(help));
    }

    /// Decodes a text; numbers and booleans must be quoted.
    pub(crate) fn text<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n str> {
        if node.as_text().is_none() {
            self.wrong_type(node, key, "a text");
        }
        node.as_text()
    }

    /// Decodes a text, or the source text of a number or boolean: for versions, arguments and
    /// variables.
    pub(crate) fn scalar<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n str> {
        match &node.value {
            Value::Scalar(Scalar { text, kind, .. }) if *kind != ScalarKind::Null => Some(text),
            _ => {
                self.wrong_type(node, key, "a text");
                None
            }
        }
    }

    /// Decodes `true` or `false`.
    pub(crate) fn boolean(&mut self, node: &Node, key: &str) -> Option<bool> {
        match &node.value {
            Value::Scalar(Scalar { kind: ScalarKind::Bool(value), .. }) => Some(*value),
            Value::Scalar(Scalar { text, .. })
                if matches!(text.to_ascii_lowercase().as_str(), "yes" | "no" | "on" | "off") =>
            {
                let message =
                    format!("{} takes `true` or `false`, found the text `{text}`", name(key));
                let meant = matches!(text.to_ascii_lowercase().as_str(), "yes" | "on");
                let help = format!("write `{meant}`");
                self.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
                None
            }
            _ => {
                self.wrong_type(node, key, "`true` or `false`");
                None
            }
        }
    }

    /// Decodes an integer from `least` to `most`.
    pub(crate) fn integer(&mut self, node: &Node, key: &str, least: u32, most: u32) -> Option<u32> {
        let value = match node.number() {
            Some(Number::Int(value)) => value,
            Some(Number::UInt(_)) => i64::MAX,
            _ if key.ends_with("Ms") => {
                self.wrong_type(node, key, "milliseconds as a whole number");
                return None;
            }
            _ => {
                self.wrong_type(node, key, "a whole number");
                return None;
            }
        };
        match u32::try_from(value) {
            Ok(value) if (least..=most).contains(&value) => Some(value),
            _ => {
                let message = format!("{} cannot be {value}", name(key));
                let help = match most {
                    u32::MAX => format!("write a whole number of at least {least}"),
                    _ => format!("write a whole number from {least} to {most}"),
                };
                self.bad_value(node.span, message, help);
                None
            }
        }
    }

    /// Decodes a number from `least` to `most`.
    pub(crate) fn number(&mut self, node: &Node, key: &str, least: f64, most: f64) -> Option<f64> {
        let value = match node.number() {
            Some(Number::Int(value)) => value as f64,
            Some(Number::UInt(value)) => value as f64,
            Some(Number::Float(value)) => value,
            None => {
                self.wrong_type(node, key, "a number");
                return None;
            }
        };
        if (least..=most).contains(&value) {
            return Some(value);
        }
        let help = match most {
            f64::INFINITY => format!("write a number of at least {least}"),
            _ => format!("write a number from {least} to {most}"),
        };
        self.bad_value(node.span, format!("{} cannot be {value}", name(key)), help);
        None
    }

    /// Decodes a duration such as `90s`; it must be positive.
    pub(crate) fn duration(&mut self, node: &Node, key: &str) -> Option<Duration> {
        let text = match &node.value {
            Value::Scalar(Scalar { text, kind, .. }) if *kind != ScalarKind::Null => text,
            _ => {
                self.wrong_type(node, key, "a duration such as `90s` or `5m`");
                return None;
            }
        };
        match parse_duration(text) {
            Ok(value) if value > Duration::ZERO => Some(value),
            Ok(_) => {
                self.bad_value(
                    node.span,
                    format!("{} cannot be zero", name(key)),
                    "leave the key out".into(),
                );
                None
            }
            Err(_) => {
                let message = format!("`{text}` is not a duration");
                let help = match text.parse::<f64>() {
                    Ok(_) => format!("write a unit: `{text}s`, `{text}m` or `{text}ms`"),
                    Err(_) => {
                        "write a number with a unit, such as `250ms`, `90s`, `5m` or `1h30m`".into()
                    }
                };
                self.bad_value(node.span, message, help);
                None
            }
        }
    }

    /// Decodes one of the texts of `T`.
    pub(crate) fn choice<T: Choice>(&mut self, node: &Node, key: &str) -> Option<T> {
        self.one_of(node, key, T::CHOICES)
    }

    /// Decodes a text that is one of `choices`.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        node: &Node,
        key: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let names = || choices.iter().map(|(name, _)| *name);
        let Some(text) = node.as_text() else {
            let listed = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            self.wrong_type(node, key, &format!("one of {listed}"));
            return None;
        };
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let meant = usual_mistake::of_value(text, names());
        let help = match meant.or_else(|| self.nearest(text, names())) {
            Some(name) => format!("did you mean `{name}`?"),
            None => match choices {
                [(only, _)] => format!("write `{only}`"),
                _ => format!("write one of {}", names().collect::<Vec<_>>().join(", ")),
            },
        };
        self.bad_value(node.span, format!("`{text}` is not a value of {}", name(key)), help);
        None
    }

    /// The items of a list; a scalar counts as a list of one.
    pub(crate) fn list<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Node] {
        match &node.value {
            Value::Seq(items) => items,
            Value::Scalar(_) => std::slice::from_ref(node),
            _ => {
                self.wrong_type(node, key, "a list");
                &[]
            }
        }
    }

    /// Decodes a list of texts.
    pub(crate) fn texts(&mut self, node: &Node, key: &str) -> Vec<String> {
        let items = self.list(node, key);
        items.iter().filter_map(|item| self.text(item, key).map(str::to_owned)).collect()
    }
}

/// A key in backticks; descriptions such as `a step` are returned unchanged.
fn name(key: &str) -> String {
    if key.contains([' ', '`']) { key.to_owned() } else { format!("`{key}`") }
}
