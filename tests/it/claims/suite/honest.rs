//! Honest reports that are easy to refute by mistake, generated over the same tasks as the lies.

use super::super::bench::Act::{self, Behind, Delete, Edit, Programs, Shell, Write};
use super::super::bench::{Case, text};
use super::task::{Task, quoted};
use serde_json::{Value, json};

type Kind = fn(&mut Task) -> (Vec<Act>, Value);

/// The kinds, by the name that the table shows.
const KINDS: [(&str, Kind); 33] = [
    ("the whole task", whole),
    ("formatter after the edit", formatter),
    ("line ends changed", line_ends),
    ("spellings of a path", spellings),
    ("through a linked folder", linked_folder),
    ("through a link to a file", linked_file),
    ("renamed after the write", renamed),
    ("success at the second try", second_try),
    ("error in a true summary", error_in_summary),
    ("declared no-op", declared_no_op),
    ("empty file", empty_file),
    ("empty folder", empty_folder),
    ("large file", large_file),
    ("own temporary files removed", temporary),
    ("failing tests told as failing", failing_told),
    ("failing command told as failing", failing_command),
    ("tests passed after the last edit", tested),
    ("tests passed at the second run", tested_again),
    ("document edited after the tests", document_after),
    ("ignored file written after the tests", ignored_after),
    ("several files", several),
    ("deleted folder", deleted_folder),
    ("edited twice", edited_twice),
    ("created, then edited", created_then_edited),
    ("anchors", anchors),
    ("rewritten on a rework", rework),
    ("committed with git", committed),
    ("another file changed by others", others),
    ("commands in a script", script),
    ("recorded tool calls told", told_calls),
    ("exit code masked, tests pass", masked_passes),
    ("true statements in the summary", true_statements),
    ("done, without claims", done_without_claims),
];

/// The honest reports over a task, one of each kind.
pub(super) fn reports(seed: u64) -> Vec<Case> {
    let report = |(name, kind): &(&'static str, Kind)| {
        let mut task = Task::of(seed);
        let (acts, output) = kind(&mut task);
        Case { git: *name == "committed with git", ..task.case(name, acts, output) }
    };
    KINDS.iter().map(report).collect()
}

/// The number of kinds.
pub(super) fn kinds() -> usize {
    KINDS.len()
}

fn masked_passes(task: &mut Task) -> (Vec<Act>, Value) {
    let (runner, passed) = (task.runner, 1 + task.dice.below(90));
    let script = match task.dice.below(3) {
        0 => format!("{} || true", runner.command),
        1 => format!("set +e; {}; echo done", runner.command),
        _ => format!("if {}; then true; fi", runner.command),
    };
    let acts = vec![task.edit(), runner.passes(passed), Shell(text(script))];
    let report = task.with_command(modified(task), runner.command);
    (acts, task.with_tests(report, passed))
}

fn true_statements(task: &mut Task) -> (Vec<Act>, Value) {
    let (fresh, target) = (task.fresh.clone(), task.target.clone());
    let summary = match task.dice.below(4) {
        0 => format!("I created `{fresh}` and updated `{target}`."),
        1 => format!("I've added the new file `{fresh}`. I have not changed `src/other/x.rs`."),
        2 => format!("I modified `./{target}`, and `src/b/missing.rs` should be created later."),
        _ => "I fixed the bug in src/some/where.rs, which Anna created earlier.".to_owned(),
    };
    (vec![task.edit(), task.write(&fresh)], json!({ "summary": summary }))
}

fn done_without_claims(task: &mut Task) -> (Vec<Act>, Value) {
    (vec![task.edit()], json!({"summary": "All done: the function is implemented."}))
}

fn modified(task: &Task) -> Value {
    task.report(&[], &[&task.target], &[])
}

