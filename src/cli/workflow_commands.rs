//! Workflow commands of GitHub Actions: groups of log lines and annotations.

use std::borrow::Cow;

/// Ends the group that [`group`] began.
pub(in crate::cli) const END_GROUP: &str = "::endgroup::";

/// Starts a group of lines.
pub(in crate::cli) fn group(title: &str) -> String {
    format!("::group::{}", data(title))
}

/// An annotation about a failed step: a warning if the failure is tolerated, else an error. `place` is
/// `PATH:LINE:COLUMN`.
pub(in crate::cli) fn annotation(
    tolerated: bool,
    step: &str,
    place: Option<&str>,
    message: &str,
) -> String {
    let kind = if tolerated { "warning" } else { "error" };
    let title = property(&format!("{step} failed"));
    format!("::{kind} {}title={title}::{}", place.map(position).unwrap_or_default(), data(message))
}

/// The properties of a position.
fn position(place: &str) -> String {
    let mut parts = place.rsplitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(column), Some(line), Some(path)) => {
            format!("file={},line={line},col={column},", property(path))
        }
        _ => String::new(),
    }
}

/// A text in which GitHub Actions finds no command: their first form is read anywhere in a line, the second at its start,
/// behind white space.
pub(super) fn neutral(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "# #[");
        match line.trim_start().starts_with("::") {
            true => line.replacen("::", ": :", 1),
            false => line,
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// JSON in which GitHub Actions finds no command; the text stays the same JSON.
pub(super) fn neutral_json(json: &str) -> Cow<'_, str> {
    match json.contains("##[") {
        true => Cow::Owned(json.replace("##[", r"#\u0023[")),
        false => Cow::Borrowed(json),
    }
}

fn data(text: &str) -> String {
    text.replace("##[", "# #[").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_a_workflow_command() {
        assert_eq!(
            annotation(false, "a[x:y]", None, "50%\n::stop"),
            "::error title=a[x%3Ay] failed::50%25%0A::stop"
        );
        assert_eq!(
            annotation(true, "a", Some("p,1:x.yml:4:3"), "no"),
            "::warning file=p%2C1%3Ax.yml,line=4,col=3,title=a failed::no"
        );
        assert_eq!(neutral("a | ##[set-env]x"), "a | # #[set-env]x");
        assert_eq!(neutral("a\n \u{a0}::error::x\nb ::c"), "a\n \u{a0}: :error::x\nb ::c");
        assert_eq!(neutral_json(r###"{"a": "##[x]"}"###), r##"{"a": "#\u0023[x]"}"##);
    }
}
