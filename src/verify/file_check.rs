use super::gate::FileCriterion;
use super::observation::{MatchedFile, ObservationError};
use super::reconcile::Finding;
use super::recorded::Recorded;
use crate::value::counted;

/// The verdict over the files that a pattern names.
pub(super) fn files(
    criterion: &FileCriterion,
    seen: &Result<Vec<MatchedFile>, ObservationError>,
    recorded: &Recorded<'_>,
) -> Finding {
    let pattern = &criterion.pattern;
    let files = match seen {
        Ok(files) => files,
        Err(ObservationError { denied: true, reason }) => return Finding::failed(reason.clone()),
        Err(unseen) => {
            let reason = &unseen.reason;
            return Finding::inconclusive(format!("`{pattern}` could not be looked at: {reason}"));
        }
    };
    let questions = [presence, occurrences, changes];
    questions
        .into_iter()
        .find_map(|question| question(criterion, files, recorded))
        .unwrap_or_else(Finding::passed)
}

fn presence(
    criterion: &FileCriterion,
    files: &[MatchedFile],
    _recorded: &Recorded<'_>,
) -> Option<Finding> {
    let (pattern, found) = (&criterion.pattern, files.len());
    if criterion.absent {
        let first = files.first()?;
        return Some(Finding::failed(match found {
            1 => format!("`{}` is there, and must not be", first.path),
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

fn occurrences(
    criterion: &FileCriterion,
    files: &[MatchedFile],
    _recorded: &Recorded<'_>,
) -> Option<Finding> {
    let count = criterion.count.as_ref().filter(|_| !criterion.absent)?;
    let sought = &count.pattern;
    if let Some(file) = files.iter().find(|file| file.occurrences.is_none()) {
        let path = &file.path;
        return Some(Finding::inconclusive(format!("`{sought}` could not be counted in `{path}`")));
    }
    let total: u64 = files.iter().filter_map(|file| file.occurrences).sum();
    let found = format!("`{sought}` occurs {total} times in {}", counted(files.len(), "file"));
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
    recorded: &Recorded<'_>,
) -> Option<Finding> {
    let wanted = criterion.changed?;
    let changed = files.iter().find(|file| recorded.differs(&file.path));
    match (wanted, changed, recorded.gap()) {
        (true, Some(_), _) | (false, None, None) => None,
        (true, None, None) => Some(Finding::failed(format!(
            "no recorded call of this step changed a file that matches `{}`",
            criterion.pattern
        ))),
        (false, Some(file), _) => {
            Some(Finding::failed(format!("this step changed `{}`, and must not", file.path)))
        }
        (_, None, Some(gap)) => Some(Finding::inconclusive(format!(
            "no change to `{}` was recorded, but {gap}",
            criterion.pattern
        ))),
    }
}
