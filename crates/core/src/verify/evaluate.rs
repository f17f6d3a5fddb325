//! What a whole gate must observe, and its checks over the observations.

use super::call_claim;
use super::call_outcomes::call_outcomes;
use super::check::{CommandCriterion, Criterion, Facts, evaluate_schema};
use super::claim::Claim;
use super::claim_check::{check_claim, claim_queries};
use super::command_claim::{self, CommandClaim};
use super::committed::committed_query;
use super::definitions::definition_query;
use super::examined::Examined;
use super::expected_changes::expected_changes;
use super::failed_commands::failed_commands;
use super::finding::Finding;
use super::gate::Gate;
use super::ignored_files::{IgnoredFiles, began, literal_start};
use super::kept::kept_queries;
use super::keys::sources;
use super::later_edits::LaterEdits;
use super::listed_commands;
use super::named_commands::{executes_queries, target_queries};
use super::names::{named_findings, names_query};
use super::observation::{ObservationQuery, Observations};
use super::omission::Coverage;
use super::output_claims::{OutputClaims, test_commands};
use super::program_place;
use super::python_modules::installed_query;
use super::reading::Reading;
use super::recheck::WrittenFiles;
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::{CommandRecord, RecordedRuns};
use super::rerun::Rerun;
use super::runner::{self, TestCommands};
use super::shell::Script;
use super::sourced_files::SourcedFiles;
use super::statement_check::{refuted_path, stated_queries, statement_finding};
use super::suites;
use super::support::{Record, name_queries};
use super::test_checks::printed_by_checks;
use super::test_claim::TestClaim;
use super::test_numbers::TestNumbers;
use super::unread::Partition;
use super::unrecorded_command::script_queries;
use crate::evidence::{CheckDetail, Confidence, Invocation, Purpose, Verdict};
use kb_base::value::Json;
use kb_language::definition::ClaimPolicy;
use std::collections::BTreeSet;

/// A gate whose claims are read: what it must observe, and its verdict.
pub struct ParsedGate {
    gate: Gate,
    claims: OutputClaims,
    /// The commands that run tests.
    known: TestCommands,
}

impl ParsedGate {
    /// Reads the claims of the output.
    pub fn of(gate: Gate) -> ParsedGate {
        let known = test_commands(&gate);
        ParsedGate { claims: OutputClaims::of(&gate, &known), known, gate }
    }

    /// The gate as it was given.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What must be observed, in order. Claimed paths come first, because the command of a check can
    /// change files.
    pub fn queries(&self) -> Vec<ObservationQuery> {
        let ParsedGate { gate, claims, known } = self;
        let claimed = claims.files.iter().flat_map(claim_queries);
        let snippets = claims.files.iter().flat_map(Claim::snippet_queries);
        // Statements about commands are compared with the recorded scripts as well.
        let needs_no_scripts =
            claims.none_executed() && claims.statements.iter().all(|s| s.act.is_none());
        let sourced = if needs_no_scripts {
            Vec::new()
        } else {
            SourcedFiles::queries(&gate.trace, &gate.root)
        };
        let claims_tests = claims.claims_tests();
        let suites = claims_tests.then(suites::queries);
        let edited = claims_tests.then(|| LaterEdits::queries(&gate.trace));
        let edited = edited.into_iter().chain(suites).flatten();
        let placed = (claims_tests || !claims.commands.is_empty())
            .then(|| program_place::queries(&gate.trace, &gate.root));
        let stated = stated_queries(&claims.stated);
        let names = name_queries(&claims.statements, &gate.root);
        let committed = committed_query(&claims.statements, gate);
        let defined = definition_query(&claims.statements, &gate.trace, gate.unwatched);
        let named = gate.looks_up_names.then(|| names_query(&claims.statements)).flatten();
        let repeated = claims.rerun(gate, known).map(|rerun| rerun.query());
        let checks = gate.criteria.iter().filter_map(|criterion| criterion.query());
        let ignored = self.ignored_query(claims_tests);
        let written = match gate.claims {
            ClaimPolicy::None => Vec::new(),
            ClaimPolicy::Strict | ClaimPolicy::Warn => {
                WrittenFiles::of(&gate.trace, &gate.tools).queries().collect()
            }
        };
        let targets = claims.commands.iter().flat_map(CommandClaim::commands);
        let files = claimed
            .chain(written)
            .chain(snippets)
            .chain(edited)
            .chain(placed.into_iter().flatten())
            .chain(sourced)
            .chain(stated)
            .chain(names)
            .chain(self.executed_queries(claims_tests))
            .chain(kept_queries(&claims.statements, &gate.root))
            .chain(committed)
            .chain(gate.asked.queries(&gate.root))
            .chain(script_queries(&claims.commands, &gate.trace))
            .chain(target_queries(targets, &gate.trace));
        let all = files.chain(defined).chain(named).chain(ignored).chain(repeated).chain(checks);
        let mut seen = BTreeSet::new();
        all.filter(|query| seen.insert(query.clone())).collect()
    }

