//! Everything that the output of a gate claims, read once.

use super::call_claim::{self, CallClaim, call_claims};
use super::check::Criterion;
use super::claim::{self, Claim, claims_of};
use super::command_claim::{self, CommandClaim, command_lists};
use super::gate::Gate;
use super::keys::is_key;
use super::listed_commands;
use super::normalized_path::normalized;
use super::rerun::Rerun;
use super::runner::TestCommands;
use super::statement::{self, Statement};
use super::test_claim::{self, TestClaim, test_claims};
use super::test_numbers::{TestNumbers, bare_keys, test_numbers};
use kb_base::value::Json;
use kb_language::definition::ClaimPolicy;

/// Maximum number of paths of sentences that are looked up.
const STATED: usize = 50;

/// The claims of an output by kind; all empty under `claims: none`.
#[derive(Default)]
pub(super) struct OutputClaims {
    pub(super) files: Vec<Claim>,
    pub(super) commands: Vec<CommandClaim>,
    /// The same by the list that has them.
    pub(super) command_lists: Vec<Vec<CommandClaim>>,
    pub(super) tests: Vec<TestClaim>,
    /// Numbers of tests without a result beside them.
    pub(super) numbers: Vec<TestNumbers>,
    pub(super) calls: Vec<CallClaim>,
    /// What sentences and other keys say.
    pub(super) statements: Vec<Statement>,
    /// The same without the keys that the author calls commentary, and those that a check reads.
    pub(super) open_statements: Vec<Statement>,
    /// Paths that plain sentences say the step created or changed, and no claim is about.
    pub(super) stated: Vec<String>,
    /// Whether the step is one that changes files.
    pub(super) writes: bool,
}

impl OutputClaims {
    pub(super) fn of(gate: &Gate, known: &TestCommands) -> OutputClaims {
        if gate.claims == ClaimPolicy::None {
            return OutputClaims::default();
        }
        let writes = gate.expect_changes || gate.trace.iter().any(|call| !call.changes.is_empty());
        let mut files = claims_of(&gate.output, &gate.root, writes);
        files.iter_mut().for_each(|claim| keep_spaces(claim, gate));
        let tests = test_claims(&gate.output);
        let command_lists = command_lists(&gate.output, |script| {
            let is_test = script.commands.iter().any(|used| known.contains(&used.argv));
            is_test && tests.iter().any(|claim| !claim.passed)
        });
        let commands = listed_commands::once(&command_lists);
        let is_read = |key: &str, value: &Json| {
            is_key(key, &["nochanges"])
                || claim::has_entries(key)
                || call_claim::is_read(key)
                || command_claim::is_read(key) && !value.is_number()
                || test_claim::is_read(key, value)
        };
        let bare = bare_keys(&gate.output, &gate.trace);
        let other = without(&gate.output, &bare);
        let statements = statement::statements(other.as_ref().unwrap_or(&gate.output), &is_read);
        let open_statements = match without(&gate.output, &[&gate.excused[..], &bare].concat()) {
            Some(rest) => statement::statements(&rest, &is_read),
            None => statements.clone(),
        };
        // The text of a claim is no sentence, whatever mark it ends with.
        let is_claim = |said: &Statement| {
            let entry = said.entry.as_deref();
            entry.is_some_and(|entry| files.iter().any(|claim| claim.text == entry))
        };
        let (mut statements, mut open_statements) = (statements, open_statements);
        statements.retain(|said| !is_claim(said));
        open_statements.retain(|said| !is_claim(said));
        let plain = statements.iter().filter(|said| !said.in_key);
        let plain = plain.flat_map(|said| said.sentence.plain_paths());
        let mut stated: Vec<String> = plain
            .filter(|path| path.contains('/') && !path.contains('*') && !path.ends_with('/'))
            .map(|path| normalized(path, &gate.root))
            .filter(|path| !files.iter().any(|claim| claim.path == *path))
            .collect();
        stated.dedup();
        stated.truncate(STATED);
        let calls = call_claims(&gate.output);
        let numbers = test_numbers(&gate.output, &gate.trace);
        OutputClaims {
            files,
            commands,
            command_lists,
            tests,
            numbers,
            calls,
            statements,
            open_statements,
            stated,
            writes,
        }
    }

    /// Whether nothing is claimed about what was executed.
    pub(super) fn none_executed(&self) -> bool {
        self.commands.is_empty() && self.tests.is_empty() && self.calls.is_empty()
    }

    /// Whether a result of tests is claimed, by a word for tests or by numbers alone.
    pub(super) fn claims_tests(&self) -> bool {
        let says_result = |numbers: &TestNumbers| numbers.result().is_some();
        self.passed_tests().next().is_some() || self.numbers.iter().any(says_result)
    }

    pub(super) fn passed_tests(&self) -> impl Iterator<Item = &TestClaim> {
        self.tests.iter().filter(|claim| claim.passed)
    }

    /// The test command that the gate repeats, if it repeats one.
    pub(super) fn rerun(&self, gate: &Gate, known: &TestCommands) -> Option<Rerun> {
        self.passed_tests().next()?;
        Rerun::of(&gate.trace, &gate.root, &self.commands, known)
    }
}

/// The commands that the settings name, and those whose tests a check of the gate counts.
pub(super) fn test_commands(gate: &Gate) -> TestCommands {
    let named = TestCommands::of(gate.test_commands.iter().map(String::as_str));
    let commands = gate.criteria.iter().filter_map(Criterion::command);
    let counted = commands.filter_map(|command| command.tests.map(|_| command.argv.clone()));
    counted.fold(named, TestCommands::with)
}

/// An output without some of its keys; `None` if it has none of them.
fn without(output: &Json, keys: &[String]) -> Option<Json> {
    let fields = output.as_object()?;
    keys.iter().any(|key| fields.contains_key(key)).then(|| {
        let rest = fields.iter().filter(|(key, _)| !keys.contains(key));
        Json::Object(rest.map(|(key, value)| (key.clone(), value.clone())).collect())
    })
}

/// White space around a claimed path is part of it if a recorded change has that path.
fn keep_spaces(claim: &mut Claim, gate: &Gate) {
    let mut changes = gate.trace.iter().flat_map(|call| &call.changes);
    if let Some(path) = claim.spaced.take_if(|path| changes.any(|change| change.path == **path)) {
        claim.path = path;
    }
}
