//! `outputs` of steps of Dagu 2, which their scripts write to a file.

use super::draft::{Draft, reference, step_id};
use super::fields::Fields;
use super::output::Out;
use kb_language::definition::Positioned;

/// The names of the outputs that a step declares.
fn declared(fields: &Fields<'_>) -> Vec<String> {
    let items = fields.peek("outputs").map(Positioned::items).unwrap_or_default();
    items.iter().filter_map(|item| Fields::ahead(item).text("name")).collect()
}

/// What references can read: the values of the outputs of steps, by their paths.
pub(super) fn readable(steps: &[(String, &Positioned)]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (id, step) in steps {
        let fields = Fields::ahead(step);
        let Some(written) = fields.text("id") else { continue };
        for name in declared(&fields) {
            let start = format!("{name}=");
            let value = format!(
                "{{{{({}.output | select('startingwith', '{start}') | list | last)[{}:]}}}}",
                reference(&step_id(id)),
                start.len()
            );
            found.push((format!("steps.{written}.outputs.{name}"), value));
        }
    }
    found
}

/// Takes `outputs`: the script of the step prints them, and everything else to its standard error. It fails if it
/// writes another name, or not all of them.
pub(super) fn written(
    fields: &Fields<'_>,
    text: &str,
    map: &mut Vec<(&'static str, Out)>,
    draft: &Draft,
) -> Option<String> {
    let names = declared(fields);
    let outputs = fields.take("outputs")?;
    let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let other = ["output", "stdout", "stderr", "repeatPolicy", "parallel", "continueOn"];
    let is_plain = !names.is_empty()
        && names.len() == outputs.items().len()
        && outputs.items().iter().all(|item| item.entries().len() == 1)
        && names.iter().all(plain)
        && !text.contains("<<")
        && !text
            .lines()
            .any(|line| ["trap", "exec"].contains(&line.split(' ').next().unwrap_or("")));
    if !is_plain || other.iter().any(|key| fields.peek(key).is_some()) {
        draft.fails(outputs.line, "`outputs` of this form are not mapped");
        return None;
    }
    map.push(("parse", "lines".into()));
    let needed: String = names
        .iter()
        .map(|name| format!(" grep -q \"^{name}=\" \"$DAGU_OUTPUT_FILE\" || code=1;"))
        .collect();
    Some(format!(
        "# The lines of $DAGU_OUTPUT_FILE are the output of this step; all that it prints is its stderr.
exec 3>&1 >&2; export DAGU_OUTPUT_FILE=\"$(mktemp)\"
trap 'code=$?; cat \"$DAGU_OUTPUT_FILE\" >&3; ! grep -qvE \"^({})=\" \"$DAGU_OUTPUT_FILE\" || code=1;{needed} rm \
\"$DAGU_OUTPUT_FILE\"; exit $code' EXIT
{text}",
        names.join("|")
    ))
}
