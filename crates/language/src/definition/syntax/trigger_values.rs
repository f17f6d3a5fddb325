//! What all triggers have: a name, the parameters of the runs that they start, and which events count.

use super::{Decoder, Node, Unread};
use crate::definition::keys::KeyType::{
    Any, Expression as Condition, Integer, MapOf, Pattern, Text,
};
use crate::definition::keys::{KeySpec, choice, key, keys};
use crate::definition::model::{Param, ParamType, PayloadPath, Trigger, TriggerSource, WHEN_NAMES};
use crate::expression::{Expression, Names, Root};
use crate::schedule::Overlap;
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{DefinitionId, JsonMap};

keys! {
    /// What all kinds have.
    pub(super) struct CommonKeys() {
        /// Name of the trigger; needed if the playbook has several of a kind.
        name: Option<String> = "name" as Pattern(NAME_PATTERN) => name, default("the kind"), example("nightly");
        /// Parameters of the run with fixed values.
        _params: Unread = "params" as MapOf(&Any), example("{branch: main}");
        /// Number of failed runs in a row after which the trigger pauses itself.
        pause_after: Option<u32> = "pauseAfter" as Integer(1, 1000), default("never"), example("3");
    }
}

/// The form of the names of triggers and of the paths of webhooks.
pub(super) const NAME_PATTERN: &str = "^[a-z][a-z0-9_-]{0,63}$";

/// The key `overlap` with the default of one kind.
pub(super) const fn overlap_key(default: &'static str) -> KeySpec {
    key(
        "overlap",
        choice::<Overlap>(),
        "What happens to a start while a run that the trigger started has not ended.",
    )
    .default(default)
}

/// The key `when` of the kinds that react to events.
pub(super) const fn when_key(example: &'static str) -> KeySpec {
    key(
        "when",
        Condition,
        "Which events start a run: an expression over `payload`, and for a webhook `headers` (names in lower case).",
    )
    .default("all")
    .example(example)
}

/// The key `payload` with a path into the payload of one kind.
pub(super) const fn payload_key(example: &'static str) -> KeySpec {
    key("payload", MapOf(&Text), "Parameters of the run whose values are parts of the payload: a path such as `issue.number`, or a JSON Pointer.")
        .example(example)
}

fn name(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    named(node, key, "the name of a trigger", decoder)
}

/// A text with the form of an id.
pub(super) fn named(node: &Node, key: &str, what: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, key)?;
    if DefinitionId::new(text).is_err() {
        let help = "use a lower-case letter, then letters, digits, `_` and `-`".to_owned();
        decoder.bad_value(node.span, format!("`{text}` cannot be {what}"), help);
    }
    Some(text.to_owned())
}

/// Decodes `params:`: values of the right types for declared parameters.
pub(super) fn constants(node: &Node, params: &[Param], decoder: &mut Decoder) -> JsonMap {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "params", "a map from parameters to values");
        return JsonMap::new();
    };
    let mut values = JsonMap::new();
    for (key, value) in entries {
        let Some(param) = declared(&key.text, key.span, params, decoder) else { continue };
        let json = value.to_json();
        let subject = format!("the value of `{}`", param.name);
        if let Some((message, help)) = param.misfit(&subject, &json) {
            decoder.push(
                Diagnostic::error(Code::TRIGGER_PARAM, value.span, message)
                    .label(param.span, "declared here")
                    .help(help),
            );
        }
        values.insert(param.name.clone(), json);
    }
    values
}

