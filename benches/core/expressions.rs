//! Time of parsing and evaluating expressions and templates.

use divan::{Bencher, black_box};
use kb::diagnostic::{SourceId, Span};
use kb::expression::{Expression, Names, Origin, Root, Scope, Style, Template};
use kb::value::{Json, StepId};
use serde_json::json;
use std::sync::Arc;

const CONDITIONS: [&str; 3] = [
    "{{test.output}}",
    "{{test.output.testResult}} == 'failed'",
    "test.output.count > 3 and 'a' in test.output.names",
];
const TEMPLATES: [&str; 3] = [
    "{{test.output.names}}",
    "Fix {{test.output.testResult}} in {{feature}}, please",
    "{{ test.output.names | join(', ') }}",
];

/// One step and one parameter.
struct World(Arc<Json>);

impl World {
    fn new() -> Self {
        World(Arc::new(json!({"testResult": "failed", "count": 4, "names": ["a", "b", "c"]})))
    }
}

impl Scope for World {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        match (root, field) {
            (Root::Step(_), Some("output")) => Some(self.0.clone()),
            (Root::Param(_), None) => Some(Arc::new(json!("the parser"))),
            _ => None,
        }
    }
}

fn names() -> Names {
    let (steps, params) =
        ([StepId::new("test").expect("an id")].into(), [String::from("feature")].into());
    Names { steps, params, ..Names::default() }
}

fn origin() -> Origin {
    Origin { span: Span::new(SourceId(0), 0, 0), verbatim: None }
}

fn condition(source: &str, names: &Names) -> Expression {
    Expression::parse(source, origin(), names, Style::Playbook).expect("it is well formed")
}

fn template(source: &str, names: &Names) -> Template {
    Template::parse(source, origin(), names, Style::Playbook).expect("it is well formed")
}

#[divan::bench(args = CONDITIONS)]
fn parse_condition(bencher: Bencher, source: &str) {
    let names = names();
    bencher.bench(|| condition(black_box(source), &names));
}

#[divan::bench(args = CONDITIONS)]
fn evaluate_condition(bencher: Bencher, source: &str) {
    let (condition, world) = (condition(source, &names()), World::new());
    bencher.bench(|| condition.truth(black_box(&world)));
}

#[divan::bench(args = TEMPLATES)]
fn parse_template(bencher: Bencher, source: &str) {
    let names = names();
    bencher.bench(|| template(black_box(source), &names));
}

#[divan::bench(args = TEMPLATES)]
fn evaluate_template(bencher: Bencher, source: &str) {
    let (template, world) = (template(source, &names()), World::new());
    bencher.bench(|| template.evaluate(black_box(&world)));
}
