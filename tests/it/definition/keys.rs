//! The tables of keys: the schemas, the reference pages and the loader agree with them.

use super::*;
use crate::generated;
use kb::definition::{DefinitionFile, KeyTable, Support, file_schema, key_reference, load_value};
use kb::value::Json;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn validator(file: DefinitionFile) -> jsonschema::Validator {
    jsonschema::validator_for(&file_schema(file)).expect("a valid schema")
}

fn faults(file: DefinitionFile, value: &Json) -> Vec<String> {
    let validator = validator(file);
    let faults = validator.iter_errors(value);
    faults.map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
}

fn tree(text: &str) -> Json {
    let (value, _, found) = load_value("x.yml", text.as_bytes());
    value.unwrap_or_else(|| panic!("{text}: {found:?}")).value
}

#[test]
fn the_reference_of_keys_is_up_to_date() {
    for (name, text) in key_reference() {
        generated::file(&format!("docs/reference/generated/{name}.md"), &text);
    }
}

#[test]
fn schemas_are_valid_and_describe_every_key() {
    for file in DefinitionFile::ALL {
        let schema = file_schema(file);
        jsonschema::meta::validate(&schema).unwrap_or_else(|fault| panic!("{file:?}: {fault}"));
        for (table, definition) in schema["$defs"].as_object().expect("definitions") {
            for (key, property) in definition["properties"].as_object().expect("properties") {
                let described = property.is_boolean() || property["description"].is_string();
                assert!(described, "{file:?}: `{key}` of {table} has no description");
            }
        }
    }
}

#[test]
fn schemas_have_exactly_the_keys_of_the_tables() {
    for file in DefinitionFile::ALL {
        let schema = file_schema(file);
        for table in file.all_tables() {
            let definition = &schema["$defs"][table.name];
            let keys = |part: &str| -> BTreeSet<String> {
                let map = definition[part].as_object();
                map.into_iter().flat_map(|map| map.keys().cloned()).collect()
            };
            let names: BTreeSet<_> = table.keys().map(|key| key.name.to_owned()).collect();
            assert_eq!(keys("properties"), names, "{}", table.name);
            let snake = table.keys().filter_map(|key| key.snake_case());
            let snake: BTreeSet<_> = snake.map(|name| format!("^{name}$")).collect();
            assert_eq!(keys("patternProperties"), snake, "{}", table.name);
        }
    }
}

#[test]
fn names_of_tables_and_keys_are_unique() {
    for file in DefinitionFile::ALL {
        for table in file.all_tables() {
            let names: Vec<&str> = table.keys().map(|key| key.name).collect();
            let unique: BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(names.len(), unique.len(), "{}", table.name);
        }
    }
}

#[test]
fn examples_fit_the_types_of_their_keys() {
    for file in DefinitionFile::ALL {
        let schema = file_schema(file);
        for table in file.all_tables() {
            for key in table.keys().filter(|key| !key.example.is_empty()) {
                let value = tree(&format!("{}: {}\n", key.name, key.example));
                let property = format!("#/$defs/{}/properties/{}", table.name, key.name);
                let part = json!({"$ref": property, "$defs": schema["$defs"]});
                let validator = jsonschema::validator_for(&part).expect("a valid schema");
                let fits = validator.is_valid(&value[key.name]);
                assert!(fits, "`{}: {}` of {}", key.name, key.example, table.name);
            }
        }
    }
}

/// The diagnostics of a definition with this entry in a map of a table; `None` for the files of tests, which have no
/// loader of their own.
fn found_with(table: &KeyTable, name: &str, value: &str) -> Option<(Catalog, Vec<Diagnostic>)> {
    let (path, text) = crate::conformance::file_with(table.name, name, value);
    if path.starts_with("script") {
        let (_, sources, found) = definition::load_script("s", text.as_bytes());
        return Some((Catalog { sources, ..Catalog::default() }, found));
    }
    let role =
        kb::project::role_of(Path::new(&path)).filter(|_| !path.starts_with(".kb/tests/"))?;
    Some(definition::load(vec![super::file(&path, role, &text)]))
}

/// The same as lines.
fn said_with(table: &KeyTable, name: &str, value: &str) -> Option<String> {
    found_with(table, name, value).map(|(catalog, found)| lines(&catalog, &found))
}

