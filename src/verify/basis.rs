use super::gate::{Criterion, FileCriterion, Gate};
use super::observation::{Observation, ObservationQuery, Observations};
use crate::definition::{Check, ClaimPolicy, FileCount, Schema};
use crate::evidence::Invocation;
use crate::value::{Digest, Failure, Json};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What a verdict was found from, as it is recorded: everything that a gate looked at and every
/// value that its checks read. Recorded calls, the output and schemas are named by number and
/// digest, because the journal holds them anyway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Basis {
    criteria: Vec<RecordedCriterion>,
    claims: Claims,
    expect_changes: bool,
    output: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Digest>,
    /// How many calls had been recorded.
    calls: usize,
    root: String,
    seen: Vec<(ObservationQuery, Observation)>,
}

/// Why a gate cannot be put together again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteBasis {
    /// The output is not the one that was judged.
    #[error("the recorded output is not the one that was judged")]
    Output,
    /// Calls are missing or more than there were.
    #[error("{found} tool calls are recorded, and {wanted} were judged")]
    Calls {
        /// How many were judged.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
    /// The frozen definition has other checks.
    #[error("the frozen definition has other checks than were judged")]
    Checks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Claims {
    Strict,
    Warn,
    None,
}

/// One check with its values, as [`Criterion`] has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum RecordedCriterion {
    Schema(Digest),
    Files {
        pattern: String,
        min_count: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<(String, u32, Option<u32>)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<bool>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        absent: bool,
    },
    Command {
        argv: Vec<String>,
        inputs: Vec<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        must_fail_before: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<Duration>,
    },
    Truth {
        source: String,
        truth: Result<bool, Failure>,
    },
    Unresolved {
        check: String,
        failure: Failure,
    },
    NotYet(String),
}

impl Basis {
    /// What a verdict over this gate and these observations is found from.
    pub fn of(gate: &Gate, seen: &Observations) -> Basis {
        Basis {
            criteria: gate.criteria.iter().map(RecordedCriterion::of).collect(),
            claims: match gate.claims {
                ClaimPolicy::Strict => Claims::Strict,
                ClaimPolicy::Warn => Claims::Warn,
                ClaimPolicy::None => Claims::None,
            },
            expect_changes: gate.expect_changes,
            output: Digest::of_json(&gate.output),
            output_schema: gate.output_schema.as_ref().map(digest),
            calls: gate.trace.len(),
            root: gate.root.clone(),
            seen: seen.iter().map(|(ask, seen)| (ask.clone(), seen.clone())).collect(),
        }
    }

    /// The gate and the observations again, from what the journal holds beside them: the output,
    /// its schema, the step's checks and the calls that were recorded before the verdict.
    pub fn restore(
        self,
        output: Arc<Json>,
        output_schema: Option<Schema>,
        checks: &[Check],
        trace: Vec<Invocation>,
    ) -> Result<(Gate, Observations), IncompleteBasis> {
        if Digest::of_json(&output) != self.output {
            return Err(IncompleteBasis::Output);
        }
        if trace.len() != self.calls {
            return Err(IncompleteBasis::Calls { wanted: self.calls, found: trace.len() });
        }
        if output_schema.as_ref().map(digest) != self.output_schema
            || checks.len() != self.criteria.len()
        {
            return Err(IncompleteBasis::Checks);
        }
        let pairs = self.criteria.into_iter().zip(checks);
        let criteria: Option<Vec<Criterion>> =
            pairs.map(|(asked, check)| asked.restore(check)).collect();
        let gate = Gate {
            criteria: criteria.ok_or(IncompleteBasis::Checks)?,
            claims: match self.claims {
                Claims::Strict => ClaimPolicy::Strict,
                Claims::Warn => ClaimPolicy::Warn,
                Claims::None => ClaimPolicy::None,
            },
            expect_changes: self.expect_changes,
            output,
            output_schema,
            trace,
            root: self.root,
        };
        Ok((gate, self.seen.into_iter().collect()))
    }
}

fn digest(schema: &Schema) -> Digest {
    Digest::of_json(schema.json())
}

impl RecordedCriterion {
    fn of(criterion: &Criterion) -> RecordedCriterion {
        match criterion.clone() {
            Criterion::Schema(schema) => RecordedCriterion::Schema(digest(&schema)),
            Criterion::Files(FileCriterion { pattern, min_count, count, changed, absent }) => {
                let count = count.map(|FileCount { pattern, min, max }| (pattern, min, max));
                RecordedCriterion::Files { pattern, min_count, count, changed, absent }
            }
            Criterion::Command { argv, inputs, must_fail_before, timeout } => {
                RecordedCriterion::Command { argv, inputs, must_fail_before, timeout }
            }
            Criterion::Expression { source, truth } => RecordedCriterion::Truth { source, truth },
            Criterion::Unresolved { check, failure } => {
                RecordedCriterion::Unresolved { check, failure }
            }
            Criterion::NotYet(name) => RecordedCriterion::NotYet(name.to_owned()),
        }
    }

    /// The criterion again; `None` where the definition's check is of another kind.
    fn restore(self, check: &Check) -> Option<Criterion> {
        Some(match (self, check) {
            (RecordedCriterion::Schema(wanted), Check::Schema(schema))
                if digest(schema) == wanted =>
            {
                Criterion::Schema(schema.clone())
            }
            (
                RecordedCriterion::Files { pattern, min_count, count, changed, absent },
                Check::File { .. },
            ) => {
                let count = count.map(|(pattern, min, max)| FileCount { pattern, min, max });
                Criterion::Files(FileCriterion { pattern, min_count, count, changed, absent })
            }
            (
                RecordedCriterion::Command { argv, inputs, must_fail_before, timeout },
                Check::Command { .. },
            ) => Criterion::Command { argv, inputs, must_fail_before, timeout },
            (RecordedCriterion::Truth { source, truth }, Check::Expr(_)) => {
                Criterion::Expression { source, truth }
            }
            (
                RecordedCriterion::Unresolved { check, failure },
                Check::File { .. } | Check::Command { .. },
            ) => Criterion::Unresolved { check, failure },
            (RecordedCriterion::NotYet(wanted), Check::NotYet(name)) if wanted == *name => {
                Criterion::NotYet(name)
            }
            _ => return None,
        })
    }
}
