//! Values of parameters that try to become code, options or patterns.

use crate::scratch::Scratch;
use serde_json::json;

fn project(steps: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nparams: [{{name: v, default: x}}, {{name: w, default: y}}]\nsteps:\n{steps}"
    );
    Scratch::new(&[("playbooks/p.yml", &playbook)])
}

#[test]
fn a_value_is_no_code_after_an_option() {
    for command in [
        "[bash, -c, '{{v}}']",
        "[perl, '-Eprint {{v}}']",
        "[env, python3, -c, '{{v}}']",
        "[git, -c, '{{v}}', status]",
        "[tar, --checkpoint-action, '{{v}}']",
        "[tar, '--checkpoint-action={{v}}']",
        "[rsync, -e, '{{v}}', a, b]",
        "[rsync, '--rsh={{v}}', a, b]",
        "[make, --eval, '{{v}}']",
    ] {
        let scratch = project(&format!("  - {{id: a, run: {command}}}\n"));
        let said = scratch.kb(&["playbook", "validate", "p"]);
        assert_eq!(said.code, 2, "{command}: {}", said.out);
        said.says(&["KB0216", "help: "]);
    }
}

#[test]
fn a_value_is_not_the_whole_command_of_a_tool() {
    for input in ["{argv: '{{v}}'}", "'{{v}}'", "{command: '{{v}}'}", "{argv: ['{{v}}']}"] {
        let scratch = project(&format!("  - {{id: a, tool: 'shell:exec', input: {input}}}\n"));
        let said = scratch.kb(&["playbook", "validate", "p"]);
        assert_eq!(said.code, 2, "{input}: {}", said.out);
        said.says(&["KB0216", "help: "]);
    }
}

#[test]
fn values_stay_arguments_of_code_and_of_other_programs() {
    let scratch = project(
        "  - {id: a, run: [bash, -c, 'test \"$1\" = x', prog, '{{v}}']}
  - {id: b, run: [bash, script.sh, '{{v}}']}
  - {id: c, run: [awk, -v, 'n={{v}}', 'BEGIN { exit n != \"x\" }']}
  - {id: d, run: [grep, --, '{{v}}', 'dir/{{v}}']}
  - {id: e, run: [sed, -n, 's/x/y/p', 'dir/{{v}}']}
  - {id: f, run: [echo, '--name={{v}}']}
  - {id: g, condition: 'false', run: [make, '{{v}}']}
  - {id: h, condition: 'false', run: [git, commit, -m, '{{v}}']}
  - {id: i, condition: 'false', run: [tar, -czf, a.tgz, '{{v}}']}
  - {id: j, condition: 'false', run: [uv, run, script.py, '{{v}}']}
",
    );
    scratch.write("script.sh", "test \"$1\" = x\n");
    scratch.write("dir/x", "x\n");
    scratch.kb(&["playbook", "run", "p"]).code(0);
}

#[test]
fn a_value_never_becomes_an_option() {
    let steps = "  - {id: a, run: [touch, '{{v}}']}\n";
    let cases = [
        ("  - {id: a, run: [touch, '{{v}}']}\n", 1),
        ("  - {id: a, run: [touch, '{{v}}.txt']}\n", 1),
        (
            "  - {id: a, run: ['true'], verify: {checks: [{command: [test, '{{v}}', out]}], onFailed: fail}}\n",
            1,
        ),
        ("  - {id: a, tool: shell:exec, input: {argv: [touch, '{{v}}']}}\n", 1),
        ("  - {id: a, run: [touch, --, '{{v}}']}\n", 0),
        ("  - {id: a, run: [bash, -c, 'test -n \"$1\"', prog, '{{v}}']}\n", 0),
        ("  - {id: a, run: [touch, 'x{{v}}']}\n", 0),
    ];
    for (steps, code) in cases {
        let scratch = project(steps);
        let said = scratch.kb(&["playbook", "run", "p", "--yes", "--param", "v=-rf"]);
        assert_eq!(said.code, code, "{steps}\n{}\n{}", said.out, said.err);
        if code == 1 {
            said.says(&["starts with `-`, so it would be read as an option"]);
        }
    }
    let said = project(steps).kb(&["playbook", "run", "p", "--param", "v=-rf"]).code(1);
    said.says(&["[KB0216]", "write `--` before it"]);
}

