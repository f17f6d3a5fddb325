//! What a person reads before an approval: the recorded changes of a run and of the runs that it belongs to, and the
//! names of the files that changed meanwhile without a record.

use super::ServiceError;
use super::runs::facts_of;
use kb_base::value::{Digest, Hasher, RunId, Timestamp, counted, json_text};
use kb_core::evidence::FileKind;
use kb_core::redaction::MASK;
use kb_core::wire::Body;
use kb_engine::inspect::{
    Earlier, FileDiff, FileDiffKind, FileSnapshot, Reader, RunDiff, StepDiff, run_diff,
};
use kb_engine::journal::Journal;
use kb_host::workspace::{ChangedFile, ChangedFiles};
use kb_language::plan::{PlanStep, Touched};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::num::ParseIntError;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Maximum number of files without a record that are listed one by one. With more, a person was not shown all.
const LISTED: usize = 200;
/// Maximum size of a file without a record whose digest is shown, in bytes.
const DIGESTED: u64 = 16 << 20;
/// Maximum number of runs of which the changes are read.
const MOST_RUNS: usize = 32;

/// The changes that a person decides about.
#[derive(Debug, Clone, Default)]
pub struct Difference {
    /// The changes of the run, those of its child runs included, then those of the run that started it and of the
    /// run whose results it keeps, and so on. The last one lists the files without a record, if there are some.
    pub runs: Vec<RunDiff>,
    seen: Seen,
    unshown: Option<Unshown>,
}

/// What a person was shown, as a reply names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of the last event of the run before the changes were read.
    pub(super) event: u64,
    /// Digest of all files that had changed, as they were then.
    pub(super) files: String,
}

impl Display for Seen {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.event, self.files)
    }
}

impl FromStr for Seen {
    type Err = ParseIntError;

    /// Without a digest it stands for no files.
    fn from_str(text: &str) -> Result<Seen, ParseIntError> {
        let (event, files) = text.split_once('-').unwrap_or((text, ""));
        Ok(Seen { event: event.parse()?, files: files.to_owned() })
    }
}

