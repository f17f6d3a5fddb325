//! Hints of `validate`: steps that will run in the sandbox and need what it lacks, as far as their text shows it.

use kb_base::diagnostic::{Code, Diagnostic};
use kb_core::verify::{SandboxNeed, sandbox_needs, sandbox_needs_of_script};
use kb_language::definition::{Check, NetworkAccess, RunCommand, StepKind};
use kb_language::expression::Template;
use kb_language::plan::{ConfinedAhead, Plan, PlanStep};
use std::collections::BTreeMap;

/// One hint for each step that needs something.
pub(super) fn sandbox_hints(plan: &Plan) -> Vec<Diagnostic> {
    let confined = plan.confined_ahead();
    let steps = plan.iter().filter(|(ix, _)| !confined[ix.at()].is_empty());
    steps.filter_map(|(ix, planned)| hint(plan, planned, &confined[ix.at()])).collect()
}

fn hint(plan: &Plan, planned: &PlanStep, causes: &[ConfinedAhead]) -> Option<Diagnostic> {
    let opening = plan.sandbox_of(planned).opening;
    let network = causes.iter().map(|cause| match cause {
        ConfinedAhead::Once(step) => network_of(plan, step.as_str()),
        _ => opening.network,
    });
    let has_network = network.into_iter().any(|network| network == NetworkAccess::Open);
    let mut missing: BTreeMap<SandboxNeed, String> = BTreeMap::new();
    for (need, words) in needs(planned) {
        let is_open = match need {
            SandboxNeed::Repository => opening.write.iter().any(|path| path == ".git"),
            SandboxNeed::Network => has_network,
            SandboxNeed::Service => false,
        };
        if !is_open {
            missing.entry(need).or_insert(words);
        }
    }
    let words: Vec<String> = missing.values().map(|words| format!("`{words}`")).collect();
    if words.is_empty() {
        return None;
    }
    let step = &planned.step;
    let why = ConfinedAhead::line(causes).unwrap_or_default();
    let message =
        format!("`{}` needs what the sandbox lacks: {} ({why})", step.id, words.join(", "));
    Some(Diagnostic::info(Code::SANDBOX_NEED, step.span, message).help(help(&missing)))
}

/// The line that opens it.
fn help(missing: &BTreeMap<SandboxNeed, String>) -> String {
    if missing.contains_key(&SandboxNeed::Service) {
        return "say `sandbox: never` in the step if it executes nothing of a specialist, or put an `approve` step before \
                it"
        .to_owned();
    }
    let keys: Vec<&str> = missing
        .keys()
        .map(|need| match need {
            SandboxNeed::Repository => "write: [.git]",
            SandboxNeed::Network | SandboxNeed::Service => "network: open",
        })
        .collect();
    let line = format!("`sandbox: {{{}}}` in the step opens it", keys.join(", "));
    match missing.get(&SandboxNeed::Repository).map(String::as_str) {
        Some("git add" | "git commit") => {
            format!("commit with `tool: git:commit`, which needs no access to `.git`; or {line}")
        }
        _ => line,
    }
}

/// The network of the commands after a step.
fn network_of(plan: &Plan, step: &str) -> NetworkAccess {
    let specialist = plan.find(step).and_then(|ix| plan.step(ix).specialist.as_ref());
    specialist.map_or(NetworkAccess::default(), |specialist| specialist.network)
}

/// What the commands that a step starts need, with a word for each placeholder.
fn needs(planned: &PlanStep) -> Vec<(SandboxNeed, String)> {
    let of_argv = |words: &[Template]| {
        let words = words.iter().map(|word| word.as_literal().unwrap_or("value").to_owned());
        sandbox_needs(&words.collect::<Vec<_>>())
    };
    let mut found = Vec::new();
    if let StepKind::Run(run) = &planned.step.kind {
        found.extend(match &run.command {
            RunCommand::Shell(text) => sandbox_needs_of_script(text),
            RunCommand::Argv(words) => of_argv(words),
        });
    }
    for check in planned.step.checks() {
        if let Check::Command(command) = check {
            found.extend(of_argv(&command.argv));
        }
    }
    found
}
