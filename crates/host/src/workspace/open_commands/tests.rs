//! Commands in the sandbox, their changes, and what people accept.

use super::super::protected_watch::ProtectedWatch;
use super::*;
use kb_base::value::StepId;
use std::os::unix::fs::MetadataExt;

struct Story {
    root: tempfile::TempDir,
    state: tempfile::TempDir,
    project: Workspace,
}

impl Story {
    /// A project with a command that is executed.
    async fn new() -> (Story, Workspace, ProtectedWatch) {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = Workspace::open(root.path(), &[], &[]).unwrap();
        let story = Story { root, state, project };
        let workspace = story.workspace();
        let watch = ProtectedWatch::begin(&workspace, false);
        (story, workspace, watch)
    }

    fn workspace(&self) -> Workspace {
        let (run, masks) = (RunId::new("r1").unwrap(), Arc::new(Redactor::default()));
        self.states().watching(&self.project, &run, &instance(), &masks)
    }

    fn states(&self) -> StatesBefore {
        StatesBefore::of(self.state.path(), self.root.path())
    }

    fn open(&self) -> OpenCommand {
        self.states().open_commands().pop().unwrap()
    }

    fn write(&self, path: &str) {
        std::fs::write(self.root.path().join(path), "evil").unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.root.path().join(path)).unwrap();
    }

    fn changed(&self) -> Vec<String> {
        paths(&self.open().changed(&self.project))
    }

    /// A command ended, and its changes were found.
    async fn end(&self, workspace: &Workspace, watch: ProtectedWatch) {
        let mut changes = watch.end();
        changes.retain(|change| workspace.is_of_protected(change));
        let before = workspace.state_before().unwrap();
        before.keep_found(&changes, workspace.root());
        before.forget();
    }
}

fn instance() -> InstanceKey {
    InstanceKey::root(StepId::new("a").unwrap())
}

fn paths(changes: &[OpenChange]) -> Vec<String> {
    changes.iter().map(OpenChange::path).collect()
}

/// A command continues while `kb` is stopped and until it is killed, however long that takes. What a person changes after
/// the end was noticed is no change of the command.
#[tokio::test]
async fn changes_until_the_end_is_noticed_count() {
    let (story, _, watch) = Story::new().await;
    drop(watch);
    assert!(story.changed().is_empty());
    story.write(".envrc");
    assert_eq!(story.changed(), [".envrc"]);
    let changed = story.root.path().join(".envrc").metadata().unwrap().ctime();
    story.open().note_kill(Timestamp((changed - 10) * 1000));
    assert!(story.changed().is_empty());
    // The first moment counts.
    story.open().note_kill(Timestamp(i64::MAX));
    let command = story.open();
    assert!(command.changed(&story.project).is_empty() && command.is_stored());
    assert!(!command.was_found());
    assert_eq!((command.run().as_str(), command.step()), ("r1", "a"));
    // It may execute for some time.
    command.forget_if_undone(&story.project, Timestamp(changed * 1000));
    story.open().forget_if_undone(&story.project, Timestamp(changed * 1000 + 1));
    assert!(story.states().open_commands().is_empty());
}

/// What was found stays known after the result of the command is recorded, until people undo or accept it.
#[tokio::test]
async fn found_changes_are_known_until_they_are_undone() {
    let (story, workspace, watch) = Story::new().await;
    story.write(".envrc");
    std::fs::create_dir(story.root.path().join("playbooks")).unwrap();
    story.write("playbooks/p.yml");
    story.end(&workspace, watch).await;
    let command = story.open();
    assert!(command.was_found() && command.step() == "a");
    assert_eq!(paths(&command.changed(&story.project)), [".envrc", "playbooks/p.yml"]);
    assert!(story.project.require_none_found().is_ok(), "no states are known");
    let project = story.project.clone().with_states(story.states());
    assert!(project.require_none_found().is_err());
    // The step itself knows it too when it is continued.
    let before = workspace.state_before().unwrap();
    assert_eq!(story.project.protected_left_by_killed(before).len(), 2);
    // A later command replaces one by an equal file.
    story.remove(".envrc");
    story.write(".envrc");
    story.remove("playbooks/p.yml");
    assert_eq!(story.changed(), [".envrc"]);
    story.open().forget_if_undone(&story.project, Timestamp(i64::MAX));
    story.remove(".envrc");
    assert!(story.changed().is_empty() && project.require_none_found().is_ok());
    assert!(story.project.protected_left_by_killed(before).is_empty());
    story.open().forget_if_undone(&story.project, Timestamp(0));
    assert!(story.states().open_commands().is_empty());
}

