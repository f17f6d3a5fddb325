//! `file` checks: files exist or not, contain a pattern, and were changed by the step or not.

use super::super::check_evidence::with_facts;
use super::super::finding::Finding;
use super::super::observation::{MatchedFile, Observation, ObservationError, ObservationQuery};
use super::super::recorded_changes::RecordedChanges;
use super::facts::{Evaluation, Facts, not_observed};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, counted};
use kb_language::definition::{FileCheck, FileCount};
use kb_language::expression::{EvalError, Scope, Template};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Maximum number of files in the evidence.
const LISTED: usize = 20;

/// A `file` check with its values rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileCriterion {
    /// A path, or a glob in which values match literally.
    pub pattern: String,
    /// Minimum number of matching files.
    pub min_count: u32,
    /// A regular expression that the matching files must contain.
    #[serde(default, with = "count_form", skip_serializing_if = "Option::is_none")]
    pub count: Option<FileCount>,
    /// `true`: the step must have changed a matching file; `false`: it must have changed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Whether no file may match.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

/// The recorded form of a count: pattern, minimum, maximum.
mod count_form {
    use kb_language::definition::FileCount;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Form = Option<(String, u32, Option<u32>)>;

    pub(super) fn serialize<S: Serializer>(
        count: &Option<FileCount>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let form = count.as_ref().map(|count| (&count.pattern, count.min, count.max));
        form.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<FileCount>, D::Error> {
        let form = Form::deserialize(deserializer)?;
        Ok(form.map(|(pattern, min, max)| FileCount { pattern, min, max }))
    }
}

/// The pattern of a check. Values match literally: special characters in them are escaped.
fn pattern(path: &Template, scope: &dyn Scope) -> Result<String, EvalError> {
    let (text, values) = path.render_with_ranges(scope)?;
    let (mut pattern, mut end) = (String::with_capacity(text.len()), 0);
    for value in values {
        pattern.push_str(&text[end..value.start]);
        end = value.end;
        let is_inside = pattern.ends_with('\\') || is_open_class(&pattern);
        if is_inside && !value.is_empty() {
            let message = "a value cannot be part of `[…]` in a pattern, or follow `\\`";
            let failure = Failure::new(Code::INVALID_PATTERN, message);
            return Err(Box::new(failure.help("write the value outside of the brackets")));
        }
        for c in text[value].chars() {
            match c {
                '*' | '?' | '[' | '{' | '}' | '\\' => pattern.extend(['[', c, ']']),
                _ => pattern.push(c),
            }
        }
    }
    pattern.push_str(&text[end..]);
    Ok(pattern)
}

/// Whether a pattern ends within a character class.
fn is_open_class(pattern: &str) -> bool {
    let close = pattern.rfind(']').map_or(0, |at| at + 1);
    pattern[close..].contains('[')
}

impl FileCriterion {
    pub(super) fn resolve(
        check: &FileCheck,
        scope: &dyn Scope,
    ) -> Result<FileCriterion, EvalError> {
        Ok(FileCriterion {
            pattern: pattern(&check.path, scope)?,
            min_count: check.min_count,
            count: check.count.clone(),
            changed: check.changed,
            absent: check.absent,
        })
    }

    pub(super) fn query(&self) -> ObservationQuery {
        ObservationQuery::Files {
            pattern: self.pattern.clone(),
            count: self.count.as_ref().map(|count| count.pattern.clone()),
        }
    }

