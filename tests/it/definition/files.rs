//! Files that are no definitions at all, and several files together.

use super::*;

fn check(bytes: impl AsRef<[u8]>, expected: &str) {
    let (catalog, said) = said(FileRole::Playbook, "playbooks/p.yml", bytes);
    assert!(catalog.playbooks.is_empty());
    assert_eq!(said.trim_end(), expected);
}

#[test]
fn what_is_no_text_is_one_diagnostic() {
    check(
        b"id: caf\xe9\n",
        "error KB0102 1:8 the file is not UTF-8: byte 8 is 0xe9 | save it as UTF-8",
    );
    check(
        b"\x7fELF\x00\x01",
        "error KB0102 1:1 the file is binary, not text | move it out of the definitions folder",
    );
    check(b"\xff\xfei\x00d\x00", "error KB0102 1:1 the file is UTF-16 | save it as UTF-8");
}

#[test]
fn what_is_empty_is_one_diagnostic() {
    for text in ["", "\n\n", "# only\n# comments\n", "---\n", "\u{feff}", "~"] {
        check(text, "error KB0104 1:1 the file is empty | write a definition, or delete the file");
    }
}

#[test]
fn what_is_not_a_map_is_one_diagnostic() {
    let keys = "write its keys, as in `{schema: kb.playbook/1, id: add-feature, steps: [{id: hello, run: echo hello}]}`";
    check("- a\n- b\n", &format!("error KB0105 1:3 a playbook takes a map, found a list | {keys}"));
    check("hello", &format!("error KB0105 1:1 a playbook takes a map, found a text | {keys}"));
    let steps = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: x}]\n";
    let keys = "write its keys, as in `{maxParallel: 4}`";
    check(
        format!("{steps}limits: 3\n"),
        &format!("error KB0105 4:9 `limits` takes a map, found a number | {keys}"),
    );
}

#[test]
fn what_is_too_large_is_one_diagnostic() {
    check(
        vec![b'#'; (1 << 20) + 1],
        "error KB0103 1:1 the file has 1048577 bytes; the limit for definitions is 1 MiB | split it, or move long texts into separate files (`taskFile:`)",
    );
    check(
        format!("a: {}{}", "[".repeat(40), "]".repeat(40)),
        "error KB0103 1:35 nested more than 32 levels deep | nest less deeply",
    );
    let deep: String = (0..500).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    check(deep, "error KB0103 33:33 nested more than 32 levels deep | nest less deeply");
}

#[test]
fn aliases_cannot_explode() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = format!("*a{}, ", level - 1).repeat(9);
        bomb += &format!("a{level}: &a{level} [{before}*a{}]\n", level - 1);
    }
    check(
        bomb,
        "error KB0103 4:45 aliases expand to more than 10000 nodes or 1 MiB | use fewer aliases",
    );
    let text = "x".repeat(500_000);
    check(
        format!("a: &a {text}\nb: [*a, *a, *a, *a]\n"),
        "error KB0103 2:13 aliases expand to more than 10000 nodes or 1 MiB | use fewer aliases",
    );
    check("a: &a [*a]\n", "error KB0111 1:8 an alias inside its own anchor");
}

#[test]
fn a_byte_order_mark_and_crlf_are_fine() {
    let text = with_steps("  - {id: a, run: echo hi}").replace('\n', "\r\n");
    let found = playbook(&format!("\u{feff}{text}"));
    assert_eq!(found.steps.len(), 1);
    let (_, said) =
        said(FileRole::Playbook, "p.yml", "\u{feff}schema: kb.playbook/1\r\nid: p\r\nstps: []\r\n");
    assert!(said.contains("KB0106 3:1 unknown key `stps`"), "{said}");
}

#[test]
fn one_bad_file_never_hides_the_good_ones() {
    let good = with_steps("  - {id: a, run: echo hi}");
    let (catalog, found) = definition::load(vec![
        file("playbooks/broken.yml", FileRole::Playbook, "id: [\n"),
        file("playbooks/p.yml", FileRole::Playbook, &good),
        file("playbooks/binary.yml", FileRole::Playbook, b"\x00\x01"),
        file("workflows/w.md", FileRole::Workflow, "no front matter"),
        file(
            ".kb/specialists/s.yml",
            FileRole::Specialist,
            "schema: kb.specialist/1\nid: s\nrole: Help.\n",
        ),
    ]);
    assert_eq!(catalog.playbooks.keys().map(|id| id.as_str()).collect::<Vec<_>>(), ["p"]);
    assert_eq!(catalog.specialists.len(), 1);
    assert_eq!(found.len(), 3);
    let files: Vec<&str> =
        found.iter().map(|d| &*catalog.sources.get(d.span.expect("a place").source).path).collect();
    assert_eq!(files, ["playbooks/broken.yml", "playbooks/binary.yml", "workflows/w.md"]);
}

