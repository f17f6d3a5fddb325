//! `secrets`: where the value of each secret is stored.

use crate::definition::keys::KeyType::{self, ListOrOne, Map, OneOf, Pattern, Text};
use crate::definition::keys::{KeyRule, KeySpec, KeyTable, key, table};
use crate::definition::syntax::environment::is_variable;
use crate::definition::syntax::{Decoder, Node};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

/// The source of a secret's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:NAME`: an environment variable.
    Env(String),
    /// `file:PATH`: the content of a file.
    File(String),
    /// `command: [argv]`: the output of a command.
    Command(Vec<String>),
}

/// A source in one word, or as a map.
pub(super) const SECRET_VALUE: KeyType =
    OneOf(const { &[Pattern("^(env|file):.+"), Map(&SECRET)] });

static SECRET: KeyTable = table("secret", "a secret", "The source of a secret.", &[SECRET_KEYS])
    .rule(KeyRule::ExactlyOne(&["command", "env", "file"]));

const SECRET_KEYS: &[KeySpec] = &[
    key("env", Text, "Name of an environment variable.").example("GITHUB_TOKEN"),
    key("file", Text, "Path of a file.").example(".token"),
    key("command", ListOrOne(&Text), "Program and arguments that print the value.")
        .example("[pass, show, github]"),
];

/// Decodes `secrets:` of the settings.
pub(super) fn secrets(node: &Node, decoder: &mut Decoder) -> BTreeMap<String, SecretSource> {
    let mut found = BTreeMap::new();
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(
            node,
            "secrets",
            "a map from names to `env:NAME`, `file:PATH` or `{command: [...]}`",
        );
        return found;
    };
    for (key, node) in entries {
        if !is_variable(&key.text) {
            let message = format!("`{}` cannot be the name of a secret", key.text);
            let help = "use a letter or `_`, then letters, digits and `_`";
            decoder.push(Diagnostic::error(Code::BAD_ID, key.span, message).help(help));
            continue;
        }
        if let Some(source) = secret(node, &key.text, decoder) {
            found.insert(key.text.to_string(), source);
        }
    }
    found
}

fn secret(node: &Node, name: &str, decoder: &mut Decoder) -> Option<SecretSource> {
    if node.as_map().is_some() {
        let fields = decoder.fields(node, &SECRET)?;
        let one = |key: &str| fields.get(key);
        return match (one("command"), one("env"), one("file")) {
            (Some(node), None, None) => Some(SecretSource::Command(decoder.texts(node, "command")))
                .filter(|source| *source != SecretSource::Command(Vec::new())),
            (None, Some(node), None) => {
                decoder.text(node, "env").map(|t| SecretSource::Env(t.to_owned()))
            }
            (None, None, Some(node)) => {
                decoder.text(node, "file").map(|t| SecretSource::File(t.to_owned()))
            }
            _ => {
                let message = format!("the secret `{name}` needs exactly one source");
                let help = "write one of `command`, `env`, `file`";
                decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
                None
            }
        };
    }
    let text = decoder.text(node, name)?;
    let source = match text.split_once(':') {
        Some(("env", variable)) if is_variable(variable) => {
            Some(SecretSource::Env(variable.to_owned()))
        }
        Some(("file", path)) if !path.is_empty() => Some(SecretSource::File(path.to_owned())),
        _ => None,
    };
    if source.is_none() {
        // The text may be the secret itself, so the message does not quote it.
        let message = format!("the secret `{name}` is not a reference");
        let help = "write `env:NAME`, `file:PATH` or `{command: [...]}`; never the value itself";
        decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
    }
    source
}
