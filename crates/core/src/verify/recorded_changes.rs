//! The file changes that the runtime recorded for one step, by path.

use super::changed_lines::{ChangedLines, FileLines};
use crate::evidence::{Change, FileState, Invocation, InvocationStatus, Purpose};
use kb_base::value::Digest;
use std::collections::BTreeMap;

/// A file change with the tool call that made it.
type RecordedChange<'a> = (&'a Invocation, &'a Change);

/// The recorded file changes of a step, by path. Calls for verification are left out.
pub(super) struct RecordedChanges<'a> {
    by_path: BTreeMap<&'a str, Vec<RecordedChange<'a>>>,
    /// Each path once, in the order of the first changes.
    order: Vec<&'a str>,
    gap: Option<String>,
    trace: &'a [Invocation],
}

/// The recorded changes of one path.
pub(super) struct History<'a>(&'a [RecordedChange<'a>]);

impl<'a> RecordedChanges<'a> {
    /// `unwatched`: a command of the step ran whose changes were not recorded.
    pub(super) fn of(trace: &'a [Invocation], unwatched: bool) -> Self {
        let mut by_path: BTreeMap<&str, Vec<RecordedChange<'a>>> = BTreeMap::new();
        let mut order = Vec::new();
        for call in trace.iter().filter(|call| call.purpose == Purpose::Execution) {
            for change in &call.changes {
                let changes = by_path.entry(&change.path).or_default();
                if changes.is_empty() {
                    order.push(change.path.as_str());
                }
                changes.push((call, change));
            }
        }
        RecordedChanges { by_path, order, gap: gap(trace, unwatched), trace }
    }

    /// Whether the step deleted all files of a folder that it knows of, and there were any.
    pub(super) fn deleted_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let later = self.by_path.range(below.as_str()..).map(|(path, _)| *path);
        let mut files = later.take_while(|path| path.starts_with(&below)).peekable();
        let mut existed = false;
        let deleted = files.all(|path| {
            let history = self.history(path);
            existed |= history.before().is_some();
            history.after().is_none()
        });
        deleted && existed
    }

    /// Whether a changed file below a folder existed before the step.
    pub(super) fn existed_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let later = self.by_path.range(below.as_str()..).map(|(path, _)| *path);
        let mut files = later.take_while(|path| path.starts_with(&below));
        files.any(|path| self.history(path).before().is_some())
    }

    /// Whether a command of the step names a path, so that it can have made and deleted it.
    pub(super) fn is_named_by_command(&self, path: &str) -> bool {
        let run = self.trace.iter().filter(|call| call.process.is_some());
        let texts = run.flat_map(|call| [call.args.get("command"), call.args.get("script")]);
        let mut texts = texts.flatten().filter_map(|text| text.as_str());
        texts.any(|text| {
            let is_part = |c: char| c.is_alphanumeric() || "._-/".contains(c);
            let mut words = text.split(|c| !is_part(c));
            words.any(|word| word.trim_start_matches("./").trim_end_matches('/') == path)
        })
    }

    /// All paths of recorded changes.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'a str> {
        self.order.iter().copied()
    }

    /// The changes of a path, in order.
    pub(super) fn history(&self, path: &str) -> History<'_> {
        History(self.by_path.get(path).map_or(&[], Vec::as_slice))
    }

    /// The paths whose content differs from the state before the first attempt, in the order of
    /// their first change.
    pub(super) fn differing(&self) -> impl Iterator<Item = &'a str> {
        self.order.iter().copied().filter(|path| self.differs(path))
    }

    /// The paths whose content is another one, in the order of their first
    /// change.
    pub(super) fn changed(&self) -> impl Iterator<Item = &'a str> {
        self.order.iter().copied().filter(|path| self.is_changed(path))
    }

    /// Whether the content of a path below a folder differs from the state before the first attempt.
    pub(super) fn differs_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let later = self.by_path.range(below.as_str()..).map(|(path, _)| *path);
        later.take_while(|path| path.starts_with(&below)).any(|path| self.is_changed(path))
    }

    /// Whether a path differs from the state before the first attempt. A file that was written counts
    /// even if its content is the same.
    pub(super) fn differs(&self, path: &str) -> bool {
        self.differs_by(path, false)
    }

    /// Whether the content of a path differs from the state before the first attempt; `None` if that
    /// is not known.
    pub(super) fn content_differs(&self, path: &str) -> Option<bool> {
        let history = self.history(path);
        match (history.before(), history.after()) {
            (Some(_), Some(_)) => history.is_same(true).map(|same| !same),
            (before, after) => Some(before.is_some() != after.is_some()),
        }
    }

    /// Paths with the digests of their content after the last change; without one if it is not known, or if the path is gone.
    pub(super) fn contents<'p>(
        &self,
        paths: impl Iterator<Item = &'p str>,
    ) -> impl Iterator<Item = (&'p str, Option<Digest>)> {
        paths.map(|path| (path, self.history(path).after().and_then(|state| state.sha256)))
    }

    /// Whether the content of a path differs.
    fn is_changed(&self, path: &str) -> bool {
        self.differs_by(path, true)
    }

    fn differs_by(&self, path: &str, by_content: bool) -> bool {
        let history = self.history(path);
        match (history.before(), history.after()) {
            (Some(_), Some(_)) => !history.is_same(by_content).unwrap_or(false),
            (None, None) => false,
            _ => true,
        }
    }

    /// Whether a path is in a hidden cache of a program that a command of the step made and that ignores itself, such as
    /// `.pytest_cache`: `.gitignore` in it has the pattern `*`.
    pub(super) fn is_cache(&self, path: &str) -> bool {
        let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        folders.any(|folder| {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            if !name.starts_with('.') || !name.ends_with("cache") {
                return false;
            }
            let rules = self.history(&format!("{folder}/.gitignore"));
            let by_command = rules.last_call().is_some_and(|call| call.process.is_some());
            let ignores_all = || {
                let diffs = rules.diffs().unwrap_or_default();
                let mut lines = diffs.iter().flat_map(|diff| diff.lines());
                lines.any(|line| line.trim_end() == "+*")
            };
            let is_new = rules.before().is_none() && rules.after().is_some();
            is_new && by_command && ignores_all()
        })
    }

    /// Why the record may be incomplete, if it may. Then an absent change proves nothing.
    pub(super) fn gap(&self) -> Option<&str> {
        self.gap.as_deref()
    }
}

