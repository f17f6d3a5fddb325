//! The live display of a run, on a pseudo-terminal.

mod asking;
mod planning;
mod pty;
mod recording;
mod serving;

use crate::merge_evidence::while_another_merges;
use crate::scratch::Scratch;
use crate::weak_models;
use pty::Pty;

const SPINNER: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
/// Rows and columns of the terminals that each display is tested on.
const SIZES: [(u16, u16); 2] = [(24, 80), (50, 200)];

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[("playbooks/p.yml", &text)])
}

/// A script that waits for a file and then ends with this command.
fn after(file: &str, command: &str) -> String {
    format!("until test -e {file}; do sleep 0.2; done; {command}")
}

/// Forty steps: the first half ends with the file `half`, two of them failing, the rest with `rest`.
fn forty() -> Scratch {
    let step = |n: usize| {
        let end = match n {
            7 => "echo \"error: shard 7 has no index\" >&2; exit 3",
            13 => "echo \"error: shard 13 is locked by another writer\" >&2; exit 4",
            _ => "exit 0",
        };
        let script = after(if n < 20 { "half" } else { "rest" }, end);
        format!(
            "  - id: shard-{n}\n    run: |\n      echo \"reading part {n} of 40\"\n      {script}\n"
        )
    };
    project(&(0..40).map(step).collect::<String>())
}

fn header(screen: &str) -> Vec<&str> {
    screen.lines().filter(|line| line.contains(" done")).collect()
}

/// The number of rows of running steps.
fn rows_of(screen: &str) -> usize {
    screen.lines().filter(|line| line.starts_with(|c| SPINNER.contains(c))).count()
}

#[test]
fn forty_parallel_steps_fit_into_the_height_and_failures_are_printed_at_once() {
    let mut frames = Vec::new();
    for (rows, columns) in SIZES {
        let scratch = forty();
        let args = ["playbook", "run", "p", "--max-parallel", "40"];
        let mut terminal = Pty::start(&scratch, rows, columns, &args);
        let all = terminal.until("40 running", |s| {
            s.contains("0/40 done · 40 running") && s.contains("reading part 39 of 40")
        });
        let shown = rows_of(&all);
        let more = format!("+{} more running", 40 - shown);
        assert_eq!((shown == 40, shown < usize::from(rows)), (rows == 50, true), "{all}");
        assert_eq!(all.contains(&more), shown < 40, "{all}");
        let newest = all.find("shard-39").expect("the newest step is shown");
        assert!(all.find("shard-38").is_some_and(|older| newest < older), "{all}");
        scratch.write("half", "");
        let half = terminal.until("half", |s| s.contains("20/40 done · 20 running · 2 failed"));
        assert_eq!(header(&half).len(), 1, "{half}");
        // The terminal wraps printed lines; the live lines must fit.
        let live = half.lines().skip_while(|line| !line.contains("20/40 done"));
        assert!(
            live.into_iter().all(|line| line.chars().count() <= usize::from(columns)),
            "{half}"
        );
        let printed = terminal.all();
        for text in ["✗ shard-7  failed", "exit code 3: error: shard 7 has no index", "shard-13 |"]
        {
            assert!(printed.contains(text), "`{text}` is missing in:\n{printed}");
        }
        frames.extend([("All steps run", all), ("Half of the steps have ended", half)]);
        scratch.write("rest", "");
        let (code, printed) = terminal.end();
        assert_eq!(code, 1, "{printed}");
        assert!(!printed.contains(|c| SPINNER.contains(c)), "a row is left:\n{printed}");
        assert!(header(&printed).is_empty(), "the header is left:\n{printed}");
        assert_eq!(printed.matches("✓ shard-").count(), 38, "{printed}");
        assert!(printed.contains("38 succeeded, 2 failed"), "{printed}");
        let summary = printed.lines().skip_while(|line| !line.starts_with("p failed"));
        frames.push(("The run has ended", summary.collect::<Vec<_>>().join("\n")));
        if rows == 24 && std::env::var_os("KB_UPDATE_DOCS").is_some() {
            update_recording(&frames);
        }
    }
}

