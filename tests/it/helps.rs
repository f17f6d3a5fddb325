//! The help of an error is written with the values of the author, and is no error itself.

use crate::scratch::Scratch;

#[test]
fn a_help_uses_the_words_of_the_author() {
    for (steps, helps) in [
        ("  - {id: a, forEach: 'a,b,c', run: [echo, '{{item}}']}\n", &["`forEach: [a, b, c]`"][..]),
        (
            "  - {id: a, run: 'true', verify: {checks: [{command: 'npm test'}]}}\n",
            &["write `[npm, test]`"],
        ),
        (
            "  - {id: a, run: 'true', verify: {checks: [{command: 'npm test | tail'}]}}\n",
            &["`[bash, -c, \"npm test | tail\"]`"],
        ),
        ("  - {id: a, run: 'true', env: [A=1]}\n", &["write `env: {A: \"1\"}`"]),
        (
            "  - {id: a, http: {url: 'https://example.com', method: fetch}}\n",
            &["`fetch` is not an HTTP method"],
        ),
        ("  - id: a\n     run: 'true'\n", &["a key where none can stand", "check the indentation"]),
        ("  - {id: a, run: [echo, '{{foo.output}}']}\n", &["known names are `a`"]),
        (
            "  - {id: a, run: 'true', verify: {checks: [{exists: foo.txt}]}}\n",
            &["write `file: foo.txt`", "1 error"],
        ),
        (
            "  - {id: a, run: 'true', output: {files: list}}\n",
            &["the only key is `schema`: write `schema: {files: …}`"],
        ),
        (
            "  - {id: a, run: 'true'}\n  - {id: b, condition: \"a.status == 'success'\", run: 'true'}\n",
            &["did you mean `succeeded`?"],
        ),
        (
            "  - {id: a, run: 'true'}\nparams: [{name: n, type: int, default: 3}]\n",
            &["did you mean `integer`?", "1 error"],
        ),
    ] {
        let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
        let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
        scratch.kb(&["playbook", "validate", "p"]).code(2).says(helps);
    }
}

#[test]
fn a_text_that_is_compared_with_a_number_is_converted_first() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: echo 3}\n  - {id: b, condition: a.output > 2, run: 'true'}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.kb(&["playbook", "validate", "p"]).code(0).says(&["convert it: `a.output | int`"]);
}

#[test]
fn a_failure_names_the_key_and_the_command_that_corrects_it() {
    let text = "schema: kb.playbook/1
id: p
steps:
  - {id: folder, run: 'true', cwd: nowhere, onError: continue}
  - {id: script, run: [./x.sh], onError: continue}
  - {id: file, tool: fs:read, input: {path: none.txt}, onError: continue}
  - {id: t, run: echo abc}
  - {id: number, set: {x: '{{t.output | int}}'}, onError: continue}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text), ("x.sh", "echo hello\n")]);
    let said = scratch.kb(&["playbook", "run", "p"]).code(0);
    assert!(!said.out.contains("fs:list"), "{said:?}");
    said.says(&[
        "`cwd` of the step: `nowhere` does not exist",
        "`chmod +x ./x.sh`",
        "paths are relative to the project folder",
        "a text that is no number cannot be converted in `{{t.output | int}}`",
    ]);
    scratch.kb(&["playbook", "run", "p", "--only", "t"]).code(0);
}

#[test]
fn an_unknown_name_says_whose_names_are_known() {
    let text = "schema: kb.playbook/1\nid: p\nsteps: [{id: total, run: 'true'}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let run = scratch.last_run();
    let whose = format!("the names are those of run {run} of `p`; `--run ID` names another one");
    scratch.kb(&["eval", "totl.output"]).code(2).says(&["did you mean `total`?", &whose]);
    // A name that is too different is no suggestion.
    let said = scratch.kb(&["eval", "foo.output"]).code(2);
    assert!(!said.err.contains("did you mean"), "{said:?}");
}

#[test]
fn a_run_that_was_cancelled_is_told_so() {
    let text = "schema: kb.playbook/1\nid: p\nsteps: [{id: ok, approve: Go?}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    let run = scratch.last_run();
    scratch
        .kb(&["run", "cancel", "@last"])
        .code(0)
        .says(&[&format!("run {run} was already cancelled")]);
    scratch.kb(&["run", "approve", "@last"]).code(2).says(&["was cancelled: nothing of it waits"]);
}
