//! Hints of `validate`: steps that will run in the sandbox and need what it lacks, as far as their text shows it.

use super::project::Project;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Json;
use kb_core::verify::{SandboxNeed, commands_of, sandbox_needs};
use kb_host::tool::{ProcessLauncher, lacked_paths, missing_paths};
use kb_language::definition::{Check, NetworkAccess, RunCommand, SandboxOpening, StepKind};
use kb_language::expression::{Template, ValueTemplate};
use kb_language::plan::{ConfinedAhead, ConfinedStep, Plan, PlanStep};
use std::collections::BTreeMap;

/// One hint for each step that needs something, and one for each that opens what does not exist; also for the steps of
/// child runs.
pub(super) fn sandbox_hints(project: &Project, plan: &Plan) -> Vec<Diagnostic> {
    let steps = plan.confined_steps().into_iter();
    let mut steps = steps.flat_map(|found| found.own.into_iter().chain(found.children)).peekable();
    if steps.peek().is_none() {
        return Vec::new();
    }
    let processes = project.context.processes(&project.catalog.settings).ok();
    let hints = steps.flat_map(|step| {
        let opening = step.plan.sandbox_of(step.planned()).opening;
        let step = Confined { step, opening: &opening, processes: processes.as_ref() };
        [step.unopened(), step.hint()]
    });
    hints.flatten().collect()
}

/// A step whose commands will run in the sandbox.
struct Confined<'a> {
    step: ConfinedStep<'a>,
    opening: &'a SandboxOpening,
    processes: Option<&'a ProcessLauncher>,
}

impl Confined<'_> {
    /// The hint for paths to open that do not exist.
    fn unopened(&self) -> Option<Diagnostic> {
        let named = self.opening.read.iter().chain(&self.opening.write);
        let missing = missing_paths(self.processes?, named);
        let path = missing.first()?;
        let name = &self.step.path;
        let message = format!("`{name}` opens `{path}`, which does not exist: nothing is opened");
        let help = "create it before the run, or name a path that exists";
        let span = self.step.planned().step.span;
        Some(Diagnostic::info(Code::SANDBOX_NEED, span, message).help(help))
    }

    fn hint(&self) -> Option<Diagnostic> {
        let (planned, opening) = (self.step.planned(), self.opening);
        let has_network = self.step.network == NetworkAccess::Open;
        let mut missing: BTreeMap<SandboxNeed, String> = BTreeMap::new();
        let commands = commands(planned);
        for (need, words) in commands.iter().flat_map(|argv| sandbox_needs(argv)) {
            let is_open = match need {
                SandboxNeed::Repository => opening.write.iter().any(|path| path == ".git"),
                SandboxNeed::Network => has_network,
                SandboxNeed::Service => false,
            };
            if !is_open {
                missing.entry(need).or_insert(words);
            }
        }
        let lacked = self.processes.map(|processes| lacked_paths(processes, opening, &commands));
        let (paths, keys) = lacked.unwrap_or_default();
        let words = missing.values().chain(&paths).map(|words| format!("`{words}`"));
        let mut words: Vec<String> = words.collect();
        words.dedup();
        if words.is_empty() {
            return None;
        }
        let why = ConfinedAhead::line(&self.step.causes).unwrap_or_default();
        let (name, words) = (&self.step.path, words.join(", "));
        let message = format!("`{name}` needs what the sandbox lacks: {words} ({why})");
        let found = Diagnostic::info(Code::SANDBOX_NEED, planned.step.span, message);
        Some(found.help(help(&missing, keys)))
    }
}

/// The line that opens it.
fn help(missing: &BTreeMap<SandboxNeed, String>, paths: Vec<String>) -> String {
    if missing.contains_key(&SandboxNeed::Service) {
        return "say `sandbox: never` in the step if it executes nothing of a specialist, or put an `approve` step before \
                it"
        .to_owned();
    }
    let keys = missing.keys().map(|need| match need {
        SandboxNeed::Repository => "write: [.git]".to_owned(),
        SandboxNeed::Network | SandboxNeed::Service => "network: open".to_owned(),
    });
    let keys: Vec<String> = keys.chain(paths).collect();
    let line = format!("`sandbox: {{{}}}` in the step opens it", keys.join(", "));
    match missing.get(&SandboxNeed::Repository).map(String::as_str) {
        Some("git add" | "git commit") => {
            format!("commit with `tool: git:commit`, which needs no access to `.git`; or {line}")
        }
        _ => line,
    }
}

/// The commands that a step starts, with a word for each placeholder.
fn commands(planned: &PlanStep) -> Vec<Vec<String>> {
    let word = |word: &Template| word.as_literal().unwrap_or("value").to_owned();
    let words = |words: &[Template]| words.iter().map(word).collect::<Vec<String>>();
    let mut started = Vec::new();
    if let StepKind::Run(run) = &planned.step.kind {
        started.push(match &run.command {
            RunCommand::Shell(text) => vec![text.to_string()],
            RunCommand::Argv(argv) => words(argv),
        });
    }
    if let StepKind::Tool(tool) = &planned.step.kind
        && tool.tool.runs_processes
    {
        let input = planned.step.details().input.as_ref().map(without_placeholders);
        let input = input.unwrap_or_default();
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let argv = input["argv"].as_array().map(|argv| argv.iter().filter_map(text).collect());
        let script = text(&input["command"]).map(|text| vec![text]);
        started.extend(argv.into_iter().chain(script));
    }
    for check in planned.step.checks() {
        if let Check::Command(command) = check {
            started.push(words(&command.argv));
        }
    }
    started.iter().flat_map(|argv| commands_of(argv)).collect()
}

fn without_placeholders(value: &ValueTemplate) -> Json {
    match value {
        ValueTemplate::Literal(json) => (**json).clone(),
        ValueTemplate::Text(text) => Json::from(text.as_literal().unwrap_or("value")),
        ValueTemplate::List(items) => items.iter().map(without_placeholders).collect(),
        ValueTemplate::Map(map) => {
            map.iter().map(|(key, value)| (key.to_string(), without_placeholders(value))).collect()
        }
    }
}
