// Starts `kb lsp` for the definition files of a workspace that has a `.kb` folder.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("kb").get("path", "kb");
  const folders = ["playbooks", "workflows", "agents", "specialists", "tests"];
  const patterns = folders.flatMap((folder) => [`**/.kb/${folder}/**`, `**/${folder}/*.{yml,yaml,md}`]);
  const documentSelector = [...patterns, "**/.kb/kb.config.{yml,yaml,json}"].map((pattern) => ({
    scheme: "file",
    pattern,
  }));
  client = new LanguageClient("kb", "kb", { command, args: ["lsp"] }, { documentSelector });
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
