//! What a new run keeps of an earlier one: the facts of the decision, and its result as a record.
//!
//! The decision itself is [`choose`], which is pure. A run that a person starts and a child run take it
//! in the same way.

use kb_attempt::open_regular;
use kb_base::value::{Digest, Hasher, JsonMap, RunId, StepId, Timestamp};
use kb_core::run::{Choice, Comparison, Preset, RerunReason, Version, choose, continues_child};
use kb_core::verify::FileCriterion;
use kb_engine::engine::VerifiedResults;
use kb_engine::inspect::{BaseRun, Earlier, FilesNow};
use kb_engine::journal::{Journal, JournalError};
use kb_host::workspace::Workspace;
use kb_language::definition::{InputFile, StepTexts, content_digest};
use kb_language::plan::{Plan, StepIx};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// What the new run executes.
pub(super) struct Current<'a> {
    pub(super) plan: &'a Plan,
    /// Its definition files, and the settings.
    pub(super) files: &'a [InputFile],
    pub(super) params: &'a JsonMap,
    pub(super) task_files: &'a JsonMap,
    /// The project root.
    pub(super) root: &'a Path,
    /// Whether results are kept although a file that their step read has changed since.
    pub(super) keeps_reads: bool,
}

/// The choice for each step of the new run. Steps in `again` run in any case.
pub(super) fn choices(
    current: &Current<'_>,
    earlier: &Earlier,
    again: &BTreeSet<StepIx>,
    journal: &dyn Journal,
) -> Vec<Choice> {
    let Current { plan, files, params, task_files, root, keeps_reads } = *current;
    let own = files.iter().find(|file| file.path == plan.playbook().path);
    let texts = own.map(StepTexts::of).unwrap_or_default();
    let files = files.iter().map(|file| (file.path.clone(), content_digest(file))).collect();
    let (old_texts, old_files) = (earlier.texts(), earlier.file_digests());
    let now = ProjectFiles::of(root);
    let mut reads = BTreeMap::new();
    if !keeps_reads {
        reads.extend(earlier.changed_reads(journal, &now));
        let edited = earlier.edited_files(journal, &now).into_iter();
        reads.extend(edited.filter(|(step, _)| earlier.is_gate(*step)));
    }
    let reads = reads.into_iter().map(|(step, path)| (step, RerunReason::File(path)));
    let undone = earlier.undone_files(journal, &now).into_iter();
    let step_of = |ix| earlier.state.instance(ix).step;
    let undone = undone.map(|(ix, path)| (step_of(ix), RerunReason::Undone(path)));
    let changed_files = reads.chain(undone).collect();
    let facts = Comparison {
        before: Version {
            plan: &earlier.plan,
            texts: &old_texts,
            params: &earlier.frozen.params,
            task_files: &earlier.frozen.task_files,
            files: &old_files,
        },
        now: Version { plan, texts: &texts, params, task_files, files: &files },
        state: &earlier.state,
        changed_files: &changed_files,
        again,
    };
    choose(&facts)
}

/// The files of a project as they are now.
pub(super) struct ProjectFiles<'r> {
    root: &'r Path,
    /// `None` if the folder cannot be opened.
    workspace: Option<Workspace>,
}

impl ProjectFiles<'_> {
    pub(super) fn of(root: &Path) -> ProjectFiles<'_> {
        ProjectFiles { root, workspace: Workspace::open(root, &[], &[]).ok() }
    }
}

impl FilesNow for ProjectFiles<'_> {
    fn digest(&self, path: &str) -> Option<Digest> {
        file_digest(&self.root.join(path))
    }

    fn mode(&self, path: &str) -> Option<u32> {
        let found = self.root.join(path).symlink_metadata().ok()?;
        Some(found.permissions().mode() & 0o7777)
    }

    fn changed_at(&self, path: &str) -> Option<Timestamp> {
        let mut paths = Path::new(path).ancestors().map(|path| self.root.join(path));
        let found = paths.find_map(|path| path.symlink_metadata().ok())?;
        Some(Timestamp(found.ctime() * 1_000 + found.ctime_nsec() / 1_000_000))
    }

    fn meets(&self, check: &FileCriterion) -> bool {
        self.workspace.as_ref().is_none_or(|workspace| workspace.meets(check))
    }
}

fn file_digest(path: &Path) -> Option<Digest> {
    let mut file = open_regular(path).ok()?;
    let (mut hasher, mut buffer) = (Hasher::default(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finish()),
            n => hasher.update(&buffer[..n]),
        }
    }
}

/// The reference of the new run to the earlier one.
pub(super) fn base_run(earlier: &Earlier, run: &RunId, plan: &Plan, choices: &[Choice]) -> BaseRun {
    let (mut keep, mut verify) = (Vec::new(), Vec::new());
    let mut again: Vec<(StepId, String)> = Vec::new();
    let mut continued: BTreeSet<StepIx> = BTreeSet::new();
    for (planned, choice) in plan.steps().iter().zip(choices) {
        let id = planned.step.id.clone();
        let old = earlier.plan.find(id.as_str());
        match choice {
            Choice::Keep => keep.push(id),
            Choice::KeepItems => {
                let same = |old: &StepIx| continues_child(earlier.plan.step(*old), planned);
                continued.extend(old.filter(same));
                keep.push(id);
            }
            Choice::Verify(why) => verify.push((id, why.to_string())),
            Choice::Again(why) => again.push((id, why.to_string())),
            Choice::Continue(why) => {
                continued.extend(old);
                again.push((id, why.to_string()));
            }
        }
    }
    let linked = earlier.state.instances().filter_map(|(ix, instance)| {
        let child = instance.child().filter(|_| continued.contains(&instance.step))?;
        Some((earlier.state.key(&earlier.plan, ix).to_string(), child.run.clone()))
    });
    let children: BTreeMap<String, RunId> = linked.collect();
    for (id, why) in &mut again {
        let of_step = |name: &str| {
            let rest = name.strip_prefix(id.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        if children.keys().any(|name| of_step(name)) {
            why.push_str("; its child run keeps what nothing changed for");
        }
    }
    BaseRun {
        run: run.clone(),
        seq: earlier.seq,
        head: earlier.head,
        keep,
        verify,
        again,
        children,
        revision: None,
    }
}

/// Stores the blobs of kept results again, so that they count as recent until the new run refers to
/// them. Fails if one is missing or damaged.
pub(super) fn secure_blobs(
    journal: &dyn Journal,
    presets: &[Preset],
    verified: &VerifiedResults,
) -> Result<(), JournalError> {
    let results = verified.values().flat_map(|result| result.result.blobs());
    let digests = presets.iter().flat_map(Preset::blobs).chain(results);
    for digest in digests.collect::<BTreeSet<Digest>>() {
        journal.renew_blob(&digest)?;
    }
    Ok(())
}
