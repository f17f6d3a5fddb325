//! The queries and the verdict of a whole gate.

use super::call_claim::{CallClaim, call_claims};
use super::call_outcomes::call_outcomes;
use super::check::{CommandCriterion, Criterion, Facts, evaluate_schema};
use super::claim::{Claim, claims_of};
use super::claim_check::{check_claim, claim_query, with_policy};
use super::command_claim::{CommandClaim, command_claims};
use super::expected_changes::expected_changes;
use super::finding::Finding;
use super::gate::Gate;
use super::later_edits::LaterEdits;
use super::observation::{ObservationQuery, Observations};
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::RecordedRuns;
use super::rerun::Rerun;
use super::runner::{TestCommands, is_indirect};
use super::sourced_files::SourcedFiles;
use super::test_claim::{TestClaim, test_claims};
use super::{omission, statements, unread};
use crate::evidence::{CheckDetail, Confidence, Verdict, Verification};
use kb_base::value::Json;
use kb_language::definition::ClaimPolicy;
use std::collections::BTreeSet;

/// What must be observed, in order. Claimed paths come first, because the command of a check can
/// change files.
pub fn queries(gate: &Gate) -> Vec<ObservationQuery> {
    let claims = claims(gate);
    let claimed = claims.iter().map(claim_query);
    let snippets = claims.iter().flat_map(Claim::snippet_queries);
    let execution = execution_claims(gate);
    let sourced = match execution.is_empty() {
        true => Vec::new(),
        false => SourcedFiles::queries(&gate.trace, &gate.root),
    };
    let edited = match execution.passed_tests().next() {
        Some(_) => LaterEdits::queries(&gate.trace),
        None => Vec::new(),
    };
    let stated = stated(gate).into_iter().map(ObservationQuery::Location);
    let repeated = execution.rerun(gate).map(|rerun| rerun.query());
    let checks = gate.criteria.iter().filter_map(|criterion| criterion.query());
    let mut known = BTreeSet::new();
    let commands = gate.criteria.iter().filter_map(Criterion::command);
    let decides = |argv: &Vec<String>| execution.known.contains(argv) || is_indirect(argv);
    let installed = (execution.passed_tests().next().is_some()
        || commands.flat_map(CommandCriterion::commands).any(|argv| decides(&argv)))
    .then_some(ObservationQuery::Installed);
    let files = claimed.chain(snippets).chain(edited).chain(sourced).chain(stated).chain(installed);
    let all = files.chain(repeated).chain(checks);
    all.filter(|query| known.insert(query.clone())).collect()
}

/// The paths that the summary says the step changed, without those that the output claims.
fn stated(gate: &Gate) -> Vec<String> {
    if gate.claims == ClaimPolicy::None {
        return Vec::new();
    }
    let claims = claims(gate);
    let is_claimed = |path: &String| claims.iter().any(|claim| claim.path == *path);
    let paths = statements::stated_paths(&gate.output, &gate.root).into_iter();
    paths.filter(|path| !is_claimed(path)).collect()
}

/// The verdict over the observations. A query without an observation is `inconclusive`.
pub fn evaluate(gate: &Gate, observations: &Observations) -> Verification {
    let changes = RecordedChanges::of(&gate.trace, gate.unwatched);
    let claims = claims(gate);
    let test_commands = test_commands(gate);
    let facts = Facts {
        output: &gate.output,
        changes: &changes,
        observations,
        trace: &gate.trace,
        test_commands: &test_commands,
    };
    let mut details: Vec<CheckDetail> = Vec::new();
    details.extend(output_schema(gate));
    let claimed =
        claims.iter().map(|claim| check_claim(claim, &changes, observations, gate.claims));
    details.extend(claimed);
    let execution = execution_claims(gate);
    details.extend(execution.check(gate, &facts));
    details.extend(call_outcomes(gate, &execution.calls, &execution.commands));
    details.extend(summary_statements(gate, &changes, observations));
    details.extend(omitted_changes(gate, &changes));
    details.extend(expected_changes(gate, !claims.is_empty(), &changes));
    details.extend(gate.criteria.iter().map(|criterion| criterion.evaluate(&facts)));
    // Beside a check that refutes or doubts, further doubt says nothing new.
    let accepted = |detail: &CheckDetail| detail.verdict <= Verdict::Passed && !detail.warning;
    if details.iter().all(accepted) {
        details.extend(unread_statements(gate, &claims, &changes, observations));
    }
    let has_claims = !claims.is_empty() || !execution.is_empty();
    let by_plugin = execution.calls.iter().any(|claim| claim.is_about_plugin(&gate.trace));
    // A refuted claim that passes rests only on the statement of the output.
    let warned = details.iter().any(|detail| detail.warning);
    let confidence = match (warned, confidence(gate, has_claims)) {
        (true, _) => Confidence::Low,
        // The output of a plugin has the right form; what it did is known from its evidence alone.
        (false, Confidence::High) if by_plugin => Confidence::Medium,
        (false, confidence) => confidence,
    };
    Verification::of(confidence, details)
}

