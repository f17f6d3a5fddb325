//! What a person reads before an approval: the recorded changes of a run and of the runs that it belongs to, and the
//! names of the files that changed meanwhile without a record.

use super::ServiceError;
use super::runs::facts_of;
use kb_base::value::{RunId, Timestamp, counted};
use kb_core::wire::Body;
use kb_engine::inspect::{
    Earlier, FileDiff, FileDiffKind, FileSnapshot, Reader, RunDiff, StepDiff, run_diff,
};
use kb_engine::journal::Journal;
use kb_host::workspace::{ChangedFile, ChangedFiles};
use kb_language::plan::{PlanStep, Touched};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of files without a record that are listed one by one.
const LISTED: usize = 200;
/// Maximum number of runs of which the changes are read.
const MOST_RUNS: usize = 32;

/// The changes that a person decides about.
#[derive(Debug, Clone, Default)]
pub struct Difference {
    /// The changes of the run, those of its child runs included, then those of the run that started it and of the
    /// run whose results it keeps, and so on. The last one lists the files without a record, if there are some.
    pub runs: Vec<RunDiff>,
    /// The number of the last event of the run before the changes were read.
    last: u64,
    unshown: Option<Unshown>,
}

/// Why a person was not shown all changes, so that an approval releases nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unshown {
    /// Not everything that a specialist changed was recorded, or a folder of the project cannot be read.
    Unrecorded,
    /// The sandbox opened data of the repository, or files outside of the project, for writing.
    Opened,
}

impl Unshown {
    /// What a person is told.
    pub fn as_str(self) -> &'static str {
        match self {
            Unshown::Unrecorded => {
                "not all changes of specialists were recorded, or a folder cannot be read, so an approval releases \
                 nothing: later commands stay in the sandbox"
            }
            Unshown::Opened => {
                "`sandbox.write` opened `.git` or files outside of the project, whose changes are not shown, so an \
                 approval releases nothing: later commands stay in the sandbox; `sandbox: never` on a step frees it"
            }
        }
    }
}

impl Difference {
    /// Reads the changes of a run.
    pub fn of(
        journal: &Arc<dyn Journal>,
        root: &Path,
        run: &str,
        now: Timestamp,
    ) -> Result<Difference, ServiceError> {
        Difference::with((journal, root), run, now, &mut ChangedFiles::default())
    }

    /// The same for one of several runs, which share what is known of the files of the project.
    pub(super) fn with(
        (journal, root): (&Arc<dyn Journal>, &Path),
        run: &str,
        now: Timestamp,
        files: &mut ChangedFiles,
    ) -> Result<Difference, ServiceError> {
        let mut found = Difference::default();
        let (mut since, mut is_touched): (Option<Timestamp>, bool) = (None, false);
        let (mut next, mut names) = (vec![run.to_owned()], Vec::new());
        while let Some(name) = next.pop() {
            if names.contains(&name) || names.len() == MOST_RUNS {
                continue;
            }
            let mut reader = match Reader::open(journal.clone(), &name) {
                Ok(reader) => reader,
                // An earlier run may be deleted.
                Err(_) if !names.is_empty() => continue,
                Err(error) => return Err(error.into()),
            };
            let view = reader.view(now)?;
            if names.is_empty() {
                found.last = reader.seq();
                let touched = touched(journal, &view.run);
                is_touched = touched.as_ref().is_none_or(Option::is_some);
                let is_opened = touched.is_none_or(|own| own.is_some_and(|own| own.unshown));
                found.unshown = is_opened.then_some(Unshown::Opened);
            }
            next.extend(view.base.iter().map(|base| base.run.clone()));
            next.extend(view.parent.iter().map(|parent| parent.run.clone()));
            names.push(view.run.clone());
            if is_touched {
                let mut events = Reader::open(journal.clone(), &view.run)?;
                since = since.into_iter().chain(first_writer(&mut events)?).min();
            }
            let by_specialist = |step: &StepDiff| {
                let planned = reader.plan().find(&step.step).map(|ix| reader.plan().step(ix));
                planned.is_none_or(|planned| planned.specialist.is_some())
            };
            let diff = run_diff(Reader::open(journal.clone(), &view.run)?, None)?;
            let is_complete =
                |step: &StepDiff| step.complete && (step.recorded || !by_specialist(step));
            if !diff.steps.iter().all(is_complete) {
                found.unshown = Some(Unshown::Unrecorded);
            }
            found.runs.push(diff);
        }
        if let Some(since) = since {
            match unrecorded(files.since(root, since), run, &found.runs) {
                Some(others) => found.runs.extend(others),
                None => found.unshown = Some(Unshown::Unrecorded),
            }
        }
        Ok(found)
    }

