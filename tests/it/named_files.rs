//! `kb playbook run PATH`: which folder is the project, and what else has the same id.

use crate::scratch::Scratch;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FILE: &str = "\
schema: kb.playbook/1
id: p
steps:
  - {id: a, run: \"pwd; echo from file > made\"}
  - {id: b, tool: fs:write, input: {path: written, content: x}, dependsOn: [a]}
";

/// All files below a folder, without those of the journals.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(path);
        }
    }
    all
}

#[test]
fn a_file_runs_beside_an_id_of_the_same_name_and_the_id_stays() {
    let in_project = FILE.replace("from file", "from id");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &in_project), ("p.yml", FILE)]);
    let said = scratch.kb(&["playbook", "run", "./p.yml"]).code(0);
    assert!(!said.err.contains("note:"), "the project is the one here: {}", said.err);
    assert_eq!(scratch.read("made"), "from file\n");
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(scratch.read("made"), "from id\n");
    scratch.kb(&["playbook", "validate", "p.yml"]).code(0);
    scratch.kb(&["playbook", "plan", "p.yml"]).code(0);
    // Two files of the project with one id are still a mistake.
    scratch.write(".kb/playbooks/q.yml", FILE);
    scratch.kb(&["playbook", "run", "p"]).code(2).says(&["KB0204"]);
    // A run of a file continues with the file.
    scratch.write("p.yml", &FILE.replace("pwd;", "exit 3;"));
    std::fs::remove_file(scratch.root().join(".kb/playbooks/q.yml")).unwrap();
    scratch.kb(&["playbook", "run", "p.yml"]).code(1);
    scratch.write("p.yml", FILE);
    scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
    assert_eq!(scratch.read("made"), "from file\n");
}

#[test]
fn the_project_of_a_file_is_the_nearest_above_it() {
    let scratch = Scratch::new(&[("x.txt", "")]);
    scratch.write("other/.kb/kb.config.yml", "schema: kb.config/1\n");
    scratch.write("other/deep/p.yml", FILE);
    let before = files(&scratch.root());
    let said = scratch.kb(&["playbook", "run", "other/deep/p.yml"]).code(0);
    let other = scratch.root().canonicalize().unwrap().join("other");
    let note = format!("note: the project of `other/deep/p.yml` is `{}`", other.display());
    assert_eq!(said.err.matches(&note).count(), 1, "{}", said.err);
    said.says(&[&format!("a | {}\n", other.display())]);
    let made: Vec<PathBuf> = files(&scratch.root()).difference(&before).cloned().collect();
    assert_eq!(made, [scratch.root().join("other/made"), scratch.root().join("other/written")]);
    assert_eq!(scratch.kb(&["-q", "playbook", "run", "other/deep/p.yml"]).code(0).err, "");
}

#[test]
fn without_a_project_the_folder_of_the_file_is_the_project_and_its_run_is_found() {
    let scratch = Scratch::bare();
    scratch.write("sub dir/p.yml", &FILE.replace("pwd;", "test -e ok;"));
    let before = files(&scratch.root());
    let said = scratch.kb(&["playbook", "run", "sub dir/p.yml"]).code(1);
    assert_eq!(said.err.matches("note: `sub dir/p.yml` is in no project").count(), 1, "{said:?}");
    let folder = scratch.root().canonicalize().unwrap().join("sub dir");
    let next = format!("kb -C '{}' run retry ", folder.display());
    let line = said.out.lines().find(|line| line.contains(&next)).expect("a command");
    let run = line.rsplit(' ').next().unwrap().to_owned();
    said.says(&[&format!("its folder `{}` is the project", folder.display())]);
    scratch.write("sub dir/ok", "");
    scratch.kb(&["-C", "sub dir", "run", "show", &run]).code(0).says(&["failed"]);
    scratch.kb(&["-C", "sub dir", "run", "retry", "@last"]).code(0);
    let made: Vec<PathBuf> = files(&scratch.root()).difference(&before).cloned().collect();
    let expected = ["made", "ok", "written"].map(|name| scratch.root().join("sub dir").join(name));
    assert_eq!(made, expected);
    // Here nothing has run, and here is no project.
    scratch.kb(&["run", "list"]).code(4).says(&["no `.kb/` folder", "kb init"]);
}

/// A step can replace a file of the project by a link; a later run must not read what it leads to.
#[test]
fn a_task_file_or_script_behind_a_link_out_of_the_project_is_not_read() {
    let scratch = Scratch::new(&[
        (
            "playbooks/b.yml",
            "schema: kb.playbook/1\nid: b\nsteps: [{id: x, specialist: w, taskFile: t/task.md}]\n",
        ),
        (
            "playbooks/c.yml",
            "schema: kb.playbook/1\nid: c\nscript: own.yml\nsteps: [{id: x, specialist: w, task: q}]\n",
        ),
        (".kb/specialists/w.yml", "schema: kb.specialist/1\nid: w\nrole: You work.\ntools: []\n"),
        ("s.yml", "schema: kb.script/1\nsteps: {x: [{output: {summary: ok}}]}\n"),
    ]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("task.md"), "PRIVATE").unwrap();
    let script = "schema: kb.script/1\nsteps: {x: [{output: {summary: OUTSIDE}}]}\n";
    std::fs::write(outside.path().join("own.yml"), script).unwrap();
    let link = |from: &str, to: PathBuf| {
        std::os::unix::fs::symlink(to, scratch.root().join(from)).unwrap();
    };
    link("t", outside.path().to_owned());
    link("own.yml", outside.path().join("own.yml"));
    let task = scratch.kb(&["playbook", "run", "b", "--script", "s.yml"]).code(2);
    task.says(&["`taskFile: t/task.md` cannot be read", "leads out of the workspace"]);
    let script = scratch.kb(&["playbook", "run", "c"]).code(2);
    script.says(&["`script: own.yml` cannot be read", "leads out of the workspace"]);
    // A link that stays inside is followed.
    std::fs::remove_file(scratch.root().join("t")).unwrap();
    scratch.write("tasks/task.md", "inside");
    link("t", "tasks".into());
    scratch.kb(&["playbook", "run", "b", "--script", "s.yml"]).code(0);
}
