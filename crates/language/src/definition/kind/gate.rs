//! `gate:`: checks without other work.

use super::execution::{Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::gate_check::{CHECK, Check, checks};
use crate::definition::keys::KeyType::{List, Map};
use crate::definition::keys::{KeySpec, key};
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;

impl StepType for Box<[Check]> {
    const KEYS: &'static [KeySpec] =
        &[key("gate", List(const { &Map(&CHECK) }), "Checks; the step has no other work.")
            .example("[{file: out.txt}]")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules {
        excluded: &[("output", "remove it; the output of a `gate` step has a fixed form")],
        no_effect: &["retrySafe", "evidence"],
        has_own_files: false,
        ..KindRules::PROCESS
    };

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Box<[Check]>> {
        Some(checks(node, "gate", decoder).into())
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Gate(self)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        self.iter().flat_map(|check| check.references()).collect()
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::Keys(vec!["verdict", "checks"])
    }

    fn worker(&self) -> String {
        String::new()
    }

    fn detail(&self) -> String {
        let names: Vec<&str> = self.iter().map(Check::name).collect();
        names.join(", ")
    }
}
