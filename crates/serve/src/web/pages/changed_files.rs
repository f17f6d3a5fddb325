//! The files that a step changed, each with its differences side by side.

use super::format::{part, short};
use crate::web::state::WebProject;
use kb_service::service::run_diff;
use serde_json::{Value, json};

/// Maximum number of lines of differences for one file.
const DIFF_LINES: usize = 2000;
/// Maximum number of files with differences.
const FILES: usize = 50;

/// The files that a step changed, each with its differences side by side. An error leaves them out: they
/// are not what the page is about.
pub(super) fn files(project: &WebProject, run: &str, name: &str) -> Vec<Value> {
    let Ok(diff) = run_diff(&project.shared.context, run, Some(name)) else { return Vec::new() };
    let steps = diff.steps.into_iter().filter(|step| step.instance == name);
    let files = steps.flat_map(|step| step.files).take(FILES);
    files
        .map(|file| {
            let texts: Vec<&str> = file.patches.iter().map(|patch| patch.text.as_str()).collect();
            let size = file.after.as_ref().map(|after| format!("{} bytes", after.bytes));
            json!({
                "href": file.after.as_ref().map(|_| format!("/api/v1/runs/{run}/files/{}?step={}", part(&file.path), part(name))),
                "path": file.path,
                "change": file.change.as_str(),
                "size": size,
                "rows": rows(&texts.concat()),
            })
        })
        .collect()
}

/// The lines of a `diff -u` in two columns.
fn rows(patch: &str) -> Vec<Value> {
    let (mut a, mut b) = (0usize, 0usize);
    let mut rows: Vec<Value> = Vec::new();
    let (mut old, mut new): (Vec<String>, Vec<String>) = Default::default();
    let line = |text: &str| short(text, 500);
    for text in patch.lines().take(DIFF_LINES) {
        let (mark, rest) = text.split_at_checked(1).unwrap_or((text, ""));
        if mark != "-" && mark != "+" {
            pair(&mut rows, &mut old, &mut new, &mut a, &mut b);
        }
        match mark {
            "-" => old.push(line(rest)),
            "+" => new.push(line(rest)),
            "@" => {
                let number = |mark: char| {
                    let part = text.split(' ').find_map(|part| part.strip_prefix(mark))?;
                    part.split(',').next()?.parse::<usize>().ok()
                };
                (a, b) = (number('-').unwrap_or(1), number('+').unwrap_or(1));
                rows.push(json!({"kind": "hunk", "a": "", "b": "", "old": text, "new": ""}));
            }
            _ => {
                rows.push(
                    json!({"kind": "same", "a": a, "b": b, "old": line(rest), "new": line(rest)}),
                );
                (a, b) = (a + 1, b + 1);
            }
        }
    }
    pair(&mut rows, &mut old, &mut new, &mut a, &mut b);
    rows
}

/// Puts removed lines beside added ones.
fn pair(
    rows: &mut Vec<Value>,
    old: &mut Vec<String>,
    new: &mut Vec<String>,
    a: &mut usize,
    b: &mut usize,
) {
    for index in 0..old.len().max(new.len()) {
        let (before, after) = (old.get(index), new.get(index));
        let kind = match (before, after) {
            (Some(_), Some(_)) => "both",
            (Some(_), None) => "del",
            _ => "add",
        };
        let number = |text: Option<&String>, at: usize| {
            text.map_or(Value::from(""), |_| (at + index).into())
        };
        rows.push(json!({
            "kind": kind, "a": number(before, *a), "b": number(after, *b), "old": before, "new": after,
        }));
    }
    (*a, *b) = (*a + old.len(), *b + new.len());
    old.clear();
    new.clear();
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn changed_lines_stand_side_by_side() {
        let rows = rows("@@ -1,3 +1,4 @@\n a\n-b\n-c\n+B\n+C\n+d\n e\n");
        let shown: Vec<String> = rows
            .iter()
            .map(|r| {
                let text =
                    |key: &str| r[key].as_str().map_or_else(|| r[key].to_string(), str::to_owned);
                ["kind", "a", "old", "b", "new"].map(text).join("|")
            })
            .collect();
        assert_eq!(
            shown,
            [
                "hunk||@@ -1,3 +1,4 @@||",
                "same|1|a|1|a",
                "both|2|b|2|B",
                "both|3|c|3|C",
                "add||null|4|d",
                "same|4|e|5|e"
            ]
        );
    }
}