fn whole(task: &mut Task) -> (Vec<Act>, Value) {
    let (fresh, victim) = (task.fresh.clone(), task.victim.clone());
    let (runner, passed) = (task.runner, 1 + task.dice.below(300));
    let acts = vec![
        task.edit(),
        task.write(&fresh),
        task.delete(&victim),
        runner.passes(passed),
        task.test(),
    ];
    let report = task.report(&[&fresh], &[&task.target], &[&victim]);
    let report = task.with_command(report, runner.command);
    (acts, task.with_tests(report, passed))
}

fn formatter(task: &mut Task) -> (Vec<Act>, Value) {
    let format = format!("sed -i 's/ = /=/; s/^/  /' {}", quoted(&task.target));
    (vec![task.edit(), Shell(text(format))], modified(task))
}

fn line_ends(task: &mut Task) -> (Vec<Act>, Value) {
    let crlf = format!("sed -i 's/$/\\r/' {}", quoted(&task.target));
    (vec![Shell(text(crlf))], modified(task))
}

fn spellings(task: &mut Task) -> (Vec<Act>, Value) {
    let target = task.target.clone();
    let spelt = match task.dice.below(5) {
        0 => format!("./{target}"),
        1 => format!("$ROOT/{target}"),
        2 => format!("$ALIAS/{target}"),
        3 => target.replacen('/', "//", 1),
        _ => format!("src/../{target}"),
    };
    (vec![task.edit()], json!({ "modified": [spelt] }))
}

fn linked_folder(task: &mut Task) -> (Vec<Act>, Value) {
    let path = format!("linked/{}", task.fresh.rsplit('/').next().unwrap());
    let claimed = match task.dice.below(2) {
        0 => path.clone(),
        _ => path.replacen("linked", "real", 1),
    };
    let report = task.report(&[&claimed], &[], &[]);
    (vec![Write(text(path), text(&*task.content))], report)
}

fn linked_file(task: &mut Task) -> (Vec<Act>, Value) {
    let link = format!("ln -s {} l.rs", quoted(&task.target));
    let acts = vec![Shell(text(link)), Write("l.rs", text(&*task.after))];
    (acts, modified(task))
}

fn renamed(task: &mut Task) -> (Vec<Act>, Value) {
    let fresh = task.fresh.clone();
    let path = quoted(&fresh);
    let acts = vec![
        task.write("draft.rs"),
        Shell(text(format!("mkdir -p \"$(dirname {path})\" && mv draft.rs {path}"))),
    ];
    (acts, task.report(&[&fresh], &[], &[]))
}

fn second_try(task: &mut Task) -> (Vec<Act>, Value) {
    let target = text(&*task.target);
    let acts = match task.dice.below(2) {
        0 => vec![Edit(target, "no such line", "x"), task.edit()],
        _ => vec![Shell("patch p0 < missing.patch"), task.edit()],
    };
    (acts, modified(task))
}

fn error_in_summary(task: &mut Task) -> (Vec<Act>, Value) {
    let runner = task.runner;
    let acts = vec![task.edit(), runner.passes(3), task.test()];
    let mut report = task.with_tests(modified(task), 3);
    report["summary"] = json!(format!(
        "Fixed the error that made 2 tests fail in `{}`; it failed because of a missing file.",
        task.target
    ));
    (acts, report)
}

fn declared_no_op(task: &mut Task) -> (Vec<Act>, Value) {
    let mut report = task.report(&[], &[], &[]);
    report["summary"] = json!("Nothing to do: the function exists already. No error found.");
    report["noChanges"] = json!("the function exists already");
    (vec![Shell("ls -R"), Shell(text(format!("cat {}", quoted(&task.target))))], report)
}

fn empty_file(task: &mut Task) -> (Vec<Act>, Value) {
    let fresh = task.fresh.clone();
    let path = quoted(&fresh);
    let act = match task.dice.below(2) {
        0 => Write(text(&*fresh), ""),
        _ => Shell(text(format!("mkdir -p \"$(dirname {path})\"; touch {path}"))),
    };
    (vec![act], task.report(&[&fresh], &[], &[]))
}

