//! Plans built in code.

use kb::definition::*;
use kb::diagnostic::{SourceId, Span};
use kb::expression::{Expression, Names, Origin, Style};
use kb::plan::Plan;
use kb::value::*;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) const SPAN: Span = Span { source: SourceId(0), start: 0, end: 0 };

pub(crate) fn step(id: &str) -> Step {
    Step {
        id: StepId::new(id).unwrap(),
        kind: StepKind::Set(Box::default()),
        phase: StepPhase::Main,
        depends_on: Box::default(),
        condition: None,
        run_if: RunIf::AllSucceeded,
        on_error: OnError::Fail,
        for_each: None,
        details: None,
        span: SPAN,
    }
}

pub(crate) fn playbook(steps: Vec<Step>, finally: Vec<Step>) -> Arc<Playbook> {
    Arc::new(Playbook {
        id: DefinitionId::new("simulated").unwrap(),
        form: DefinitionForm::Playbook,
        name: "simulated".into(),
        description: None,
        version: None,
        triggers: Vec::new(),
        params: Vec::new(),
        on: Vec::new(),
        script: None,
        steps: steps.into_iter().map(Arc::new).collect(),
        finally: finally.into_iter().map(Arc::new).collect(),
        concurrency: None,
        requires: Box::default(),
        outputs: Box::default(),
        env: Vec::new(),
        limits: Limits::default(),
        budget: Budget::default(),
        order: Order::Graph,
        span: SPAN,
        path: "simulated.yml".into(),
        digest: Digest::of("simulated"),
        not_yet: Vec::new(),
    })
}

pub(crate) fn plan(playbook: Arc<Playbook>) -> Plan {
    let (plan, problems) = Plan::build(&playbook, &Catalog::default());
    plan.unwrap_or_else(|| panic!("{problems:?}"))
}

pub(super) fn condition(source: &str, steps: &BTreeSet<StepId>) -> Expression {
    let names = Names { steps: steps.clone(), ..Names::default() };
    let origin = Origin { span: SPAN, verbatim: None };
    Expression::parse(source, origin, &names, Style::Playbook).unwrap()
}

/// One specialist that only reads, and one that holds the workspace.
pub(super) mod specialists {
    use super::SPAN;
    use kb::definition::*;
    use kb::value::*;
    use std::sync::Arc;

    pub(in super::super) fn kind(id: &str) -> StepKind {
        StepKind::Specialist(Box::new(SpecialistStep {
            by_capability: false,
            capability: None,
            specialist: SpecialistId::new(id).unwrap(),
            span: SPAN,
            task: None,
            artifacts: Box::default(),
            session: true,
        }))
    }

    pub(in super::super) fn catalog() -> Catalog {
        let made = [("reader", "fs:read"), ("writer", "fs:write")].map(|(id, tool)| {
            let specialist = specialist(id, tool);
            (specialist.id.clone(), Arc::new(specialist))
        });
        let mut child = (*super::playbook(vec![super::step("only")], Vec::new())).clone();
        child.id = DefinitionId::new("child").unwrap();
        let playbooks = [(child.id.clone(), Arc::new(child))].into();
        Catalog { specialists: made.into_iter().collect(), playbooks, ..Catalog::default() }
    }

    fn specialist(id: &str, tool: &str) -> Specialist {
        let name = SpecialistId::new(id).unwrap();
        let bare = Specialist::bare(name, SPAN, &format!("{id}.yml"), Digest::of(id));
        Specialist { tools: vec![kb::toolspec::built_in().entry(tool)], ..bare }
    }
}
