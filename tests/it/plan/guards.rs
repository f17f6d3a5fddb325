//! Which reads of a step that may be skipped are guarded: joins, conditions, `default`.

use super::draft::{check, draft};

/// `maybe` is skipped where its condition is false; `b` is what the test is about.
#[track_caller]
fn reader(rest: &str, expected: &str) {
    check(&format!("a: set\nmaybe: json; if {{{{a.output}}}}\nother: set\nb: {rest}"), expected);
}

const SKIPPED: &str = "KB0405 `b` reads `maybe.output`, but `maybe` may be skipped";

#[test]
fn the_default_join_guards_what_it_needs() {
    reader("set; read {{maybe.output}}", "");
    reader("set; needs maybe; read {{maybe.output.deep.path}}", "");
    reader("set; needs maybe; verify {{maybe.output}}", "");
}

#[test]
fn other_joins_let_a_skipped_step_pass() {
    reader("set; join noneFailed; read {{maybe.output}}", SKIPPED);
    reader("set; join allDone; read {{maybe.output}}", SKIPPED);
    reader("set; join anySucceeded; read {{maybe.output}} {{other.output}}", SKIPPED);
    reader(
        "set; join allDone; read {{maybe.stdout}}",
        "KB0405 `b` reads `maybe.stdout`, but `maybe` may be skipped",
    );
}

#[test]
fn any_succeeded_of_one_alone_implies_that_one() {
    reader("set; join anySucceeded; read {{maybe.output}}", "");
    reader("set; join anySucceeded; read {{maybe.output}} {{other.status}}", "");
}

#[test]
fn a_guard_is_the_own_condition_default_or_is_defined() {
    for rest in [
        "set; join allDone; if {{maybe.output}}; read {{maybe.output}}",
        "set; join allDone; if {{maybe.status}} == 'succeeded'; read {{maybe.output}}",
        "set; join allDone; read {{maybe.output | default('none')}}",
        "set; join allDone; read {{maybe.output if maybe.output is defined else 'none'}}",
    ] {
        reader(rest, "");
    }
}

#[test]
fn how_a_step_ended_can_always_be_read() {
    reader("set; join allDone; read {{maybe.status}} {{maybe.error}} {{maybe.verdict}}", "");
}

#[test]
fn what_needs_a_skipped_step_is_skipped_too() {
    check(
        "a: set; if true\nb: set; needs a\nc: set; needs b\nd: set; join allDone; read {{c.output}}",
        "KB0405 `d` reads `c.output`, but `c` may be skipped",
    );
    check(
        "a: set; if true\nb: set; join noneFailed; needs a\nd: set; join allDone; read {{b.output}}",
        "",
    );
    check(
        "a: set\nb: set; join anySucceeded; needs a\nd: set; join allDone; read {{b.output}}",
        "KB0405 `d` reads `b.output`, but `b` may be skipped",
    );
}

#[test]
fn a_chain_of_default_joins_guards_a_gate_far_below() {
    let chain = "a: set; if true\nb: set; needs a\nc: set; needs b; verify {{a.output}}";
    check(chain, "");
    check(
        &chain.replace("b: set;", "b: set; join allDone;"),
        "KB0405 `c` reads `a.output`, but `a` may be skipped",
    );
}

#[test]
fn a_tolerated_failure_needs_a_guard_under_every_join() {
    let told = "KB0405 `b` reads `a.output`, but `a` may fail and be tolerated";
    check("a: run; tolerated\nb: set; read {{a.output}}", told);
    check("a: run; tolerated\nb: set; needs a; verify {{a.output}}", told);
    check("a: run; tolerated\nb: set; read {{a.output | default('')}}", "");
    check("a: run; tolerated\nb: set; if {{a.status}} == 'succeeded'; read {{a.output}}", "");
    check("a: run; tolerated\nb: set; read {{a.exitCode}} {{a.stderr}}", "");
    check("a: run; if true; tolerated\nb: set; read {{a.output}}", told);
}

#[test]
fn outputs_and_finally_have_no_join_to_guard_them() {
    check(
        "a: set; if true\noutputs {{a.output}}",
        "KB0405 `outputs` reads `a.output`, but `a` may be skipped",
    );
    check("a: set; if true\noutputs {{a.output | default('')}} {{a.status}}", "");
    check(
        "a: set; if true\nz: set; finally; read {{a.output}}",
        "KB0405 `z` reads `a.output`, but `a` may be skipped",
    );
    check("a: set; if true\nz: set; finally; if {{a.output}}; read {{a.output}}", "");
    check("a: set\nz: set; finally; read {{a.output}}", "");
}

#[test]
fn a_gate_reads_its_own_step_freely() {
    check("a: set; if true; tolerated; verify {{a.output}}", "");
}

#[test]
fn each_step_is_told_once_a_reader() {
    reader("set; join allDone; read {{maybe.output}} {{maybe.output.x}} {{maybe.stdout}}", SKIPPED);
}

#[test]
fn the_message_shows_the_read_the_cause_and_the_fix() {
    let text = "test: json\ndebug: set; if {{test.output.failed}}\nfix: set; needs debug\nreport: set; join allDone; read {{fix.output}}";
    insta::assert_snapshot!(draft(text).drawn(), @r#"
    error[KB0405]: `report` reads `fix.output`, but `fix` may be skipped
     --> draft.yml:4:35
      |
    2 | debug: set; if {{test.output.failed}}
      |                ---------------------- `debug` is skipped where this is false, and `fix` needs it
    3 | fix: set; needs debug
    4 | report: set; join allDone; read {{fix.output}}
      |                                   ^^^^^^^^^^ nothing is there when `fix` was skipped
      |
      = help: write `{{ fix.output | default('') }}`, or name `fix` in the condition of `report`
    "#);
}
