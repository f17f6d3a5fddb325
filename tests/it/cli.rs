//! What the command line promises to scripts and people, through the real binary.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::json;

const HELLO: (&str, &str) = (
    "playbooks/hello.yml",
    "schema: kb.playbook/1
id: hello
name: Say hello
triggers: [\"say hello\"]
params:
  - {name: who, required: true, prompt: \"Who?\"}
  - {name: times, type: integer, default: 1, min: 1, max: 3}
steps:
  - id: greet
    run: [\"printf\", \"hello %s\", \"{{who}}\"]
  - id: shout
    run: [\"printf\", \"%s!\", \"{{greet.output}}\"]
outputs: {text: \"{{shout.output}}\"}
",
);

const BROKEN: (&str, &str) = (
    "playbooks/broken.yml",
    "schema: kb.playbook/1\nid: broken\nsteps:\n  - id: a\n    run: echo\n    dependson: [b]\n",
);

fn hello() -> Scratch {
    Scratch::new(&[HELLO])
}

#[test]
fn alone_it_says_what_to_do_first() {
    let said = Scratch::bare().kb(&[]).code(0);
    for line in ["kb demo", "kb init", "kb playbook run"] {
        assert!(said.out.contains(line), "{}", said.out);
    }
}

#[test]
fn the_version_is_one_line() {
    let said = Scratch::bare().kb(&["--version"]).code(0);
    assert_eq!(said.out, format!("kb {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_command_of_the_contract_has_a_manual() {
    let commands = "demo|init|doctor|playbook list|playbook show|playbook validate|playbook graph|\
        playbook plan|playbook run|playbook new|playbook match|playbook import|specialist list|\
        specialist info|specialist validate|specialist new|run list|run show|run watch|run logs|run events|\
        run output|run diff|run verify|run resume|run retry|run cancel|run prune|schema|explain|fmt|completions|man";
    let scratch = Scratch::bare();
    for command in commands.split('|') {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let said = scratch.kb(&words).code(0);
        assert!(said.out.contains(&format!("Usage: kb {command}")), "{command}: {}", said.out);
    }
}

#[test]
fn a_misspelt_command_or_option_is_bad_usage_with_the_nearest() {
    let scratch = Scratch::bare();
    scratch.kb(&["playbok"]).code(2).says(&["'playbook'"]);
    scratch.kb(&["playbook", "lst"]).code(2).says(&["'list'"]);
    scratch.kb(&["playbook", "list", "--jsn"]).code(2).says(&["'--json'"]);
    scratch.kb(&["playbook", "run", "x", "--param", "novalue"]).code(2).says(&["NAME=VALUE"]);
    scratch.kb(&["playbook", "run", "x", "--max-parallel", "0"]).code(2);
    scratch.kb(&["run", "add-feature"]).code(2).says(&["use `kb playbook run add-feature`"]);
    scratch
        .kb(&["-C", "/nowhere/at/all", "playbook", "list"])
        .code(2)
        .says(&["cannot change to directory"]);
}

#[test]
fn without_a_project_it_says_how_to_make_one() {
    for command in [["playbook", "list"], ["run", "list"], ["specialist", "list"]] {
        Scratch::bare().kb(&command).code(4).says(&["no `.kb/` folder", "kb init"]);
    }
}

#[test]
fn init_makes_a_project_that_is_valid_and_keeps_what_is_there() {
    let scratch = Scratch::bare();
    let said = scratch.kb(&["init"]).code(0);
    for file in [
        ".kb/kb.config.yml",
        ".kb/specialists/researcher.yml",
        ".kb/specialists/implementer.yml",
        ".kb/playbooks/add-feature.yml",
    ] {
        assert!(said.out.contains(&format!("created {file}")), "{}", said.out);
    }
    scratch.kb(&["playbook", "validate", "--strict"]).code(0).says(&["valid: 4 definitions"]);
    scratch.write(".kb/specialists/researcher.yml", "mine");
    scratch.kb(&["init"]).code(0).says(&["kept", "exists already"]);
    assert_eq!(scratch.read(".kb/specialists/researcher.yml"), "mine");
}

#[test]
fn lists_and_shows_have_the_promised_json() {
    let scratch = hello();
    let list = scratch.json(&["playbook", "list", "--json"]);
    assert_eq!(
        (&list[0]["id"], &list[0]["path"]),
        (&json!("hello"), &json!("playbooks/hello.yml"))
    );
    let show = scratch.json(&["workflow", "show", "hello", "--json"]);
    assert_eq!(show["params"][0]["name"], "who");
    assert_eq!(show["steps"][1]["id"], "shout");
    let graph = scratch.json(&["playbook", "graph", "hello", "--format", "json"]);
    assert_eq!(graph["edges"], json!([{"from": "greet", "to": "shout", "strength": "needs"}]));
    assert_eq!(
        graph["nodes"][0],
        json!({"id": "greet", "kind": "run", "label": "greet", "finally": false, "sandbox": []})
    );
}

#[test]
fn a_graph_has_four_forms() {
    let scratch = hello();
    let graph =
        |format| scratch.kb(&["playbook", "graph", "hello", "--format", format]).code(0).out;
    assert!(graph("dot").starts_with("digraph"));
    assert!(graph("mermaid").contains("flowchart") || graph("mermaid").contains("graph "));
    assert!(graph("text").contains("shout"));
    assert_eq!(scratch.kb(&["playbook", "graph", "hello", "--json"]).out, graph("json"),);
}

#[test]
fn names_that_name_nothing_suggest_the_nearest_and_list_what_there_is() {
    let other = "schema: kb.playbook/1\nid: other\nsteps:\n  - {id: a, run: \"true\"}\n";
    let scratch = Scratch::new(&[HELLO, ("playbooks/other.yml", other)]);
    let near = ["did you mean `hello`? available: hello, other"];
    for command in ["show", "graph", "run", "plan", "validate"] {
        scratch.kb(&["playbook", command, "helo"]).code(4).says(&near);
        let alone = hello().kb(&["playbook", command, "helo"]).code(4).err;
        assert!(alone.ends_with("  help: did you mean `hello`?\n"), "{alone}");
        let missing = "error: there is no file `./helo.yml`\n  help: check the path;";
        scratch.kb(&["playbook", command, "./helo.yml"]).code(4).says(&[missing]);
    }
    scratch.kb(&["specialist", "info", "x"]).code(4).says(&["there is no specialist `x`"]);
    for command in ["show", "logs", "resume", "retry", "cancel"] {
        let said = scratch.kb(&["run", command, "@last"]).code(4).err;
        let root = scratch.root().display().to_string();
        let expected = format!(
            "error[KB0806]: there is no run `@last` in the project `{root}`\n  help: there is no run \
             yet; for a run of another project add `-C FOLDER`\n"
        );
        assert_eq!(said, expected);
    }
    scratch.kb(&["explain", "KB9999"]).code(4).says(&["there is no code", "lists all codes"]);
    scratch
        .kb(&["playbook", "new", "x", "--template", "basc"])
        .code(4)
        .says(&["did you mean `basic`?"]);
}

#[test]
fn a_broken_definition_is_shown_and_hides_no_other() {
    let scratch = Scratch::new(&[HELLO, BROKEN]);
    let said = scratch.kb(&["playbook", "list"]).code(0);
    assert!(
        said.out.contains("hello") && said.err.contains("playbooks/broken.yml: 1 error"),
        "{said:?}"
    );
    scratch.kb(&["playbook", "validate", "hello"]).code(0);
    scratch.kb(&["playbook", "run", "hello", "--param", "who=x", "--quiet"]).code(0);
    for command in ["validate", "run", "graph", "show"] {
        let said = scratch.kb(&["playbook", command, "broken"]).code(2);
        assert!(said.err.contains("playbooks/broken.yml:6:5"), "{command}: {}", said.err);
        assert!(said.err.contains("`dependsOn`"), "{command}: {}", said.err);
    }
    let problems = scratch.kb(&["playbook", "validate", "--json"]).code(2);
    let problems: serde_json::Value = serde_json::from_str(&problems.out).unwrap();
    let first = &problems[0];
    assert_eq!((&first["path"], &first["line"]), (&json!("playbooks/broken.yml"), &json!(6)));
    for key in ["code", "severity", "message", "help", "column", "endLine", "endColumn"] {
        assert!(first.get(key).is_some(), "{key} in {first}");
    }
}

#[test]
fn parameters_are_checked_before_anything_runs() {
    let scratch = hello();
    let run = |params: &[&str]| {
        let args = ["playbook", "run", "hello"].iter().chain(params);
        scratch.kb(&args.copied().collect::<Vec<_>>())
    };
    assert_eq!(
        run(&[]).code(2).err,
        "error[KB0854]: the required parameter `who` has no value (Who?)\n  \
         help: add `--param who=…`\n\n1 error\n  help: `kb explain KB0854` shows the details\n"
    );
    run(&["--param", "who=a", "--param", "tims=2"]).code(2).says(&["did you mean `times`?"]);
    run(&["--param", "who=a", "--param", "times=two"]).code(2).says(&["a whole number"]);
    run(&["--param", "who=a", "--param", "times=9"]).code(2).says(&["`times` is 9", "at most 3"]);
    run(&["--param", "who=a", "--params", "none.yml"])
        .code(4)
        .says(&["there is no file `none.yml`"]);
    scratch.write("bad.yml", "who: [");
    run(&["--params", "bad.yml"]).code(2).says(&["error[KB0101]", "bad.yml:1:6"]);
    scratch.write("bad.yml", "who: Ada\n\ntims: 2\n");
    run(&["--params", "bad.yml"]).code(2).says(&[
        "error[KB0853]: there is no parameter `tims`",
        "bad.yml:3:1",
        "did you mean `times`?",
    ]);
    scratch.write("bad.yml", "who: Ada\ntimes: two\n");
    run(&["--params", "bad.yml"]).code(2).says(&[
        "error[KB0855]: `times` is given `two`",
        "bad.yml:2:8",
        "a whole number",
    ]);
    scratch.write("empty.yml", "# nothing\n");
    run(&["--params", "empty.yml"]).code(2).says(&["error[KB0854]: the required parameter `who`"]);
    run(&["--params", "empty.yml", "--param", "who=Ada"]).code(0);
    scratch.write("good.yml", "who: Ada\ntimes: 2\n");
    run(&["--params", "good.yml"]).code(0).says(&["hello Ada!"]);
    assert_eq!(scratch.json(&["run", "list", "--json"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_definition_runs_by_its_path_too_also_without_a_project() {
    let scratch = Scratch::bare();
    scratch.write("one.yml", HELLO.1);
    scratch.kb(&["playbook", "run", "one.yml", "--param", "who=x"]).code(0).says(&["hello x!"]);
    scratch.kb(&["playbook", "run", "./one.yml", "--param", "who=y"]).code(0).says(&["hello y!"]);
    scratch.kb(&["playbook", "graph", "one.yml"]).code(0);
    scratch.kb(&["playbook", "validate", "one.yml"]).code(0);
}

#[test]
fn a_plan_runs_nothing_and_says_what_is_known() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let args = ["playbook", "plan", "add-feature", "--param", "featureName=login"];
    scratch
        .kb(&args)
        .code(0)
        .says(&["Implement login according to the plan", "none for the tier `small`"]);
    let plan = scratch.json(&[&args[..], &["--json"]].concat());
    let steps = plan["steps"].as_array().unwrap();
    let skips: Vec<&str> = steps
        .iter()
        .filter(|step| step["maySkip"] == true)
        .map(|step| step["id"].as_str().unwrap())
        .collect();
    assert_eq!(skips, ["debug", "fix"]);
    assert_eq!(steps[0]["prompt"]["complete"], true);
    assert_eq!(scratch.json(&["run", "list", "--json"]), json!([]));
}

#[test]
fn the_cost_of_a_plan_follows_the_prices() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let model = "{model: m, endpoint: \"http://127.0.0.1:9/v1\", price: {input: 1, output: 2}}";
    scratch.write(
        ".kb/kb.config.yml",
        &format!("llm: {{tiers: {{small: {model}, medium: {model}, large: {model}}}}}\n"),
    );
    let args = ["playbook", "plan", "add-feature", "--param", "featureName=x", "--json"];
    let cost = &scratch.json(&args)["cost"];
    let (min, max) = (cost["minUsd"].as_f64().unwrap(), cost["maxUsd"].as_f64().unwrap());
    assert!(0.0 < min && min < max, "{cost}");
}

#[test]
fn every_template_is_valid_and_taken_once() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    for template in ["basic", "specialist", "for-each", "pipeline"] {
        let id = format!("my-{template}");
        scratch.kb(&["playbook", "new", &id, "--template", template]).code(0);
        scratch.kb(&["playbook", "validate", &id, "--strict"]).code(0);
        scratch.kb(&["playbook", "new", &id]).code(2).says(&["exists already"]);
    }
    scratch.kb(&["playbook", "new", "My Book"]).code(2).says(&["KB0850"]);
    for id in ["my-basic", "my-for-each", "my-pipeline"] {
        scratch.kb(&["playbook", "run", id]).code(0);
    }
    scratch.kb(&["specialist", "new", "checker"]).code(0);
    scratch.kb(&["specialist", "validate", "checker"]).code(0).says(&["valid: 1 specialist"]);
    scratch.kb(&["specialist", "new", "../evil"]).code(2);
    assert!(!scratch.has("evil.yml"));
}

#[test]
fn specialists_are_listed_and_shown() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let list = scratch.json(&["specialist", "list", "--json"]);
    let ids: Vec<&str> =
        list.as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["implementer", "researcher"]);
    scratch.kb(&["specialist", "info", "implementer"]).code(0).says(&[
        "shell:exec",
        "created: string[]",
        "capabilities",
        "static context",
        "examples",
    ]);
    for id in ids {
        let info = scratch.json(&["specialist", "info", id, "--json"]);
        assert!(info["staticContext"].is_string(), "{info:#}");
        assert_ne!(info["examples"], json!([]), "{info:#}");
    }
    let info = scratch.json(&["specialist", "info", "researcher", "--json"]);
    assert_eq!((&info["tier"], &info["writes"]), (&json!("small"), &json!(false)));
    assert_eq!(info.get("notYet"), None);
}

#[test]
fn a_phrase_finds_the_playbook_that_it_means() {
    let scratch = hello();
    scratch.kb(&["playbook", "match", "please say hello to all"]).code(0).says(&["hello", "100 %"]);
    scratch.kb(&["playbook", "match", "bake a cake"]).code(4).says(&["no playbook matches"]);
    let found = scratch.json(&["playbook", "match", "say hello", "--json"]);
    assert_eq!((&found[0]["id"], &found[0]["score"]), (&json!("hello"), &json!(1.0)));
}

#[test]
fn a_phrase_starts_the_playbook_and_provides_its_parameters() {
    let greet = "schema: kb.playbook/1
id: greet
triggers: [\"greet {who}\", \"поприветствуй {who}\"]
params: [{name: who, required: true}, {name: how, default: hello}]
steps: [{id: say, set: {text: \"{{how}} {{who}}\"}}]
outputs: {text: \"{{say.output.text}}\"}
";
    let part =
        greet.replace("id: greet", "id: part").replace("[\"greet {who}\"", "[\"greet {whom}\"");
    let scratch = Scratch::new(&[(".kb/playbooks/greet.yml", greet)]);
    let text = |phrase: &str, more: &[&str]| {
        let args = [&["playbook", "run", "--match", phrase], more].concat();
        scratch.kb(&args).code(0).says(&["matched: kb playbook run greet"]);
        scratch.json(&["run", "output", "@last", "--json"])["text"].clone()
    };
    assert_eq!(text("please greet \"Ada Lovelace\"", &[]), "hello Ada Lovelace");
    assert_eq!(text("поприветствуйте Аду", &["--param", "how=привет"]), "привет Аду");
    assert_eq!(text("greet Ada", &["--param", "who=Bob"]), "hello Bob");
    let none = scratch.kb(&["playbook", "run", "--match", "bake a cake"]).code(2);
    none.says(&["no playbook matches `bake a cake`"]);
    // Two playbooks with the same trigger: neither is chosen without a question.
    scratch.write(".kb/playbooks/part.yml", &part.replace("whom", "who"));
    let both = scratch.kb(&["playbook", "run", "--match", "greet Ada"]).code(2);
    both.says(&["no playbook clearly matches", "greet, part"]);
    scratch.write(".kb/playbooks/part.yml", &part);
    scratch
        .kb(&["playbook", "validate"])
        .says(&["`whom` in a trigger is not a parameter", "`who`"]);
}

#[test]
fn what_is_imported_was_checked_first() {
    let scratch = hello();
    scratch.write("else/other.yml", &HELLO.1.replace("id: hello", "id: other"));
    scratch.write("else/broken.yml", BROKEN.1);
    scratch.write("else/same.yml", HELLO.1);
    let files = ["else/other.yml", "else/broken.yml", "else/same.yml", "else/none.yml"];
    let said = scratch.kb(&[&["playbook", "import"], &files[..]].concat()).code(2);
    assert!(said.out.contains("imported else/other.yml → .kb/playbooks/other.yml"), "{said:?}");
    for refused in &files[1..] {
        assert!(said.err.contains(&format!("not imported: {refused}")), "{said:?}");
    }
    scratch.kb(&["playbook", "validate", "other"]).code(0);
    assert!(!scratch.has(".kb/playbooks/broken.yml"));
}

#[test]
fn a_specialist_that_cannot_be_loaded_is_all_that_is_told_of_it() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: nobody, task: t}\n  \
                - {id: b, set: {x: \"{{a.output.files}}\"}}\n";
    let said = Scratch::new(&[("playbooks/p.yml", text)]).kb(&["playbook", "validate"]).code(2);
    assert!(said.err.ends_with("\n1 error\n"), "{}", said.err);
    said.says(&["KB0402", "playbooks/p.yml:4:25"]);
}

#[test]
fn codes_are_explained() {
    let scratch = Scratch::bare();
    let page = scratch.kb(&["explain", "kb0401"]).code(0).out;
    assert!(page.starts_with("KB0401") && page.lines().count() > 4, "{page}");
    assert_eq!(scratch.kb(&["explain", "401"]).code(0).out, page);
    let all = scratch.json(&["explain", "--json"]);
    assert!(all.as_array().unwrap().len() > 50);
    let codes: Vec<&str> =
        all.as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect();
    assert!(codes.is_sorted(), "{codes:?}");
    for page in all.as_array().unwrap() {
        let text = page["text"].as_str().unwrap();
        assert!(!text.contains("To be written"), "{}", page["code"]);
    }
}

#[test]
fn doctor_says_what_is_missing_and_the_fix() {
    let outside = Scratch::bare().kb(&["doctor"]).code(5);
    assert!(outside.out.contains("kb init"), "{outside:?}");
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let findings = scratch.json(&["doctor", "--json"]);
    let subjects: Vec<&str> =
        findings.as_array().unwrap().iter().map(|f| f["subject"].as_str().unwrap()).collect();
    for subject in ["version", "project", "state", "journal", "bash", "processes", "sandbox"] {
        assert!(subjects.contains(&subject), "{subject} in {subjects:?}");
    }
}

#[test]
fn doctor_counts_as_people_do() {
    let scratch = Scratch::new(&[(
        "playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'true'}]\n",
    )]);
    scratch.kb(&["doctor"]).says(&[": 1 playbook, 0 specialists\n", "opens, 0 runs"]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    scratch.kb(&["doctor"]).says(&["opens, 1 run\n"]);
}

#[test]
fn doctor_finds_a_state_folder_that_cannot_be_written() {
    let scratch = hello();
    let said = scratch
        .kb_with(&["doctor"], |command| {
            command.env("XDG_STATE_HOME", "/proc/self/nowhere");
        })
        .code(5);
    assert!(said.out.contains("error") && said.out.contains("XDG_STATE_HOME"), "{said:?}");
}

#[test]
fn a_closed_stdout_ends_quietly() {
    use std::process::Stdio;
    let scratch = Scratch::bare();
    for args in
        [&["--help"][..], &["explain", "--json"], &["completions", "bash"], &["schema", "playbook"]]
    {
        let mut child =
            scratch.command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).start();
        drop(child.stdout.take());
        let ended = child.finish();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert!(!err.contains("panicked") && !err.contains("Broken pipe"), "{args:?}: {err}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let scratch = hello();
    for args in
        [&["playbook", "list"][..], &["explain"], &["playbook", "run", "hello", "-p", "who=x"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = scratch
            .command()
            .args(args)
            .stdout(full)
            .stderr(std::process::Stdio::piped())
            .start()
            .finish();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(5), "{args:?}: {err}");
        assert!(err.contains("cannot write the output: No space left"), "{args:?}: {err}");
        assert!(err.contains("where stdout and stderr are redirected to"), "{args:?}: {err}");
    }
}

#[test]
fn colour_is_only_for_terminals_and_never_carries_meaning() {
    let scratch = Scratch::new(&[HELLO, BROKEN]);
    let plain = scratch.kb(&["playbook", "validate"]).code(2);
    let forced = scratch.kb_with(&["playbook", "validate"], |command| {
        command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
    });
    assert!(!plain.err.contains('\x1b'), "{}", plain.err);
    assert!(forced.err.contains('\x1b'), "{}", forced.err);
    assert_eq!(anstream::adapter::strip_str(&forced.err).to_string(), plain.err);
}

#[test]
fn a_run_begins_with_the_warnings_of_its_definition() {
    let scratch = Scratch::new(&[(
        "playbooks/w.yml",
        "schema: kb.playbook/1\nid: w\nsteps:\n  - {id: a, run: echo}\n  - {id: b, run: echo, dependsOn: [a, a]}\n",
    )]);
    let warned = scratch.kb(&["playbook", "validate", "w", "--strict"]).code(2);
    assert!(warned.err.contains("warning"), "{}", warned.err);
    let said = scratch.kb(&["playbook", "run", "w"]);
    assert!(
        said.err.contains("warning[KB") && said.err.contains("playbooks/w.yml:"),
        "{}",
        said.err
    );
    for args in
        [&["run", "w", "--quiet"][..], &["run", "w", "--json"], &["plan", "w"], &["graph", "w"]]
    {
        let said = scratch.kb(&[&["playbook"], args].concat()).code(0);
        assert!(said.err.contains("warning[KB"), "{args:?}: {}", said.err);
        assert!(!said.out.contains("warning"), "{args:?}: {}", said.out);
    }
}

const ERR: &str = "schema: kb.playbook/1\nid: made\nsteps:\n  - {id: a, rum: x}\n";

/// Definitions that cannot be used are told with their own problems, whichever name they are called by.
#[test]
fn unusable_definitions_are_not_unknown() {
    let scratch = Scratch::new(&[
        ("playbooks/odd.yml", ERR),
        ("playbooks/syntax.yml", "schema: kb.playbook/1\nid: torn # so\nsteps: [\n"),
        ("playbooks/one.yml", "schema: kb.playbook/1\nid: twin\nsteps: [{id: a, run: echo}]\n"),
        ("playbooks/two.yml", "schema: kb.playbook/1\nid: twin\nsteps: [{id: b, run: echo}]\n"),
    ]);
    for command in ["run", "plan", "show", "validate", "graph"] {
        for (name, code, other) in [
            ("made", "KB0106", "KB0204"),
            ("odd", "KB0106", "KB0204"),
            ("torn", "playbooks/syntax.yml", "KB0204"),
            ("twin", "KB0204", "KB0106"),
            ("one", "KB0204", "KB0106"),
            ("playbooks/one.yml", "KB0204", "KB0106"),
        ] {
            let said = scratch.kb(&["playbook", command, name]).code(2);
            assert!(said.err.contains(code), "{command} {name}: {}", said.err);
            assert!(!said.err.contains(other), "{command} {name}: {}", said.err);
        }
    }
    scratch.kb(&["playbook", "run", "nobody"]).code(4);
}

#[test]
fn a_broken_specialist_is_told_with_its_own_errors_and_no_others() {
    let scratch = Scratch::new(&[
        (
            "playbooks/use.yml",
            "schema: kb.playbook/1\nid: use\nsteps: [{id: a, specialist: reviewer, task: Go}]\n",
        ),
        (".kb/specialists/odd.yml", "schema: kb.specialist/1\nid: reviewer\nrole: x\nlimtis: {}\n"),
        (".kb/specialists/alien.yml", "schema: kb.specialist/1\nid: alien\nrloe: x\n"),
        ("playbooks/alien.yml", ERR),
    ]);
    for command in ["run", "plan", "validate", "graph"] {
        let said = scratch.kb(&["playbook", command, "use"]).code(2);
        for part in ["`.kb/specialists/odd.yml` has errors", "KB0402", "unknown key `limtis`"] {
            assert!(said.err.contains(part), "{command}: {}", said.err);
        }
        assert!(!said.err.contains("rloe") && !said.err.contains("rum"), "{command}: {}", said.err);
    }
}

#[test]
fn a_missing_task_file_is_told_where_it_is_named() {
    let scratch = Scratch::new(&[
        (
            "playbooks/t.yml",
            "schema: kb.playbook/1\nid: t\nsteps:\n  - {id: a, specialist: s, taskFile: tasks/no.md}\n",
        ),
        (".kb/specialists/s.yml", "schema: kb.specialist/1\nid: s\nrole: x\n"),
        ("script.yml", "a: [{output: {summary: ok}}]\n"),
    ]);
    for words in [
        &["run", "t", "--script", "script.yml"][..],
        &["plan", "t"],
        &["validate", "t"],
        &["validate"],
    ] {
        let said = scratch.kb(&[&["playbook"], words].concat()).code(2);
        assert!(said.err.contains("playbooks/t.yml:4:"), "{words:?}: {}", said.err);
        assert!(
            said.err.contains("`taskFile: tasks/no.md` cannot be read"),
            "{words:?}: {}",
            said.err
        );
    }
    scratch.write("tasks/no.md", "Look.");
    scratch.kb(&["playbook", "validate", "t"]).code(0);
}

/// Each step needs both of the layer before: as many ways lead through it as would take years.
#[test]
fn a_plan_of_many_ways_is_shown_at_once() {
    let step = |layer: usize, n: usize| {
        let needs = match layer {
            0 => String::new(),
            _ => format!(", dependsOn: [s{}-0, s{}-1]", layer - 1, layer - 1),
        };
        format!("  - {{id: s{layer}-{n}, set: {{n: 1}}{needs}}}\n")
    };
    let steps: String = (0..80).map(|at| step(at / 2, at % 2)).collect();
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
    scratch.kb(&["playbook", "plan", "p"]).code(0).says(&["s39-1"]);
}

/// A terminal that is gone, a full disk behind a redirection: what is logged is lost and nothing else.
#[test]
fn a_log_that_cannot_be_written_disturbs_nothing() {
    let scratch = hello();
    let said = scratch
        .command()
        .args(["playbook", "run", "hello", "--param", "who=you"])
        .env("KB_LOG", "trace")
        .stderr(std::fs::File::options().write(true).open("/dev/full").unwrap())
        .start()
        .finish();
    assert_eq!(said.status.code(), Some(0));
    assert_eq!(scratch.json(&["run", "show", "@last", "--json"])["status"], "succeeded");
}

#[test]
fn words_that_are_no_text_are_bad_usage() {
    use std::os::unix::ffi::OsStrExt;
    let none = std::ffi::OsStr::from_bytes(b"\xff");
    for words in [vec![none], vec!["run".as_ref(), none], vec![none, none, none]] {
        let said = Scratch::bare().command().args(&words).finish();
        let shown = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(2), "{words:?}: {shown}");
        assert!(!shown.contains("defect") && !shown.contains("panicked"), "{shown}");
    }
}

#[test]
fn the_command_reference_is_generated_from_the_arguments() {
    crate::generated::file("docs/reference/generated/commands.md", &kb::cli::command_reference());
}