/// Why a person was not shown all changes, so that an approval releases nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unshown {
    /// Not everything that a specialist changed was recorded, or a folder of the project cannot be read.
    Unrecorded,
    /// The sandbox opened data of the repository, or files outside of the project, for writing.
    Opened,
    /// More files changed without a record than are listed.
    Many,
    /// A new line has the value of a secret in it, which is masked. A model can have chosen that value.
    Masked,
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
            Unshown::Many => {
                "more than 200 files changed without a record, such as files that git ignores, so an approval releases \
                 nothing: later commands stay in the sandbox; `sandbox: never` on a step frees it"
            }
            Unshown::Masked => {
                "a new line has the value of a secret, which is masked, so an approval releases nothing: later commands \
                 stay in the sandbox"
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
        let mut before = None;
        let (mut next, mut names) = (vec![run.to_owned()], Vec::new());
        while let Some(name) = next.pop() {
            if names.contains(&name) || names.len() == MOST_RUNS {
                continue;
            }
            let mut reader = match Reader::open(journal.clone(), &name) {
                Ok(reader) => reader,
                // An earlier run may be deleted, and with it what a person has to be shown.
                Err(_) if !names.is_empty() => {
                    if before.as_ref() == Some(&name) {
                        found.unshown = Some(Unshown::Unrecorded);
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let view = reader.view(now)?;
            if names.is_empty() {
                found.seen.event = reader.seq();
                let touched = touched(journal, &view.run);
                is_touched = touched.as_ref().is_none_or(Option::is_some);
                let earlier = touched.as_ref().and_then(|own| own.as_ref()?.run.as_ref());
                before = earlier.map(ToString::to_string);
                next.extend(before.clone());
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
            if diff.steps.iter().any(has_masked_line) {
                found.unshown = Some(Unshown::Masked);
            }
            found.runs.push(diff);
        }
        if let Some(since) = since {
            match files.since(root, since) {
                Some(changed) => {
                    found.seen.files = digest_of(&changed);
                    let others = unrecorded(changed, root, &found.runs);
                    if others.len() > LISTED {
                        found.unshown = Some(Unshown::Many);
                    }
                    found.runs.extend(listed(&others, (root, run)));
                }
                None => found.unshown = Some(Unshown::Unrecorded),
            }
        }
        Ok(found)
    }

    /// What a reply names of a person who was shown the changes. `None`: no person was shown all, and an approval
    /// releases nothing.
    pub fn seen(&self) -> Option<Seen> {
        self.unshown.is_none().then(|| self.seen.clone())
    }

    /// Why it does not have all changes, if it does not.
    pub fn unshown(&self) -> Option<Unshown> {
        self.unshown
    }

    /// The files that changed without a record, as changes of a step without a name.
    pub fn without_record(&self) -> impl Iterator<Item = &StepDiff> {
        self.runs.iter().flat_map(|run| &run.steps).filter(|step| step.step.is_empty())
    }

    /// Whether no change was recorded.
    pub fn is_empty(&self) -> bool {
        self.runs.iter().flat_map(|run| &run.steps).all(|step| step.files.is_empty())
    }
}

/// Whether a line that a step wrote is masked in part.
fn has_masked_line(step: &StepDiff) -> bool {
    let patches = step.files.iter().flat_map(|file| &file.patches);
    let mut lines = patches.flat_map(|patch| patch.text.lines());
    lines.any(|line| line.starts_with('+') && line.contains(MASK))
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

/// Stands for files as they are now: each write of one changes its time, and what comes or goes that of its folder.
fn digest_of(files: &[ChangedFile]) -> String {
    let mut digest = Hasher::default();
    for ChangedFile { path, state } in files {
        digest.update(path.as_os_str().as_encoded_bytes());
        digest.update(json_text(&json!(state)));
    }
    digest.finish().short(16)
}

/// Of the changed files of the project those that are not as a record shows them: git ignores them, or another program
/// wrote them.
fn unrecorded(mut others: Vec<ChangedFile>, root: &Path, runs: &[RunDiff]) -> Vec<ChangedFile> {
    let mut recorded: BTreeMap<&str, Vec<&FileSnapshot>> = BTreeMap::new();
    for file in runs.iter().flat_map(|run| &run.steps).flat_map(|step| &step.files) {
        recorded.entry(&file.path).or_default().extend(&file.after);
    }
    others.retain(|file| file.state.kind != FileKind::Directory);
    others.retain(|file| {
        let shown = file.path.to_str().and_then(|path| recorded.get(path));
        !shown.is_some_and(|shown| is_one_of(shown, file, root))
    });
    others
}

/// The files without a record as a person sees them: the first ones by name, size and digest, the others by folder.
fn listed(others: &[ChangedFile], (root, run): (&Path, &str)) -> Option<RunDiff> {
    let (first, rest) = others.split_at(others.len().min(LISTED));
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for file in rest {
        let top = file.path.iter().next().unwrap_or_default().to_string_lossy();
        *folders.entry(top.into_owned()).or_default() += 1;
    }
    let one = |file: &ChangedFile| {
        let is_small = file.state.kind == FileKind::File && file.state.size <= DIGESTED;
        let sha256 = is_small.then(|| file.sha256(root)).flatten();
        let after = FileSnapshot { sha256, ..FileSnapshot::of(&file.state) };
        without_record(file.path.to_string_lossy().into_owned(), Some(after))
    };
    let more = folders.into_iter().map(|(top, files)| {
        without_record(format!("{top} ({} more)", counted(files, "file")), None)
    });
    let step = StepDiff {
        step: String::new(),
        instance: "changed without a record".to_owned(),
        iteration: 1,
        recorded: true,
        complete: rest.is_empty(),
        files: first.iter().map(one).chain(more).collect(),
    };
    (!others.is_empty()).then(|| RunDiff { run: run.to_owned(), steps: vec![step] })
}

/// Whether a file is as one of these records shows it.
fn is_one_of(shown: &[&FileSnapshot], file: &ChangedFile, root: &Path) -> bool {
    let is_like =
        |shown: &&&FileSnapshot| (shown.kind, shown.bytes) == (file.state.kind, file.state.size);
    let alike: Vec<Digest> =
        shown.iter().filter(is_like).filter_map(|shown| shown.sha256).collect();
    !alike.is_empty() && file.sha256(root).is_some_and(|now| alike.contains(&now))
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