/// The output schema of the step, listed only if the output violates it.
fn output_schema(gate: &Gate) -> Option<CheckDetail> {
    let schema = gate.output_schema.as_ref()?;
    let (finding, evidence) = evaluate_schema(schema, &gate.output);
    let is_violated = finding.reason.is_some();
    is_violated.then(|| finding.into_detail("output schema".to_owned(), evidence))
}

fn claims(gate: &Gate) -> Vec<Claim> {
    match gate.claims {
        ClaimPolicy::None => Vec::new(),
        ClaimPolicy::Strict | ClaimPolicy::Warn => {
            let mut claims = claims_of(&gate.output, &gate.root);
            claims.iter_mut().for_each(|claim| keep_spaces(claim, gate));
            claims
        }
    }
}

/// White space around a claimed path is part of it if a recorded change has that path.
fn keep_spaces(claim: &mut Claim, gate: &Gate) {
    let mut changes = gate.trace.iter().flat_map(|call| &call.changes);
    if let Some(path) = claim.spaced.take_if(|path| changes.any(|change| change.path == **path)) {
        claim.path = path;
    }
}

/// The claims of an output about what was executed.
struct ExecutionClaims {
    commands: Vec<CommandClaim>,
    tests: Vec<TestClaim>,
    calls: Vec<CallClaim>,
    known: TestCommands,
}

/// The commands that the settings name, and those whose tests a check of the gate counts.
fn test_commands(gate: &Gate) -> TestCommands {
    let named = TestCommands::of(gate.test_commands.iter().map(String::as_str));
    let commands = gate.criteria.iter().filter_map(Criterion::command);
    let counted = commands.filter_map(|command| command.tests.map(|_| command.argv.clone()));
    counted.fold(named, TestCommands::with)
}

fn execution_claims(gate: &Gate) -> ExecutionClaims {
    let known = test_commands(gate);
    if gate.claims == ClaimPolicy::None {
        return ExecutionClaims {
            commands: Vec::new(),
            tests: Vec::new(),
            calls: Vec::new(),
            known,
        };
    }
    let tests = test_claims(&gate.output);
    let commands = command_claims(&gate.output, |script| {
        let is_test = script.commands.iter().any(|used| known.contains(&used.argv));
        is_test && tests.iter().any(|claim| !claim.passed)
    });
    let calls = call_claims(&gate.output);
    ExecutionClaims { commands, tests, calls, known }
}

