//! Steps with `forEach:` or `matrix:`: what the items can be, and what is collected from them.

use crate::scratch::Scratch;
use serde_json::{Value, json};

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[(".kb/playbooks/p.yml", &text)])
}

fn output(scratch: &Scratch, step: &str) -> Value {
    scratch.json(&["run", "output", "@last", step, "--json"])
}

/// The output of a step that sets `x` to each item.
fn items(for_each: &str) -> Value {
    let scratch = project(&format!("  - {{id: a, {for_each}, set: {{x: \"{{{{item}}}}\"}}}}\n"));
    scratch.write("src/one.rs", "");
    scratch.write("src/deep/two.rs", "");
    scratch.write("src/deep/made.rs", "");
    scratch.write("hosts.txt", "alpha\r\n\n  \nbeta \n");
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let made = output(&scratch, "a");
    made.as_array().expect("a list").iter().map(|item| item["x"].clone()).collect()
}

#[test]
fn items_come_from_lists_maps_numbers_globs_and_lines() {
    assert_eq!(items("forEach: [b, a]"), json!(["b", "a"]));
    assert_eq!(items("forEach: 3"), json!([1, 2, 3]));
    assert_eq!(items("forEach: {in: 0}"), json!([]));
    let map = items("forEach: {in: {b: 1, a: [2]}}");
    let sorted =
        |key: &str| map.as_array().unwrap().iter().find(|item| item["key"] == key).cloned();
    assert_eq!(sorted("b"), Some(json!({"key": "b", "value": 1})));
    assert_eq!(sorted("a"), Some(json!({"key": "a", "value": [2]})));
    let files = items("forEach: {files: [\"src/**/*.rs\", \"!**/made.rs\"]}");
    assert_eq!(files, json!(["src/deep/two.rs", "src/one.rs"]));
    assert_eq!(items("forEach: {files: \"none/*\"}"), json!([]));
    assert_eq!(items("forEach: {lines: hosts.txt}"), json!(["alpha", "beta "]));
}