/// Writes the frames to the documentation. Times and the id of the run differ each time, so the file is
/// not compared.
fn update_recording(frames: &[(&str, String)]) {
    let mut text = String::from(
        "# The live display\n\n\
         On a terminal, `kb playbook run` shows a header and one row for each running step, the newest\n\
         first. Finished steps, their output and failures are printed above and stay in the scrollback.\n\
         `kb run watch RUN` shows the same in another terminal. `--output all` prints all output of the\n\
         steps, `--output failed` only that of failed steps, `--output none` none. Off a terminal, each\n\
         event is a line, and the output of a step follows when the step has ended, or at once while one\n\
         step runs. With `GITHUB_ACTIONS=true`, the output of each step is a group, failures are\n\
         annotations with the position of the step, and no text of others is a workflow command: `::` at the\n\
         start of a line is written `: :`, and `##[` as `# #[` (in JSON `#\\u0023[`).\n\n\
         The items of a `forEach` step are one row: how many are done, run and failed, and the names of the\n\
         first that failed. Off a terminal their start and end are no lines, and `still running` has their\n\
         counts. Their output is shown with `--output all` and, of failed ones, `--output failed`; `kb run\n\
         logs RUN STEP[ITEM]` has it. The summary lists first what failed the run, of many items the first\n\
         three in full; `kb run show RUN --failed` lists all.\n\n\
         On a terminal, text breaks at words, and a table fits: empty columns are left out, one column of texts is shortened with\n\
         `…`, and the last ones follow below their row. Ids, times and numbers are whole. What is between backticks is not broken,\n\
         so that a command can be copied; `--json` and a wider terminal show everything.\n\n\
         ## Forty parallel steps with two failures\n\n\
         Recorded at 80 × 24 by `tests/it/terminal`.\n",
    );
    for (title, frame) in frames {
        let lines: Vec<&str> = frame.lines().map(str::trim_end).collect();
        text.push_str(&format!("\n{title}:\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/display.md"), text).unwrap();
}

#[test]
fn the_display_follows_the_size_of_the_terminal() {
    let scratch = project(&format!(
        "  - {{id: a, run: '{}'}}\n  - {{id: b, run: '{}'}}\n",
        after("go", "exit 0"),
        after("go", "exit 0")
    ));
    for (rows, columns) in SIZES {
        let _ = std::fs::remove_file(scratch.root().join("go"));
        let mut terminal = Pty::start(&scratch, rows, columns, &["playbook", "run", "p"]);
        terminal.until("both run", |s| s.contains("0/2 done · 2 running"));
        for (rows, columns) in [(50, 80), (50, 200), (60, 120), (24, 80)] {
            terminal.resize(rows, columns);
            let clock = |s: &str| header(s).first().map(|line| (*line).trim_end().to_owned());
            let before = clock(&terminal.screen());
            let screen = terminal.until("a new time", |s| clock(s).is_some() && clock(s) != before);
            assert_eq!(header(&screen).len(), 1, "{screen}");
            assert_eq!(rows_of(&screen), 2, "{screen}");
        }
        scratch.write("go", "");
        let (code, printed) = terminal.end();
        assert_eq!((code, header(&printed).len()), (0, 0), "{printed}");
    }
}

#[test]
fn an_interrupted_run_leaves_no_row_and_says_so_at_the_end() {
    for (rows, columns) in SIZES {
        let scratch = project(&format!(
            "  - {{id: a, run: '{}'}}\n  - {{id: b, run: '{}'}}\n  - {{id: c, run: echo c, dependsOn: [a]}}\n",
            after("go", "exit 0"),
            after("go", "exit 0")
        ));
        let mut terminal = Pty::start(&scratch, rows, columns, &["playbook", "run", "p"]);
        terminal.until("both run", |s| s.contains("2 running"));
        terminal.key(b"\x03");
        let screen = terminal.until("the note", |s| s.contains("press again to kill them"));
        assert!(!screen.contains("run interrupted"), "steps still run:\n{screen}");
        scratch.write("go", "");
        let (code, printed) = terminal.end();
        assert_eq!(code, 130, "{printed}");
        assert!(!printed.contains(|c| SPINNER.contains(c)), "a row is left:\n{printed}");
        let at = |text: &str| printed.find(text).unwrap_or_else(|| panic!("{text}:\n{printed}"));
        let end = at("run interrupted");
        assert!(at("✓ a") < end && at("✓ b") < end, "{printed}");
        assert!(!printed.contains("^C") && printed.contains("kb run resume"), "{printed}");
    }
}

#[test]
fn the_items_of_a_step_are_one_row_with_counts_and_the_names_of_those_that_failed() {
    let script = after("go", "test $N != 2");
    let scratch = project(&format!(
        "  - id: a\n    forEach: {{in: 6, as: n, onItemError: continue}}\n    env: {{N: '{{{{n}}}}'}}\n    \
         run: 'test $N = 2 && exit 4; echo out-$N; {script}'\n"
    ));
    for (rows, columns) in SIZES {
        let _ = std::fs::remove_file(scratch.root().join("go"));
        let args = ["playbook", "run", "p", "--max-parallel", "6"];
        let mut terminal = Pty::start(&scratch, rows, columns, &args);
        let screen =
            terminal.until("the row", |s| s.contains("1/6 done · 5 running · 1 failed: 1"));
        assert_eq!(rows_of(&screen), 1, "{screen}");
        scratch.write("go", "");
        let (code, printed) = terminal.end();
        assert!(printed.contains("6/6 done · 1 failed: 1"), "{code}: {printed}");
        assert_eq!(printed.matches("a[").count(), 1, "only in the summary: {printed}");
    }
}

#[test]
fn one_step_shows_its_output_live_and_a_watcher_the_same() {
    for (rows, columns) in SIZES {
        let scratch =
            project(&format!("  - id: a\n    run: 'echo first; {}'\n", after("go", "exit 5")));
        let mut terminal = Pty::start(&scratch, rows, columns, &["playbook", "run", "p"]);
        terminal.until("its output", |s| s.contains("a | first") && s.contains("1 running"));
        let mut watcher = Pty::start(&scratch, rows, columns, &["run", "watch"]);
        watcher.until("the step", |s| s.contains("0/1 done · 1 running"));
        let mut gone = Pty::start(&scratch, rows, columns, &["run", "watch"]);
        gone.until("the step", |s| s.contains("0/1 done · 1 running"));
        gone.key(b"\x03");
        let (code, printed) = gone.end();
        assert_eq!(code, 130, "{printed}");
        assert!(!printed.contains(|c| SPINNER.contains(c)), "{printed}");
        scratch.write("go", "");
        for terminal in [terminal, watcher] {
            let (code, printed) = terminal.end();
            assert_eq!(code, 1, "{printed}");
            assert_eq!(printed.matches("a | first").count(), 1, "{printed}");
            assert!(
                printed.contains("✗ a  failed") && printed.contains("command  echo first;"),
                "{printed}"
            );
        }
    }
}

/// The number of a word such as `w012`.
fn number(word: &str) -> Option<usize> {
    word.strip_prefix('w')?.parse().ok().filter(|_| word.len() == 4)
}

#[test]
fn long_text_is_cut_at_the_border_of_a_word() {
    let words: Vec<String> = (0..100).map(|n| format!("w{n:03}")).collect();
    for (rows, columns) in SIZES {
        // While two steps run, the output is in their rows.
        let scratch = project(&format!(
            "  - id: a\n    run: |\n      {}\n      echo {}\n      {}\n  - {{id: b, run: '{}'}}\n",
            after("both", "true"),
            words.join(" "),
            after("go", "exit 0"),
            after("go", "exit 0")
        ));
        let mut terminal = Pty::start(&scratch, rows, columns, &["playbook", "run", "p"]);
        terminal.until("both run", |s| rows_of(s) == 2);
        scratch.write("both", "");
        let screen = terminal.until("the output", |s| s.contains("w099"));
        let row = screen.lines().find(|line| line.contains("w099")).unwrap_or_default();
        assert!(row.chars().count() < usize::from(columns), "{screen}");
        let (_, shown) = row.split_once("… ").unwrap_or_else(|| panic!("{screen}"));
        let numbers: Vec<Option<usize>> = shown.split_whitespace().map(number).collect();
        let expected: Vec<Option<usize>> = (100 - numbers.len()..100).map(Some).collect();
        assert_eq!(numbers, expected, "{screen}");
        // One more word would not fit.
        let free = usize::from(columns) - row.chars().count();
        assert!(free < " w000".len() + 2, "{free} columns are free:\n{screen}");
        scratch.write("go", "");
        assert_eq!(terminal.end().0, 0);
    }
}

#[test]
fn the_header_counts_tokens_and_cost() {
    let server = weak_models::server(&[weak_models::response("{\"summary\": \"done\"}", "stop")]);
    for (rows, columns) in SIZES {
        let scratch = project(&format!(
            "  - {{id: think, specialist: thinker, task: think}}\n  - {{id: a, dependsOn: [think], run: '{0}'}}\n  - {{id: b, dependsOn: [think], run: 'exit 3'}}\n",
            after("go", "exit 0")
        ));
        let specialist = "schema: kb.specialist/1\nid: thinker\nrole: You think.\n";
        scratch.write(".kb/specialists/thinker/specialist.yml", specialist);
        scratch.write(
            ".kb/kb.config.yml",
            &format!(
                "schema: kb.config/1\nllm:\n  tiers: {{medium: {{endpoint: \"{}\", model: tiny, price: {{input: 1000, output: 10000}}}}}}\n",
                server.uri()
            ),
        );
        let mut terminal = Pty::start(&scratch, rows, columns, &["playbook", "run", "p"]);
        let screen =
            terminal.until("the counts", |s| s.contains("2/3 done · 1 running · 1 failed"));
        assert!(header(&screen)[0].contains("s  84 tokens  $0.66"), "{screen}");
        scratch.write("go", "");
        assert_eq!(terminal.end().0, 1);
    }
}

#[test]
fn a_step_that_merges_its_changes_says_so() {
    let (scratch, lock) = while_another_merges();
    let mut terminal = Pty::start(&scratch, 24, 80, &["playbook", "run", "p"]);
    let screen = terminal.until("the merge", |s| s.contains("merging its changes"));
    assert!(screen.contains("0/1 done") && !scratch.has("made.txt"), "{screen}");
    drop(lock);
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    assert!(!printed.contains("merging its changes"), "a row is left:\n{printed}");
}

#[test]
fn questions_are_asked_without_a_summary_between_them() {
    let scratch = project(
        "  - {id: one, ask: First?}\n  - {id: two, ask: Second?, dependsOn: [one]}\n  - {id: three, run: echo done, dependsOn: [two]}\n",
    );
    for (rows, columns) in SIZES {
        let mut terminal = Pty::start(&scratch, rows, columns, &["playbook", "run", "p"]);
        for question in ["First?", "Second?"] {
            terminal.until(question, |s| s.contains(question) && s.trim_end().ends_with('>'));
            terminal.key(b"yes\r");
        }
        let (code, printed) = terminal.end();
        assert_eq!(code, 0, "{printed}");
        assert!(!printed.contains("p waiting") && !printed.contains("kb run answer"), "{printed}");
        assert_eq!(printed.matches("p succeeded").count(), 1, "{printed}");
    }
}

#[test]
fn the_time_of_the_last_run_is_shown_beside_the_clock() {
    let scratch = project(&format!("  - id: a\n    run: |\n      {}\n", after("go", "exit 0")));
    let go = scratch.root().join("go");
    scratch.write("go", "");
    assert_eq!(Pty::start(&scratch, 24, 80, &["playbook", "run", "p"]).end().0, 0);
    for (rows, columns) in SIZES {
        std::fs::remove_file(&go).unwrap();
        let mut terminal = Pty::start(&scratch, rows, columns, &["playbook", "run", "p"]);
        terminal.until("the expected time", |screen| {
            header(screen).iter().any(|line| line.contains("s of about "))
        });
        scratch.write("go", "");
        assert_eq!(terminal.end().0, 0);
    }
}

#[test]
fn frames_are_synchronized_and_erase_no_screen() {
    for (rows, columns) in SIZES {
        let scratch = forty();
        scratch.write("half", "");
        scratch.write("rest", "");
        let args = ["playbook", "run", "p", "--max-parallel", "40"];
        let (_, bytes) = Pty::start(&scratch, rows, columns, &args).end_with_bytes();
        let text = String::from_utf8_lossy(&bytes);
        for erasing in ["\x1b[2J", "\x1b[3J", "\x1b[H", "\x1bc"] {
            assert!(!text.contains(erasing), "{erasing:?}");
        }
        // Lines are erased only within a frame, which the terminal shows as a whole.
        let frames: Vec<&str> = text.split("\x1b[?2026h").collect();
        assert!(frames.len() > 2, "{text}");
        for frame in &frames {
            let outside = frame.split_once("\x1b[?2026l").map_or(*frame, |(_, after)| after);
            assert!(!outside.contains("\x1b[J") && !outside.contains("\x1b[K"), "{outside:?}");
        }
    }
}
