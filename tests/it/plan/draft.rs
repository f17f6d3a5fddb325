//! A playbook in lines: `ID: KIND; KEY VALUE; …`.
//!
//! Kinds: `set`, `run`, `json` (a `run` whose output is parsed), `http`, `gate EXPRESSION`,
//! `tool NAME`, `agent SPECIALIST`. Keys: `needs a b`, `if EXPRESSION`, `read TEMPLATE`,
//! `verify EXPRESSION`, `each TEMPLATE`, `join NAME`, `tolerated`, `finally`, `shared`, `exclusive`.
//! The line `outputs TEMPLATE` is the playbook's. Every span points into these lines.

use crate::simulate::{playbook, step};
use kb::definition::*;
use kb::diagnostic::{Diagnostic, SourceId, Sources, Span, render};
use kb::expression::{Expression, Names, Origin, Style, Template, ValueTemplate};
use kb::plan::Plan;
use kb::toolspec::built_in;
use kb::value::*;
use std::sync::Arc;

/// A draft that became a plan or did not.
pub(super) struct Draft {
    pub(super) plan: Option<Plan>,
    pub(super) problems: Vec<Diagnostic>,
    sources: Sources,
}

pub(super) fn draft(text: &str) -> Draft {
    let text: String = text.lines().map(|line| format!("{}\n", line.trim())).collect();
    let mut sources = Sources::default();
    let source = sources.add("draft.yml", text.as_str());
    let reader = Reader { text: &text, source, names: names(&text) };
    let (mut main, mut finally, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(value) = line.strip_prefix("outputs ") {
            outputs.push(("result".into(), reader.value(value)));
            continue;
        }
        let step = reader.step(line);
        match step.phase {
            StepPhase::Main => main.push(step),
            StepPhase::Finally => finally.push(step),
        }
    }
    let mut book = Arc::unwrap_or_clone(playbook(main, finally));
    book.outputs = outputs.into();
    let (plan, problems) = Plan::build(&Arc::new(book), &catalog());
    Draft { plan, problems, sources }
}

impl Draft {
    /// The plan, which must be there.
    #[track_caller]
    pub(super) fn sound(self) -> Plan {
        let told = self.told();
        self.plan.unwrap_or_else(|| panic!("no plan:\n{told}"))
    }

    /// Each problem as `CODE message`.
    pub(super) fn told(&self) -> String {
        let line = |problem: &Diagnostic| format!("{} {}", problem.code, problem.message);
        self.problems.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// All problems as people see them.
    pub(super) fn drawn(&self) -> String {
        let drawn = |problem| render(problem, &self.sources, false, None);
        self.problems.iter().map(drawn).collect::<Vec<_>>().join("\n\n")
    }
}

/// Problems of a draft, by code and message.
#[track_caller]
pub(super) fn check(text: &str, expected: &str) {
    assert_eq!(draft(text).told(), expected.trim(), "{text}");
}

fn names(text: &str) -> Names {
    let ids = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter_map(|(id, _)| StepId::new(id).ok());
    Names { steps: ids.collect(), item: Some("item".to_owned()), ..Names::default() }
}

struct Reader<'a> {
    text: &'a str,
    source: SourceId,
    names: Names,
}

