//! `secrets`: where the value of each secret is stored.

use crate::definition::keys::KeyType::{self, Map, OneOf, Pattern};
use crate::definition::keys::{KeyRule, Named, keys};
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

keys! {
    /// The source of a secret.
    struct SourceKeys(): SECRET = ("secret", "a secret", rule KeyRule::ExactlyOne(&["command", "env", "file"])) {
        /// Name of an environment variable.
        env: Option<String> = "env", example("GITHUB_TOKEN");
        /// Path of a file.
        file: Option<String> = "file", example(".token"), names(Named::File);
        /// Program and arguments that print the value.
        command: Option<Vec<String>> = "command", example("[pass, show, github]");
    }
}

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
        let found = SourceKeys::of(&fields, decoder)?;
        if ["command", "env", "file"].iter().filter(|key| fields.get(key).is_some()).count() != 1 {
            let message = format!("the secret `{name}` needs exactly one source");
            let help = "write one of `command`, `env`, `file`";
            decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
            return None;
        }
        let command = found.command.filter(|argv| !argv.is_empty()).map(SecretSource::Command);
        let env = found.env.map(SecretSource::Env);
        return command.or(env).or(found.file.map(SecretSource::File));
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
