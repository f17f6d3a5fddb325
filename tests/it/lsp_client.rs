//! `kb lsp` with the client library of VS Code's protocol, in Node (`scripts/lsp-client`).
//!
//! The library is installed in `target/lsp-client`: `npm install --prefix target/lsp-client
//! vscode-languageserver-protocol@3`. Without it, or without Node, the test says that it is left out;
//! `KB_LSP_CLIENT=required` makes that a failure.

use crate::running::Start;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn an_editor_gets_problems_completion_hover_definitions_rename_and_fixes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let modules = root.join("target/lsp-client/node_modules");
    let has_node = Command::new("node").arg("--version").finish_if_found().is_some();
    if !has_node || !modules.join("vscode-languageserver-protocol").is_dir() {
        let required = std::env::var("KB_LSP_CLIENT").is_ok_and(|value| value == "required");
        assert!(!required, "Node and `{}` are required", modules.display());
        println!("left out: Node or `{}` is missing", modules.display());
        return;
    }
    let output = Command::new("node")
        .arg(root.join("scripts/lsp-client"))
        .args(["--kb", env!("CARGO_BIN_EXE_kb"), "--steps", "200", "--changes", "50"])
        .finish();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let found: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{errors}"));
    assert_eq!(found["passed"], true, "{found:#}");
    assert!(found["checks"].as_array().is_some_and(|checks| checks.len() >= 15), "{found:#}");
    // All steps but the one whose `dependsOn` is completed.
    assert_eq!(found["figures"]["items"], 199, "{found:#}");
}
