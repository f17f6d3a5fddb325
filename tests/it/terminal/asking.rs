//! Questions for parameters, on a pseudo-terminal.

use super::pty::Pty;
use crate::attack::{EVIL, dangerous};
use crate::scratch::Scratch;

const ASKING: (&str, &str) = (
    "playbooks/p.yml",
    "schema: kb.playbook/1
id: p
params:
  - {name: colour, required: true, prompt: Which colour?, enum: [red, green]}
  - {name: times, type: integer, required: true, description: How often, min: 1, max: 3}
  - {name: size, type: integer, default: 7, prompt: Which size?}
  - {name: quiet, default: x}
  - {name: apiToken, type: secret, required: true, prompt: Which token?}
steps:
  - id: a
    run: echo \"$COLOUR $TIMES $SIZE\"; test \"$TOKEN\" = secret-value-1
    env: {COLOUR: \"{{colour}}\", TIMES: \"{{times}}\", SIZE: \"{{size}}\", TOKEN: \"{{apiToken}}\"}
",
);

#[test]
fn parameters_are_asked_for_with_choices_types_and_defaults_until_they_fit() {
    let scratch = Scratch::new(&[ASKING]);
    scratch.write("token.txt", "secret-value-1");
    let mut terminal = Pty::start(&scratch, 24, 80, &["playbook", "run", "p"]);
    let mut answer = |shown: &[&str], typed: &str| {
        terminal.until(&shown.join(", "), |s| {
            shown.iter().all(|text| s.contains(text)) && s.trim_end().ends_with(':')
        });
        terminal.key(format!("{typed}\n").as_bytes());
    };
    answer(&["Which colour?", "1  red", "2  green", "colour:"], "blue");
    answer(&["`colour` cannot be `blue`: one of: red, green"], "2");
    answer(&["How often  a whole number, at least 1, at most 3"], "often");
    answer(&["`times` is given `often`: `times` takes a whole number"], "9");
    answer(&["`times` is 9: at most 3"], "3");
    answer(&["Which size?", "size [7]:"], "");
    answer(
        &["Which token?", "a reference, such as env:API_TOKEN or file:apiToken.txt"],
        "hunter2-hunter2",
    );
    answer(&["`apiToken` is given a literal secret"], "env:NOPE");
    answer(&["NOPE is not set"], "file:none.txt");
    answer(&["there is no file `none.txt`"], "file:token.txt");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("green 3 7"), "{printed}");
    for hidden in ["hunter2", "secret-value-1", "file:token.txt"] {
        assert!(!printed.contains(hidden), "`{hidden}` was shown:\n{printed}");
    }
    assert!(
        !printed.contains("quiet ["),
        "a parameter without a prompt is not asked for:\n{printed}"
    );
}

#[test]
fn a_secret_that_is_typed_early_or_interrupted_is_not_shown() {
    let scratch = Scratch::new(&[ASKING]);
    let given = ["playbook", "run", "p", "-p", "colour=red", "-p", "times=1", "-p", "size=7"];
    let mut terminal = Pty::start(&scratch, 24, 80, &given);
    terminal.until("the question", |screen| screen.trim_end().ends_with("apiToken:"));
    terminal.key(b"first-secret\nsecond-secret");
    terminal.until("a problem", |screen| screen.contains("`apiToken` is given a literal secret"));
    terminal.key(b"\x03");
    let (code, printed) = terminal.end();
    assert_eq!(code, 130, "{printed}");
    assert!(!printed.contains("-secret"), "{printed}");
}

#[test]
fn a_variable_that_is_not_set_is_named_without_a_terminal_too() {
    let scratch = Scratch::new(&[ASKING]);
    let given = ["-p", "colour=red", "-p", "times=1"];
    let run = |token: &str| {
        let args = ["playbook", "run", "p", "-p", token];
        scratch.kb(&[&args[..], &given].concat()).code(2)
    };
    run("apiToken=env:NOPE").says(&["NOPE is not set", "`export NOPE=…` first"]);
    run("apiToken=file:none.txt")
        .says(&["there is no file `none.txt`", "relative to the project folder"]);
    scratch
        .kb(&["playbook", "run", "p"])
        .code(2)
        .says(&["`--param colour=…`; one of: red, green", "`--param apiToken=env:API_TOKEN`"]);
}

