//! Text that would control a terminal, in every text of a definition and of a run.

use crate::running::Start;
use crate::scratch::Scratch;
use std::process::{Command, Stdio};

/// Clears the screen, sets the title and the clipboard, hides text, reorders it, and has no width.
pub(crate) const EVIL: &str = "x\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}]52;c;aGk=\u{7}\u{1b}[8mh\u{9b}1A\u{202e}y\u{2066}\u{200b}\u{e0041}z";

fn project() -> Scratch {
    // YAML allows this character as an escape only.
    let evil = serde_json::json!(EVIL).to_string().replace('\u{9b}', "\\u009b");
    let playbook = format!(
        "schema: kb.playbook/1
id: p
name: {evil}
description: {evil}
triggers: [{evil}]
params:
  - {{name: v, description: {evil}, default: {evil}}}
steps:
  - id: each
    forEach: [{evil}]
    run: [bash, -c, 'printf %s \"$V\"; printf %s \"$V\" >&2; printf %s \"$V\" > \"out-$V.txt\"']
    env: {{V: '{{{{item}}}}'}}
    evidence: full
  - id: show
    dependsOn: [each]
    run: [bash, -c, 'printf %s \"$V\"']
    env: {{V: '{{{{v}}}}'}}
    verify: {{checks: [{{command: [bash, -c, 'printf %s \"$0\" >&2; exit 1', '{{{{v}}}}']}}], onFailed: warn}}
  - id: sure
    dependsOn: [show]
    ask: {{question: {evil}, options: [{evil}, b]}}
outputs: {{text: '{{{{show.output}}}}'}}
"
    );
    let specialist = format!(
        "schema: kb.specialist/1\nid: s\nname: {evil}\ndescription: {evil}\nrole: {evil}\ntools: []\nconstraints: [{evil}]\n"
    );
    Scratch::new(&[("playbooks/p.yml", &playbook), (".kb/specialists/s.yml", &specialist)])
}

/// Characters that control a terminal or hide text; line breaks, tabs and colours are allowed.
pub(crate) fn dangerous(text: &str) -> Vec<String> {
    let text = anstream::adapter::strip_str(text).to_string();
    let is_bad = |c: &char| {
        c.is_control() && !"\n\t".contains(*c) || "\u{202e}\u{2066}\u{200b}\u{e0041}".contains(*c)
    };
    text.chars().filter(is_bad).map(|c| c.escape_unicode().to_string()).collect()
}

#[test]
fn no_command_shows_text_that_controls_a_terminal() {
    let scratch = project();
    let commands: &[&[&str]] = &[
        &["playbook", "list"],
        &["playbook", "show", "p"],
        &["playbook", "plan", "p"],
        &["playbook", "graph", "p"],
        &["playbook", "match", EVIL],
        &["playbook", "run", EVIL],
        &["specialist", "list"],
        &["specialist", "info", "s"],
        &["playbook", "run", "p"],
        &["run", "list"],
        &["run", "show", "@last"],
        &["run", "logs", "@last"],
        &["run", "diff", "@last"],
        &["run", "answer", "@last", "sure", EVIL],
        &["run", EVIL],
        &["run", "list", "--status", EVIL],
        &["run", "list", EVIL],
    ];
    for colour in [false, true] {
        for args in commands {
            let said = scratch.kb_with(args, |command| {
                if colour {
                    command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
                }
            });
            for text in [&said.out, &said.err] {
                assert_eq!(dangerous(text), Vec::<String>::new(), "{args:?}: {text:?}");
                assert!(
                    !text.contains("\u{1b}[8m") && !text.contains("\u{1b}]"),
                    "{args:?}: {text:?}"
                );
            }
        }
    }
}

