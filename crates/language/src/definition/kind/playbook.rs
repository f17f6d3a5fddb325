//! `playbook:`: a child run of another playbook or workflow. The plan resolves the id.

use super::execution::{Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{Any, MapOf, Scalar, Text};
use crate::definition::keys::{KeySpec, Named, key, keys};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, ValueTemplate};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::DefinitionId;

/// `playbook:`: a child run and its parameters.
#[derive(Debug, Clone)]
pub struct PlaybookStep {
    /// Id of the playbook or workflow; resolved when the plan is built.
    pub playbook: DefinitionId,
    /// Position of the id.
    pub span: Span,
    /// `with:`: values of its parameters, in the order of the file.
    pub with: Vec<ChildParam>,
    /// `version:`, with its position.
    pub version: Option<(String, Span)>,
}

/// One entry of `with:`.
#[derive(Debug, Clone)]
pub struct ChildParam {
    /// Name of the parameter.
    pub name: String,
    /// Position of the name.
    pub name_span: Span,
    /// Value of the parameter.
    pub value: ValueTemplate,
    /// Position of the value.
    pub value_span: Span,
}

keys! {
    /// The keys that only `playbook` steps have.
    struct OwnKeys() {
        /// Parameters of the child run.
        with: Vec<ChildParam> = "with" as MapOf(&Any) => with, only(&["playbook"]), example("{env: prod}");
        /// The version that the child must have, or `sha256:` and the digest of its file.
        version: Option<(String, Span)> = "version" as Scalar => version, only(&["playbook"]), example("\"1.2\"");
    }
}

impl StepType for Box<PlaybookStep> {
    const KEYS: &'static [KeySpec] =
        &[key("playbook", Text, "Id of a playbook that runs as a child run.")
            .names(Named::Playbook)
            .example("deploy")];
    const OWN_KEYS: &'static [KeySpec] = OwnKeys::KEYS;
    const RULES: KindRules = KindRules {
        unused_input: Some("pass values in `with:`"),
        starts_process: |_| false,
        no_effect: &["retrySafe"],
        ..KindRules::PROCESS
    };

    fn decode(
        node: &Node,
        fields: &Fields<'_>,
        decoder: &mut Decoder,
    ) -> Option<Box<PlaybookStep>> {
        let playbook = playbook_id(node, decoder);
        let OwnKeys { with, version } = OwnKeys::part(fields, decoder)?;
        Some(Box::new(PlaybookStep { playbook: playbook?, span: node.span, with, version }))
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Child(&self.playbook)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        self.with.iter().map(|given| given.value.references()).collect()
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::OfChild
    }

    fn worker(&self) -> String {
        self.playbook.to_string()
    }
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

fn with(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<ChildParam> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, key, "a map");
        return Vec::new();
    };
    let given = entries.iter().filter_map(|(key, value)| {
        Some(ChildParam {
            name: key.text.to_string(),
            name_span: key.span,
            value: decoder.value_template(value, Secrets::Refused)?,
            value_span: value.span,
        })
    });
    given.collect()
}

fn version(node: &Node, key: &str, decoder: &mut Decoder) -> Option<(String, Span)> {
    Some((decoder.scalar(node, key)?.to_owned(), node.span))
}