    /// The checks that run a command, in order.
    fn command_checks(&self) -> impl Iterator<Item = &CommandCriterion> {
        self.gate.criteria.iter().filter_map(Criterion::command)
    }

    /// The queries whether targets and scripts behind commands execute files that the step changed.
    fn executed_queries(&self, claims_tests: bool) -> Vec<ObservationQuery> {
        let gate = &self.gate;
        let recorded = claims_tests.then(|| gate.trace.iter().filter_map(Script::of_call));
        let recorded = recorded.into_iter().flatten().flat_map(|script| script.commands);
        let checked = self.command_checks().flat_map(CommandCriterion::commands);
        let commands: Vec<Vec<String>> = checked.chain(recorded.map(|used| used.argv)).collect();
        if commands.is_empty() {
            return Vec::new();
        }
        let changes = RecordedChanges::of(&gate.trace, gate.unwatched);
        let changed: Vec<&str> = changes.changed().collect();
        let earlier = gate.earlier.iter();
        let before =
            earlier.flat_map(|step| commands.iter().filter_map(|a| step.installed_query(a)));
        let installed =
            commands.iter().filter_map(|argv| installed_query(argv, &changes)).chain(before);
        executes_queries(&commands, &changed).chain(installed).collect()
    }

    /// The query for ignored files, if tests or a command of a check can depend on them.
    fn ignored_query(&self, claims_tests: bool) -> Option<ObservationQuery> {
        let since = began(&self.gate.trace)?;
        let commands: Vec<_> = self.command_checks().flat_map(CommandCriterion::commands).collect();
        let executed = commands.iter().filter_map(|argv| runner::executed_file(argv));
        let recorded = claims_tests.then(|| self.gate.trace.iter().filter_map(Script::of_call));
        let recorded: Vec<_> =
            recorded.into_iter().flatten().flat_map(|script| script.commands).collect();
        let tests = recorded.iter().filter(|used| self.known.contains(&used.argv));
        let programs = tests.flat_map(|used| runner::program_paths(&used.argv));
        let inputs = self.command_checks().flat_map(|check| &check.inputs).map(String::as_str);
        let inputs = inputs.filter(|glob| !literal_start(glob).is_empty());
        let mut named: Vec<String> =
            executed.chain(programs).chain(inputs).map(str::to_owned).collect();
        named.sort();
        named.dedup();
        let depends =
            |argv: &Vec<String>| self.known.contains(argv) || runner::uses_installed(argv);
        let needs = claims_tests || !named.is_empty() || commands.iter().any(depends);
        needs.then_some(ObservationQuery::IgnoredChanges(IgnoredFiles { since, named }))
    }

    /// The checks over the observations. A query without an observation is `inconclusive`.
    pub fn examine(&self, observations: &Observations) -> Examined {
        let ParsedGate { gate, claims, known } = self;
        let changes = RecordedChanges::of(&gate.trace, gate.unwatched);
        let sources = SourcedFiles::new(&gate.trace, observations, &gate.root);
        let runs = RecordedRuns::of(&gate.trace, &sources);
        let coverage = Coverage::of(&gate.output, &gate.trace, &changes, observations);
        let facts = self.facts(&changes, observations);
        let mut details: Vec<CheckDetail> = Vec::new();
        details.extend(output_schema(gate));
        let files = claims.files.iter();
        details.extend(
            files.map(|claim| {
                check_claim(claim, &changes, (observations, &gate.output), gate.claims)
            }),
        );
        if gate.claims != ClaimPolicy::None {
            let claimed: Vec<&str> = claims.files.iter().map(|claim| claim.path.as_str()).collect();
            let written = WrittenFiles::of(&gate.trace, &gate.tools);
            details.extend(written.details(&claimed, observations));
        }
        let rerun = claims.rerun(gate, known);
        let executed = Executed { gate, claims, runs: &runs, facts: &facts, rerun };
        details.extend(executed.check());
        details.extend(call_outcomes(gate, &claims.calls));
        if gate.claims != ClaimPolicy::None {
            details.extend(failed_commands(claims, &runs, known, gate.claims));
        }
        let named = |check: &str, finding: Finding| {
            finding.under(gate.claims).into_detail(check.to_owned(), None)
        };
        let refuted = refuted_path(&claims.stated, &changes, observations);
        details.extend(refuted.map(|finding| named("summary", finding)));
        if gate.claims != ClaimPolicy::None {
            let omitted = coverage.finding(&gate.output, &claims.files, &claims.statements);
            details.extend(omitted.map(|finding| named("complete lists", finding)));
        }
        details.extend(expected_changes(gate, claims, &changes, observations));
        let criteria_at = details.len();
        details.extend(gate.criteria.iter().map(|criterion| criterion.evaluate(&facts)));
        details.extend(named_findings(&claims.statements, observations).map(|f| named("names", f)));
        let record = Record {
            changes: &changes,
            runs: &runs,
            tests: known,
            trace: &gate.trace,
            observations,
            root: &gate.root,
            tools: &gate.tools,
            claimed: claims.files.iter().map(|claim| claim.path.as_str()).collect(),
            coverage: &coverage,
            claims_tests: claims.claims_tests(),
        };
        let stated = statement_finding(&claims.statements, &claims.open_statements, &record);
        let stated = stated.map(|finding| named("statements", finding));
        let confidence = self.confidence();
        let mut examined = Examined { details, criteria_at, stated, unread: None, confidence };
        if gate.claims != ClaimPolicy::None && examined.accepts() && !examined.is_judged() {
            let tests = |claim| executed.test(claim).0;
            let reading = Reading { record: &record, tests: &tests };
            examined.unread = Partition::of(gate, claims.writes, &reading).detail();
        }
        examined
    }

