//! Merges one tree into the project.

use super::base::{Base, TreePaths, read_json, write_json};
use super::failures::{blocking, gone, unusable};
use super::plan::MergePlan;
use super::print::Print;
use super::trees::{Tree, Trees};
use kb_attempt::TreeRequest;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::MergedTree;
use kb_language::definition::MergePolicy;

type Merging<T> = Result<T, Box<Failure>>;

impl Trees {
    /// Merges a tree, or returns what became of it before a crash. A tree that does not exist any more is a
    /// failure: its changes were accepted and would be missing.
    pub(super) async fn merge_one(
        &self,
        request: &TreeRequest,
        paths: &TreePaths,
        may_miss: bool,
    ) -> Merging<(MergedTree, Option<Failure>)> {
        let instance = request.instance.to_string();
        let io = |error| unusable(&paths.merged(), &error);
        if let Some(done) = read_json::<MergedTree>(&paths.merged()).map_err(io)? {
            self.discard(paths).await;
            return Ok((done, None));
        }
        let base = read_json::<Base>(&paths.base()).map_err(|e| unusable(&paths.base(), &e))?;
        let base = match base {
            Some(base) => base,
            None if may_miss => {
                return Ok((MergedTree { instance, ..MergedTree::default() }, None));
            }
            None => return Err(gone(request)),
        };
        let tree = self.tree(paths)?;
        let merged = match request.isolation.merge {
            MergePolicy::Rebase => self.rebase(&tree, &base, paths).await?,
            MergePolicy::Patch | MergePolicy::None => self.patch(&tree, &base, paths).await?,
        };
        let merged = MergedTree { instance, ..merged };
        if merged.conflicts.is_empty() {
            write_json(&paths.merged(), &merged).map_err(io)?;
            self.discard(paths).await;
            return Ok((merged, None));
        }
        let kept = Some(paths.files().display().to_string());
        let failure = self.conflict(request, &merged, &base, paths);
        Ok((MergedTree { kept, ..merged }, Some(failure)))
    }

    /// Writes the changes of a tree into the project, without a commit.
    async fn patch(&self, tree: &Tree, base: &Base, paths: &TreePaths) -> Merging<MergedTree> {
        let (project, tree) = (self.project.clone(), tree.workspace.clone());
        let (base, paths) = (base.clone(), paths.clone());
        blocking(move || {
            MergePlan::carried_out([&project, &tree], &paths, || {
                MergePlan::new(&project, &tree, &base, &paths)
            })
        })
        .await
    }

    /// The failure of a conflict: both sides stay, and these commands continue.
    fn conflict(
        &self,
        request: &TreeRequest,
        merged: &MergedTree,
        base: &Base,
        paths: &TreePaths,
    ) -> Failure {
        let TreeRequest { run, instance, .. } = request;
        let first = &merged.conflicts[0];
        let more = match merged.conflicts.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = self.project.names_in(first).unwrap_or_default();
        let what = match names.iter().map(|name| format!("{first}/{name}")).max_by_key(|path| {
            // What the step did not have explains it best.
            base.print(path) == Print::Missing
        }) {
            Some(kept) => format!(
                "`{instance}` replaced the folder `{first}`{more}, in which the project has `{kept}`"
            ),
            None => format!("`{instance}` and the project both changed `{first}`{more}"),
        };
        let (extent, present) = extent(&instance.to_string(), merged, paths);
        let message = format!("{what}; {extent}");
        let files = paths.files().display().to_string();
        let digest = base.files.files.get(first).and_then(|state| state.sha256);
        let by_hand = match digest.map(|digest| paths.content(&digest)).filter(|path| path.exists())
        {
            Some(content) => format!(
                "git merge-file {} {} {}",
                quoted(first),
                quoted(&content.display().to_string()),
                quoted(&format!("{files}/{first}"))
            ),
            None => format!("diff -r {} {}", quoted(first), quoted(&format!("{files}/{first}"))),
        };
        let step: String = instance.to_string().chars().take_while(|c| *c != '[').collect();
        Failure::new(Code::MERGE_CONFLICT, message).help(format!(
            "the files of the step are in {files}. To run it again on the present project{present}: \
             `kb run retry {run} --from {step}`. To combine them yourself, in the project: `{by_hand}`"
        ))
    }
}

/// How much of a tree with conflicts is in the project, and what a new attempt starts with.
fn extent(instance: &str, merged: &MergedTree, paths: &TreePaths) -> (String, String) {
    let written = &merged.files;
    if written.is_empty() {
        return (format!("nothing of `{instance}` was merged"), String::new());
    }
    let planned = MergePlan::stored(paths).ok().flatten().map_or(written.len(), |plan| plan.len());
    let count = written.len();
    let named: Vec<String> = written.iter().take(3).map(|path| format!("`{path}`")).collect();
    let more = if count > 3 { format!(" and {} more", count - 3) } else { String::new() };
    let extent = format!(
        "{count} of {planned} changes of `{instance}` were merged before the merge was interrupted: {}{more}; \
         the others were not",
        named.join(", "),
    );
    (extent, format!(", which has these {count}"))
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@%,:".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