    pub(super) fn evaluate(&self, facts: &Facts<'_>) -> Evaluation {
        let files = match facts.observation(&self.query()) {
            Observation::Files(Ok(files)) => files,
            Observation::Files(Err(ObservationError { denied: true, reason })) => {
                return (Finding::failed(reason.clone()), None);
            }
            Observation::Files(Err(ObservationError { denied: false, reason })) => {
                let reason = format!("`{}` could not be inspected: {reason}", self.pattern);
                return (Finding::inconclusive(reason), None);
            }
            other => return (not_observed(other), None),
        };
        let listed: Vec<&str> = files.iter().take(LISTED).map(|file| file.path.as_str()).collect();
        let evidence = json!({"matched": files.len(), "files": listed});
        let changed = files.iter().map(|file| file.path.as_str());
        let changed = changed.filter(|_| self.changed == Some(true));
        let changed = changed.filter(|path| facts.changes.content_differs(path) == Some(true));
        let failure = self.presence(files).or_else(|| changes(self, files, facts.changes));
        match failure {
            Some(finding) => (finding, Some(evidence)),
            None => {
                let contents = facts.changes.contents(changed);
                (Finding::passed(), Some(with_facts(evidence, Some(self), contents)))
            }
        }
    }

    /// Whether matching files are as the check says, but for changes.
    pub fn holds(&self, files: &[MatchedFile]) -> bool {
        self.presence(files).is_none()
    }

    /// Whether the pattern can match more than one path.
    pub fn has_wildcards(&self) -> bool {
        self.pattern.contains(['*', '?', '[', '{', '\\'])
    }

    /// Why the matching files are not as the check says.
    fn presence(&self, files: &[MatchedFile]) -> Option<Finding> {
        presence(self, files).or_else(|| occurrences(self, files))
    }
}

fn presence(criterion: &FileCriterion, files: &[MatchedFile]) -> Option<Finding> {
    let (pattern, found) = (&criterion.pattern, files.len());
    if criterion.absent {
        let first = files.first()?;
        return Some(Finding::failed(match found {
            1 => format!("`{}` exists, but must not", first.path),
            _ => format!("`{pattern}` must match nothing, but matches {found} files"),
        }));
    }
    if found >= criterion.min_count as usize {
        return None;
    }
    Some(Finding::failed(match (found, criterion.min_count) {
        (0, 1) => format!("`{pattern}` matches no file"),
        (_, least) => {
            format!("`{pattern}` matches {}, and {least} are needed", counted(found, "file"))
        }
    }))
}

fn occurrences(criterion: &FileCriterion, files: &[MatchedFile]) -> Option<Finding> {
    let count = criterion.count.as_ref().filter(|_| !criterion.absent)?;
    let pattern = &count.pattern;
    if let Some(file) = files.iter().find(|file| file.occurrences.is_none()) {
        let path = &file.path;
        return Some(Finding::inconclusive(format!(
            "`{pattern}` could not be counted in `{path}`"
        )));
    }
    let total: u64 = files.iter().filter_map(|file| file.occurrences).sum();
    let found = format!("`{pattern}` occurs {total} times in {}", counted(files.len(), "file"));
    match count.max {
        _ if total < u64::from(count.min) => {
            Some(Finding::failed(format!("{found}, and {} are needed", count.min)))
        }
        Some(most) if total > u64::from(most) => {
            Some(Finding::failed(format!("{found}, and {most} are allowed")))
        }
        _ => None,
    }
}

fn changes(
    criterion: &FileCriterion,
    files: &[MatchedFile],
    recorded: &RecordedChanges<'_>,
) -> Option<Finding> {
    let wanted = criterion.changed?;
    let with = |state| files.iter().find(|file| recorded.content_differs(&file.path) == state);
    let changed = with(Some(true));
    if let (None, Some(file)) = (changed, with(None)) {
        let path = &file.path;
        return Some(Finding::inconclusive(format!(
            "this step wrote `{path}`, and whether its content is another one is not known"
        )));
    }
    match (wanted, changed, recorded.gap()) {
        (true, Some(_), _) | (false, None, None) => None,
        (true, None, None) => Some(Finding::failed(format!(
            "no recorded call of this step changed the content of a file that matches `{}`",
            criterion.pattern
        ))),
        (false, Some(file), _) => {
            Some(Finding::failed(format!("this step changed `{}`, but must not", file.path)))
        }
        (_, None, Some(gap)) => Some(Finding::inconclusive(format!(
            "no change to `{}` was recorded, but {gap}",
            criterion.pattern
        ))),
    }
}