#[test]
fn a_default_that_a_step_needs_must_have_a_source_when_the_run_starts() {
    let text = |more: &str| {
        format!(
            "schema: kb.playbook/1\nid: p\nparams: [{{name: token, type: secret, default: 'env:NOPE'}}, {{name: deploy, type: boolean, default: false}}]\nsteps:\n  - {{id: first, run: echo first > ran}}\n  - {{id: use, dependsOn: [first], env: {{TOKEN: \"{{{{token}}}}\"}}, run: 'true'{more}}}\n"
        )
    };
    let scratch = Scratch::new(&[("playbooks/p.yml", &text(""))]);
    scratch.kb(&["playbook", "run", "p"]).code(2).says(&[
        "playbooks/p.yml:3:",
        "the default of the parameter `token` is `env:NOPE`, but NOPE is not set",
        "`export NOPE=…` first",
        "`--param token=env:NAME`",
    ]);
    assert!(!scratch.has("ran"), "no step has run");
    let set = |command: &mut std::process::Command| {
        command.env("NOPE", "hunter2hunter2");
    };
    scratch.kb_with(&["playbook", "run", "p"], set).code(0);
    scratch.kb(&["playbook", "run", "p", "--skip", "use"]).code(0);
    // A step that may not run may do without.
    scratch.write("playbooks/p.yml", &text(", condition: '{{deploy}}'"));
    scratch.kb(&["playbook", "run", "p"]).code(0);
    scratch.kb(&["playbook", "run", "p", "-p", "deploy=true"]).code(1).says(&[
        "KB0576",
        "the secret `token` has no value: NOPE is not set",
        "`export NOPE=…`",
    ]);
    let guarded = text("").replace("{{token}}", "{{token | default('none')}}");
    scratch.write("playbooks/p.yml", &guarded);
    scratch.kb(&["playbook", "run", "p"]).code(0);
}

