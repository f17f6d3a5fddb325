//! Static rule: no two names are spelled alike in expressions.

use crate::definition::syntax::Decoder;
use crate::definition::syntax::outline::Outline;
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

/// Reports names that are spelled alike in expressions: `a-b` and `a_b`, or a parameter and a step.
pub(crate) fn check(outline: &Outline, decoder: &mut Decoder) {
    let mut short = BTreeMap::new();
    for name in outline.all_steps() {
        let first = *short.entry(name.text.replace('-', "_")).or_insert(name);
        if first.text != name.text {
            let message = format!(
                "the steps `{}` and `{}` have the same name in expressions",
                first.text, name.text
            );
            decoder.push(
                Diagnostic::error(Code::NAME_CLASH, name.span, message)
                    .label(first.span, "the other step")
                    .help("rename one of them"),
            );
        }
    }
    for param in &outline.params {
        if let Some(step) = short.get(&*param.text) {
            let message = format!("`{}` is the name of a parameter and of a step", param.text);
            decoder.push(
                Diagnostic::error(Code::NAME_CLASH, step.span, message)
                    .label(param.span, "the parameter")
                    .help("rename one of them"),
            );
        }
    }
}
