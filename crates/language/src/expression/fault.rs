//! Errors of evaluation, before the text in which they occurred is known.

use super::scope::EvalError;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, limits};
use minijinja::{Error, ErrorKind};
use std::fmt;

/// A failed operation. minijinja carries it as the source of its own error.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    code: Code,
    message: String,
    help: Option<String>,
}

impl Fault {
    /// A value is undefined where one is needed.
    pub(super) fn undefined() -> Fault {
        Fault {
            code: Code::UNDEFINED_VALUE,
            message: "a value is undefined".to_owned(),
            help: None,
        }
    }

    /// `in` does not support these types.
    pub(super) fn search(needle: &str, haystack: &str) -> Fault {
        let message = format!("`in` cannot look for {} in {}", article(needle), article(haystack));
        let help = "`in` looks for a text in a text or an object, and for anything in a list";
        Fault { code: Code::TYPE_MISMATCH, message, help: None }.help(help)
    }

    /// Two types that an operator cannot order.
    pub(super) fn order(operator: &str, left: &str, right: &str) -> Fault {
        let message = if left == right {
            format!("`{operator}` cannot order two values of type {left}")
        } else {
            format!("`{operator}` cannot order {} and {}", article(left), article(right))
        };
        Fault { code: Code::TYPE_MISMATCH, message, help: None }.help(match (left, right) {
            ("string", "number") | ("number", "string") => {
                "convert one side first, as in `value | int` or `value | string`"
            }
            _ => "compare values of the same type; `is defined` and `is none` test for missing values",
        })
    }

    /// A filter, test or arithmetic operation that does not work on these values.
    pub(super) fn failed(message: impl Into<String>) -> Fault {
        Fault { code: Code::EVALUATION_FAILED, message: message.into(), help: None }
    }

    /// The result exceeds the size limit.
    pub(super) fn too_large() -> Fault {
        let limit = limits::RENDERED_BYTES >> 20;
        Fault {
            code: Code::EXPRESSION_TOO_LARGE,
            message: format!("the result is larger than {limit} MiB"),
            help: Some("write large data to a file, and pass its path".to_owned()),
        }
    }

    /// The evaluation exceeds the work limit.
    pub(super) fn exhausted() -> Fault {
        Fault {
            code: Code::EXPRESSION_TOO_LARGE,
            message: "the evaluation takes too much work".to_owned(),
            help: Some("move the computation into a `run` step".to_owned()),
        }
    }

    /// Converts an error of minijinja.
    pub(super) fn of_engine(error: Error) -> Fault {
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(inner) = source {
            if let Some(fault) = inner.downcast_ref::<Fault>() {
                return fault.clone();
            }
            source = inner.source();
        }
        match error.kind() {
            ErrorKind::OutOfFuel => Fault::exhausted(),
            ErrorKind::UndefinedError => Fault::undefined(),
            // The words of its parser of numbers.
            ErrorKind::InvalidOperation
                if error.detail().is_some_and(|detail| detail.contains("invalid float literal")) =>
            {
                Fault::failed("a text that is no number cannot be converted")
                    .help("`int` and `float` read texts such as `12` and `0.5`; test the text first, or print only the number")
            }
            kind => Fault::failed(error.detail().map_or_else(|| kind.to_string(), str::to_owned)),
        }
    }

    fn help(mut self, help: &str) -> Fault {
        self.help = Some(help.to_owned());
        self
    }

    /// The failure of the step, with the text in which the error occurred.
    pub(super) fn in_text(self, text: &str) -> EvalError {
        let text = excerpt(text);
        if self.code == Code::UNDEFINED_VALUE {
            return undefined_text(&text);
        }
        let mut failure = Failure::new(self.code, format!("{} in `{text}`", self.message));
        failure.help = self.help;
        Box::new(failure)
    }
}

fn undefined_text(text: &str) -> EvalError {
    let failure =
        Failure::new(Code::UNDEFINED_VALUE, format!("`{text}` needs a value that is undefined"));
    Box::new(failure.help(
        "give it a fallback with `| default('…')`, or run the step only if the value exists, \
         with a `condition` that tests `is defined`",
    ))
}

fn article(kind: &str) -> String {
    match kind {
        "object" => format!("an {kind}"),
        "null" => kind.to_owned(),
        _ => format!("a {kind}"),
    }
}

/// A text on one line, truncated if it is long.
fn excerpt(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::new(ErrorKind::InvalidOperation, fault.message.clone()).with_source(fault)
    }
}
