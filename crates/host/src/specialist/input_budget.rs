//! The budget of the values in a prompt.
//!
//! The values that placeholders put into `task` and the values of `input` share one budget. Above it,
//! the largest are replaced by a preview with their size and the call that reads the rest; the complete
//! value is available to `output:read`. Text that the author wrote is never cut. Start at [`fit`].

use kb_attempt::SpecialistWork;
use kb_base::value::{Json, json_text};

/// Characters of one token, in estimates.
const TOKEN_CHARS: usize = 4;
/// Shortest preview of a value, in characters.
const MIN_PREVIEW: usize = 200;

/// The task and input of a prompt within the budget.
pub(super) struct FittedInput {
    pub(super) task: String,
    pub(super) input: Option<Json>,
    /// The values that were replaced by previews.
    pub(super) previews: Vec<PreviewedValue>,
}

/// A value that was replaced by a preview.
pub(super) struct PreviewedValue {
    /// The `ref` under which `output:read` finds it, such as `input.context`.
    pub(super) reference: String,
    /// The complete value as text.
    pub(super) text: String,
}

/// Fits the values of the task and the input into `tokens`.
pub(super) fn fit(work: &SpecialistWork, tokens: u32) -> FittedInput {
    let budget = tokens as usize * TOKEN_CHARS;
    let in_task = work.task_values.iter().map(|range| chars(&work.task[range.clone()]));
    let sizes: Vec<usize> = in_task.chain(work.input.as_ref().map(size)).collect();
    let mut previews = Vec::new();
    if sizes.iter().sum::<usize>() <= budget {
        return FittedInput { task: work.task.clone(), input: work.input.clone(), previews };
    }
    let share = largest_share(&sizes, budget);
    let task = fit_task(work, share, &mut previews);
    let input = work.input.as_ref().map(|input| fit_value(input, share, "input", &mut previews));
    FittedInput { task, input, previews }
}

fn fit_task(work: &SpecialistWork, share: usize, previews: &mut Vec<PreviewedValue>) -> String {
    let mut task = String::new();
    let mut end = 0;
    for (i, range) in work.task_values.iter().enumerate() {
        task.push_str(&work.task[end..range.start]);
        let value = &work.task[range.clone()];
        if chars(value) <= share {
            task.push_str(value)
        } else {
            task.push_str(&preview(value, share, format!("task.{}", i + 1), previews))
        }
        end = range.end;
    }
    task + &work.task[end..]
}

/// Objects keep their keys as long as each of them has room for a preview; anything else that is too
/// large becomes the start of its text.
fn fit_value(value: &Json, share: usize, path: &str, previews: &mut Vec<PreviewedValue>) -> Json {
    if size(value) <= share {
        return value.clone();
    }
    match value {
        Json::Object(map) if map.len() * MIN_PREVIEW <= share => {
            let keys: usize = map.keys().map(|key| chars(key)).sum();
            let sizes: Vec<usize> = map.values().map(size).collect();
            let inner = largest_share(&sizes, share.saturating_sub(keys));
            let entries = map.iter().map(|(key, value)| {
                (key.clone(), fit_value(value, inner, &format!("{path}.{key}"), previews))
            });
            Json::Object(entries.collect())
        }
        other => Json::String(preview(&json_text(other), share, path.to_owned(), previews)),
    }
}

fn preview(
    text: &str,
    share: usize,
    reference: String,
    previews: &mut Vec<PreviewedValue>,
) -> String {
    let length = share.max(MIN_PREVIEW);
    let Some((end, _)) = text.char_indices().nth(length) else { return text.to_owned() };
    let total = chars(text);
    let shown = format!(
        "{}\n[truncated: the first {length} of {total} characters; continue with `{}` \
         {{\"ref\": \"{reference}\", \"offset\": {length}}}]",
        &text[..end],
        kb_language::toolspec::OUTPUT_READER,
    );
    previews.push(PreviewedValue { reference, text: text.to_owned() });
    shown
}

/// The largest size that a value may keep so that all values together fit into the budget: values
/// below it stay whole, and what they leave is shared by the others.
fn largest_share(sizes: &[usize], budget: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = budget;
    for (i, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - i);
        if *size > share {
            return share;
        }
        left -= size;
    }
    budget
}

/// Characters of a value in the prompt.
fn size(value: &Json) -> usize {
    chars(&json_text(value))
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn small_values_stay_whole_and_large_ones_share_the_rest() {
        assert_eq!(largest_share(&[10, 20, 1_000, 2_000], 1_030), 500);
        assert_eq!(largest_share(&[10, 20], 1_000), 1_000);
        assert_eq!(largest_share(&[500, 500], 400), 200);
        assert_eq!(largest_share(&[], 400), 400);
    }

    #[test]
    fn objects_keep_their_keys_and_only_their_largest_values_are_cut() {
        let value =
            json!({"summary": "short", "code": {"a.rs": "x".repeat(9_000), "b.rs": "small"}});
        let mut previews = Vec::new();
        let fitted = fit_value(&value, 2_000, "input", &mut previews);
        assert_eq!(fitted["summary"], "short");
        assert_eq!(fitted["code"]["b.rs"], "small");
        let cut = fitted["code"]["a.rs"].as_str().unwrap();
        assert!(cut.contains("of 9000 characters"), "{cut}");
        assert!(size(&fitted) < 2_300, "{}", size(&fitted));
        let references: Vec<&str> = previews.iter().map(|p| p.reference.as_str()).collect();
        assert_eq!(references, ["input.code.a.rs"]);
        assert_eq!(previews[0].text.len(), 9_000);
    }

    #[test]
    fn lists_and_objects_of_many_keys_become_the_start_of_their_text() {
        let list: Json = (0..10_000).collect();
        let map: Json = (0..1_000)
            .map(|n| (format!("k{n}"), json!(n)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        for value in [list, map] {
            let mut previews = Vec::new();
            let fitted = fit_value(&value, 1_000, "input", &mut previews);
            assert!(fitted.is_string() && size(&fitted) < 1_200, "{fitted}");
            assert_eq!(previews[0].text, json_text(&value));
        }
    }
}