#[test]
fn two_files_with_one_id_are_an_error_that_names_both_and_use_neither() {
    let text = with_steps("  - {id: a, run: echo hi}");
    let (catalog, found) = definition::load(vec![
        file(".kb/playbooks/p.yml", FileRole::Playbook, &text),
        file("playbooks/old.yml", FileRole::Playbook, &text),
        file("workflows/p.md", FileRole::Workflow, "---\nsteps: [{id: a, run: echo}]\n---\n"),
    ]);
    assert!(catalog.playbooks.is_empty());
    insta::assert_snapshot!(lines(&catalog, &found), @"
    error KB0204 2:5 two files define the playbook `p`: `.kb/playbooks/p.yml` and `playbooks/old.yml` | rename one of them or delete it; until then neither is used
    error KB0204 2:1 two files define the playbook `p`: `.kb/playbooks/p.yml` and `workflows/p.md` | rename one of them or delete it; until then neither is used
    ");
}

#[test]
fn a_definition_in_the_wrong_place_is_told_so() {
    let (_, said) = said(
        FileRole::Playbook,
        "playbooks/s.yml",
        "schema: kb.specialist/1\nid: s\nsteps: [{id: a, run: echo}]\n",
    );
    insta::assert_snapshot!(said, @"error KB0201 1:9 `kb.specialist/1` is not a playbook | move the file to the folder for such definitions, or write `kb.playbook/1`");
}

#[test]
fn the_schema_is_checked() {
    let said = |schema: &str| {
        let text = format!("{schema}id: p\nsteps: [{{id: a, run: echo}}]\n");
        said(FileRole::Playbook, "playbooks/p.yml", text).1
    };
    insta::assert_snapshot!(said(""), @"error KB0113 1:1 a playbook has no `schema` | add `schema: kb.playbook/1` as the first line; `kb playbook import FILE` translates a file of another tool");
    insta::assert_snapshot!(said("schema: kb.playbook/2\n"), @"error KB0113 1:9 `kb.playbook/2` is not supported by this version of `kb` | update `kb`, or write `kb.playbook/1`");
    insta::assert_snapshot!(said("schema: playbook\n"), @"error KB0113 1:9 unknown schema `playbook` | write `kb.playbook/1`");
}

#[test]
fn front_matter_must_be_there_and_closed() {
    let said = |name: &str, text: &str| said(FileRole::Workflow, name, text).1;
    insta::assert_snapshot!(said("w.md", "# Title\n"), @"error KB0110 1:1 the file does not start with front matter | start with a line `---`, then the keys, then another line `---`");
    insta::assert_snapshot!(said("w.md", "---\nname: x\n"), @"error KB0110 1:1 the front matter is never closed | end it with a line `---`");
    assert_eq!(said("workflows/README.md", "# About these workflows\n"), "");
}

#[test]
fn places_in_markdown_are_those_of_the_file() {
    let (_, said) = said(
        FileRole::Workflow,
        "w.md",
        "\u{feff}---\nname: x\nsteps:\n  - {id: a, run: echo, tiemout: 5s}\n---\nbody\n",
    );
    insta::assert_snapshot!(said, @"error KB0106 4:24 unknown key `tiemout` in a step | did you mean `timeout`?");
}

#[test]
fn scripts_are_read_with_places() {
    let text = "schema: kb.script/1\nsteps:\n  implement:\n    - calls: [{tool: fs:write, args: {path: a, content: \"{x} {{params.topic}}\"}}]\n      usage: {prompt: 900, completion: 120}\n    - output: {created: [a], summary: done}\n      delayMs: 20\n  plan#2:\n    - error: {status: 429, retryAfter: 2}\n";
    let (script, _, found) = definition::load_script("s.yml", text.as_bytes());
    let script = script.unwrap_or_else(|| panic!("{found:?}"));
    let turns = &script.steps["implement"];
    assert_eq!(turns[0].calls[0].tool, "fs:write");
    let params = Arc::new(serde_json::json!({"topic": "tea"}));
    let args = turns[0].calls[0].args_with(&params).expect("its parameter is there");
    assert_eq!(args["content"], "{x} tea");
    let usage = turns[0].usage.unwrap();
    assert_eq!((usage.prompt, usage.completion), (900, 120));
    assert_eq!(turns[1].delay_ms, 20);
    let error = script.steps["plan#2"][0].error.as_ref().expect("an error");
    assert_eq!((error.status, error.retry_after), (429, Some(2.0)));

    let (script, sources, found) = definition::load_script(
        "s.yml",
        b"schema: kb.script/1\nsteps:\n  a:\n    - {usage: {}}\n    - {cals: []}\n",
    );
    assert!(script.is_none());
    let catalog = Catalog { sources, ..Catalog::default() };
    insta::assert_snapshot!(lines(&catalog, &found), @"
    error KB0222 4:7 the turn has no response | add `say`, `calls`, `output`, `agent` or `error`
    error KB0106 5:8 unknown key `cals` in a turn | did you mean `calls`?
    ");
}

/// A file with tens of thousands of errors is reported in bounded time and length, and says so.
#[test]
fn more_errors_than_a_person_reads_are_counted() {
    let prompt = "{{topic}}".repeat(30_000);
    let text = format!("---\nname: w\nsteps:\n  - {{id: a, run: [echo, \"{prompt}\"]}}\n---\n");
    let scratch = crate::scratch::Scratch::new(&[("workflows/w.md", &text)]);
    let said = scratch.kb(&["playbook", "validate", "w"]).code(2);
    assert!(said.err.len() < 200_000, "{} bytes", said.err.len());
    said.says(&["KB0302", "29500 errors of this file from here on are not listed", "501 errors"]);
    let listed = scratch.json(&["playbook", "validate", "w", "--json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(501));
}

/// Thousands of unknown names beside thousands of known ones: the search for similar names is limited.
#[test]
fn similar_names_are_searched_for_the_first_errors_only() {
    let steps: String = (0..1000).map(|n| format!("  - {{id: name{n}, run: 'true'}}\n")).collect();
    let unknown: String = (0..300).map(|n| format!("{{{{namf{n}}}}}")).collect();
    let axes: String = (0..300).map(|n| format!("axis{n}: [1], ")).collect();
    let include: String = (0..300).map(|n| format!("axes{n}: 1, ")).collect();
    let text = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n{steps}  - {{id: z, run: 'true', env: {{A: \"{unknown}\"}}}}\n  \
         - {{id: y, run: 'true', matrix: {{axes: {{{axes}}}, include: [{{{include}}}]}}}}\n"
    );
    let scratch = crate::scratch::Scratch::new(&[("playbooks/p.yml", &text)]);
    let listed = scratch.json(&["playbook", "validate", "p", "--json"]);
    let helps = |code: &str| {
        let of_code = listed.as_array().unwrap().iter().filter(|problem| problem["code"] == code);
        of_code.filter_map(|problem| problem["help"].as_str()).collect::<Vec<_>>()
    };
    let similar = |help: &&str| help.starts_with("did you mean");
    let found = helps("KB0302").into_iter().chain(helps("KB0112")).filter(similar).count();
    assert_eq!(found, 200, "{listed}");
}

#[test]
fn validation_of_a_project_reads_its_tests() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'true'}]\n";
    let test = "schema: kb.test/1\nplaybook: p\ntests:\n  - {name: one, expect: {steps: {b: succeeded}}}\n  - {name: two, expct: {}}\n";
    let files = [(".kb/playbooks/p.yml", playbook), (".kb/tests/p.test.yml", test)];
    let scratch = crate::scratch::Scratch::new(&files);
    scratch
        .kb(&["playbook", "validate"])
        .code(2)
        .says(&[".kb/tests/p.test.yml:5:17", "unknown key `expct`"]);
    // A playbook that is named is checked alone.
    scratch.kb(&["playbook", "validate", "p"]).code(0);
    scratch.write(".kb/tests/p.test.yml", &test.replace("expct", "expect"));
    scratch.kb(&["playbook", "validate"]).code(2).says(&["there is no step `b`"]);
    scratch.write(".kb/tests/p.test.yml", &test.replace("expct", "expect").replace("{b:", "{a:"));
    scratch.kb(&["playbook", "validate"]).code(0);
}