/// Only what was shown is accepted: deletions and folders too.
#[tokio::test]
async fn accepted_changes_count_as_there_before() {
    for is_killed in [false, true] {
        let (story, _, watch) = Story::new().await;
        drop(watch);
        story.states().forget(&RunId::new("r1").unwrap(), &instance());
        for path in [".envrc", ".gitmodules"] {
            story.write(path);
        }
        let workspace = story.workspace();
        let watch = ProtectedWatch::begin(&workspace, false);
        story.remove(".envrc");
        std::fs::create_dir_all(story.root.path().join("sub/.git")).unwrap();
        story.write("sub/.git/config");
        if is_killed {
            drop(watch)
        } else {
            story.end(&workspace, watch).await
        }
        let mut command = story.open();
        let shown = command.changed(&story.project);
        let described: Vec<String> = shown.iter().map(OpenChange::described).collect();
        assert_eq!(paths(&shown), [".envrc", "sub/.git", "sub/.git/config"], "{is_killed}");
        assert_eq!(described[..2], ["deleted", "created: folder"]);
        assert!(described[2].starts_with("created: file of 4 bytes, sha256 "));
        // What changes after it was shown is not accepted.
        std::fs::write(story.root.path().join("sub/.git/config"), "worse").unwrap();
        command.accept(&shown).unwrap();
        assert_eq!(story.changed(), ["sub/.git/config"], "{is_killed}");
        let mut command = story.open();
        let shown = command.changed(&story.project);
        command.accept(&shown).unwrap();
        assert!(story.changed().is_empty());
        story.write(".envrc");
        assert!(!story.changed().is_empty());
    }
}

/// What cannot be compared stays known until it is accepted, whatever is removed later.
#[tokio::test]
async fn what_cannot_be_compared_is_accepted_only() {
    let (story, workspace, watch) = Story::new().await;
    drop(watch);
    let before = workspace.state_before().unwrap();
    // A damaged file is not forgotten by the step that is continued.
    let stored = story.open().path;
    std::fs::write(&stored, "damaged").unwrap();
    assert_eq!(story.changed().len(), 1);
    let left = story.project.protected_left_by_killed(before);
    assert_eq!(left.len(), 1);
    before.keep_found(&left, workspace.root());
    before.forget();
    assert!(!stored.exists() && story.open().was_found());
    let mut command = story.open();
    let shown = command.changed(&story.project);
    assert_eq!((shown.len(), &*shown[0].described()), (1, "not known"));
    command.accept(&shown).unwrap();
    assert!(story.changed().is_empty());
    // Damaged changes too.
    std::fs::write(&story.open().path, "damaged").unwrap();
    assert_eq!(story.project.protected_left_by_killed(before).len(), 1);
    let mut command = story.open();
    let shown = command.changed(&story.project);
    assert!(command.refusal(&shown).is_some());
    command.accept(&shown).unwrap();
    assert!(story.states().open_commands().is_empty());
}

/// Where changes cannot be stored, what was stored before the command is kept.
#[tokio::test]
async fn changes_that_cannot_be_stored_are_known_by_the_state_before() {
    let (story, workspace, watch) = Story::new().await;
    story.write(".envrc");
    // A folder in its place cannot be replaced by a file.
    let found = story.open().path.with_extension("found");
    std::fs::create_dir_all(found.join("full")).unwrap();
    story.end(&workspace, watch).await;
    std::fs::remove_dir_all(found).unwrap();
    assert_eq!(story.changed(), [".envrc"]);
}

/// Attempts in several worktrees leave changes in each.
#[tokio::test]
async fn changes_in_several_folders_are_known_in_each() {
    let (story, workspace, watch) = Story::new().await;
    story.write(".envrc");
    let changes = watch.end();
    let before = workspace.state_before().unwrap();
    let tree = story.state.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join(".envrc"), "evil").unwrap();
    before.keep_found(&changes, story.root.path());
    before.keep_found(&changes, &tree);
    before.forget();
    assert_eq!(story.changed(), [".envrc", &*tree.join(".envrc").display().to_string()]);
    let open = story.open().changed(&story.project);
    assert_eq!(open.iter().filter(|change| change.is_in_project()).count(), 1);
    story.remove(".envrc");
    assert_eq!(story.changed().len(), 1);
}

/// A project may be moved with its state.
#[tokio::test]
async fn changes_are_known_where_the_project_was_moved() {
    let (story, _, watch) = Story::new().await;
    drop(watch);
    let moved = story.state.path().join("moved");
    std::fs::create_dir(&moved).unwrap();
    std::fs::write(moved.join(".envrc"), "evil").unwrap();
    let project = Workspace::open(&moved, &[], &[]).unwrap();
    let open = story.open().changed(&project);
    assert!(paths(&open) == [".envrc"] && open[0].is_in_project());
}

/// The kernel ends the lock of a process that was killed.
#[tokio::test]
async fn work_without_a_run_is_known_while_its_lock_is_held() {
    let (story, ..) = Story::new().await;
    let run = RunId::new("test-1").unwrap();
    assert!(!story.states().is_held(&run));
    let held = story.states().hold(&run).unwrap();
    assert!(story.states().is_held(&run));
    drop(held);
    assert!(!story.states().is_held(&run));
    assert_eq!(story.states().open_commands().len(), 1);
}
