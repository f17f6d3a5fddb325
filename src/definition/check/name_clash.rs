use crate::definition::syntax::Decoder;
use crate::definition::syntax::outline::Outline;
use crate::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

/// Names that are written alike in expressions: `a-b` beside `a_b`, a parameter and a step.
pub(crate) fn check(outline: &Outline, decoder: &mut Decoder) {
    let mut short = BTreeMap::new();
    for name in outline.all_steps() {
        let first = *short.entry(name.text.replace('-', "_")).or_insert(name);
        if first.text != name.text {
            let message = format!(
                "in expressions the steps `{}` and `{}` have one name",
                first.text, name.text
            );
            decoder.push(
                Diagnostic::error(Code::NAME_CLASH, name.span, message)
                    .label(first.span, "written the same way there")
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
