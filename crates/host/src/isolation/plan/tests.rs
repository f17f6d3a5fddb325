//! Merges that are killed between any two changes of the project.

use super::*;
use std::path::{Path, PathBuf};

/// A project with its copy, after the step changed the copy.
struct Merge {
    dir: tempfile::TempDir,
    project: Workspace,
    tree: Workspace,
    base: Base,
    paths: TreePaths,
}

fn fill(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for path in ["folder/a", "folder/deep/b", "file", "left/y", "emptied/z", "target/y"] {
        write(path, path);
    }
    std::os::unix::fs::symlink("target", root.join("link")).unwrap();
    std::fs::create_dir_all(root.join("hollow/deep")).unwrap();
}

/// What the step does: every change of a kind, folders that come and go, and one that is empty now.
fn change(root: &Path) {
    let at = |path: &str| root.join(path);
    for folder in ["folder", "left", "hollow"] {
        std::fs::remove_dir_all(at(folder)).unwrap();
    }
    for file in ["file", "link", "emptied/z"] {
        std::fs::remove_file(at(file)).unwrap();
    }
    std::fs::write(at("folder"), "now a file").unwrap();
    for folder in ["file/deep", "link", "made/deep"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    std::fs::write(at("file/deep/g"), "g").unwrap();
    std::fs::write(at("link/y"), "y of its own").unwrap();
    std::os::unix::fs::symlink("target", at("left")).unwrap();
}

impl Merge {
    fn new() -> Merge {
        let dir = tempfile::tempdir().unwrap();
        let [project, tree] = ["project", "run/tree"].map(|name| dir.path().join(name));
        for root in [&project, &tree] {
            std::fs::create_dir_all(root).unwrap();
            fill(root);
        }
        std::fs::create_dir_all(dir.path().join("run/base")).unwrap();
        let [project, tree] = [project, tree].map(|root| Workspace::open(&root, &[], &[]).unwrap());
        let (mut files, folders) = whole(&tree).unwrap();
        for (path, state) in &mut files.files {
            state.sha256 = tree.symlink_stat(path).unwrap().unwrap().sha256;
        }
        let instance = "e".to_owned();
        let (worktree, stays, commit) = (false, false, None);
        let base = Base { instance, worktree, stays, commit, files, folders: folders.all };
        change(tree.root());
        let paths = TreePaths::new(dir.path().join("run"), "tree".to_owned());
        Merge { dir, project, tree, base, paths }
    }

    fn planned(&self) -> MergePlan {
        MergePlan::new(&self.project, &self.tree, &self.base, &self.paths).unwrap()
    }

    /// Leaves the project as a kill does after so many steps of the plan, or inside the next one, where a path
    /// that becomes another kind is missing.
    fn killed_after(&self, done: usize, inside: bool) {
        let plan = self.planned();
        plan.store(&self.paths).unwrap();
        let steps = plan.steps[..done].to_vec();
        let part = MergePlan { steps, conflicts: Vec::new() };
        part.apply(&self.project, &self.tree).unwrap();
        let next = plan.steps.get(done).filter(|step| inside && step.after != Print::Missing);
        if let Some(step) = next.filter(|step| !step.before.is_of_kind(&step.after)) {
            self.project.put(&step.path, None).unwrap();
        }
    }

    /// Merges, as `kb` does when it continues.
    fn carry_out(&self) -> MergedTree {
        let make = || Ok(self.planned());
        MergePlan::carried_out([&self.project, &self.tree], &self.paths, make).unwrap()
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn all(&self) -> (Vec<(String, Print)>, Vec<String>) {
        let (Manifest { files, .. }, folders) = whole(&self.project).unwrap();
        let print = |path: &String| (path.clone(), Print::at(&self.project, path).unwrap());
        (files.keys().map(print).collect(), folders.all.into_iter().collect())
    }
}

const RESULT: [&[&str]; 2] = [
    &["file/deep/g", "folder", "left", "link/y", "target/y"],
    &["emptied", "file", "file/deep", "link", "made", "made/deep", "target"],
];

/// The merge is killed after any number of its steps, also while a path that becomes another kind is missing.
#[test]
fn a_merge_ends_as_planned_wherever_it_was_killed() {
    let whole = Merge::new();
    let merged = whole.carry_out();
    assert_eq!(merged.conflicts, [""; 0]);
    let (files, folders) = whole.all();
    let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!([names, folders.iter().map(String::as_str).collect()], RESULT);
    assert!(merged.files.contains(&"made/deep/".to_owned()), "{:?}", merged.files);
    assert!(!merged.files.iter().any(|path| path.starts_with("emptied/") && path.ends_with('/')));
    let steps = Merge::new().planned().len();
    for (done, inside) in (0..=steps).flat_map(|done| [(done, false), (done, true)]) {
        let merge = Merge::new();
        merge.killed_after(done, inside);
        let again = merge.carry_out();
        assert_eq!(again.conflicts, [""; 0], "{done} of {steps}, {inside}");
        assert_eq!(merge.all(), (files.clone(), folders.clone()), "{done} of {steps}, {inside}");
        assert_eq!(again.files, merged.files, "{done} of {steps}, {inside}");
    }
}

/// What is in the project and was not planned is not overwritten, removed or written through.
#[test]
fn what_is_in_the_way_is_a_conflict_before_and_after_a_kill() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit); 5] = [
        ("folder", |root| std::fs::write(root.join("folder/new"), "mine").unwrap()),
        ("folder", |root| std::fs::create_dir(root.join("folder/kept")).unwrap()),
        ("file", |root| std::fs::write(root.join("file"), "mine").unwrap()),
        ("left", |root| std::fs::write(root.join("left/z"), "mine").unwrap()),
        ("made", |root| std::os::unix::fs::symlink("target", root.join("made")).unwrap()),
    ];
    for (path, edit) in edits {
        for is_killed in [false, true] {
            let merge = Merge::new();
            if is_killed {
                merge.killed_after(0, false);
            }
            edit(&merge.root());
            let before = merge.all();
            let merged = merge.carry_out();
            assert_eq!((merged.conflicts, merged.files), (vec![path.to_owned()], Vec::new()));
            assert_eq!(merge.all(), before, "{path}");
        }
    }
    // A folder that was removed stays for what the project has in it, and what is left of a merge is told.
    let merge = Merge::new();
    std::fs::write(merge.root().join("hollow/new"), "mine").unwrap();
    assert_eq!(merge.carry_out().conflicts, [""; 0]);
    assert!(merge.root().join("hollow/new").exists() && !merge.root().join("hollow/deep").exists());
    let merge = Merge::new();
    merge.killed_after(2, false);
    std::fs::write(merge.root().join("file"), "mine").unwrap();
    assert_eq!(merge.carry_out().files.len(), 2);
}
