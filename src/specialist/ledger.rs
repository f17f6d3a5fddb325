//! The ledger of a run: what its specialists have spent and reserved, against the budgets of the run
//! and its steps: cost limits and token budgets. One ledger is shared by all attempts of a process. Start at [`Ledger::reserve`].

use crate::definition::Budget;
use crate::value::{Money, RunId, StepId, Usage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

/// Cost, tokens and tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Cost of model calls.
    pub cost: Money,
    /// Prompt and completion tokens.
    pub tokens: u64,
    /// Number of tool calls.
    pub tool_calls: u64,
}

impl Amount {
    /// The amount of a usage. An unknown cost counts as zero.
    pub fn of(usage: &Usage) -> Amount {
        Amount {
            cost: usage.cost_usd.unwrap_or_default(),
            tokens: usage.total_tokens(),
            tool_calls: u64::from(usage.tool_calls),
        }
    }

    fn add(&mut self, other: Amount) {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.tool_calls = self.tool_calls.saturating_add(other.tool_calls);
    }

    fn subtract(&mut self, other: Amount) {
        self.cost = Money(self.cost.0.saturating_sub(other.cost.0));
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.tool_calls = self.tool_calls.saturating_sub(other.tool_calls);
    }
}

/// Why a call is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Exhausted(pub String);

/// The answer to one attempt of a reservation.
enum Refusal {
    /// Other calls have reserved the rest; it may become free.
    Busy,
    Exhausted(Exhausted),
}

/// What the run, or one of its steps, has used of its budget.
#[derive(Debug, Clone, Default)]
struct Account {
    budget: Budget,
    spent: Amount,
    reserved: Amount,
    warned: bool,
}

impl Account {
    fn check(&self, whose: &str, amount: Amount) -> Result<(), Refusal> {
        let Budget { max_cost, max_tokens, max_tool_calls, .. } = self.budget;
        let dollars = |amount: Amount| amount.cost.0.max(0) as u64;
        let money = |n: u64| Money(i64::try_from(n).unwrap_or(i64::MAX)).to_string();
        let tokens = |n: u64| format!("{n} tokens");
        let calls = |n: u64| format!("{n} tool calls");
        type Row<'a> = (Option<u64>, fn(Amount) -> u64, &'a dyn Fn(u64) -> String);
        let rows: [Row<'_>; 3] = [
            (max_cost.map(|cap| cap.0.max(0) as u64), dollars, &money),
            (max_tokens, |amount| amount.tokens, &tokens),
            (max_tool_calls, |amount| amount.tool_calls, &calls),
        ];
        for (cap, of, shown) in rows {
            let Some(cap) = cap.filter(|_| of(amount) > 0) else { continue };
            let (spent, reserved, next) = (of(self.spent), of(self.reserved), of(amount));
            if spent.saturating_add(reserved).saturating_add(next) <= cap {
                continue;
            }
            if reserved > 0 && spent.saturating_add(next) <= cap {
                return Err(Refusal::Busy);
            }
            return Err(Refusal::Exhausted(Exhausted(format!(
                "the budget of {} of {whose} is used up: {} spent, and the next call may need {}",
                shown(cap),
                shown(spent),
                shown(next),
            ))));
        }
        Ok(())
    }

    /// The warning about the cost, once.
    fn warning(&mut self, whose: &str) -> Option<String> {
        let threshold = self.budget.warn_cost.filter(|warn| self.spent.cost >= *warn)?;
        if std::mem::replace(&mut self.warned, true) {
            return None;
        }
        Some(format!(
            "{whose} has cost {}, which reaches the warning threshold of {threshold}",
            self.spent.cost
        ))
    }
}

#[derive(Debug, Default)]
struct Accounts {
    run: Account,
    steps: BTreeMap<StepId, Account>,
}

/// The budgets of a run, and what was spent and reserved of them.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: Mutex<Accounts>,
    settled: Notify,
    /// The run whose steps have budgets; the steps of its child runs share only the budget of the run.
    run: OnceLock<RunId>,
}

impl Ledger {
    /// A ledger without any spending.
    pub fn new(run: Budget, steps: impl IntoIterator<Item = (StepId, Budget)>) -> Ledger {
        let account = |budget| Account { budget, ..Account::default() };
        let steps = steps.into_iter().map(|(id, budget)| (id, account(budget))).collect();
        let accounts = Mutex::new(Accounts { run: account(run), steps });
        Ledger { accounts, settled: Notify::new(), run: OnceLock::new() }
    }

    /// Names the run whose steps have budgets.
    pub fn bind(&self, run: RunId) {
        self.run.get_or_init(|| run);
    }

