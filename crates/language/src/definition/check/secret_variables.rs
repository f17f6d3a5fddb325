//! Static rule: a variable that contains a secret is read only where secrets are allowed.

use crate::definition::syntax::{Decoder, SECRET_POSITIONS};
use crate::expression::Root;
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::{BTreeMap, BTreeSet};

/// Reports reads of a variable that contains a secret. A name counts for the whole definition, because
/// the `env:` that applies is only determined when a step runs.
pub(crate) fn check(decoder: &mut Decoder) {
    let secret = secret_variables(decoder);
    for (name, span) in std::mem::take(&mut decoder.env_reads) {
        if secret.contains(&name) {
            let message = format!("`env.{name}` contains a secret, which is not allowed here");
            decoder.push(
                Diagnostic::error(Code::SECRET_MISPLACED, span, message).help(SECRET_POSITIONS),
            );
        }
    }
}

/// Variables that read a secret, directly or through another variable.
fn secret_variables(decoder: &Decoder) -> BTreeSet<String> {
    let mut readers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut open: Vec<&str> = Vec::new();
    for (variable, root) in &decoder.env_sources {
        match root {
            Root::Secret(_) => open.push(variable),
            Root::Param(name) if decoder.secret_params.contains(&**name) => open.push(variable),
            Root::Params if !decoder.secret_params.is_empty() => open.push(variable),
            Root::Env(read) => readers.entry(read).or_default().push(variable),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    while let Some(variable) = open.pop() {
        if found.insert(variable.to_owned()) {
            open.extend(readers.get(variable).into_iter().flatten());
        }
    }
    found
}