impl Reader<'_> {
    /// Where a part of the text stands.
    fn span(&self, part: &str) -> Span {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        Span::new(self.source, start, start + part.len())
    }

    fn origin(&self, part: &str) -> Origin {
        let span = self.span(part);
        Origin { span, verbatim: Some(span.start) }
    }

    fn expression(&self, part: &str) -> Expression {
        Expression::parse(part, self.origin(part), &self.names, Style::Playbook).expect(part)
    }

    fn value(&self, part: &str) -> ValueTemplate {
        let template = Template::parse(part, self.origin(part), &self.names, Style::Playbook);
        ValueTemplate::Text(template.expect(part))
    }

    fn step(&self, line: &str) -> Step {
        let (id, rest) = line.split_once(':').expect(line);
        let mut parts = rest.split(';').map(str::trim);
        let mut step = step(id);
        step.span = self.span(id);
        step.kind = self.kind(parts.next().unwrap_or_default());
        parts.for_each(|part| self.key(&mut step, part));
        step
    }

    fn kind(&self, text: &str) -> StepKind {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        let run =
            |parse| StepKind::Run(RunStep { command: RunCommand::Shell("true".into()), parse });
        match kind {
            "set" => StepKind::Set(Box::default()),
            "run" => run(OutputParse::Text),
            "json" => run(OutputParse::Json),
            "gate" => StepKind::Gate([Check::Expr(self.expression(rest))].into()),
            "tool" => StepKind::Tool(Box::new(ToolStep { tool: built_in().entry(rest) })),
            "http" => StepKind::Http(Box::new(HttpStep {
                method: "GET".to_owned(),
                url: Template::literal("https://example.org"),
                headers: Vec::new(),
                query: Box::default(),
                body: None,
                expect: Vec::new(),
            })),
            "agent" => StepKind::Specialist(Box::new(SpecialistStep {
                by_capability: false,
                capability: None,
                specialist: SpecialistId::new(rest).unwrap(),
                span: self.span(rest),
                task: None,
                artifacts: Box::default(),
                session: true,
            })),
            other => panic!("no kind `{other}`"),
        }
    }

    fn key(&self, step: &mut Step, part: &str) {
        let (key, rest) = part.split_once(' ').unwrap_or((part, ""));
        match key {
            "needs" => {
                let on = rest.split(' ').map(|id| (StepId::new(id).unwrap(), self.span(id)));
                step.depends_on = on.collect();
            }
            "if" => step.condition = Some(self.expression(rest)),
            "read" => step.details_mut().input = Some(self.value(rest)),
            "verify" => {
                step.details_mut().verify =
                    Some(Box::new(verify(Check::Expr(self.expression(rest)))))
            }
            "each" => {
                step.for_each = Some(Box::new(ForEach {
                    items: kb::definition::ItemSource::Value(self.value(rest)),
                    name: "item".to_owned(),
                    key: None,
                    max_parallel: None,
                    on_item_error: OnItemError::Fail,
                    collect: None,
                }));
            }
            "join" => step.run_if = join(rest),
            "tolerated" => step.on_error = OnError::Continue,
            "finally" => step.phase = StepPhase::Finally,
            "shared" => step.details_mut().workspace = Some(WorkspaceMode::Shared),
            "exclusive" => step.details_mut().workspace = Some(WorkspaceMode::Exclusive),
            other => panic!("no key `{other}`"),
        }
    }
}

fn join(name: &str) -> RunIf {
    match name {
        "allSucceeded" => RunIf::AllSucceeded,
        "noneFailed" => RunIf::NoneFailed,
        "anySucceeded" => RunIf::AnySucceeded,
        "allDone" => RunIf::AllDone,
        other => panic!("no join `{other}`"),
    }
}

fn verify(check: Check) -> Verify {
    Verify {
        claims: ClaimPolicy::None,
        expect_changes: None,
        commentary: Vec::new(),
        checks: vec![check],
        on_failed: Some(FailurePolicy::Fail),
        on_inconclusive: None,
        on_unchecked: None,
        max_reworks: 0,
    }
}

/// `reader` and `writer`, and `vague`, which has no output schema.
fn catalog() -> Catalog {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "files": {"type": "array", "items": {"type": "string"}},
            "result": {"type": "string"},
            "stats": {"type": "object", "properties": {"lines": {"type": "integer"}}},
        },
    });
    let described = || Some(Schema::new(schema.clone()).expect("a right schema"));
    let all = [
        specialist("reader", &["fs:read"], described()),
        specialist("writer", &["fs:read", "fs:write"], described()),
        specialist("vague", &["fs:read"], None),
    ];
    let specialists = all.into_iter().map(|s| (s.id.clone(), Arc::new(s))).collect();
    Catalog { specialists, ..Catalog::default() }
}

fn specialist(id: &str, tools: &[&str], output_schema: Option<Schema>) -> Specialist {
    let (name, span) = (SpecialistId::new(id).unwrap(), Span::new(SourceId(0), 0, 0));
    let bare = Specialist::bare(name, span, &format!("{id}.yml"), Digest::of(id));
    let tools = tools.iter().map(|tool| built_in().entry(tool)).collect();
    Specialist { tools, output_schema, ..bare }
}
