//! Quick fixes: what the help of a problem says, as an edit. Only those are offered after which the problem is gone.

use super::documents::{Document, Problem};
use super::position::range;
use kb_base::value::Json;
use serde_json::json;

/// An edit that may solve a problem.
#[derive(Debug)]
pub(super) struct Fix {
    title: String,
    start: usize,
    end: usize,
    new: String,
}

impl Fix {
    /// The text after the edit.
    pub(super) fn apply(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.start], self.new, &text[self.end..])
    }

    /// The edit as the protocol writes it.
    pub(super) fn view(&self, uri: &str, text: &str) -> Json {
        let edit = json!({"range": range(text, self.start, self.end), "newText": self.new});
        json!({
            "title": self.title,
            "kind": "quickfix",
            "isPreferred": true,
            "edit": {"changes": {uri: [edit]}},
        })
    }
}

/// The edits that the help of a problem suggests, the most likely one first.
pub(super) fn fixes(document: &Document, problem: &Problem) -> Vec<Fix> {
    let text = &document.text;
    let Some(help) = problem.diagnostic.help.as_deref() else { return Vec::new() };
    let Some(old) = text.get(problem.start..problem.end) else { return Vec::new() };
    if help == "remove it" || help.starts_with("remove it,") {
        return removal(text, problem.start).into_iter().collect();
    }
    let is_guess = help.starts_with("did you mean ");
    if !is_guess && !help.starts_with("write ") || old.contains('\n') {
        return Vec::new();
    }
    // A quoted text keeps its quotes.
    let quoted = old.len() >= 2 && old.starts_with(['"', '\'']) && old.ends_with(&old[..1]);
    let inset = usize::from(quoted);
    let (start, end) = (problem.start + inset, problem.end - inset);
    let sentence = help.split(['?', ';']).next().unwrap_or(help);
    let suggested = sentence.split('`').skip(1).step_by(2);
    // An example has other words than the text that it is about.
    let fitting = suggested.filter(|new| is_guess || keeps_words(old, new));
    let new = fitting.flat_map(|new| [Some(new), without_given(&text[..start], new)]).flatten();
    new.map(|new| {
        let title = format!("Replace by `{new}`");
        Fix { title, start, end, new: new.to_owned() }
    })
    .collect()
}

fn keeps_words(old: &str, new: &str) -> bool {
    let words = old.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let new = new.to_lowercase();
    words.into_iter().all(|word| new.contains(&word.to_lowercase()))
}

/// A path without its beginning where that is written already: `b.output` after `b.` is `output`.
fn without_given<'n>(before: &str, new: &'n str) -> Option<&'n str> {
    let mut ends = new.match_indices('.').map(|(at, _)| at + 1);
    ends.rfind(|end| before.ends_with(&new[..*end])).map(|end| &new[end..])
}

/// The removal of the key at an offset, with the lines below that are indented more.
fn removal(text: &str, at: usize) -> Option<Fix> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let is_block = text[start..at].trim().is_empty();
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next()?;
    let (key, _) = first.trim().split_once(':')?;
    let inner = lines.take_while(|line| !line.trim().is_empty() && indent(line) > indent(first));
    let length = first.len() + inner.map(str::len).sum::<usize>();
    let fix =
        || Fix { title: format!("Remove `{key}`"), start, end: start + length, new: String::new() };
    is_block.then(fix)
}