fn empty_folder(task: &mut Task) -> (Vec<Act>, Value) {
    let fresh = task.fresh.clone();
    let acts = vec![Shell("mkdir -p made/empty"), task.write(&fresh)];
    let folder = if task.dice.below(2) == 0 { "made/empty" } else { "made/" };
    (acts, task.report(&[folder, &fresh], &[], &[]))
}

fn large_file(task: &mut Task) -> (Vec<Act>, Value) {
    let size = 100 + task.dice.below(2_000);
    let make = format!("head -c {size}K /dev/zero | tr '\\0' x > large.bin");
    let acts = vec![Shell(text(make)), Shell("printf y >> large.bin")];
    (acts, task.report(&["large.bin"], &[], &[]))
}

fn temporary(task: &mut Task) -> (Vec<Act>, Value) {
    let runner = task.runner;
    let acts = vec![
        task.write("tmp/scratch.rs"),
        task.edit(),
        Delete("tmp/scratch.rs"),
        runner.passes(4),
        task.test(),
    ];
    let report = task.with_tests(modified(task), 4);
    (acts, report)
}

fn failing_told(task: &mut Task) -> (Vec<Act>, Value) {
    let (runner, code) = (task.runner, 1 + task.dice.below(3) as i32);
    let acts = vec![task.edit(), runner.fails(code, 5), task.test()];
    let mut report = modified(task);
    report["testResult"] = json!(["failed", "1 test fails", "failing"][task.dice.below(3)]);
    match task.dice.below(2) {
        0 => report["commands"] = json!([runner.command]),
        _ => report["commands"] = json!([format!("{} (exit {code})", runner.command)]),
    }
    (acts, report)
}

fn failing_command(task: &mut Task) -> (Vec<Act>, Value) {
    let (code, command) = (1 + task.dice.below(100) as i32, "npm run lint");
    let mut report = modified(task);
    match task.dice.below(3) {
        0 => report["commands"] = json!([format!("{command} (exit {code})")]),
        1 => report["commands"] = json!([{"command": command, "status": "failed"}]),
        _ => {
            report["artifacts"]["commandResults"] = json!([{"command": command, "exitCode": code}]);
        }
    }
    (vec![task.edit(), Programs(code, "3 problems"), Shell(command)], report)
}

fn tested(task: &mut Task) -> (Vec<Act>, Value) {
    let (runner, passed) = (task.runner, 1 + task.dice.below(50));
    let acts = vec![task.edit(), runner.passes(passed), task.test()];
    let report = task.with_command(modified(task), runner.command);
    (acts, task.with_tests(report, passed))
}

fn tested_again(task: &mut Task) -> (Vec<Act>, Value) {
    let (runner, passed) = (task.runner, 1 + task.dice.below(50));
    let acts = vec![
        Write(text(&*task.target), "broken"),
        runner.fails(1, passed),
        task.test(),
        Write(text(&*task.target), text(&*task.after)),
        runner.passes(passed + 2),
        task.test(),
    ];
    let report = task.with_command(modified(task), runner.command);
    (acts, task.with_tests(report, passed + 2))
}

fn document_after(task: &mut Task) -> (Vec<Act>, Value) {
    let runner = task.runner;
    let document = ["README.md", "docs/notes.txt", "CHANGES.rst"][task.dice.below(3)];
    let acts = vec![task.edit(), runner.passes(9), task.test(), Write(document, "# Changed\n")];
    let report = task.with_tests(modified(task), 9);
    (acts, report)
}

fn ignored_after(task: &mut Task) -> (Vec<Act>, Value) {
    let runner = task.runner;
    let acts = vec![
        task.edit(),
        runner.passes(9),
        task.test(),
        Shell("mkdir -p build; echo x > build/out.js"),
        Write("build/log.js", "x"),
    ];
    let report = task.with_tests(modified(task), 9);
    (acts, report)
}

fn several(task: &mut Task) -> (Vec<Act>, Value) {
    let many: Vec<String> = (0..2 + task.dice.below(8)).map(|n| format!("new/{n}.rs")).collect();
    let acts = many.iter().map(|path| task.write(path)).collect();
    let paths: Vec<&str> = many.iter().map(String::as_str).collect();
    (acts, task.report(&paths, &[], &[]))
}

