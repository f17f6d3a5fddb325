//! The number of files that a new step kind, check or tool changes, as `docs/architecture.md` gives it:
//! a match over all kinds, which every new kind changes, is only in the files listed here, and no other
//! file than its own knows a tool by its name.

use super::source::sources;
use std::collections::BTreeSet;

/// An enum with one variant per kind, and the files that name several of its variants.
struct Sum {
    name: &'static str,
    /// The folder of the modules of the kinds, which is not counted.
    home: &'static str,
    matched_in: &'static [&'static str],
}

const SUMS: &[Sum] = &[
    Sum { name: "StepKind", home: "definition/kind/", matched_in: &["engine/prepare/work.rs"] },
    Sum {
        name: "StepWork",
        home: "attempt/work.rs",
        matched_in: &["engine/prepare/work.rs", "executor/local.rs"],
    },
    Sum { name: "Check", home: "definition/gate_check/", matched_in: &["verify/check/mod.rs"] },
    Sum { name: "Criterion", home: "verify/check/mod.rs", matched_in: &[] },
    Sum { name: "RecordedCriterion", home: "verify/check/mod.rs", matched_in: &[] },
];

/// The enums of commands, each with the only file that names its variants.
const COMMANDS: &[(&str, &str)] = &[
    ("KbCommand", "cli/mod.rs"),
    ("RunCommand", "cli/run/mod.rs"),
    ("PlaybookCommand", "cli/playbook/mod.rs"),
    ("SpecialistCommand", "cli/specialist/mod.rs"),
    ("PluginCommand", "cli/plugin/mod.rs"),
    ("CacheCommand", "cli/cache/mod.rs"),
    ("TriggerCommand", "cli/trigger/mod.rs"),
];

/// The number of variants from which a file is taken to match all.
const SEVERAL: usize = 3;

/// A command adds a file of its own and its entry in the `mod.rs` of its folder; a use case of its own adds a
/// file and its entry in `service/mod.rs`.
#[test]
fn only_the_folder_of_a_command_names_its_variant() {
    let files = sources();
    for &(name, home) in COMMANDS {
        // Other modules have types with the same names.
        let others = files.iter().filter(|file| file.module == "cli" && file.path != home);
        let naming = others.filter(|file| file.paths.iter().any(|path| names_variant(path, name)));
        let naming: Vec<&str> = naming.map(|file| file.path.as_str()).collect();
        assert!(naming.is_empty(), "variants of `{name}` are named in {}", naming.join(", "));
        let defined = files.iter().any(|file| file.path == home && file.defines(name));
        assert!(defined, "{home} does not define `{name}`");
    }
}

fn names_variant(path: &[String], name: &str) -> bool {
    let at = path.iter().position(|part| part == name);
    at.and_then(|at| path.get(at + 1)).is_some_and(|variant| variant != "*")
}

/// The types of the work of an attempt are exported together, so that a new one adds no file.
#[test]
fn the_module_of_attempts_exports_all_types_of_work() {
    let files = sources();
    let module = files.iter().find(|file| file.path == "attempt/mod.rs").expect("it exists");
    assert!(module.reexports.iter().any(|path| path.iter().eq(["work", "*"])));
}

#[test]
fn kinds_of_steps_and_checks_are_matched_only_in_the_documented_files() {
    let files = sources();
    for sum in SUMS {
        let mut matched: Vec<&str> = Vec::new();
        for file in files.iter().filter(|file| !file.path.starts_with(sum.home)) {
            let variants = file.paths.iter().filter_map(|path| {
                let at = path.iter().position(|part| part == sum.name)?;
                let variant = path.get(at + 1)?;
                variant.starts_with(|first: char| first.is_ascii_uppercase()).then_some(variant)
            });
            if variants.collect::<BTreeSet<_>>().len() >= SEVERAL {
                matched.push(&file.path);
            }
        }
        matched.sort_unstable();
        assert_eq!(
            matched, sum.matched_in,
            "the files that match `{}`; make the property a method of the kind, or update this table and \
             the counts in `docs/architecture.md`",
            sum.name
        );
    }
}

/// The files that may name a built-in tool in code: the table of tools, the implementations, and the names of public
/// events, some of which are those of the calls that they record.
const TOOLS: &[&str] = &["toolspec/", "tool/builtin/", "wire/body"];

#[test]
fn only_the_table_of_tools_and_the_implementations_name_a_tool() {
    let mut wrong = Vec::new();
    // Cases are compiled for tests alone.
    let is_cases = |path: &str| path.contains("/cases/");
    let named = |path: &str| TOOLS.iter().any(|own| path.starts_with(own)) || is_cases(path);
    for file in sources().iter().filter(|file| !named(&file.path)) {
        let text = std::fs::read_to_string(&file.file).expect("it was read");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (line, text) in code.lines().enumerate() {
            let is_code = !text.trim_start().starts_with("//") && !text.contains("example(");
            let mut names = kb::toolspec::built_in().names().map(|name| format!("\"{name}\""));
            if is_code && names.any(|name| text.contains(&name)) {
                wrong.push(format!("{}:{}: {}", file.path, line + 1, text.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "make it a property of `ToolSpec`:\n{}", wrong.join("\n"));
}
