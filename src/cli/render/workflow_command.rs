//! Workflow commands of GitHub Actions: groups of log lines and annotations.

use super::table::plain;

/// Ends the group that [`group`] began.
pub(super) const END_GROUP: &str = "::endgroup::";

/// Starts a group of lines.
pub(super) fn group(title: &str) -> String {
    format!("::group::{}", data(&plain(title)))
}

/// An annotation about a failed step: a warning if the failure is tolerated, else an error. `place` is
/// `PATH:LINE:COLUMN`.
pub(super) fn annotation(
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

/// A line of output without the marker of workflow commands in their first form, which is read
/// anywhere in a line. Commands of the second form start a line, where the name of the step is.
pub(super) fn neutral(line: &str) -> String {
    line.replace("##[", "# #[")
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
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
    }
}
