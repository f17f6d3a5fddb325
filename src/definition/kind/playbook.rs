//! `playbook:`: a child run of another playbook or workflow. The plan resolves the id.

use super::spec::Kind;
use crate::definition::model::{ChildParam, NotYet, PlaybookStep, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::diagnostic::{Code, Diagnostic};
use crate::value::DefinitionId;

pub(super) static PLAYBOOK: Kind = Kind {
    unused_input: Some("pass values in `with:`"),
    starts_process: |_| false,
    no_effect: &["retrySafe", "evidence"],
    ..Kind::new("playbook", decode)
};

fn decode(
    node: &Node,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    let playbook = playbook_id(node, decoder);
    let mut with = Vec::new();
    if let Some(map) = fields.get("with") {
        match map.as_map() {
            None => decoder.wrong_type(map, "with", "a map"),
            Some(entries) => {
                for (key, value) in entries {
                    let Some(template) = decoder.value_template(value, Secrets::Refused) else {
                        continue;
                    };
                    with.push(ChildParam {
                        name: key.text.to_string(),
                        name_span: key.span,
                        value: template,
                        value_span: value.span,
                    });
                }
            }
        }
    }
    let step = PlaybookStep { playbook: playbook?, span: node.span, with };
    Some(StepKind::Playbook(Box::new(step)))
}

/// Decodes the id of the child, which is literal.
fn playbook_id(node: &Node, decoder: &mut Decoder) -> Option<DefinitionId> {
    let text = decoder.text(node, "playbook")?;
    if text.contains("{{") || text.contains("<<") {
        let message = "`playbook` cannot be a placeholder";
        decoder.push(
            Diagnostic::error(Code::VALUE_AS_CODE, node.span, message)
                .help("write the id literally; to choose, use two steps with a `condition` each"),
        );
        return None;
    }
    match DefinitionId::new(text) {
        Ok(id) => Some(id),
        Err(error) => {
            let message = format!("`{text}` cannot be the id of a playbook");
            let help = format!("use {}", error.expected);
            decoder.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
            None
        }
    }
}