#[test]
fn a_value_matches_literally_in_the_pattern_of_a_check() {
    let steps =
        "  - {id: a, run: 'true', verify: {checks: [{file: 'out/{{v}}.txt'}], onFailed: fail}}\n";
    for value in ["*", "?", "[a-z]", "{a,b}", "**", "[!x]", "\\a"] {
        let scratch = project(steps);
        scratch.write("out/a.txt", "");
        let param = format!("v={value}");
        let said = scratch.kb(&["playbook", "run", "p", "--param", &param]);
        assert_eq!(said.code, 1, "{value}: {}", said.out);
        scratch.write(&format!("out/{value}.txt"), "");
        let said = scratch.kb(&["playbook", "run", "p", "--param", &param]);
        assert_eq!(said.code, 0, "{value}: {}", said.out);
    }
    let scratch = project(
        "  - {id: a, run: 'true', verify: {checks: [{file: {path: 'out/{{v}}/*.txt', minCount: 2}}], onFailed: fail}}\n",
    );
    scratch.write("out/[x]/a.txt", "");
    scratch.write("out/[x]/b.txt", "");
    scratch.write("out/x/a.txt", "");
    scratch.kb(&["playbook", "run", "p", "--param", "v=[x]"]).code(0);
    scratch.kb(&["playbook", "run", "p", "--param", "v=*"]).code(1);
}

#[test]
fn a_value_within_a_class_is_an_error() {
    let scratch = project(
        "  - {id: a, run: 'true', verify: {checks: [{file: {path: 'out/[{{v}}].txt', absent: true}}]}}\n",
    );
    let said = scratch.kb(&["playbook", "run", "p", "--param", "v=a"]).code(1);
    said.says(&["a value cannot be part of `[…]` in a pattern"]);
    assert_eq!(
        scratch.json(&["run", "show", "@last", "--json"])["steps"][0]["verdict"],
        json!("failed")
    );
}

/// Regular expressions of checks take no values; what looks like a placeholder is no expression.
#[test]
fn a_value_is_never_part_of_a_regular_expression() {
    for pattern in ["{{v}}", "x{{v}}", "^{{v}}$", "a|{{ v }}", "{{v | upper}}"] {
        let scratch = project(&format!(
            "  - {{id: a, run: 'true', verify: {{checks: [{{file: {{path: out/a.txt, count: {{pattern: '{pattern}', min: 1}}}}}}]}}}}\n"
        ));
        let said = scratch.kb(&["playbook", "run", "p", "--param", "v=.*"]);
        assert_eq!(said.code, 2, "{pattern}: {}", said.out);
        said.says(&["KB0214", "is not a regular expression"]);
    }
}

/// An option of one letter that is written with a value is known only when the words are complete.
#[test]
fn a_computed_option_does_not_make_the_next_value_code() {
    let step = |words: &str| project(&format!("  - {{id: a, run: {words}}}\n"));
    let check = |words: &str| {
        let steps = format!(
            "  - {{id: a, run: 'true'}}\n  - {{id: b, dependsOn: a, gate: [{{command: {words}}}]}}\n"
        );
        project(&steps)
    };
    let words = "[./tool, '-{{v}}', '{{w}}']";
    let args = ["playbook", "run", "p", "--param", "v=c", "--param", "w=touch pwned"];
    for scratch in [step(words), check(words)] {
        scratch.write("tool", "#!/bin/sh\ntest \"$1\" = -c && sh -c \"$2\"\ntrue\n");
        let tool = scratch.root().join("tool");
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&tool, all).unwrap();
        let said = scratch.kb(&args);
        assert!(said.code != 0 || said.out.contains("inconclusive"), "{said:?}");
        said.says(&["a computed value cannot be the code of `-c`"]);
        assert!(!scratch.has("pwned"));
        // Another letter takes no code.
        let args = args.map(|arg| if arg == "v=c" { "v=n" } else { arg });
        let said = scratch.kb(&args).code(0);
        assert!(!said.out.contains("inconclusive"), "{said:?}");
    }
}