    /// The same with the checks of a judge over its reply, which `observations` have.
    pub fn with_reply(&self, mut examined: Examined, observations: &Observations) -> Examined {
        let changes = RecordedChanges::of(&self.gate.trace, self.gate.unwatched);
        let facts = self.facts(&changes, observations);
        let details = &mut examined.details[examined.criteria_at..];
        for (criterion, detail) in self.gate.criteria.iter().zip(details) {
            if matches!(criterion, Criterion::Judge(_)) {
                *detail = criterion.evaluate(&facts);
            }
        }
        examined
    }

    fn facts<'f>(
        &'f self,
        changes: &'f RecordedChanges<'f>,
        observations: &'f Observations,
    ) -> Facts<'f> {
        let ParsedGate { gate, known, .. } = self;
        let (output, trace) = (&gate.output, &gate.trace);
        let (asked, earlier) = (&gate.asked, gate.earlier.as_slice());
        Facts { output, changes, observations, trace, test_commands: known, asked, earlier }
    }

    /// The confidence if no check warns. Observed checks are strong, checks of the output alone are weak.
    fn confidence(&self) -> Confidence {
        let ParsedGate { gate, claims, .. } = self;
        let has_claims = !claims.files.is_empty() || !claims.none_executed();
        let all_observed = gate.criteria.iter().all(|criterion| criterion.is_observed());
        let any_observed = gate.criteria.iter().any(|criterion| criterion.is_observed());
        let has_some = has_claims || !gate.criteria.is_empty();
        // The output has the right form; what the tool did is known from its evidence alone.
        let by_output =
            || claims.calls.iter().any(|claim| claim.is_about_output(&gate.trace, &gate.tools));
        match (has_some, all_observed) {
            (true, true) if by_output() => Confidence::Medium,
            (true, true) => Confidence::High,
            (true, false) if has_claims || any_observed => Confidence::Medium,
            (true, false) | (false, _) => Confidence::Low,
        }
    }
}

/// The doubt about a list of commands or calls that says that there was none.
fn empty_lists(output: &Json, runs: &RecordedRuns<'_>, trace: &[Invocation]) -> Option<Finding> {
    let is_empty = |value: &Json| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let has_empty = |is_read: fn(&str) -> bool| {
        sources(output).flatten().any(|(key, value)| is_read(key) && is_empty(value))
    };
    let ran = || {
        let mut all = runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
        all.find(|(_, used)| !used.is_neutral()).map(|(run, _)| run.call)
    };
    let call = has_empty(command_claim::is_read).then(ran).flatten().or_else(|| {
        let mut calls = trace.iter().filter(|call| call.purpose == Purpose::Execution);
        has_empty(call_claim::is_read).then(|| calls.find(|call| call.is_tool_call())).flatten()
    })?;
    Some(Finding::inconclusive(format!(
        "a list of the output says that there was no command or call, and call `{}` is recorded",
        call.id
    )))
}

/// The output schema of the step, listed only if the output violates it.
fn output_schema(gate: &Gate) -> Option<CheckDetail> {
    let schema = gate.output_schema.as_ref()?;
    let (finding, evidence) = evaluate_schema(schema, &gate.output);
    let is_violated = finding.reason.is_some();
    is_violated.then(|| finding.into_detail("output schema".to_owned(), evidence))
}

