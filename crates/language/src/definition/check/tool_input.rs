//! Static rule for the `input` of a `tool` step.

use crate::definition::syntax::{Decoder, Node, Secrets};
use crate::toolspec::{InputCheck, ToolSpec};
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};

/// Checks the `input` of a `tool` step against the arguments of the tool, and that no value becomes
/// code.
pub(crate) fn check(tool: &ToolSpec, span: Span, input: Option<&Node>, decoder: &mut Decoder) {
    let entries = match input.map(|node| (node.as_map(), node)) {
        Some((Some(entries), _)) => entries,
        // One placeholder can provide the whole map; it is checked when the step runs.
        Some((None, node)) => {
            if tool.input_check == InputCheck::Command {
                refuse_placeholder("input", node, decoder);
            }
            return;
        }
        None => &[],
    };
    for (key, _) in entries.iter().filter(|_| tool.is_closed()) {
        if !tool.arguments().any(|argument| key.text == argument) {
            let names: Vec<&str> = tool.arguments().collect();
            let help = match nearest(&key.text, names.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("`{}` takes {}", tool.name, names.join(", ")),
            };
            let message = format!("`{}` does not take `{}`", tool.name, key.text);
            decoder.push(Diagnostic::error(Code::UNKNOWN_KEY, key.span, message).help(help));
        }
    }
    for argument in tool.arguments().filter(|argument| tool.requires(argument)) {
        if !entries.iter().any(|(key, _)| key.text == argument) {
            let message = format!("`{}` needs `{}`", tool.name, argument);
            decoder.push(
                Diagnostic::error(Code::MISSING_KEY, span, message)
                    .help(format!("add `input: {{{argument}: …}}`")),
            );
        }
    }
    let get = |key: &str| input.and_then(|node| node.get(key));
    match tool.input_check {
        InputCheck::Command => shell(span, input, decoder),
        InputCheck::Url => {
            if let Some(node) = get("url") {
                address(node, decoder);
            }
        }
        InputCheck::Arguments => {}
    }
}

/// Checks the `url` of `http:request` like that of an `http` step.
fn address(node: &Node, decoder: &mut Decoder) {
    let Some(template) = decoder.template(node, "url", Secrets::Allowed) else { return };
    let text = template.as_literal().or(node.as_text()).unwrap_or_default();
    super::url::check(text, template.as_literal().is_some(), node, decoder);
}

/// Refuses a placeholder where the command of `shell:exec` stands: its value would choose the program.
fn refuse_placeholder(key: &str, node: &Node, decoder: &mut Decoder) {
    if node.as_text().is_none() {
        return;
    }
    let message = format!("`{key}` of `shell:exec` cannot be a placeholder");
    let help =
        "write the command: `input: {argv: [program, \"{{value}}\"]}`; values may be arguments";
    let found = Diagnostic::error(Code::VALUE_AS_CODE, node.span, message);
    decoder.push(found.caption("a value would become the program").help(help));
}

/// Checks `shell:exec` like a `run` step.
fn shell(span: Span, input: Option<&Node>, decoder: &mut Decoder) {
    let get = |key: &str| input.and_then(|node| node.get(key));
    match (get("command"), get("argv")) {
        (Some(command), None) => {
            if let Some(text) = command.as_text() {
                super::shell_text::check(text, command, decoder);
            }
        }
        (None, Some(argv)) => {
            refuse_placeholder("argv", argv, decoder);
            let nodes = argv.as_seq().unwrap_or_default();
            let words: Vec<_> = nodes
                .iter()
                .filter_map(|node| decoder.scalar_template(node, "argv", Secrets::Allowed))
                .collect();
            if words.len() == nodes.len() {
                super::argv::check(&words, nodes, decoder);
            }
        }
        (found, _) => {
            let message = match found {
                Some(_) => "`shell:exec` takes `command` or `argv`, not both",
                None => "`shell:exec` needs `command` or `argv`",
            };
            decoder.push(
                Diagnostic::error(Code::MISSING_KEY, span, message)
                    .help("write `input: {command: make}` or `input: {argv: [make, all]}`"),
            );
        }
    }
}
