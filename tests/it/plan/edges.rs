//! The dependencies that references and `dependsOn` give, with their strengths.

use super::draft::{check, draft};

/// Every edge as `from -> to strength`, in plan order.
#[track_caller]
fn edges(text: &str, expected: &[&str]) {
    let plan = draft(text).sound();
    let id = |ix| plan.step(ix).step.id.as_str();
    let mut found = Vec::new();
    for (ix, _) in plan.iter() {
        for d in plan.dependencies(ix) {
            found.push(format!("{} -> {} {}", id(d.on), id(ix), d.strength.as_str()));
            let ends =
                plan.dependents(d.on).filter(|end| (end.step, end.strength) == (ix, d.strength));
            assert_eq!(ends.count(), 1, "the edge has two ends");
        }
    }
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_plain_reference_and_depends_on_need() {
    edges("a: set\nb: set; read x {{a.output}}", &["a -> b needs"]);
    edges("a: set\nb: set; needs a", &["a -> b needs"]);
}

#[test]
fn a_reference_in_the_condition_or_under_a_guard_may_skip() {
    edges("a: set\nb: set; if {{a.output}}", &["a -> b may-skip"]);
    edges("a: set\nb: set; read {{ a.output | default('') }}", &["a -> b may-skip"]);
    edges("a: set\nb: set; read {{ a.output is defined }}", &["a -> b may-skip"]);
}

#[test]
fn a_read_of_how_a_step_ended_watches() {
    for field in ["status", "error", "verdict"] {
        edges(&format!("a: set\nb: set; read {{{{a.{field}}}}}"), &["a -> b watch"]);
        edges(&format!("a: set\nb: set; if {{{{a.{field}}}}}"), &["a -> b watch"]);
    }
}

#[test]
fn depends_on_beats_all() {
    edges("a: set\nb: set; needs a; if {{a.output}}", &["a -> b needs"]);
    edges("a: set\nb: set; needs a; if {{a.status}} == 'failed'", &["a -> b needs"]);
}

#[test]
fn the_condition_beats_plain_references_elsewhere() {
    edges("a: set\nb: set; if {{a.output}}; read {{a.output}}", &["a -> b may-skip"]);
    edges("a: set\nb: set; if {{a.status}} == 'failed'; read {{a.stderr}}", &["a -> b watch"]);
}

#[test]
fn elsewhere_the_strongest_reference_holds() {
    edges("a: set\nb: set; read {{a.status}} {{a.output | default('')}}", &["a -> b may-skip"]);
    edges("a: set\nb: set; read {{a.status}} {{a.output}}", &["a -> b needs"]);
    edges("a: set\nb: set; if {{a.status}} and {{a.output}}", &["a -> b may-skip"]);
}

#[test]
fn every_text_of_the_work_makes_edges_and_a_gate_after_it_makes_none() {
    edges("a: set\nb: set; each {{a.output}}", &["a -> b needs"]);
    edges("a: set\nb: gate {{a.output}}", &["a -> b needs"]);
    edges(
        "a: set\nb: set; needs a\nc: set; needs b; verify {{a.output}}",
        &["a -> b needs", "b -> c needs"],
    );
    edges("a: set; verify {{a.output}}", &[]);
}

#[test]
fn finally_orders_its_own_steps_alone() {
    edges(
        "a: set\nb: set; finally; read {{a.output}}\nc: set; finally; needs b; read {{a.status}}",
        &["b -> c needs"],
    );
}

#[test]
fn a_step_cannot_wait_for_finally() {
    check(
        "a: set; read {{z.output}}\nz: set; finally",
        "KB0403 step `a` waits for `z`, which is a `finally` step",
    );
}

#[test]
fn a_gate_reads_what_is_above_it() {
    check("a: set\nb: set; needs a\nc: set; needs b; verify {{a.output}}", "");
    check("a: set\nz: set; finally; verify {{a.output}}", "");
    check(
        "a: set\nb: set; verify {{a.output}} == {{a.status}}",
        "KB0404 the gate of `b` reads `a`, which may not have ended by then",
    );
    check(
        "a: set; verify {{b.status}}\nb: set; needs a",
        "KB0404 the gate of `a` reads `b`, which may not have ended by then",
    );
    check(
        "a: set; verify {{z.status}}\nz: set; finally",
        "KB0404 the gate of `a` reads `z`, which may not have ended by then",
    );
}

#[test]
fn a_cycle_is_printed_as_a_path_with_each_of_its_edges() {
    let draft = draft(
        "a: set; needs b\nb: set; read {{c.output}}\nc: set; if {{a.output}}\nd: set; needs c",
    );
    assert!(draft.plan.is_none());
    insta::assert_snapshot!(draft.drawn(), @r#"
    error[KB0401]: circular dependency: steps wait for each other: `a → b → c → a`
     --> draft.yml:1:15
      |
    1 | a: set; needs b
      |               ^ `a` waits for `b`
    2 | b: set; read {{c.output}}
      |                -------- `b` waits for `c`
    3 | c: set; if {{a.output}}
      |              -------- `c` waits for `a`
      |
      = help: remove one of these references, or read the earlier result under `verify`, which creates no dependency
    "#);
}

#[test]
fn cycles_are_told_once_each_and_as_short_as_they_are() {
    check("a: set; read {{a.output}}", "KB0401 step `a` waits for itself: `a → a`");
    check(
        "a: set; needs b\nb: set; needs a c\nc: set; needs b\nx: set; needs y\ny: set; needs x",
        "KB0401 circular dependency: steps wait for each other: `a → b → a`\nKB0401 circular dependency: steps wait for each other: `x → y → x`",
    );
    check(
        "a: set\nb: set; finally; needs c\nc: set; finally; needs b",
        "KB0401 circular dependency: steps wait for each other: `b → c → b`",
    );
}

#[test]
fn an_unknown_specialist_is_an_error_with_a_suggestion() {
    insta::assert_snapshot!(draft("a: agent raeder").drawn(), @r#"
    error[KB0402]: no specialist `raeder` could be loaded
     --> draft.yml:1:10
      |
    1 | a: agent raeder
      |          ^^^^^^ not among the specialists of this project
      |
      = help: did you mean `reader`?
    "#);
    check("a: agent nobody", "KB0402 no specialist `nobody` could be loaded");
}

#[test]
fn a_cycle_hides_no_problem_of_steps_outside_of_it() {
    check(
        "a: run; needs b\nb: run; needs a\nc: run; if 1 == 2\nd: run; join allDone; read {{c.output}}\ne: set; read {{d.output.key}}\nf: run; needs a; verify {{c.output}} == {{a.output}}",
        "KB0401 circular dependency: steps wait for each other: `a → b → a`\nKB0405 `d` reads `c.output`, but `c` may be skipped\nKB0406 `d.output` has no key `key`",
    );
}