/// The claims about what was executed, with the record of it.
struct Executed<'e> {
    gate: &'e Gate,
    claims: &'e OutputClaims,
    runs: &'e RecordedRuns<'e>,
    facts: &'e Facts<'e>,
    /// The repeated run of the tests.
    rerun: Option<Rerun>,
}

impl Executed<'_> {
    fn check(&self) -> Vec<CheckDetail> {
        let Executed { gate, claims, runs, facts, rerun } = self;
        let observations = facts.observations;
        let detail = |check: String, (finding, evidence): (Finding, Json)| {
            finding.under(gate.claims).into_detail(check, Some(evidence))
        };
        let repeat = |counts| rerun.as_ref().and_then(|rerun| rerun.finding(observations, counts));
        let repeated = repeat(claims.passed_tests().next().map(|c| c.counts).unwrap_or_default());
        let commands = claims.commands.iter();
        let is_proven = |claim: &CommandClaim| {
            let argv = rerun.as_ref().map(|rerun| rerun.argv.as_slice());
            argv.is_some()
                && claim.only_command() == argv
                && repeated.as_ref().is_some_and(|finding| finding.verdict == Verdict::Passed)
        };
        let (trace, tools, root) = (&gate.trace, &gate.tools, &gate.root);
        let record = CommandRecord { runs, trace, tools, root, observations };
        let commands = commands.map(|claim| {
            let (finding, evidence) = claim.check(&record);
            let proven = finding.verdict == Verdict::Inconclusive && is_proven(claim);
            let finding = if proven { Finding::passed() } else { finding };
            detail(format!("claim command {}", claim.text), (finding, evidence))
        });
        let tests = claims.tests.iter();
        let tests =
            tests.map(|claim| detail(format!("claim tests {}", claim.name()), self.test(*claim)));
        let numbers = claims.numbers.iter();
        let numbers = numbers
            .map(|numbers| detail("claim numbers of tests".to_owned(), self.numbers(*numbers)));
        let calls = claims.calls.iter().map(|claim| {
            detail(
                format!("claim call {}", claim.tool),
                claim.check(&gate.trace, &gate.root, &gate.tools),
            )
        });
        let lists = [
            listed_commands::surplus(&claims.command_lists, runs),
            call_claim::surplus(&gate.output, &gate.trace, &gate.root, &gate.tools),
            (gate.claims != ClaimPolicy::None)
                .then(|| empty_lists(&gate.output, runs, &gate.trace))
                .flatten(),
        ];
        let lists = lists.into_iter().flatten();
        let lists = lists.map(|finding| finding.into_detail("lists".to_owned(), None));
        commands.chain(tests).chain(numbers).chain(calls).chain(lists).collect()
    }

    /// The verdict over numbers of tests. A result that they say without a word for tests is doubt at most.
    fn numbers(&self, numbers: TestNumbers) -> (Finding, Json) {
        let Executed { gate, runs, facts, .. } = self;
        let edits = LaterEdits::of_gate(gate, facts.observations);
        let checked = printed_by_checks(gate, facts);
        let found = numbers.check(runs, facts.test_commands, &edits, &checked);
        match numbers.result().filter(|_| found.0.verdict == Verdict::Passed) {
            Some(result) => self.test(TestClaim { understood: false, ..result }),
            None => found,
        }
    }

    /// The verdict over a result of tests: by the record, a repeated run or a check that ran the tests.
    fn test(&self, claim: TestClaim) -> (Finding, Json) {
        let Executed { gate, runs, facts, rerun, .. } = self;
        let (known, observations) = (facts.test_commands, facts.observations);
        let edits = LaterEdits::of_gate(gate, observations);
        let (finding, evidence) = claim.check(runs, known, &edits);
        let repeat = || rerun.as_ref()?.finding(observations, claim.counts);
        // That the others did not pass is said as well.
        let is_open = finding.verdict == Verdict::Inconclusive && claim.passed && !claim.rest;
        let repeated = is_open.then(repeat).flatten();
        // A repeated run refutes only what was understood.
        let repeated =
            repeated.filter(|found| claim.understood || found.verdict != Verdict::Failed);
        // A part that passed leaves open what no recorded run shows.
        let has_run = || runs.iter().any(|run| run.tests.is_some());
        let shown = claim.shown_by_checks(gate, facts);
        let shown = shown.filter(|own| own.verdict == Verdict::Passed || !has_run());
        let open = || if has_run() { finding } else { claim.with_checks(finding, gate, facts) };
        (shown.or(repeated).unwrap_or_else(open), evidence)
    }
}
