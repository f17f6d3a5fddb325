//! The machine of a job of GitHub Actions.

use super::actions_matrix::Matrix;
use super::draft::Draft;
use super::fields::{Fields, texts};

/// Reports `runs-on` unless it names Linux, on which `kb` runs steps too.
pub(super) fn machine(fields: &Fields<'_>, matrix: Option<&Matrix>, draft: &Draft) {
    let Some(value) = fields.take("runs-on") else { return };
    let labels = texts(value, "runs-on", draft);
    let axis = |label: &str| {
        let inner = label.strip_prefix("${{")?.strip_suffix("}}")?.trim();
        matrix?.axes.get(inner.strip_prefix("matrix.")?).cloned()
    };
    let known = |label: &String| match axis(label) {
        Some(values) => values.iter().all(|value| is_linux(value)),
        None => is_linux(label),
    };
    match labels.len() == value.items().len() && labels.iter().all(known) {
        true => draft.hint(
            value.line,
            "`runs-on` has no counterpart: steps run on this machine, in the project folder",
        ),
        false => {
            let text =
                format!("`runs-on: {}` is not mapped: steps run on Linux", labels.join(", "));
            draft.fails(value.line, text);
        }
    }
}

fn is_linux(label: &str) -> bool {
    label == "linux" || label.starts_with("ubuntu-")
}