/// Decodes `payload:`: paths for declared parameters, into the payload that the source gives.
pub(super) fn payload(
    node: &Node,
    source: Option<&TriggerSource>,
    params: &[Param],
    decoder: &mut Decoder,
) -> Vec<(String, PayloadPath)> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "payload", "a map from parameters to paths");
        return Vec::new();
    };
    let mut paths = Vec::new();
    for (key, value) in entries {
        let Some(param) = declared(&key.text, key.span, params, decoder) else { continue };
        if param.kind == ParamType::Secret {
            let message = format!("the secret `{}` cannot come from a payload", param.name);
            let help = "a payload could name any variable or file; write it below `params`";
            decoder.push(Diagnostic::error(Code::TRIGGER_PARAM, key.span, message).help(help));
            continue;
        }
        let Some(text) = decoder.text(value, "payload") else { continue };
        match PayloadPath::parse(text) {
            Some(path) => {
                check_path(&path, value.span, source, decoder);
                paths.push((param.name.clone(), path));
            }
            None => decoder.bad_value(
                value.span,
                format!("`{text}` is not a path into a payload"),
                "write names and indexes with dots, such as `commits.0.id`, or a JSON Pointer"
                    .to_owned(),
            ),
        }
    }
    paths
}

/// Decodes `when:`, an expression over the payload and the headers of an event.
pub(super) fn when(
    node: &Node,
    source: Option<&TriggerSource>,
    decoder: &mut Decoder,
) -> Option<Expression> {
    let has_headers = matches!(source, Some(TriggerSource::Webhook(_)) | None);
    let params = WHEN_NAMES.iter().filter(|name| has_headers || **name != "headers");
    let params = params.map(|name| (*name).to_owned()).collect();
    let names = Names { params, ..Names::default() };
    let of_playbook = std::mem::replace(&mut decoder.names, names);
    let expression = decoder.expression(node, "when");
    decoder.names = of_playbook;
    for reference in expression.iter().flat_map(Expression::references) {
        if let (Root::Param(name), Some(first)) = (&reference.root, reference.field())
            && **name == *"payload"
            && let Some(path) = PayloadPath::parse(first)
        {
            check_path(&path, reference.span, source, decoder);
        }
    }
    expression
}

/// A path that begins with a key that the payload of the source never has.
fn check_path(
    path: &PayloadPath,
    span: Span,
    source: Option<&TriggerSource>,
    decoder: &mut Decoder,
) {
    let Some(source) = source else { return };
    let (kind, keys, first) = (source.kind(), source.payload_keys(), path.first());
    if keys.is_empty() || keys.contains(&first.as_str()) {
        return;
    }
    let list = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let help = match (decoder.nearest(&first, keys.iter().copied()), source) {
        (Some(near), _) => format!("did you mean `{near}`? it has {list}"),
        (None, TriggerSource::Message { .. }) => {
            format!("it has {list}; a field of the message is `message.{first}`")
        }
        (None, TriggerSource::Run(_)) => {
            format!("it has {list}; an output of the run is `outputs.{first}`")
        }
        (None, _) => format!("it has {list}"),
    };
    let message = format!("the payload of a `{kind}` trigger has no `{first}`");
    decoder.push(Diagnostic::error(Code::TRIGGER_PARAM, span, message).help(help));
}

fn declared<'p>(
    name: &str,
    span: Span,
    params: &'p [Param],
    decoder: &mut Decoder,
) -> Option<&'p Param> {
    let found = params.iter().find(|param| param.name == name);
    if found.is_none() {
        let near = decoder.nearest(name, params.iter().map(|param| param.name.as_str()));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it: `params: [{{name: {name}}}]`"),
        };
        let message = format!("the playbook has no parameter `{name}`");
        decoder.push(Diagnostic::error(Code::TRIGGER_PARAM, span, message).help(help));
    }
    found
}

/// A run without a person cannot ask for a required parameter.
pub(super) fn require_values(trigger: &Trigger, params: &[Param], decoder: &mut Decoder) {
    for param in params.iter().filter(|param| param.required && param.default.is_none()) {
        let given = trigger.params.contains_key(&param.name)
            || trigger.payload.iter().any(|(name, _)| *name == param.name);
        if !given {
            let message =
                format!("the trigger gives the required parameter `{}` no value", param.name);
            decoder.push(
                Diagnostic::error(Code::TRIGGER_PARAM, trigger.span, message)
                    .label(param.span, "declared here")
                    .help(format!("add `params: {{{}: …}}` or `payload`", param.name)),
            );
        }
    }
}
