//! What definitions are told about tools is what the tools say of themselves.

use kb::definition::{ApprovalLevel, Settings, known_tools};
use kb::process::{BaseEnvironment, Supervisor};
use kb::redaction::Redactor;
use kb::tool::{Approvals, Toolbox, ToolboxParts};
use kb::workspace::Workspace;
use std::collections::BTreeMap;
use std::sync::Arc;

#[tokio::test]
async fn the_table_of_tools_agrees_with_the_registry() {
    let dir = tempfile::tempdir().expect("a folder");
    let tools = Toolbox::new(ToolboxParts {
        workspace: Workspace::open(dir.path(), &[], &[]).expect("a workspace"),
        supervisor: Supervisor::new(BaseEnvironment::select(std::env::vars(), &[])),
        settings: Arc::new(Settings::default()),
        approvals: Approvals { yes: false },
        redactor: Arc::new(Redactor::default()),
        sandbox: ApprovalLevel::Process,
    });
    type Arguments = BTreeMap<String, bool>;
    let theirs: BTreeMap<String, (String, Arguments)> = tools
        .specs()
        .into_iter()
        .map(|spec| {
            let required: Vec<&str> = spec.input["required"]
                .as_array()
                .map(|names| names.iter().filter_map(|name| name.as_str()).collect())
                .unwrap_or_default();
            let properties = spec.input["properties"].as_object().expect("an object of arguments");
            let arguments =
                properties.keys().map(|name| (name.clone(), required.contains(&name.as_str())));
            (
                spec.name.to_owned(),
                (format!("{:?}", spec.level).to_lowercase(), arguments.collect()),
            )
        })
        .collect();
    let ours: BTreeMap<String, (String, Arguments)> = known_tools()
        .iter()
        .map(|tool| {
            let arguments = tool.arguments.iter().map(|a| (a.name.to_owned(), a.required));
            (tool.name.to_owned(), (tool.level.as_str().to_owned(), arguments.collect()))
        })
        .collect();
    assert_eq!(ours, theirs);
}
