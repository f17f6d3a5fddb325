//! `set:`: values computed from expressions.

use super::execution::{Compute, Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{Any, MapOf};
use crate::definition::keys::{KeySpec, key};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{EvalError, Reference, Scope, ValueMap};
use kb_base::value::Json;

impl StepType for ValueMap {
    const KEYS: &'static [KeySpec] =
        &[key("set", MapOf(&Any), "Values to compute; the output is the map.")
            .example("{count: \"{{files | length}}\"}")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules {
        starts_process: |_| false,
        no_effect: &["retrySafe", "evidence"],
        has_own_files: false,
        no_effect_without_verify: &["workspace", "merge"],
        ..KindRules::PROCESS
    };

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<ValueMap> {
        Some(decoder.value_map(node, "set", Secrets::Refused))
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Compute(self)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        self.iter().map(|(_, value)| value.references()).collect()
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::Keys(self.iter().map(|(key, _)| &**key).collect())
    }

    fn worker(&self) -> String {
        String::new()
    }

    fn detail(&self) -> String {
        let names: Vec<&str> = self.iter().map(|(name, _)| &**name).collect();
        names.join(", ")
    }
}

impl Compute for ValueMap {
    fn compute(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        let values =
            self.iter().map(|(name, value)| Ok((name.to_string(), value.evaluate(scope)?)));
        values.collect::<Result<_, EvalError>>().map(Json::Object)
    }
}
