//! Loads the checks of an entry of the memory.

use super::gate_check::{Check, checks};
use super::load::yaml;
use super::syntax::{Decoder, read_text};
use kb_base::diagnostic::Sources;
use kb_base::value::Json;

/// Decodes checks in the form of a gate. Only `file` checks are taken, without placeholders and without what asks for the
/// changes of a step: a check of the memory is evaluated outside of steps, and a command would be executed then.
///
/// # Errors
///
/// What is wrong with the first one that cannot be taken.
pub fn load_checks(values: &[Json]) -> Result<Vec<Check>, String> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let text = Json::Array(values.to_vec()).to_string();
    let mut sources = Sources::default();
    let text = read_text("checks", &text.as_bytes().into(), &mut sources)
        .map_err(|problem| problem.message)?;
    let mut decoder = Decoder::default();
    let root = yaml(&text, text.start..text.text.len(), &mut decoder);
    let found = root.map(|root| checks(&root, "checks", &mut decoder));
    let problems = decoder.finish();
    if let Some(problem) = problems.into_iter().find(|problem| problem.is_error()) {
        return Err(problem.message);
    }
    let found = found.unwrap_or_default();
    for check in &found {
        let Check::File(file) = check else {
            return Err(format!("`{}` is no check of the memory", check.name()));
        };
        if file.changed.is_some() {
            return Err(
                "`changed` asks for the work of a step, which the memory has none of".to_owned()
            );
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::load_checks;
    use serde_json::json;

    #[test]
    fn only_file_checks_without_placeholders_are_taken() {
        let load = |check| load_checks(&[check]).map(|checks| checks.len());
        assert_eq!(load(json!({"file": "src/*.rs"})), Ok(1));
        assert_eq!(
            load(json!({"file": {"path": "a", "count": {"pattern": "x", "max": 0}}})),
            Ok(1)
        );
        for (check, expected) in [
            (json!({"command": ["rm", "-rf", "/"]}), "`command` is no check of the memory"),
            (json!({"expr": "true"}), "`expr` is no check of the memory"),
            (
                json!({"file": {"path": "a", "changed": true}}),
                "`changed` asks for the work of a step",
            ),
            (json!({"fil": "a"}), "fil"),
            (json!({"file": "{{ params.x }}"}), "unknown parameter"),
            (json!("x"), "a check"),
        ] {
            let error = load(check.clone()).unwrap_err();
            assert!(error.contains(expected), "{check}: {error}");
        }
    }
}
