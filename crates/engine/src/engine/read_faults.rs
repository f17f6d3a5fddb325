//! What an evaluation could not read, beside values that are undefined: a value that the journal does not
//! give, and a secret without a value.

use super::payloads::journal_failure;
use crate::journal::JournalError;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_language::expression::EvalError;
use std::cell::Cell;

/// Notes of the reads of one evaluation.
#[derive(Default)]
pub struct ReadFaults {
    journal: Cell<Option<JournalError>>,
    secret: Cell<Option<UnsetSecret>>,
}

/// A secret that has no value.
struct UnsetSecret {
    /// The name that an expression reads.
    name: String,
    /// Why it has no value, and the fix.
    problem: (String, String),
}

impl ReadFaults {
    /// The value that was read; a failure of the journal is noted.
    pub(super) fn loaded<T>(&self, read: Result<T, JournalError>) -> Option<T> {
        read.map_err(|error| self.journal.set(Some(error))).ok()
    }

    /// Notes that a secret has no value, and why.
    pub(super) fn note_secret(&self, name: &str, problem: Option<(String, String)>) {
        let unset = problem.map(|problem| UnsetSecret { name: name.to_owned(), problem });
        self.secret.set(unset);
    }

    /// Returns the result of an evaluation, or the failure to read one of its values.
    pub(super) fn check<T>(&self, made: Result<T, EvalError>) -> Result<T, EvalError> {
        if let Some(error) = self.journal.take() {
            return Err(journal_failure(error));
        }
        match (made, self.secret.take()) {
            (Err(failure), Some(secret)) if secret.explains(&failure) => {
                let UnsetSecret { name, problem: (why, fix) } = secret;
                let message = format!("the secret `{name}` has no value: {why}");
                Err(Box::new(Failure::new(Code::SECRET_UNSET, message).help(fix)))
            }
            (made, _) => made,
        }
    }
}

impl UnsetSecret {
    /// Whether a text that names this secret needs an undefined value. A secret with a fallback is noted
    /// too, and another value of the step can be undefined.
    fn explains(&self, failure: &Failure) -> bool {
        failure.code == Code::UNDEFINED_VALUE && failure.message.contains(&self.name)
    }
}
