//! What is known about the output of a step before it runs.

use crate::definition::{OutputForm, Playbook, Schema, Specialist, Step};
use kb_base::value::Json;
use serde_json::json;
use std::sync::Arc;

/// What is known about the output of a step before it runs.
pub(super) enum Output<'a> {
    /// It satisfies a schema. Specialists add a `summary`.
    Schema { schema: &'a Schema, summary: bool },
    /// An object with these keys.
    Keys(Vec<&'a str>),
    /// A string, which has no keys.
    Text,
    /// The output of a specialist without a schema.
    Undescribed,
    /// Any value; its keys are not known before the run.
    Open,
}

impl<'a> Output<'a> {
    /// The output of the step, or of one of its items. `child` is the playbook of a child run.
    pub(super) fn of(
        step: &'a Step,
        specialist: Option<&'a Arc<Specialist>>,
        child: Option<&'a Playbook>,
    ) -> Output<'a> {
        let own = step.details().output_schema.as_ref();
        match (step.kind.output(), own) {
            (OutputForm::OfSpecialist, own) => of_specialist(own, specialist),
            (_, Some(schema)) => Output::Schema { schema, summary: false },
            (OutputForm::OfChild, None) => of_child(child),
            (OutputForm::Keys(keys), None) => Output::Keys(keys),
            (OutputForm::Text, None) => Output::Text,
            (OutputForm::Any, None) => Output::Open,
        }
    }
}

/// A JSON Schema of what is known about the output of a step, or of one of its items, before it runs. `child` is the
/// playbook of a child run.
pub fn known_output(
    step: &Step,
    specialist: Option<&Arc<Specialist>>,
    child: Option<&Playbook>,
) -> Json {
    let with = |schema: Json, keys: &[&str]| {
        let mut schema = if schema.is_object() { schema } else { json!({}) };
        for key in keys {
            if schema["properties"].get(*key).is_none() {
                schema["properties"][*key] = json!({});
            }
        }
        schema
    };
    match Output::of(step, specialist, child) {
        Output::Schema { schema, summary: true } => with(schema.json().clone(), &["summary"]),
        Output::Schema { schema, summary: false } => schema.json().clone(),
        Output::Keys(keys) => with(json!({}), &keys),
        Output::Undescribed => with(json!({}), &["summary"]),
        Output::Text | Output::Open => json!({}),
    }
}

fn of_specialist<'a>(
    own: Option<&'a Schema>,
    specialist: Option<&'a Arc<Specialist>>,
) -> Output<'a> {
    let declared = specialist.and_then(|specialist| specialist.output_schema.as_ref());
    match (own.or(declared), specialist) {
        (Some(schema), _) => Output::Schema { schema, summary: true },
        (None, Some(_)) => Output::Undescribed,
        // A specialist that cannot be loaded is reported elsewhere.
        (None, None) => Output::Open,
    }
}

/// The output of a child run has exactly the outputs of its playbook.
fn of_child(child: Option<&Playbook>) -> Output<'_> {
    // A child that cannot be used is reported elsewhere.
    let Some(child) = child else { return Output::Open };
    Output::Keys(child.outputs.iter().map(|(key, _)| &**key).collect())
}