/// Texts of a definition in prompts for parameters, questions and approvals.
#[test]
fn prompts_show_no_text_that_controls_the_terminal() {
    let evil = |mark: &str| {
        serde_json::json!(format!("{EVIL}{mark}")).to_string().replace('\u{9b}', "\\u009b")
    };
    let scratch = Scratch::new(&[(
        "playbooks/p.yml",
        &format!(
            "schema: kb.playbook/1
id: p
params:
  - {{name: v, required: true, prompt: {}, description: {}}}
steps:
  - {{id: q, ask: {{question: {}}}}}
  - {{id: ok, dependsOn: q, approve: {}}}
",
            evil("PROMPT"),
            evil("ABOUT"),
            evil("QUESTION"),
            evil("APPROVAL")
        ),
    )]);
    let mut terminal = Pty::start(&scratch, 40, 200, &["playbook", "run", "p"]);
    let end = |s: &str| s.trim_end().ends_with([':', '>', ']', '?']);
    for (mark, typed) in [("PROMPT", "x\n"), ("QUESTION", "yes\r"), ("APPROVAL", "y\r")] {
        terminal.until(mark, |s| s.contains(mark) && end(s));
        terminal.key(typed.as_bytes());
    }
    terminal.until("the end", |s| s.contains("p succeeded"));
    let shown = terminal.bytes().replace("\r", "");
    assert_eq!(dangerous(&shown), Vec::<String>::new(), "{shown:?}");
    for sequence in ["\u{1b}[8m", "\u{1b}]0;", "\u{1b}]52"] {
        assert!(!shown.contains(sequence), "{shown:?}");
    }
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn secrets_of_the_settings_and_of_child_runs_are_looked_for_before_the_run() {
    let own = "schema: kb.playbook/1\nid: own\nsteps:\n  - {id: first, run: echo > ran}\n  - {id: use, dependsOn: [first], run: 'true', env: {T: '{{secrets.api}}'}}\n";
    let child = "schema: kb.playbook/1\nid: child\nparams: [{name: token, type: secret}]\nsteps:\n  - {id: use, run: 'true', env: {T: '{{token}}'}}\n";
    let parent = |with: &str| {
        format!(
            "schema: kb.playbook/1\nid: parent\nsteps:\n  - {{id: first, run: echo > ran}}\n  - {{id: call, dependsOn: [first], playbook: child{with}}}\n"
        )
    };
    let scratch = Scratch::new(&[
        ("playbooks/own.yml", own),
        ("playbooks/child.yml", child),
        ("playbooks/parent.yml", &parent(", with: {token: 'env:NOPE'}")),
        (".kb/kb.config.yml", "secrets: {api: 'env:API'}\n"),
    ]);
    scratch.kb(&["playbook", "run", "own"]).code(2).says(&[
        "KB0576",
        "playbooks/own.yml:5:",
        "the secret `api` has no value: API is not set",
        "`export API=…` first",
    ]);
    scratch.kb(&["playbook", "run", "parent"]).code(2).says(&[
        "playbooks/parent.yml:5:",
        "`token` of `child` is given `env:NOPE`, but NOPE is not set",
    ]);
    let grandparent = parent("").replace("id: parent", "id: top").replace("child", "parent");
    scratch.write("playbooks/top.yml", &grandparent);
    scratch.kb(&["playbook", "run", "top"]).code(2).says(&["`token` of `child` is given"]);
    assert!(!scratch.has("ran"), "no step has run");
    let set = |command: &mut std::process::Command| {
        command.env("NOPE", "hunter2hunter2").env("API", "hunter3hunter3");
    };
    scratch.kb_with(&["playbook", "run", "top"], set).code(0);
    scratch.kb_with(&["playbook", "run", "own"], set).code(0);
    // A step that may not run, or does without, may stay without a value.
    let own = own.replace(
        "env: {T: '{{secrets.api}}'}",
        "condition: '{{first.exitCode}} != 0', env: {T: '{{secrets.api}}'}",
    );
    scratch.write("playbooks/own.yml", &own);
    scratch.kb(&["playbook", "run", "own"]).code(0);
}

#[test]
fn a_phrase_that_two_playbooks_match_asks_which_one_is_meant() {
    let greet = |id: &str| {
        format!(
            "schema: kb.playbook/1\nid: {id}\ntriggers: [\"greet {{who}}\"]\nparams: [{{name: who, required: true}}]\nsteps: [{{id: a, run: 'echo \"$WHO\" > {id}.txt', env: {{WHO: \"{{{{who}}}}\"}}}}]\n"
        )
    };
    let scratch =
        Scratch::new(&[("playbooks/one.yml", &greet("one")), ("playbooks/two.yml", &greet("two"))]);
    let mut terminal = Pty::start(&scratch, 24, 100, &["playbook", "run", "--match", "greet Ada"]);
    terminal.until("the question", |screen| {
        screen.contains("can mean") && screen.trim_end().ends_with("Number [1-2]:")
    });
    terminal.key(b"2\n");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    assert_eq!(scratch.read("two.txt"), "Ada\n", "{printed}");
    assert!(!scratch.has("one.txt"), "{printed}");
}

#[test]
fn a_new_playbook_or_specialist_is_asked_for_its_template_and_its_id() {
    let scratch = Scratch::new(&[]);
    let create = |args: &[&str], answers: &[(&str, &str)]| {
        let mut terminal = Pty::start(&scratch, 50, 120, args);
        for (question, typed) in answers {
            terminal.until(question, |screen| screen.trim_end().ends_with(question));
            terminal.key(format!("{typed}\n").as_bytes());
        }
        terminal.end()
    };
    let new = ["playbook", "new"];
    let (code, shown) =
        create(&new, &[("Template [basic]:", "fix-bug"), ("Id [fix-bug]:", "repair")]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("a test that fails before the fix"), "{shown}");
    assert!(shown.contains("kb playbook test repair"), "{shown}");
    assert!(scratch.read(".kb/playbooks/repair.yml").contains("id: repair"));
    let (code, shown) =
        create(&new, &[("Template [basic]:", "specialist"), ("Id [specialist]:", "")]);
    assert_eq!(code, 0, "{shown}");
    scratch.kb(&["playbook", "test", "specialist"]).code(0);
    let (code, shown) = create(&new, &[("Template [basic]:", ""), ("Id:", "mine")]);
    assert_eq!(code, 0, "{shown}");
    assert!(scratch.has(".kb/playbooks/mine.yml"));
    let (code, shown) = create(&new, &[("Template [basic]:", ""), ("Id:", "")]);
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("nothing was entered"), "{shown}");
    let (code, shown) = create(&new, &[("Template [basic]:", "fixbug"), ("Id [fixbug]:", "x")]);
    assert_eq!(code, 4, "{shown}");
    assert!(shown.contains("fix-bug"), "{shown}");
    let new = ["specialist", "new", "--template", "agent"];
    let (code, shown) = create(&new, &[("Id [agent]:", "reader")]);
    assert_eq!(code, 0, "{shown}");
    assert!(scratch.has(".kb/agents/reader.md"));
}