#[test]
fn a_file_list_is_made_when_the_step_starts_and_its_keys_are_paths() {
    let steps = "  - {id: make, run: \"touch a.txt b.txt\"}
  - {id: each, dependsOn: [make], forEach: {files: \"*.txt\", as: file}, run: [echo, \"<{{file}}>\"]}
  - {id: read, set: {one: \"{{each.byKey['b.txt']}}\", all: \"{{each.output}}\"}}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    scratch.kb(&["run", "show"]).says(&["each[a.txt]"]);
    assert_eq!(output(&scratch, "read"), json!({"one": "<b.txt>", "all": ["<a.txt>", "<b.txt>"]}));
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn a_step_whose_files_cannot_be_listed_fails_with_the_reason() {
    let scratch =
        project("  - {id: a, forEach: {lines: missing.txt}, run: [echo, \"{{item}}\"]}\n");
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["missing.txt"]);
    let scratch = project(
        "  - {id: up, set: {to: ..}}\n  - {id: a, forEach: {files: \"{{up.output.to}}/*\"}, run: [echo, \"{{item}}\"]}\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["../"]);
}

#[test]
fn a_matrix_has_an_instance_for_each_combination_without_the_excluded_and_with_the_included_ones() {
    let steps = "  - id: build
    matrix:
      axes: {os: [linux, mac], version: [1, 2]}
      exclude: [{os: mac, version: 1}]
      include:
        - {os: linux, fast: true}
        - {os: windows, version: 3}
    set: {on: \"{{matrix.os}}-{{matrix.version}}\", fast: \"{{matrix.fast | default(false)}}\"}
  - {id: read, set: {cell: \"{{build.byKey['mac,2'].on}}\"}}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    scratch.kb(&["run", "show"]).says(&["build[linux,1]", "build[windows,3]"]);
    let cells = output(&scratch, "build");
    let cells: Vec<_> = cells.as_array().unwrap().iter().map(|c| (&c["on"], &c["fast"])).collect();
    let cell = |on: &str, fast: bool| (json!(on), json!(fast));
    let expected = [
        cell("linux-1", true),
        cell("linux-2", true),
        cell("mac-2", false),
        cell("windows-3", false),
    ];
    assert_eq!(cells, expected.iter().map(|(on, fast)| (on, fast)).collect::<Vec<_>>());
    assert_eq!(output(&scratch, "read"), json!({"cell": "mac-2"}));
}

#[test]
fn a_matrix_of_a_million_combinations_is_refused_before_it_is_made() {
    let list = |count: usize| (0..count).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let axis = list(1_000);
    let steps = format!(
        "  - {{id: a, matrix: {{axes: {{x: [{axis}], y: [{axis}]}}}}, set: {{x: \"{{{{matrix.x}}}}\"}}}}\n"
    );
    let scratch = project(&steps);
    scratch
        .kb(&["playbook", "validate", "p"])
        .code(2)
        .says(&["1000000 combinations", "at most 100000"]);
    let steps = "  - {id: n, set: {list: \"{{range(1000)}}\"}}
  - {id: a, matrix: {axes: {x: \"{{n.output.list}}\", y: \"{{n.output.list}}\", z: \"{{n.output.list}}\"}}, set: {x: 1}}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["1000000000 items", "at most 100000"]);
}

#[test]
fn collect_chooses_what_an_item_adds_to_the_output_and_failed_items_add_null() {
    let steps = "  - id: size
    forEach: {in: [a, bb, bad], as: word, key: \"{{word}}\", onItemError: continue, collect: {word: \"{{word}}\", n: \"{{size.output.n}}\", at: \"{{index}}\"}}
    run: 'test \"$WORD\" != bad && echo \"{\\\"n\\\": ${#WORD}}\"'
    parse: json
    env: {WORD: \"{{word}}\"}
  - {id: read, set: {n: \"{{size.byKey['bb'].n}}\", failed: \"{{size.errors[0].key}}\"}}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let row = |word: &str, n: u32, at: u32| json!({"word": word, "n": n, "at": at});
    assert_eq!(output(&scratch, "size"), json!([row("a", 1, 0), row("bb", 2, 1), null]));
    assert_eq!(output(&scratch, "read"), json!({"n": 2, "failed": "bad"}));
}

#[test]
fn mistakes_are_found_when_the_playbook_is_loaded() {
    let steps = "  - {id: text, forEach: \"src/*.rs\", run: [echo, \"{{item}}\"]}
  - {id: name, forEach: list.output, run: [echo, \"{{item}}\"]}
  - {id: both, forEach: [1], matrix: {axes: {x: [1]}}, run: echo}
  - {id: two, forEach: {in: [1], files: x}, run: echo}
  - {id: axis, matrix: {axes: {os: [linux]}, exclude: [{oss: linux}]}, set: {x: 1}}
  - {id: many, forEach: 100001, set: {x: 1}}
  - {id: bare, matrix: {axes: {}}, set: {x: 1}}
  - {id: github, matrix: {os: [linux], exclude: []}, set: {x: 1}}
  - {id: near, forEach: {file: x}, set: {x: 1}}
";
    let said = project(steps).kb(&["playbook", "validate", "p"]).code(2);
    said.says(&[
        "write `forEach: {files: \"src/*.rs\"}`",
        "write `\"{{list.output}}\"`",
        "a step has `forEach` or `matrix`, not both",
        "`forEach` has `in` and `files`",
        "the matrix has no axis `oss`",
        "did you mean `os`?",
        "`100001` cannot be the number of items",
        "`axes` is empty",
        "the axis `os` is not below `axes`",
        "write `matrix: {axes: {os: […]}}`",
        "did you mean `files`?",
        "9 errors",
    ]);
}

#[test]
fn reads_of_items_that_cannot_exist_are_found_when_the_playbook_is_loaded() {
    let steps = "  - {id: row, forEach: [1], set: {x: 1}}
  - {id: key, set: {a: \"{{row.output.x}}\", b: \"{{row.output[0].y}}\", c: \"{{row.byKey['1']}}\", d: \"{{key2.byKey['1']}}\"}}
  - {id: key2, forEach: {in: [1], key: \"{{item}}\"}, set: {x: 1}}
  - {id: key3, set: {a: \"{{key2.byKey['1'].z}}\", b: \"{{key.byKey['1']}}\"}}
";
    let said = project(steps).kb(&["playbook", "validate", "p"]).code(2);
    said.says(&[
        "`row.output` is a list, which has no key `x`",
        "map(attribute='x')",
        "`row.output[…]` has no key `y`",
        "the items of `row` have no keys",
        "`key2.byKey[…]` has no key `z`",
        "`key` has no `byKey`, because it has no `forEach`",
    ]);
}

#[test]
fn keys_that_no_item_has_are_found_when_the_playbook_is_loaded() {
    let steps = "  - {id: scan, run: echo, parse: json, output: {schema: {files: \"{path: string, size?: integer}[]\"}}}
  - {id: list, forEach: {in: [{name: a}, {name: b, extra: 1}], key: \"{{item.nmae}}\"}, set: {x: \"{{item.extra}}\"}}
  - {id: text, forEach: {in: [a, b], as: word}, set: {x: \"{{word.name}}\", y: \"{{word.name | default('')}}\"}}
  - {id: made, forEach: {in: [{name: \"{{scan.output}}\"}]}, set: {x: \"{{item.name}}\", y: \"{{item.title}}\"}}
  - {id: sizes, forEach: {in: \"{{scan.output.files}}\", as: file, key: \"{{file.name}}\"}, set: {x: \"{{file.size}}\"}}
  - {id: after, forEach: {in: \"{{sizes.output}}\"}, output: {schema: {x: string}}, set: {x: \"{{item.z}}\"}}
  - {id: again, forEach: {in: \"{{after.output}}\"}, set: {x: \"{{item.x}}\", y: \"{{item.y}}\"}}
  - {id: given, forEach: {in: \"{{rows}}\"}, set: {x: \"{{item.id}}\", y: \"{{item.ident}}\"}}
params: [{name: rows, type: list, schema: \"{id: string}[]\"}]
";
    let said = project(steps).kb(&["playbook", "validate", "p"]).code(2);
    said.says(&[
        "`item` has no key `nmae` in any item of `list`",
        "did you mean `name`?",
        "`word` has no key `name` in any item of `text`",
        "an item has no keys: write `{{word}}`",
        "`item` has no key `title` in any item of `made`",
        "`file` has no key `name` in any item of `sizes`",
        "see the schema of the list in `forEach`",
        "`item` has no key `y` in any item of `again`",
        "`item` has no key `ident` in any item of `given`",
        "6 errors",
    ]);
}

#[test]
fn two_items_with_one_key_fail_the_step() {
    let scratch = project("  - {id: a, matrix: {axes: {x: [1, 1]}}, set: {x: 1}}\n");
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["two items with the key `1`"]);
}
