//! The recorded input of a verdict, from which `kb run verify` computes it again.

use super::asked_work::AskedWork;
use super::check::{Criterion, RecordedCriterion, digest};
use super::earlier_step::EarlierStep;
use super::gate::Gate;
use super::observation::{Observation, ObservationQuery, Observations};
use crate::evidence::Invocation;
use kb_base::value::{Digest, Json};
use kb_language::definition::{Check, ClaimPolicy, Schema};
use kb_language::toolspec::ToolCatalog;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The recorded input of a verdict: all observations, and all values of its checks. Tool calls, the
/// output and schemas are recorded as a number or digest, because the journal has them elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Basis {
    criteria: Vec<RecordedCriterion>,
    claims: Claims,
    expect_changes: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    changes_declared: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    after_refuted: bool,
    output: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Digest>,
    /// Number of recorded calls at the time of the verdict.
    calls: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unwatched: bool,
    root: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    test_commands: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    excused: Vec<String>,
    #[serde(default, skip_serializing_if = "AskedWork::is_empty")]
    asked: AskedWork,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<EarlierStep>,
    seen: Vec<(ObservationQuery, Observation)>,
}

/// Why a gate cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteBasis {
    /// The output has another digest.
    #[error("the recorded output is not the one that the verdict was computed from")]
    Output,
    /// The number of recorded calls differs.
    #[error("{found} tool calls are recorded, but the verdict was computed from {wanted}")]
    Calls {
        /// Number of calls at the time of the verdict.
        wanted: usize,
        /// Number of recorded calls.
        found: usize,
    },
    /// The frozen definition has other checks.
    #[error("the frozen definition has other checks than the verdict was computed from")]
    Checks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Claims {
    Strict,
    Warn,
    None,
}

impl Basis {
    /// Records a gate and its observations.
    pub fn of(gate: &Gate, seen: &Observations) -> Basis {
        Basis {
            criteria: gate.criteria.iter().map(RecordedCriterion::of).collect(),
            claims: match gate.claims {
                ClaimPolicy::Strict => Claims::Strict,
                ClaimPolicy::Warn => Claims::Warn,
                ClaimPolicy::None => Claims::None,
            },
            expect_changes: gate.expect_changes,
            changes_declared: gate.changes_declared,
            after_refuted: gate.after_refuted,
            output: Digest::of_json(&gate.output),
            output_schema: gate.output_schema.as_ref().map(digest),
            calls: gate.trace.len(),
            unwatched: gate.unwatched,
            root: gate.root.clone(),
            test_commands: gate.test_commands.clone(),
            excused: gate.excused.clone(),
            asked: gate.asked.clone(),
            earlier: gate.earlier.clone(),
            seen: seen.iter().map(|(ask, seen)| (ask.clone(), seen.clone())).collect(),
        }
    }

    /// Restores the gate and the observations with the data that the journal has elsewhere: the output,
    /// its schema, the checks of the step, the calls recorded before the verdict and the tools of the run.
    pub fn restore(
        self,
        output: Arc<Json>,
        output_schema: Option<Schema>,
        checks: &[Check],
        trace: Vec<Invocation>,
        tools: ToolCatalog,
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
            changes_declared: self.changes_declared,
            after_refuted: self.after_refuted,
            output,
            output_schema,
            trace,
            unwatched: self.unwatched,
            root: self.root,
            test_commands: self.test_commands,
            // The recorded observations say what was looked up.
            looks_up_names: false,
            excused: self.excused,
            asked: self.asked,
            earlier: self.earlier,
            tools,
        };
        Ok((gate, self.seen.into_iter().collect()))
    }
}