    /// The number that a reply names of a person who was shown the changes. `None`: no person was shown all, and an
    /// approval releases nothing.
    pub fn seen(&self) -> Option<u64> {
        self.unshown.is_none().then_some(self.last)
    }

    /// Why it does not have all changes, if it does not.
    pub fn unshown(&self) -> Option<Unshown> {
        self.unshown
    }

    /// Whether no change was recorded.
    pub fn is_empty(&self) -> bool {
        self.runs.iter().flat_map(|run| &run.steps).all(|step| step.files.is_empty())
    }
}

/// When the first step started in which a specialist could change files. If there is none, a value of others made the
/// command of a step a writer: when the run started.
fn first_writer(events: &mut Reader) -> Result<Option<Timestamp>, ServiceError> {
    let mut start = None;
    while let Some(page) = events.next_events()? {
        for event in page {
            start = start.or(Some(event.at));
            let Some(place) = event.place.filter(|_| matches!(event.body, Body::StepStart { .. }))
            else {
                continue;
            };
            let planned = events.plan().find(place.step.as_str()).map(|ix| events.plan().step(ix));
            if planned.is_none_or(PlanStep::has_writing_specialist) {
                return Ok(Some(event.at));
            }
        }
    }
    Ok(start)
}

/// Of the changed files of the project those that are in no recorded change: git ignores them, or another program wrote
/// them. `None` if a folder cannot be read.
fn unrecorded(
    changed: Option<Vec<ChangedFile>>,
    run: &str,
    runs: &[RunDiff],
) -> Option<Option<RunDiff>> {
    let mut others = changed?;
    let files = runs.iter().flat_map(|run| &run.steps).flat_map(|step| &step.files);
    let recorded: BTreeSet<&str> =
        files.flat_map(|file| [Some(&*file.path), file.from.as_deref()]).flatten().collect();
    others.retain(|file| !file.path.to_str().is_some_and(|path| recorded.contains(path)));
    let mut listed: Vec<FileDiff> = Vec::new();
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for file in &others {
        if listed.len() < LISTED {
            let path = file.path.to_string_lossy().into_owned();
            listed.push(without_record(path, Some(FileSnapshot::of(&file.state))));
        } else {
            let top = file.path.iter().next().unwrap_or_default().to_string_lossy();
            *folders.entry(top.into_owned()).or_default() += 1;
        }
    }
    let more = folders.into_iter().map(|(top, files)| {
        without_record(format!("{top} ({} more)", counted(files, "file")), None)
    });
    listed.extend(more);
    let step = StepDiff {
        step: String::new(),
        instance: "changed without a record".to_owned(),
        iteration: 1,
        recorded: true,
        complete: true,
        files: listed,
    };
    Some((!others.is_empty()).then(|| RunDiff { run: run.to_owned(), steps: vec![step] }))
}

fn without_record(path: String, after: Option<FileSnapshot>) -> FileDiff {
    let change = FileDiffKind::Unrecorded;
    FileDiff { path, change, from: None, before: None, after, patches: Vec::new() }
}

/// What others could write before the approval; `None` if the run cannot be read.
fn touched(journal: &Arc<dyn Journal>, run: &str) -> Option<Option<Touched>> {
    let run = RunId::new(run).ok()?;
    let earlier = Earlier::read(&**journal, &run, u64::MAX).ok()?;
    Some(facts_of(journal, &earlier).ok()?.touched)
}