fn gap(trace: &[Invocation], unwatched: bool) -> Option<String> {
    let truncated = |call: &&Invocation| {
        call.process.as_ref().is_some_and(|process| process.manifest_truncated)
    };
    if let Some(call) = trace.iter().find(|call| call.status == InvocationStatus::Unknown) {
        return Some(format!(
            "the outcome of the call `{}` of `{}` is unknown",
            call.id, call.tool
        ));
    }
    if unwatched {
        return Some("changes by its commands were not recorded (`evidence: none`)".to_owned());
    }
    let call = trace.iter().find(truncated)?;
    Some(format!("the workspace has more files than could be watched around `{}`", call.tool))
}

impl<'a> History<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The state before the first attempt.
    pub(super) fn before(&self) -> Option<&'a FileState> {
        self.0.first().and_then(|(_, change)| change.before.as_ref())
    }

    /// The state after the last recorded call.
    pub(super) fn after(&self) -> Option<&'a FileState> {
        self.0.last().and_then(|(_, change)| change.after.as_ref())
    }

    /// Whether the step created the path and deleted it.
    pub(super) fn was_temporary(&self) -> bool {
        !self.is_empty() && self.before().is_none() && self.after().is_none()
    }

    /// Whether a call deleted the path.
    pub(super) fn was_deleted(&self) -> bool {
        self.0.iter().any(|(_, change)| change.after.is_none())
    }

    /// Whether the step changed lines at both ends of a range of the file as it is now, or close to them.
    pub(super) fn has_changed_line(&self, numbers: std::ops::RangeInclusive<u64>) -> bool {
        let diffs = self.diffs().filter(|_| self.after().is_some());
        let lines = diffs.and_then(FileLines::of);
        lines.is_some_and(|lines| lines.has_changed_ends(numbers))
    }

    /// Whether a call changed the path while it existed. Writing the same content again is no change.
    pub(super) fn was_modified(&self) -> bool {
        self.0.iter().any(|recorded @ (_, change)| {
            let existed = change.before.is_some() && change.after.is_some();
            let only = History(std::slice::from_ref(recorded));
            existed && only.is_same(true) != Some(true)
        })
    }

    /// Whether the content before the first change is the content after the last one; `None` if it is
    /// not known. With `by_content`, the records of unchanged contents count.
    pub(super) fn is_same(&self, by_content: bool) -> Option<bool> {
        let (Some(before), Some(after)) = (self.before(), self.after()) else {
            return Some(false);
        };
        let unchanged = self.0.first().filter(|(_, change)| by_content && change.same_content);
        // The digest of a content that did not change is recorded once, after the change.
        let digest = unchanged.and_then(|(_, change)| change.after.as_ref()?.sha256);
        let before = FileState { sha256: before.sha256.or(digest), ..before.clone() };
        is_same_content(&before, after)
    }

    /// Whether the recorded differences contain a text in the content before a change; `None` if that
    /// is not known, because a difference is not recorded or only a part of the text is in it. Lines
    /// are compared without their indentation.
    pub(super) fn contained(&self, text: &str) -> Option<bool> {
        let wanted: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let mut known = true;
        for change in self.of_content() {
            let Some(diff) = &change.diff else {
                known &= change.before.is_none();
                continue;
            };
            known &=
                !diff.lines().any(|line| line.starts_with("\\ ") && line.contains("more lines"));
            let before = diff.lines().filter(|line| line.starts_with(['-', ' ']));
            let before: Vec<&str> =
                before.map(|line| line[1..].trim()).filter(|line| !line.is_empty()).collect();
            let starts = |at: usize| {
                let rest = before[at..].iter().zip(&wanted);
                rest.take_while(|(line, part)| line.contains(**part)).count() == wanted.len()
            };
            if (0..before.len()).any(starts) {
                return Some(true);
            }
            known &= !before.iter().any(|line| wanted.contains(line));
        }
        known.then_some(false)
    }

    /// Whether lines that the differences add (`+`) or remove (`-`) are among those of a text; `None` if that is not known.
    /// The other lines of the text must be those around them. The last line of a text may be the beginning of one.
    pub(super) fn has_in_difference(&self, text: &str, mark: char) -> Option<bool> {
        let lines = text.lines().map(str::trim);
        let wanted: Vec<&str> = lines.filter(|line| line.contains(char::is_alphanumeric)).collect();
        let fits = |lines: &[(char, &str)], place: usize| {
            // The first wanted line can stand before the first one of the hunk.
            let both = wanted.iter().enumerate().filter_map(|(at, line)| {
                let at = (place + at).checked_sub(wanted.len())?;
                Some((lines.get(at)?, line))
            });
            let both: Vec<_> = both.collect();
            let is_same = |(own, line): (&str, &str)| match wanted.last() {
                Some(last) if *last == line => begins_with_words(own, line),
                _ => own == line,
            };
            both.iter().all(|((_, own), line)| is_same((own, line)))
                && both.iter().any(|((own, _), _)| *own == mark)
        };
        let diffs = self.diffs()?;
        let has = diffs.iter().flat_map(|diff| diff.split("\n@@")).any(|hunk| {
            let lines = hunk.lines().filter(|line| line.starts_with([mark, ' ']));
            let lines = lines.filter_map(|line| Some((line.chars().next()?, line[1..].trim())));
            let lines: Vec<_> =
                lines.filter(|(_, line)| line.contains(char::is_alphanumeric)).collect();
            (0..lines.len() + wanted.len()).any(|place| fits(&lines, place))
        });
        let is_cut = diffs.iter().any(|diff| diff.contains("more lines"));
        (has || !is_cut).then_some(has)
    }

    /// Whether a difference removes lines.
    pub(super) fn removes_lines(&self) -> bool {
        let diffs = self.diffs().unwrap_or_default();
        diffs.iter().any(|diff| diff.lines().any(|line| line.starts_with('-')))
    }

    /// The lines in which the content differs from the one before the step; `None` if a text is not
    /// known.
    pub(super) fn changed_lines(&self) -> Option<ChangedLines> {
        let diffs: Option<Vec<&str>> = self
            .of_content()
            .map(|change| match (&change.diff, &change.before, &change.after) {
                (Some(diff), ..) => Some(diff.as_str()),
                // A file that is empty before and after has no diff.
                (None, before, after) => {
                    let sizes = [before, after].into_iter().flatten().map(|state| state.size);
                    (sizes.sum::<u64>() == 0).then_some("")
                }
            })
            .collect();
        ChangedLines::of(diffs?)
    }

    /// The differences of the content, in order; `None` if one is not recorded.
    pub(super) fn diffs(&self) -> Option<Vec<&'a str>> {
        self.of_content().map(|change| change.diff.as_deref()).collect()
    }

    /// The changes of the content, in order. Writing the same content again is none.
    fn of_content(&self) -> impl Iterator<Item = &'a Change> {
        let digest = |state: &Option<FileState>| state.as_ref().and_then(|state| state.sha256);
        let is_rewritten = move |change: &Change| {
            let (before, after) = (digest(&change.before), digest(&change.after));
            change.same_content || before.is_some() && before == after
        };
        self.0.iter().map(|(_, change)| *change).filter(move |change| !is_rewritten(change))
    }

    /// Whether the permission bits before and after differ.
    pub(super) fn mode_changed(&self) -> bool {
        let mode = |state: Option<&FileState>| state.map(|state| state.mode);
        mode(self.before()) != mode(self.after())
    }

    /// Whether a call of a tool changed the path, and not only a process of the step itself.
    pub(super) fn is_by_tool_call(&self) -> bool {
        self.0.iter().any(|(call, _)| call.is_tool_call())
    }

    /// The last call that changed the path.
    pub(super) fn last_call(&self) -> Option<&'a Invocation> {
        self.0.last().map(|(call, _)| *call)
    }

    /// The ids of the calls that changed the path, in order.
    pub(super) fn calls(&self) -> Vec<&'a str> {
        self.0.iter().map(|(call, _)| call.id.as_str()).collect()
    }
}

/// Whether two states have the same content, by digest. `None` if a digest is missing and the
/// metadata differ.
pub(super) fn is_same_content(a: &FileState, b: &FileState) -> Option<bool> {
    if a.kind != b.kind {
        return Some(false);
    }
    match (a.sha256, b.sha256) {
        (Some(a), Some(b)) => Some(a == b),
        _ if a.size != b.size => Some(false),
        _ => a.same_stat(b).then_some(true),
    }
}

/// Whether a line begins with a text that ends with a whole word: `x = 1` is no beginning of `x = 10`.
fn begins_with_words(line: &str, text: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    line.strip_prefix(text)
        .is_some_and(|rest| !(text.ends_with(continues) && rest.starts_with(continues)))
}