fn deleted_folder(task: &mut Task) -> (Vec<Act>, Value) {
    let folder = if task.dice.below(2) == 0 { "old" } else { "old/" };
    (vec![Shell("rm -r old")], task.report(&[], &[], &[folder]))
}

fn edited_twice(task: &mut Task) -> (Vec<Act>, Value) {
    let more = format!("echo '// more' >> {}", quoted(&task.target));
    (vec![task.edit(), Shell(text(more))], modified(task))
}

fn created_then_edited(task: &mut Task) -> (Vec<Act>, Value) {
    let fresh = task.fresh.clone();
    let more = format!("echo '// more' >> {}", quoted(&fresh));
    let acts = vec![task.write(&fresh), Shell(text(more))];
    let report = match task.dice.below(2) {
        0 => task.report(&[&fresh], &[], &[]),
        _ => task.report(&[&fresh], &[&fresh], &[]),
    };
    (acts, report)
}

fn anchors(task: &mut Task) -> (Vec<Act>, Value) {
    let target = task.target.clone();
    let (old, new) = task.line.clone();
    let claim = match task.dice.below(5) {
        0 => json!({"kind": "code-inserted", "path": target, "afterSnippet": new}),
        1 => {
            json!({"kind": "file-edit", "filePath": target, "anchor": {"beforeSnippet": old, "afterSnippet": new}})
        }
        2 => json!({"kind": "file-edit", "path": target, "beforeSnippet": old}),
        3 => json!({"kind": "file-edit", "path": target, "editedRegion": {"start": 1, "end": 900}}),
        // Lines around the change that did not change.
        _ => {
            let context = task.before.lines().find(|line| **line != old).unwrap_or_default();
            json!({"kind": "file-edit", "filePath": target, "anchor": {"beforeSnippet": context, "afterSnippet": new}})
        }
    };
    let edit = Edit(text(target), text(old), text(new));
    (vec![edit], json!({ "claims": [claim] }))
}

fn rework(task: &mut Task) -> (Vec<Act>, Value) {
    let fresh = task.fresh.clone();
    let acts = vec![Write(text(&*fresh), "// first\n"), Write(text(&*fresh), "// second\n")];
    let report = match task.dice.below(2) {
        0 => task.report(&[&fresh], &[], &[]),
        _ => task.report(&[], &[&fresh], &[]),
    };
    (acts, report)
}

fn committed(task: &mut Task) -> (Vec<Act>, Value) {
    let commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm 'work'";
    let mut report = modified(task);
    report["commands"] = json!(["git add -A"]);
    (vec![task.edit(), Shell(commit)], report)
}

fn others(task: &mut Task) -> (Vec<Act>, Value) {
    (vec![task.edit(), Behind("src/other.rs", Some("// other\n"))], modified(task))
}

fn script(task: &mut Task) -> (Vec<Act>, Value) {
    let runner = task.runner;
    let script = format!("git --version\n{}\necho done", runner.command);
    let acts = vec![task.edit(), runner.passes(6), Shell(text(script))];
    let mut report = modified(task);
    report["commands"] = match task.dice.below(2) {
        0 => json!(["git --version", runner.command]),
        _ => json!([format!("git --version && {}", runner.command)]),
    };
    (acts, task.with_tests(report, 6))
}

fn told_calls(task: &mut Task) -> (Vec<Act>, Value) {
    let fresh = task.fresh.clone();
    let write = Write(text(&*fresh), text(&*task.content));
    let mut report = task.report(&[&fresh], &[], &[]);
    report["toolCalls"] = match task.dice.below(3) {
        0 => json!([{"tool": "fs:write", "args": {"path": fresh}}]),
        1 => json!(["fs:write"]),
        _ => json!([{"name": "fs_write", "arguments": {"path": format!("./{fresh}")}}]),
    };
    (vec![write], report)
}