impl ExecutionClaims {
    fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.tests.is_empty() && self.calls.is_empty()
    }

    fn passed_tests(&self) -> impl Iterator<Item = &TestClaim> {
        self.tests.iter().filter(|claim| claim.passed)
    }

    /// The test command that the gate repeats, if it repeats one.
    fn rerun(&self, gate: &Gate) -> Option<Rerun> {
        let claims_passed = self.passed_tests().next().is_some();
        claims_passed
            .then(|| Rerun::of(&gate.trace, &gate.root, &self.commands, &self.known))
            .flatten()
    }

    fn check(&self, gate: &Gate, facts: &Facts<'_>) -> Vec<CheckDetail> {
        if self.is_empty() {
            return Vec::new();
        }
        let observations = facts.observations;
        let sources = SourcedFiles::new(&gate.trace, observations, &gate.root);
        let runs = RecordedRuns::of(&gate.trace, &sources);
        let detail = |check: String, (finding, evidence): (Finding, Json)| {
            with_policy(finding, gate.claims).into_detail(check, Some(evidence))
        };
        let rerun = self.rerun(gate);
        let repeat = |counts| rerun.as_ref().and_then(|rerun| rerun.finding(observations, counts));
        let repeated = repeat(self.passed_tests().next().map(|c| c.counts).unwrap_or_default());
        let commands = self.commands.iter();
        let is_proven = |claim: &CommandClaim| {
            let argv = rerun.as_ref().map(|rerun| rerun.argv.as_slice());
            argv.is_some()
                && claim.only_command() == argv
                && repeated.as_ref().is_some_and(|finding| finding.verdict == Verdict::Passed)
        };
        let commands = commands.map(|claim| {
            let (finding, evidence) = claim.check(&runs);
            let proven = finding.verdict == Verdict::Inconclusive && is_proven(claim);
            let finding = if proven { Finding::passed() } else { finding };
            detail(format!("claim command {}", claim.text), (finding, evidence))
        });
        let edits = LaterEdits::new(&gate.trace, observations, &gate.root);
        let tests = self.tests.iter().map(|claim| {
            let (finding, evidence) = claim.check(&runs, &self.known, &edits);
            let decided = (finding.verdict == Verdict::Inconclusive)
                .then(|| repeat(claim.counts))
                .flatten()
                .filter(|_| claim.passed);
            let proven = claim.is_proven_by(&gate.criteria, facts);
            let decided = if proven { Some(Finding::passed()) } else { decided };
            let checked = (decided.unwrap_or(finding), evidence);
            detail(format!("claim tests {}", claim.name()), checked)
        });
        let calls = self.calls.iter().map(|claim| {
            detail(
                format!("claim call {}", claim.tool),
                claim.check(&gate.trace, &gate.root, &gate.plugins),
            )
        });
        commands.chain(tests).chain(calls).collect()
    }
}

/// The first statement of the summary that the record refutes; nothing if there is none.
fn summary_statements(
    gate: &Gate,
    changes: &RecordedChanges<'_>,
    observations: &Observations,
) -> Option<CheckDetail> {
    let stated = stated(gate);
    let path = statements::refuted(&stated, changes, observations)?;
    let finding = Finding::failed(format!(
        "the summary says that the step created or changed `{path}`, but no recorded call did"
    ));
    Some(with_policy(finding, gate.claims).into_detail("summary".to_owned(), None))
}

/// Statements that look like claims and that the record does not support, listed only if there are some.
fn unread_statements(
    gate: &Gate,
    claims: &[Claim],
    changes: &RecordedChanges<'_>,
    observations: &Observations,
) -> Option<CheckDetail> {
    if gate.claims == ClaimPolicy::None {
        return None;
    }
    let sources = SourcedFiles::new(&gate.trace, observations, &gate.root);
    let runs = RecordedRuns::of(&gate.trace, &sources);
    let claimed = claims.iter().map(|claim| claim.path.as_str()).collect();
    let (trace, root) = (&gate.trace, &gate.root);
    let record = unread::Record { changes, runs: &runs, trace, root, claimed };
    let finding = unread::finding(&gate.output, &record)?;
    Some(finding.into_detail("statements".to_owned(), None))
}

/// A statement that nothing else was changed, listed only if the record does not agree with it.
fn omitted_changes(gate: &Gate, changes: &RecordedChanges<'_>) -> Option<CheckDetail> {
    if gate.claims == ClaimPolicy::None {
        return None;
    }
    let finding = omission::finding(&gate.output, &gate.trace, changes)?;
    Some(with_policy(finding, gate.claims).into_detail("nothing else changed".to_owned(), None))
}

/// The weakest confidence: observed checks are strong, checks of the output alone are weak.
fn confidence(gate: &Gate, has_claims: bool) -> Confidence {
    let all_observed = gate.criteria.iter().all(|criterion| criterion.is_observed());
    let any_observed = gate.criteria.iter().any(|criterion| criterion.is_observed());
    let has_some = has_claims || !gate.criteria.is_empty();
    match (has_some, all_observed) {
        (true, true) => Confidence::High,
        (true, false) if has_claims || any_observed => Confidence::Medium,
        (true, false) | (false, _) => Confidence::Low,
    }
}