/// A question with a schema is a form; what a field does not take is asked for again.
#[test]
fn the_fields_of_an_answer_are_asked_one_by_one() {
    let text = "schema: kb.playbook/1
id: p
steps:
  - id: where
    ask:
      question: Where to?
      schema:
        type: object
        required: [zone, replicas, sure]
        properties:
          zone: {enum: [eu, us], description: The zone}
          replicas: {type: integer, minimum: 1, default: 2}
          sure: {type: boolean}
          tags: {type: array, items: {type: string}}
          note: {type: string, maxLength: 3}
        not: {required: [zone, note], properties: {zone: {const: us}, note: {const: bad}}}
outputs: {answer: \"{{where.output}}\"}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let mut terminal = Pty::start(&scratch, 50, 120, &["playbook", "run", "p"]);
    let mut answer = |shown: &str, field: &str, typed: &str| {
        let prompt = format!("{field} >");
        terminal.until(shown, |s| s.contains(shown) && s.trim_end().ends_with(&prompt));
        terminal.key(format!("{typed}\r").as_bytes());
    };
    answer("The zone  1) eu  2) us  empty leaves the question open", "zone", "mars");
    answer("`zone` takes one of: eu, us", "zone", "2");
    answer("a whole number  at least 1  empty takes 2", "replicas", "many");
    answer("`replicas` takes a whole number, at least 1", "replicas", "0");
    answer("`replicas`: ", "replicas", "3");
    answer("yes or no", "sure", "");
    answer("`sure` needs a value", "sure", "yes");
    answer("texts with commas between them  empty leaves it out", "tags", "a, b");
    answer("a text  at most 3 characters", "note", "bad");
    // The whole is checked as every answer is. The form is shown again with what was answered.
    answer("empty keeps us", "zone", "eu");
    answer("empty keeps 3", "replicas", "");
    answer("empty keeps true", "sure", "n");
    answer("empty keeps [\"a\",\"b\"]", "tags", "");
    answer("empty keeps bad", "note", "");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    let output = scratch.json(&["run", "output", "@last", "where", "--json"]);
    let expected = serde_json::json!({"zone": "eu", "replicas": 3, "sure": false, "tags": ["a", "b"], "note": "bad"});
    assert_eq!(output, expected);
    // A line that begins with `{` is the whole answer.
    let mut terminal = Pty::start(&scratch, 50, 120, &["playbook", "run", "p"]);
    terminal.until("the first field", |s| s.trim_end().ends_with("zone >"));
    terminal.key(b"{\"zone\": \"us\", \"replicas\": 3, \"sure\": true}\r");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    let output = scratch.json(&["run", "output", "@last", "where", "--json"]);
    assert_eq!(output, serde_json::json!({"zone": "us", "replicas": 3, "sure": true}));
}

#[test]
fn an_approval_lists_what_it_starts() {
    let steps = "  - {id: ok, approve: \"Publish?\"}
  - {id: publish, dependsOn: [ok], run: [echo, old]}
  - {id: beside, run: [echo, beside]}
";
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
    let mut terminal = Pty::start(&scratch, 50, 120, &["playbook", "run", "p"]);
    let starts = "approval starts publish (run echo …)";
    let shown =
        terminal.until("the question", |s| s.contains(starts) && s.trim_end().ends_with('>'));
    assert!(!shown.contains("beside (run"), "{shown}");
    terminal.key(b"y\r");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
}

/// The changes stand before the question, also where another terminal approves; `n` decides nothing there.
#[test]
fn a_question_that_is_answered_elsewhere_ends_and_the_run_is_followed() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: ok, approve: Go on?}\n  \
                - {id: b, dependsOn: [ok], run: sleep 0.3}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let mut terminal = Pty::start(&scratch, 24, 80, &["playbook", "run", "p"]);
    terminal.until("the question", |screen| screen.contains("y to approve"));
    scratch.kb(&["run", "approve", "@last"]).code(0);
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("answered elsewhere"), "{printed}");
    assert!(printed.contains("2 succeeded"), "{printed}");
}

#[test]
fn an_approval_with_a_timeout_is_asked_where_its_run_is_driven() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: ok, approve: {message: Go on?, timeout: 1h}}\n  \
                - {id: again, dependsOn: [ok], approve: {message: Really?, timeout: 1h}}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let asks = |s: &str| s.trim_end().ends_with('>');
    let mut terminal = Pty::start(&scratch, 24, 80, &["playbook", "run", "p"]);
    terminal.until("the question", |s| asks(s) && s.contains("ok  Go on?"));
    terminal.key(b"what\n");
    terminal.until("a problem", |s| asks(s) && s.contains("write y, n, or n with a reason"));
    // What is typed for a question that is answered elsewhere answers no other one.
    terminal.key(b"y");
    scratch.kb(&["run", "approve", "@last", "ok"]).code(0);
    terminal.until("the next question", |s| asks(s) && s.contains("again  Really?"));
    terminal.key(b"\n");
    terminal.until("it is left open", |s| s.contains("1/2 done · 1 waiting"));
    scratch.kb(&["run", "approve", "@last", "again", "--comment", "yes"]).code(0);
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("2 succeeded"), "{printed}");
}

