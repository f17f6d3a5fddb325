use crate::definition::KnownTool;
use crate::definition::syntax::{Decoder, Node};
use crate::diagnostic::{Code, Diagnostic, Span, nearest};

/// A direct tool call gives what the tool takes, and nothing that would become code.
pub(crate) fn check(tool: &KnownTool, span: Span, input: Option<&Node>, decoder: &mut Decoder) {
    let entries = match input.map(|node| (node.as_map(), node)) {
        Some((Some(entries), _)) => entries,
        // A single placeholder may hold the whole map; it is checked when it is known.
        Some((None, _)) => return,
        None => &[],
    };
    for (key, _) in entries {
        if !tool.arguments.iter().any(|argument| argument.name == key.text) {
            let names: Vec<&str> = tool.arguments.iter().map(|argument| argument.name).collect();
            let help = match nearest(&key.text, names.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("`{}` takes {}", tool.name, names.join(", ")),
            };
            let message = format!("`{}` does not take `{}`", tool.name, key.text);
            decoder.push(Diagnostic::error(Code::UNKNOWN_KEY, key.span, message).help(help));
        }
    }
    for argument in tool.arguments.iter().filter(|argument| argument.required) {
        if !entries.iter().any(|(key, _)| key.text == argument.name) {
            let message = format!("`{}` needs `{}`", tool.name, argument.name);
            decoder.push(
                Diagnostic::error(Code::MISSING_KEY, span, message)
                    .help(format!("add `input: {{{}: …}}`", argument.name)),
            );
        }
    }
    if tool.name == "shell:exec" {
        shell(span, input, decoder);
    }
}

/// `shell:exec` of a `tool:` step: as strict as `run:`.
fn shell(span: Span, input: Option<&Node>, decoder: &mut Decoder) {
    let get = |key: &str| input.and_then(|node| node.get(key));
    match (get("command"), get("argv")) {
        (Some(command), None) => {
            if let Some(text) = command.as_text() {
                super::shell_text::check(text, command, decoder);
            }
        }
        (None, Some(argv)) => {
            let nodes = argv.as_seq().unwrap_or_default();
            let words: Vec<_> = nodes
                .iter()
                .filter_map(|node| {
                    let secrets = crate::definition::syntax::Secrets::Allowed;
                    decoder.word_template(node, "argv", secrets)
                })
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
