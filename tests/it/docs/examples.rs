//! The code blocks of the documentation load and run.
//!
//! All blocks of one page share a project that `kb init` created. The text after a fence says what a
//! block is:
//!
//! | fence | meaning |
//! |---|---|
//! | `yaml`, first line `schema: kb.…` | a playbook, specialist or script; it must load |
//! | `yaml steps` | a list of steps; it must load as the steps of a playbook |
//! | `yaml settings` | settings; they must load |
//! | `yaml file=PATH`, `markdown file=PATH` | a file of the project; it must load |
//! | `sh run` | commands that must succeed, in the order of the page |
//!
//! Other blocks are not tested.

use super::{Block, Page, pages};
use crate::running::Start;
use crate::scratch::Scratch;

#[test]
fn every_example_loads_and_every_runnable_command_succeeds() {
    std::thread::scope(|scope| {
        for page in pages() {
            scope.spawn(move || check(&page));
        }
    });
}

fn check(page: &Page) {
    let blocks = page.blocks();
    blocks.iter().for_each(|block| known_info(page, block));
    let definitions: Vec<(String, &str)> = blocks.iter().filter_map(definition).collect();
    let steps = blocks.iter().filter(|block| block.info == "yaml steps");
    let runs: Vec<&Block> = blocks.iter().filter(|block| block.info == "sh run").collect();
    if !definitions.is_empty() || !runs.is_empty() {
        let scratch = project();
        for (path, text) in &definitions {
            let earlier = definitions.iter().filter(|(other, _)| other == path).count();
            assert_eq!(earlier, 1, "{}: two blocks are `{path}`", page.path);
            scratch.write(path, text);
        }
        let result = scratch.kb(&["playbook", "validate"]);
        assert_eq!(result.code, 0, "{}:\n{}\n{}", page.path, result.out, result.err);
        runs.iter().for_each(|block| run(&scratch, page, block));
    }
    for block in steps {
        let scratch = project();
        let indented: Vec<String> = block.text.lines().map(|line| format!("  {line}")).collect();
        let head = "schema: kb.playbook/1\nid: example\nparams:\n  - {name: topic, default: x}\n";
        scratch.write("playbooks/example.yml", &format!("{head}steps:\n{}\n", indented.join("\n")));
        loads(&scratch, page, block);
    }
    for block in blocks.iter().filter(|block| block.info == "yaml settings") {
        let scratch = project();
        scratch.write(".kb/kb.config.yml", &block.text);
        loads(&scratch, page, block);
    }
}

fn project() -> Scratch {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    scratch
}

fn loads(scratch: &Scratch, page: &Page, block: &Block) {
    let result = scratch.kb(&["playbook", "validate"]);
    assert_eq!(result.code, 0, "{}:\n{}\n{}{}", page.path, block.text, result.out, result.err);
}

/// A misspelt fence would switch a test off.
fn known_info(page: &Page, block: &Block) {
    let languages = ["yaml", "sh", "text", "json", "markdown", "rust", "mermaid"];
    let (language, rest) = block.info.split_once(' ').unwrap_or((&block.info, ""));
    let known = matches!(
        (language, rest),
        (_, "") | ("yaml", "steps" | "settings" | "fragment") | ("sh", "run")
    ) || rest.starts_with("file=");
    let message = format!("{}: a block with the fence `{}`", page.path, block.info);
    assert!(known && languages.contains(&language), "{message}");
}

/// The path and text of a block that is a definition file.
fn definition(block: &Block) -> Option<(String, &str)> {
    if let Some((_, path)) = block.info.split_once(" file=") {
        return Some((path.to_owned(), &block.text));
    }
    let schema = block.text.strip_prefix("schema: ").filter(|_| block.info == "yaml")?;
    let id = || block.text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let path = match schema.lines().next()? {
        "kb.playbook/1" => format!("playbooks/{}.yml", id()),
        "kb.specialist/1" => format!(".kb/specialists/{}.yml", id()),
        "kb.script/1" => "script.yml".to_owned(),
        other => panic!("an example with the schema `{other}`"),
    };
    Some((path, &block.text))
}

fn run(scratch: &Scratch, page: &Page, block: &Block) {
    let kb = std::path::Path::new(env!("CARGO_BIN_EXE_kb")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = scratch.command();
    let environment: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command = std::process::Command::new("bash");
    command
        .args(["-euo", "pipefail", "-c", &block.text])
        .current_dir(scratch.root())
        .env_clear()
        .envs(environment)
        .env("PATH", format!("{}:{path}", kb.display()));
    let output = command.finish();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}:\n{}\n{out}\n{err}", page.path, block.text);
}

#[test]
fn every_key_of_the_reference_has_an_example() {
    let mut keys = 0;
    for page in pages() {
        let mut in_keys = false;
        for line in page.text.lines() {
            in_keys = line == "| key | type | default | description | example |"
                || in_keys && line.starts_with('|');
            if in_keys && line.starts_with("| `") {
                keys += 1;
                assert!(line.ends_with("` |"), "{}: {line}", page.path);
            }
        }
    }
    assert!(keys > 400, "{keys} keys");
}