#[test]
fn the_loader_knows_exactly_the_keys_of_the_tables() {
    let unknown = |table: &KeyTable, name: &str, value: &str| {
        let said = said_with(table, name, value)?;
        Some(said.lines().any(|line| line.contains("KB0106") && line.contains("unknown key")))
    };
    for file in DefinitionFile::ALL {
        for table in file.all_tables() {
            for key in table.keys() {
                for name in [Some(key.name.to_owned()), key.snake_case()].into_iter().flatten() {
                    let example = if key.example.is_empty() { "x" } else { key.example };
                    let unknown = unknown(table, &name, example).unwrap_or(false);
                    assert!(!unknown, "`{name}` of {}", table.name);
                }
            }
            // Its keys are names of tools.
            if table.name == "toolPolicies" {
                continue;
            }
            let other = unknown(table, "xyzzy", "1");
            assert!(other.is_none_or(|unknown| unknown), "{} takes any key", table.name);
        }
    }
}

/// Whatever is written under a key, an error says what to do.
#[test]
fn every_error_about_a_value_has_a_help() {
    const VALUES: [&str; 16] = [
        "~",
        "true",
        "5",
        "-1",
        "1.5",
        "x",
        "\"\"",
        "[]",
        "[~]",
        "[5]",
        "[x]",
        "[[x]]",
        "[{zz: 1}]",
        "{}",
        "{zz: 1}",
        "{zz: [x]}",
    ];
    let mut silent = BTreeSet::new();
    for file in DefinitionFile::ALL {
        for table in file.all_tables() {
            for (key, value) in table.keys().flat_map(|key| VALUES.map(|value| (key, value))) {
                let Some((_, found)) = found_with(table, key.name, value) else { continue };
                let errors = found.iter().filter(|found| found.is_error() && found.help.is_none());
                silent.extend(errors.map(|found| format!("{} {}", found.code, found.message)));
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.into_iter().collect::<Vec<_>>().join("\n"));
}

/// What a key does not do is said where the key is written.
#[test]
fn no_key_is_dropped_in_silence() {
    let mut silent = Vec::new();
    for file in DefinitionFile::ALL {
        for table in file.all_tables() {
            for key in table.keys().filter(|key| key.support != Support::Full) {
                let Some(said) = said_with(table, key.name, key.example) else {
                    silent.push(format!("`{}` of {} is not tested", key.name, table.name));
                    continue;
                };
                let code = match key.support {
                    Support::Full => continue,
                    Support::Unused => "info KB0903",
                    Support::Planned => "warning KB0902",
                    Support::RunRefused => "warning KB0901",
                };
                let mut lines = said.lines();
                if !lines.any(|line| line.starts_with(code) && line.contains(key.name)) {
                    silent.push(format!("`{}` of {}: {said}", key.name, table.name));
                }
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// The kind of a definition file of the repository, by its content and path.
fn kind(path: &Path, text: &str) -> Option<(FileRole, DefinitionFile)> {
    let name = path.to_str().unwrap_or_default();
    let settings = ["escalation", "inconclusive", "security", "kb.config"];
    let has = |line: &str| text.lines().any(|own| own.trim_end() == line);
    if settings.iter().any(|part| name.contains(part)) {
        return Some((FileRole::Settings, DefinitionFile::Settings));
    } else if name.ends_with("agent.md") || name.contains("/agents/") {
        return Some((FileRole::AgentProfile, DefinitionFile::AgentProfile));
    } else if name.ends_with(".md") {
        return Some((FileRole::Workflow, DefinitionFile::Workflow));
    } else if has("schema: kb.playbook/1") {
        return Some((FileRole::Playbook, DefinitionFile::Playbook));
    }
    let specialist = has("schema: kb.specialist/1") || has("agent:");
    specialist.then_some((FileRole::Specialist, DefinitionFile::Specialist))
}

#[test]
fn every_definition_that_loads_fits_its_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in
        ["tests/definitions", "playbooks", "workflows", "agents", ".kb", "templates", "assets"]
    {
        files(&root.join(folder), &mut paths);
    }
    let mut checked = BTreeSet::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Some((role, file)) = kind(&path, &text) else { continue };
        let shown = path.strip_prefix(root).expect("in the repository").display().to_string();
        let (catalog, found) = definition::load(vec![super::file(&shown, role, &text)]);
        if found.iter().any(Diagnostic::is_error) {
            // Two samples of the older documents are not YAML.
            assert!(lines(&catalog, &found).contains("KB0101"), "{shown}: {found:?}");
            continue;
        }
        let yaml = match (shown.ends_with(".md"), text.strip_prefix("---\n")) {
            (false, _) => text.as_str(),
            (true, Some(rest)) => rest.split("\n---\n").next().unwrap_or_default(),
            // Documentation, not a workflow.
            (true, None) => continue,
        };
        assert_eq!(faults(file, &tree(yaml)), [""; 0], "{shown}");
        checked.insert(format!("{file:?}"));
    }
    assert_eq!(checked.len(), 5, "only {checked:?}");
}

#[test]
fn the_schemas_accept_forms_that_they_refused_before() {
    let settings = json!({
        "security": {"global_limits": {"max_tool_calls_per_task": 20}, "tools": {"file_write": {"enabled": false}}},
        "sandbox": {"read": ["~/.cargo"], "write": ["/tmp"]},
        "memory": {}, "agent_loop": {"max_iterations": 3},
    });
    accepted(DefinitionFile::Settings, FileRole::Settings, ".kb/kb.config.json", &settings);
    let required = json!({"sandbox": "required"});
    accepted(DefinitionFile::Settings, FileRole::Settings, ".kb/kb.config.json", &required);
    let specialist = json!({
        "schema": "kb.specialist/1", "id": "s", "role": "x", "memory": {"short_term": {"enabled": true}},
        "output": {"format": "structured", "schema": {"a": "string"}},
        "brain": {"model": "m", "max_tokens": 5, "fallback": {"enabled": true, "model": "n"}},
        "llm": {"fallback": {"enabled": true, "model": "n"}},
    });
    accepted(
        DefinitionFile::Specialist,
        FileRole::Specialist,
        ".kb/specialists/s.yml",
        &specialist,
    );
    let workflow = json!({"steps": [{"id": "a", "agent": "agents/a.md", "prompt": "x"}]});
    assert_eq!(faults(DefinitionFile::Workflow, &workflow), [""; 0]);
}

/// The keys whose forms the schemas once refused, in every table that has them.
const FORMS: &[(&str, &[&str])] = &[
    (
        "security",
        &[
            "{}",
            "{tools: {file_write: {enabled: false}}, global_limits: {max_tool_calls_per_task: 20}}",
        ],
    ),
    ("sandbox", &["required", "{read: [\"~/.cargo\"], write: [/tmp]}"]),
    ("read", &["[\"~/.cargo\"]", "/opt/sdk"]),
    ("write", &["[/tmp]", "/tmp"]),
    ("format", &["structured", "json", "text"]),
    (
        "brain",
        &[
            "{model: m, system_prompt: x, max_tokens: 5, fallback: {enabled: true, model: n}}",
            "{fallback: n}",
        ],
    ),
    ("memory", &["{}", "{short_term: {enabled: true}}"]),
    ("fallback", &["n", "{enabled: true, model: n}", "{model: n}", "{enabled: false}"]),
];

/// Where a map of a table stands in a file that is valid otherwise; `@` is the place of its entries.
fn valid_file(
    file: DefinitionFile,
    table: &KeyTable,
) -> Option<(FileRole, &'static str, &'static str)> {
    let settings = |text| Some((FileRole::Settings, ".kb/kb.config.yml", text));
    let specialist = |text| Some((FileRole::Specialist, ".kb/specialists/s.yml", text));
    let profile = |text| Some((FileRole::AgentProfile, "agents/s.md", text));
    match (file, table.name) {
        (DefinitionFile::Settings, "settings") => settings("{@}"),
        (DefinitionFile::Settings, "sandbox") => settings("{sandbox: {@}}"),
        (DefinitionFile::Settings, "stepSandbox") => settings("{sandbox: {steps: {@}}}"),
        (DefinitionFile::Settings, "toolSettings") => settings("{tools: {@}}"),
        (DefinitionFile::Specialist, "specialist") => {
            specialist("{schema: kb.specialist/1, id: s, role: x, @}")
        }
        (DefinitionFile::Specialist, "memoryUse") => {
            specialist("{schema: kb.specialist/1, id: s, role: x, memory: {@}}")
        }
        (DefinitionFile::AgentProfile, "memoryUse") => profile("{description: x, memory: {@}}"),
        (DefinitionFile::Specialist, "specialistOutput") => {
            specialist("{schema: kb.specialist/1, id: s, role: x, output: {@}}")
        }
        (DefinitionFile::Specialist, "llm") => {
            specialist("{schema: kb.specialist/1, id: s, role: x, llm: {@}}")
        }
        (DefinitionFile::Specialist, "brain") => {
            specialist("{schema: kb.specialist/1, id: s, role: x, brain: {@}}")
        }
        (DefinitionFile::Specialist, "agent") => {
            specialist("{agent: {name: s, brain: {system_prompt: x}, @}}")
        }
        (DefinitionFile::Specialist, "agentTools") => {
            specialist("{agent: {name: s, brain: {system_prompt: x}, tools: {@}}}")
        }
        (DefinitionFile::AgentProfile, "profile") => profile("{description: x, @}"),
        (DefinitionFile::AgentProfile, "specialistOutput") => {
            profile("{description: x, output: {@}}")
        }
        (DefinitionFile::AgentProfile, "llm") => profile("{description: x, llm: {@}}"),
        (DefinitionFile::AgentProfile, "brain") => profile("{description: x, brain: {@}}"),
        _ => None,
    }
}

#[test]
fn schema_and_loader_take_the_same_forms_in_every_file() {
    let mut checked = BTreeSet::new();
    let files =
        [DefinitionFile::Settings, DefinitionFile::Specialist, DefinitionFile::AgentProfile];
    for file in files {
        for table in file.all_tables() {
            for key in table.keys() {
                let Some(&(_, forms)) = FORMS.iter().find(|(name, _)| *name == key.name) else {
                    continue;
                };
                let Some((role, path, text)) = valid_file(file, table) else {
                    panic!("`{}` of {} in {file:?} is not tested", key.name, table.name);
                };
                // Below `tools`, the key has the tools themselves.
                let forms: &[&str] = match (table.name, key.name) {
                    ("toolSettings" | "agentTools", "security") => &[
                        "{}",
                        "{file_write: {enabled: false}, \"fs:read\": {allowed_paths: [\"src/**\"]}}",
                    ],
                    ("memoryUse", "read") => &["[fact, pitfall]", "observation"],
                    _ => forms,
                };
                for form in forms {
                    // The brain of an agent is in its file already.
                    let text = match key.name {
                        "brain" => text.replace("brain: {system_prompt: x}, ", ""),
                        _ => text.to_owned(),
                    };
                    let yaml = text.replace('@', &format!("{}: {form}", key.name));
                    assert_eq!(faults(file, &tree(&yaml)), [""; 0], "{file:?}: {yaml}");
                    let whole = match role {
                        FileRole::AgentProfile => format!("---\n{yaml}\n---\nYou work.\n"),
                        _ => yaml.clone(),
                    };
                    let (_, said) = said(role, path, whole);
                    let is_taken = said.lines().all(|line| !line.starts_with("error"));
                    assert!(is_taken, "{file:?}: {yaml}\n{said}");
                    checked.insert(key.name);
                }
            }
        }
    }
    assert_eq!(checked, FORMS.iter().map(|(name, _)| *name).collect());
}

/// By the schema and by the loader. JSON is YAML.
#[track_caller]
fn accepted(file: DefinitionFile, role: FileRole, path: &str, value: &Json) {
    assert_eq!(faults(file, value), [""; 0]);
    let (_, said) = said(role, path, value.to_string());
    assert!(said.lines().all(|line| !line.starts_with("error")), "{said}");
}

#[test]
fn the_schemas_refuse_what_the_loader_refuses() {
    let refused = [
        (DefinitionFile::Playbook, json!({"schema": "kb.playbook/1", "id": "p", "steps": []})),
        (DefinitionFile::Settings, json!({"sandbox": "maybe"})),
        (DefinitionFile::Settings, json!({"secrets": {"A": "hunter2"}})),
        (DefinitionFile::Specialist, json!({"schema": "kb.specialist/1", "id": "s", "rol": "x"})),
        (DefinitionFile::Specialist, json!({"agent": {"title": "x"}})),
    ];
    for (file, value) in refused {
        assert!(!faults(file, &value).is_empty(), "{value}");
    }
}