#[test]
fn an_approval_shows_what_changed() {
    let steps = "  - {id: write, evidence: full, run: 'seq 1 150 > numbers.txt'}
  - {id: ok, dependsOn: write, approve: \"Publish?\"}
";
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let mut terminal = Pty::start(&scratch, 300, 120, &["run", "approve", "@last"]);
    let shown = terminal.until("the changes", |s| s.trim_end().ends_with("changes:"));
    assert!(shown.contains("numbers.txt") && shown.contains("+2"), "{shown}");
    assert!(shown.contains("more lines") && !shown.contains("+150"), "{shown}");
    terminal.key(b"d\r");
    terminal.until("all changes", |s| s.contains("+150"));
    terminal.key(b"n\r");
    assert_eq!(terminal.end().0, 0);
    let waits = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(waits["status"], "waiting");
    let mut terminal = Pty::start(&scratch, 300, 120, &["run", "resume", "@last"]);
    let shown = terminal.until("the question", |s| s.trim_end().ends_with('>'));
    assert!(shown.contains("numbers.txt"), "{shown}");
    // An approval follows all changes.
    terminal.key(b"y\r");
    terminal.until("all changes", |s| s.contains("+150") && s.trim_end().ends_with('>'));
    terminal.key(b"y\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_run_without_an_id_asks_for_the_playbook_and_narrows_the_list() {
    let text = |id: &str| {
        format!(
            "schema: kb.playbook/1\nid: {id}\nname: Does {id}\nsteps: [{{id: a, run: 'echo {id} > out.txt'}}]\n"
        )
    };
    let files =
        ["build-all", "build-docs", "release"].map(|id| (format!("playbooks/{id}.yml"), text(id)));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let scratch = Scratch::new(&files);
    let choose = |answers: &[(&str, &str)]| {
        let mut terminal = Pty::start(&scratch, 24, 100, &["playbook", "run"]);
        for (shown, typed) in answers {
            terminal.until(shown, |s| s.contains(shown) && s.trim_end().ends_with("name:"));
            terminal.key(format!("{typed}\r").as_bytes());
        }
        terminal.end()
    };
    let (code, printed) = choose(&[("3  release", "build"), ("2  build-docs", "2")]);
    assert_eq!((code, scratch.read("out.txt").as_str()), (0, "build-docs\n"), "{printed}");
    let (code, printed) = choose(&[("release", "zzz"), ("no playbook contains `zzz`", "rls")]);
    assert_eq!((code, scratch.read("out.txt").as_str()), (0, "release\n"), "{printed}");
    let (code, printed) = choose(&[("release", "")]);
    assert!(code == 2 && printed.contains("no playbook was chosen"), "{printed}");
    // Without a terminal, it is an error as before.
    scratch.kb(&["playbook", "run"]).code(2).says(&["the id of the playbook is missing"]);
}

#[test]
fn a_watched_playbook_runs_again_when_a_file_changes_and_not_for_what_it_writes() {
    let text =
        "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'echo run >> log; cat input'}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text), ("input", "one\n")]);
    let mut terminal = Pty::start(&scratch, 40, 100, &["playbook", "run", "p", "--watch"]);
    terminal.until("the first run", |s| s.contains("a | one") && s.contains("Ctrl-C ends"));
    std::thread::sleep(std::time::Duration::from_millis(1000));
    assert_eq!(scratch.read("log"), "run\n", "its own file starts no run");
    scratch.write("input", "two\n");
    terminal.until("the second run", |s| {
        s.contains("changed: input")
            && s.contains("a | two")
            && s.trim_end().ends_with("Ctrl-C ends")
    });
    // An error is printed, and the next change runs it again.
    scratch.write("playbooks/p.yml", "id: [");
    terminal.until("the error", |s| s.contains("error") && s.trim_end().ends_with("Ctrl-C ends"));
    scratch.write("playbooks/p.yml", text);
    terminal.until("the third run", |s| s.matches("a | two").count() == 2);
    terminal.until("the wait", |s| s.trim_end().ends_with("Ctrl-C ends"));
    terminal.key(b"\x03");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    assert_eq!(scratch.read("log"), "run\nrun\nrun\n");
}
