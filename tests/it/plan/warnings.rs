//! Problems that a plan finds: missing output keys and unordered writers.

use super::draft::{check, draft};

#[test]
fn a_key_that_an_output_does_not_have_is_an_error() {
    check("a: agent reader\nb: set; read {{a.output.files}} {{a.output.summary}}", "");
    check("a: agent reader\nb: set; read {{a.output.fils}}", "KB0406 `a.output` has no key `fils`");
    check(
        "a: agent reader\nb: set; read {{a.output.stats.words}} {{a.output.stats.lines}}",
        "KB0406 `a.output.stats` has no key `words`",
    );
    check(
        "a: agent reader\nb: set; read {{a.output.result.text}}",
        "KB0406 `a.output.result` has no key `text`",
    );
    check("a: http\nb: set; read {{a.output.body.x}}", "");
    check("a: http\nb: set; read {{a.output.code}}", "KB0406 `a.output` has no key `code`");
    check("a: run\nb: set; read {{a.output.x}}", "KB0406 `a.output` has no key `x`");
    check("a: json\nb: set; read {{a.output.x}}", "");
    check("a: tool fs:read; each {{b.output}}\nb: json\nc: set; read {{a.output[0].x}}", "");
    check(
        "a: json; each {{b.output}}\nb: json\nc: set; read {{a.output.x}}",
        "KB0406 `a.output` is a list, which has no key `x`",
    );
    check("a: agent reader\noutputs {{a.output.fils}}", "KB0406 `a.output` has no key `fils`");
}

#[test]
fn a_missing_key_is_drawn_with_the_nearest_one() {
    insta::assert_snapshot!(draft("a: agent reader\nb: set; read {{a.output.fils}}").drawn(), @r#"
    error[KB0406]: `a.output` has no key `fils`
     --> draft.yml:2:16
      |
    1 | a: agent reader
      | - `a` is defined here
    2 | b: set; read {{a.output.fils}}
      |                ^^^^^^^^^^^^^
      |
      = help: did you mean `files`?
    "#);
}

#[test]
fn an_undescribed_output_is_one_warning_a_step() {
    check("a: agent vague\nb: set; read {{a.output.summary}}", "");
    check(
        "a: agent vague\nb: set; read {{a.output.x}}\nc: set; read {{a.output.y}}",
        "KB0407 nothing says whether `a.output` has a key `x`",
    );
    check("a: agent vague\nb: set; read {{a.output.x | default(1)}}", "");
}

#[test]
fn a_text_that_is_compared_with_a_number_is_a_warning() {
    let never = "which is never equal to a number or a boolean";
    for (read, name) in [
        ("{{a.output == 3}}", "a.output"),
        ("{{3 == a.output}}", "a.output"),
        ("{{a.stdout > 3 and true}}", "a.stdout"),
        ("{{a.output != true}}", "a.output"),
    ] {
        check(
            &format!("a: run\nb: set; read {read}"),
            &format!("KB0321 `{name}` is a text, {never}"),
        );
    }
    for read in [
        "{{a.output == '3'}}",
        "{{a.output | int == 3}}",
        "{{a.exitCode == 3}}",
        "{{3 in a.output}}",
    ] {
        check(&format!("a: run\nb: set; read {read}"), "");
    }
}

#[test]
fn unordered_writers_are_one_warning() {
    check(
        "a: agent writer\nb: agent writer\nc: tool fs:write",
        "KB0408 `a`, `b`, `c` may change the same files and nothing orders them",
    );
    check("a: agent writer\nb: agent writer; needs a\nc: tool fs:edit; needs b", "");
    check("a: agent writer\nb: agent reader\nc: tool fs:read\nd: set", "");
}

#[test]
fn shells_count_beside_a_writer_and_not_among_themselves() {
    check("a: run\nb: run\nc: run", "");
    check(
        "a: run\nb: run\nc: agent writer; needs a",
        "KB0408 `b`, `c` may change the same files and nothing orders them",
    );
    check("a: run\nb: agent writer; needs a\nc: run; needs b\nd: agent writer; needs c", "");
}

#[test]
fn a_step_that_says_workspace_is_left_alone() {
    check("a: agent writer; shared\nb: agent writer", "");
    check("a: agent writer; exclusive\nb: agent writer", "");
    check("a: agent writer; shared\nb: run", "");
}

#[test]
fn writers_on_two_branches_are_seen_through_what_stands_between() {
    check(
        "top: set\na: agent writer; needs top\nx: set; needs a\nb: agent writer; needs top\ny: set; needs b\nend: agent writer; needs x y",
        "KB0408 `a`, `b` may change the same files and nothing orders them",
    );
}

#[test]
fn finally_comes_after_all_writers() {
    check("a: agent writer\nz: agent writer; finally", "");
    check(
        "y: agent writer; finally\nz: run; finally",
        "KB0408 `y`, `z` may change the same files and nothing orders them",
    );
}

#[test]
fn writers_hold_the_workspace_unless_they_share_it() {
    let plan = draft("a: agent writer\nb: agent writer; needs a; shared\nc: agent reader\nd: run; exclusive\ne: run").sound();
    let locks: Vec<bool> = plan.steps().iter().map(|step| step.locks_workspace()).collect();
    assert_eq!(locks, [true, false, false, true, false]);
}