#[test]
fn output_is_unchanged_for_a_pipe_and_escaped_on_a_terminal() {
    let scratch = project();
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let args = ["run", "output", "@last", "show"];
    assert_eq!(scratch.kb(&args).code(0).out, format!("{EVIL}\n"));
    if Command::new("script").arg("--version").finish_if_found().is_none() {
        return eprintln!("skipped in part: no `script` makes a terminal here");
    }
    for more in [&[][..], &["--json"]] {
        let mut words = vec![env!("CARGO_BIN_EXE_kb")];
        words.extend(args.iter().chain(more));
        let mut call = scratch.command();
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &words.join(" "), "/dev/null"]).current_dir(scratch.root());
        terminal.env("TERM", "xterm").stdin(Stdio::null());
        for (name, value) in call.env("CI", "1").get_envs() {
            value.map(|value| terminal.env(name, value));
        }
        let shown = String::from_utf8(terminal.finish().stdout).unwrap();
        let shown = shown.replace("\r\n", "\n");
        assert!(shown.contains('z'), "{shown:?}");
        assert_eq!(dangerous(&shown), Vec::<String>::new(), "{more:?}: {shown:?}");
    }
}

/// A line break in the name of a file makes no line of its own, which could look like one of `kb`.
#[test]
fn the_name_of_a_file_makes_no_line_of_its_own() {
    let specialist = "schema: kb.specialist/1\nid: s\nrole: Write.\ntools: [shell:exec]\n";
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, agent: s, task: Write., verify: {claims: none}}\n";
    let command = "touch $'.kb/x\\n\\e[32mok\\e[0m       FORGED' $'y\\nok       FORGED'";
    let script = serde_json::json!({"schema": "kb.script/1", "steps": {"a": [
        {"calls": [{"tool": "shell:exec", "args": {"command": command}}]}, {"output": {"summary": "done"}},
    ]}});
    let scratch = Scratch::new(&[
        (".kb/specialists/s.yml", specialist),
        ("playbooks/p.yml", playbook),
        ("script.yml", &script.to_string()),
    ]);
    let run = ["playbook", "run", "p", "--script", "script.yml", "--yes"];
    let said = scratch.kb_with(&run, |kb| {
        kb.env("KB_SANDBOX_AT_MOST", "process");
    });
    let shown = [
        said.code(1),
        scratch.kb(&["doctor"]),
        scratch.kb(&["doctor", "--accept"]),
        scratch.kb(&["run", "show", "@last"]),
        scratch.kb(&["run", "diff", "@last"]),
        scratch.kb(&["run", "logs", "@last"]),
        scratch.kb(&["run", "audit", "@last"]),
        scratch.kb(&run),
    ];
    for said in shown {
        let text = anstream::adapter::strip_str(&format!("{}{}", said.out, said.err)).to_string();
        assert!(text.contains("FORGED"), "{text}");
        let forged = text.lines().find(|line| line.trim_start().starts_with("ok"));
        assert!(forged.is_none_or(|line| !line.contains("FORGED")), "{text}");
    }
}

/// Names of files and of definitions, as shells offer them.
#[test]
fn completions_offer_no_text_that_controls_a_terminal() {
    let scratch = project();
    for file in
        ["x\u{1b}[2J.yml", "x\u{1b}[31m.yml", "x\u{202e}.yml", "x\u{200b}.yml", "xplain.yml"]
    {
        scratch.write(file, "");
    }
    let lines: [&[&str]; 6] = [
        &["playbook", "run", ""],
        &["playbook", "run", "./x"],
        &["specialist", "info", ""],
        &["fmt", "x"],
        &["-C", ""],
        &["playbook", "run", "p", "--script", "./x"],
    ];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        for words in lines {
            let args: Vec<&str> = ["--", "kb"].into_iter().chain(words.iter().copied()).collect();
            let said = scratch.kb_with(&args, |kb| {
                kb.env("KB_COMPLETE", shell).env("_CLAP_IFS", "\n");
                kb.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
            });
            let offered = said.code(0).out;
            assert_eq!(dangerous(&offered), Vec::<String>::new(), "{shell} {words:?}: {offered:?}");
            assert!(!offered.contains("\u{1b}["), "{shell} {words:?}: {offered:?}");
            let names_file = words.last().is_some_and(|word| word.ends_with('x'));
            assert!(
                !names_file || offered.contains("xplain.yml"),
                "{shell} {words:?}: {offered:?}"
            );
        }
    }
}
