//! The cache when `kb` is killed while it writes, and together with files of their own.

use crate::disk::{Deed, Fault};
use crate::running::Start;
use crate::scratch::Scratch;

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - id: make
    run: |
      echo x >> count
      mkdir -p out; cat in/*.txt > out/all.txt; echo more > out/more.txt
      echo made
    cache: {inputs: \"in/*\", outputs: \"out/**\"}
";

fn project(playbook: &str) -> Scratch {
    Scratch::new(&[
        ("playbooks/p.yml", playbook),
        ("in/a.txt", "a\n"),
        (".gitignore", "count\nout/\n"),
    ])
}

/// The folder of the cache of a project that has run once; it is empty.
fn cache(scratch: &Scratch) -> std::path::PathBuf {
    scratch.kb(&["playbook", "run", "p", "--no-cache"]).code(0);
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folders = std::fs::read_dir(state).unwrap().flatten().map(|entry| entry.path());
    let is_project = |path: &std::path::PathBuf| path.join("journal.sqlite3").exists();
    let folder = folders.into_iter().find(is_project).expect("a state folder").join("cache");
    std::fs::remove_dir_all(scratch.root().join("out")).unwrap();
    folder
}

/// A kill before or after each change of a file in the cache loses at most the stored result: what is
/// taken afterwards is always whole.
#[test]
fn kb_may_be_killed_at_every_write_of_the_cache() {
    let every = crate::proof::amount("KB_CACHE_POINTS", 5, 1);
    let (mut kills, mut cut_short) = (0, 0);
    for point in (1..).step_by(every) {
        let deed = if point % 2 == 0 { Deed::KillBefore } else { Deed::KillAfter };
        let scratch = project(PLAYBOOK);
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]);
        let cache = cache(&scratch);
        Fault::below(&cache).at(point, deed).on(&mut command);
        let ended = command.finish().status;
        if ended.success() {
            break;
        }
        kills += 1;
        cut_short += unfinished(&cache).len();
        scratch.kb(&["run", "resume", "@last"]);
        scratch.kb(&["cache", "list"]).code(0);
        for _ in 0..2 {
            let _ = std::fs::remove_dir_all(scratch.root().join("out"));
            scratch.kb(&["playbook", "run", "p"]).code(0);
            assert_eq!(scratch.read("out/all.txt"), "a\n", "point {point}");
            assert_eq!(scratch.read("out/more.txt"), "more\n", "point {point}");
        }
        assert_eq!(unfinished(&cache), [""; 0], "point {point}");
        let shown = scratch.json(&["run", "show", "@last", "--json"]);
        assert!(shown["steps"][0]["cachedFrom"].is_object(), "point {point}");
    }
    assert!(kills >= 2 && cut_short > 0, "{kills} kills, {cut_short} files cut short");
}

/// The incomplete files below a folder.
fn unfinished(folder: &std::path::Path) -> Vec<String> {
    let find = ["-name", ".new-*"];
    let found = std::process::Command::new("find").arg(folder).args(find).finish().stdout;
    String::from_utf8(found).unwrap().lines().map(str::to_owned).collect()
}

/// A step with files of its own takes a stored result into them, and its changes are merged like those
/// of an execution.
#[test]
fn a_stored_result_is_restored_into_a_copy_and_merged() {
    let playbook = PLAYBOOK.replace("cache:", "workspace: copy\n    cache:");
    let scratch = Scratch::new(&[("playbooks/p.yml", &playbook), ("in/a.txt", "a\n")]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    std::fs::remove_dir_all(scratch.root().join("out")).unwrap();
    scratch.kb(&["playbook", "run", "p"]).code(0).says(&["from the cache"]);
    assert_eq!(scratch.read("out/all.txt"), "a\n");
    // Another input is a miss, also in the copy.
    scratch.write("in/b.txt", "b\n");
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(scratch.read("out/all.txt"), "a\nb\n");
}