    /// Whether this is the run whose steps have budgets, and not a child run.
    pub fn is_bound_to(&self, run: &RunId) -> bool {
        self.run.get().is_none_or(|own| own == run)
    }

    /// Whether calls of a step have a limit or a warning threshold.
    pub fn limits(&self, step: Option<&StepId>) -> bool {
        let accounts = self.lock();
        let own = step.and_then(|step| accounts.steps.get(step));
        !accounts.run.budget.is_unlimited() || own.is_some_and(|own| !own.budget.is_unlimited())
    }

    /// Whether the cost of calls of a step is limited.
    pub fn limits_cost(&self, step: Option<&StepId>) -> bool {
        let accounts = self.lock();
        let own = step.and_then(|step| accounts.steps.get(step));
        accounts.run.budget.max_cost.is_some()
            || own.is_some_and(|own| own.budget.max_cost.is_some())
    }

    /// Whether there is no budget at all.
    pub fn is_unlimited(&self) -> bool {
        let accounts = self.lock();
        let all = std::iter::once(&accounts.run).chain(accounts.steps.values());
        all.into_iter().all(|account| account.budget.is_unlimited())
    }

    /// Adds what was spent before this process. Thresholds that it reaches were reported then.
    pub fn carry_over(&self, step: &StepId, amount: Amount) {
        let mut accounts = self.lock();
        let Accounts { run, steps } = &mut *accounts;
        for account in [Some(run), steps.get_mut(step)].into_iter().flatten() {
            account.spent.add(amount);
            let reached = account.budget.warn_cost.is_some_and(|warn| account.spent.cost >= warn);
            account.warned |= reached;
        }
    }

    /// Reserves an amount for one call of a step; without a step, only the budget of the run counts.
    /// Waits while other calls have reserved what is left.
    pub async fn reserve(
        self: &Arc<Self>,
        step: Option<&StepId>,
        amount: Amount,
    ) -> Result<Reservation, Exhausted> {
        loop {
            // Created before the check, so that no settlement in between is missed.
            let settled = self.settled.notified();
            match self.try_reserve(step, amount) {
                Ok(()) => {
                    let (ledger, step) = (self.clone(), step.cloned());
                    return Ok(Reservation { ledger, step, amount, open: true });
                }
                Err(Refusal::Exhausted(error)) => return Err(error),
                Err(Refusal::Busy) => settled.await,
            }
        }
    }

    /// What the run has spent and what is reserved.
    pub fn totals(&self) -> (Amount, Amount) {
        let accounts = self.lock();
        (accounts.run.spent, accounts.run.reserved)
    }

    fn try_reserve(&self, step: Option<&StepId>, amount: Amount) -> Result<(), Refusal> {
        let mut accounts = self.lock();
        let Accounts { run, steps } = &mut *accounts;
        let own = step.and_then(|step| steps.get_mut(step));
        run.check("the run", amount)?;
        if let Some(own) = &own {
            own.check(&name_of(step), amount)?;
        }
        [Some(run), own].into_iter().flatten().for_each(|account| account.reserved.add(amount));
        Ok(())
    }

    fn settle(&self, step: Option<&StepId>, reserved: Amount, spent: Amount) -> Option<String> {
        let mut accounts = self.lock();
        let Accounts { run, steps } = &mut *accounts;
        let mut own = step.and_then(|step| steps.get_mut(step));
        for account in [Some(&mut *run), own.as_deref_mut()].into_iter().flatten() {
            account.reserved.subtract(reserved);
            account.spent.add(spent);
        }
        let warning = run.warning("the run");
        let own = own.and_then(|own| own.warning(&name_of(step)));
        drop(accounts);
        self.settled.notify_waiters();
        warning.or(own)
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reserved amount. Dropped without a settlement, the call was stopped, and the whole reservation
/// counts as spent.
#[derive(Debug)]
pub struct Reservation {
    ledger: Arc<Ledger>,
    step: Option<StepId>,
    amount: Amount,
    open: bool,
}

impl Reservation {
    /// Replaces the reservation by what was spent. Returns the warning of a threshold that this
    /// reached.
    pub fn settle(mut self, spent: Amount) -> Option<String> {
        self.open = false;
        self.ledger.settle(self.step.as_ref(), self.amount, spent)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.open {
            self.ledger.settle(self.step.as_ref(), self.amount, self.amount);
        }
    }
}

fn name_of(step: Option<&StepId>) -> String {
    step.map_or_else(|| "a step".to_owned(), |step| format!("step `{step}`"))
}
