//! The machine of a job of GitHub Actions, and what it may do there.

use super::actions_matrix::Matrix;
use super::draft::Draft;
use super::fields::{Fields, texts};
use kb_language::definition::Positioned;

/// Why `permissions` have no counterpart.
pub(super) const PERMISSIONS: &str = "there is no token of GitHub";

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
    if labels.len() == value.items().len() && labels.iter().all(known) {
        draft.hint(
            value.line,
            "`runs-on` has no counterpart: steps run on this machine, in the project folder",
        )
    } else {
        let text = format!("`runs-on: {}` is not mapped: steps run on Linux", labels.join(", "));
        draft.fails(value.line, text);
    }
}

fn is_linux(label: &str) -> bool {
    label == "linux" || label.starts_with("ubuntu-")
}

/// Whether a step with `uses` does nothing that steps in the project folder need.
pub(super) fn is_exact(uses: &str, step: &Positioned) -> bool {
    let with = Fields::ahead(step).take("with").map(Positioned::entries).unwrap_or_default();
    let plain = ["fetch-depth", "fetch-tags", "persist-credentials", "show-progress"];
    match uses.split('@').next() {
        Some("actions/checkout") => with.iter().all(|(key, _, _)| plain.contains(&key.as_str())),
        Some("actions/cache") => Fields::ahead(step).peek("id").is_none(),
        _ => false,
    }
}
