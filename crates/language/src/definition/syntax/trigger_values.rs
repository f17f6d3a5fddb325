//! Parameters of the runs that a trigger starts: fixed values and parts of the payload.

use super::{Decoder, Node};
use crate::definition::model::{Param, ParamType, PayloadPath, Trigger, TriggerSource, WHEN_NAMES};
use crate::expression::{Expression, Names, Root};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::JsonMap;

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
