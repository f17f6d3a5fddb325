//! The generated reference of tools, `docs/reference/generated/tools.md`.

use crate::generated;
use kb::toolspec::{Text, ToolSpec, built_in};
use kb::value::Json;
use std::fmt::Write;

#[test]
fn the_reference_page_of_tools_is_up_to_date() {
    generated::file("docs/reference/generated/tools.md", &page());
}

#[test]
fn every_schema_in_the_table_of_tools_is_valid() {
    for tool in built_in().tools() {
        assert!(jsonschema::meta::is_valid(&tool.input), "{}", tool.name);
        assert!(jsonschema::meta::is_valid(&tool.output), "{}", tool.name);
    }
}

fn page() -> String {
    let mut page = String::from(
        "<!-- Generated from crates/language/src/toolspec/ by tests/it/tools/reference.rs. -->\n\n\
         | tool | level | reads files | writes files | network | processes | other names | groups in `tools.security` |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for tool in built_in().tools() {
        let yes = |value: bool| if value { "yes" } else { "" };
        let names = |names: &[Text]| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let groups = [tool.groups.clone(), tool.restricted_by.clone()].concat();
        let row = [
            format!("[`{0}`](#{1})", tool.name, tool.name.replace(':', "")),
            tool.level.as_str().to_owned(),
            yes(tool.reads_files).to_owned(),
            yes(tool.writes).to_owned(),
            yes(tool.network).to_owned(),
            yes(tool.runs_processes).to_owned(),
            names(&tool.aliases),
            names(&groups),
        ];
        writeln!(page, "| {} |", row.join(" | ")).unwrap();
    }
    built_in().tools().for_each(|tool| section(&mut page, tool));
    page
}

fn section(page: &mut String, tool: &ToolSpec) {
    let description = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    write!(page, "\n## `{}`\n\n{description}\n\n", tool.name).unwrap();
    let notes = [
        (tool.needs_approval(), "Requires approval unless the kernel sandbox is available."),
        (tool.always_allowed, "Needs no entry in an allow-list."),
        (tool.only_reads, "A call changes nothing and can be repeated."),
    ];
    for (_, note) in notes.iter().filter(|(applies, _)| *applies) {
        writeln!(page, "{note}").unwrap();
    }
    page.push_str("\n| argument | type | required | description |\n|---|---|---|---|\n");
    for name in tool.arguments() {
        let required = if tool.requires(name) { "yes" } else { "" };
        row(page, name, &tool.input["properties"][name], &[required]);
    }
    page.push_str("\n| result | type | description |\n|---|---|---|\n");
    for (name, schema) in tool.output["properties"].as_object().unwrap() {
        row(page, name, schema, &[]);
    }
}

fn row(page: &mut String, name: &str, schema: &Json, more: &[&str]) {
    let description = schema["description"].as_str().unwrap_or_default();
    let cells: Vec<&str> = more.iter().copied().chain([description]).collect();
    writeln!(page, "| `{name}` | {} | {} |", kind(schema), cells.join(" | ")).unwrap();
}

/// The type in a schema, with its range or values.
fn kind(schema: &Json) -> String {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |values: &[Json]| values.iter().map(text).collect::<Vec<_>>().join(", ");
    if let Some(values) = schema["enum"].as_array() {
        return format!("one of {}", list(values));
    }
    let kind = match &schema["type"] {
        Json::Null => "any value".to_owned(),
        Json::Array(types) => types.iter().map(text).collect::<Vec<_>>().join(" or "),
        single => text(single),
    };
    let of = schema["items"]["type"].as_str().map_or_else(String::new, |of| format!(" of {of}s"));
    let bound = |key: &str, what: &str| match schema[key].as_i64() {
        Some(bound) => format!(", {what} {bound}"),
        None => String::new(),
    };
    format!("{kind}{of}{}{}", bound("minimum", "at least"), bound("maximum", "at most"))
}
