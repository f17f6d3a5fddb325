//! The budgets of a run: from the definition, the settings and the command line.

use kb_base::diagnostic::Code;
use kb_base::value::{Money, RunId, RunLimits, StepId, Usage};
use kb_core::evidence::Record;
use kb_core::run::{Event, InstanceIx, Rules, State};
use kb_engine::engine::Folded;
use kb_engine::journal::StoredEvent;
use kb_host::specialist::{Amount, ChildBudget, Ledger, Payer};
use kb_language::definition::{Budget, Settings};
use kb_language::plan::Plan;
use std::collections::BTreeMap;

/// The ledger of a run. `given` are the limits of the command line, which replace those of the definition and the
/// settings.
pub(super) fn ledger(plan: &Plan, settings: &Settings, given: RunLimits) -> Ledger {
    let own = plan.playbook().budget;
    let limits = &settings.orchestrator.escalation;
    let lower = |a: Option<Money>, b: Option<Money>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let configured = lower(own.max_cost, limits.max_cost_usd.map(Money::from_usd));
    let run = Budget {
        max_cost: given.cost.or(configured),
        max_tokens: given.max_tokens.or(own.max_tokens),
        max_tool_calls: given.max_tool_calls.or(own.max_tool_calls),
        warn_cost: lower(own.warn_cost, limits.warn_cost_usd.map(Money::from_usd)),
    };
    let steps = plan.steps().iter().filter_map(|planned| {
        let step = &planned.step;
        Some((step.id.clone(), *step.details().budget.as_deref()?))
    });
    let shares = &limits.shares;
    Ledger::new(run, steps).with_shares(shares).with_limits(settings.security.global_limits)
}

/// The limits of the command line that the run was last resumed with.
pub(super) fn stored_limits(before: &[StoredEvent]) -> RunLimits {
    let resumed = before.iter().rev().find_map(|stored| match &*stored.event {
        Event::RunResumed { limits, .. } => Some(*limits),
        _ => None,
    });
    resumed.unwrap_or_default()
}

/// Raises lower limits of the steps whose budget was used up to the limits that a person gave when the run was
/// resumed.
pub(super) fn raise_steps(ledger: &Ledger, plan: &Plan, before: &[StoredEvent], raised: RunLimits) {
    if raised.is_none() {
        return;
    }
    let mut state = State::new(plan, Rules::default());
    for stored in before {
        state.apply(plan, stored.at, &stored.event);
        if let Event::AttemptEnded { instance, failure: Some(failure), .. } = &*stored.event
            && failure.code == Code::BUDGET_EXHAUSTED
        {
            ledger.raise_step(&plan.step(state.instance(*instance).step).step.id, raised);
        }
    }
}

/// Adds what the run has spent so far: its ended attempts, and the calls of those that continue.
pub(super) fn carry_over(ledger: &Ledger, plan: &Plan, rules: Rules, before: &[StoredEvent]) {
    if ledger.is_unlimited() || before.is_empty() {
        return;
    }
    decide_models(ledger, before);
    let folded = Folded::of(plan, rules, before);
    for (ix, amount) in spent(&folded) {
        let specialist = folded.state.specialist(plan, ix);
        let payer = Payer {
            step: Some(&plan.step(folded.state.instance(ix).step).step.id),
            share: specialist.map(|specialist| specialist.id.as_str()),
            run: None,
        };
        ledger.carry_over(payer, amount);
    }
}

/// Notes what people decided about models without a price in a run, so that no person is asked twice. After the
/// end of the run, a retry asks again about what was rejected.
pub(super) fn decide_models(ledger: &Ledger, before: &[StoredEvent]) {
    let mut decided = BTreeMap::new();
    for stored in before {
        match &*stored.event {
            Event::Recorded { record, .. } => {
                if let Record::Approval { call, approved, .. } = &**record
                    && call.is_about_model()
                {
                    decided.insert(call.args_hash, *approved);
                }
            }
            Event::RunEnded { .. } => decided.retain(|_, permitted| *permitted),
            _ => {}
        }
    }
    decided.into_iter().for_each(|(model, permitted)| ledger.decide_model(model, permitted));
}

/// The budgets of a child run.
pub(super) fn of_child(plan: &Plan, parent: RunId, step: StepId) -> ChildBudget {
    let own = plan.steps().iter().map(|planned| &planned.step);
    let own = own.filter_map(|own| Some((own.id.clone(), *own.details().budget.as_deref()?)));
    ChildBudget { parent, step, run: plan.playbook().budget, steps: own.collect() }
}

/// Adds what a child run has spent before this process. The runs above it have counted what it
/// `reported`.
pub(super) fn carry_over_child(
    ledger: &Ledger,
    (run, plan): (&RunId, &Plan),
    parent: (&RunId, &StepId),
    reported: Usage,
    folded: &Folded,
) {
    let mut total = Amount::default();
    for (ix, amount) in spent(folded) {
        ledger.carry_over_child(run, &plan.step(folded.state.instance(ix).step).step.id, amount);
        total = total.and(amount);
    }
    let above = Payer { run: Some(parent.0), step: Some(parent.1), share: None };
    ledger.carry_over(above, total.without(Amount::of(&reported)));
}

/// What each instance has spent, the calls of attempts that continue included.
fn spent(folded: &Folded) -> Vec<(InstanceIx, Amount)> {
    let ended = folded.state.instances();
    let mut found: Vec<_> = ended.map(|(ix, own)| (ix, Amount::of(&own.usage()))).collect();
    for (ix, records) in &folded.histories {
        let mut reserved = None;
        for record in records {
            let amount = match record {
                Record::ModelCall { usage, .. } => {
                    reserved = None;
                    Amount::of(usage)
                }
                // A call that was never answered counts with what it had reserved.
                Record::Reservation { usage } => {
                    let lost = std::mem::replace(&mut reserved, *usage);
                    lost.filter(|_| usage.is_some())
                        .map(|lost| Amount::of(&lost))
                        .unwrap_or_default()
                }
                Record::ToolCall { turn, .. } if *turn > 0 => {
                    Amount { tool_calls: 1, ..Amount::default() }
                }
                _ => continue,
            };
            found.push((*ix, amount));
        }
        found.extend(reserved.map(|lost| (*ix, Amount::of(&lost))));
    }
    found
}
