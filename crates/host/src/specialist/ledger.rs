//! The ledger of a run: what its specialists have spent and reserved, against the budgets of the run
//! and its steps: cost limits and token budgets. One ledger is shared by all attempts of a process. Start at [`Ledger::reserve`].

use super::account::{Account, Amount, Exhausted, Left, Need, Refusal};
use super::excess::Excess;
use super::pace::Pace;
use kb_base::value::{Digest, Money, RunId, RunLimits, StepId};
use kb_language::definition::{Budget, GlobalLimits};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Who makes a call: the step and the specialist whose budgets count beside that of the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Payer<'a> {
    /// The run of the step. A run that is no known child run is the first run of the tree.
    pub run: Option<&'a RunId>,
    /// Id of the step; `None` for calls that no step makes.
    pub step: Option<&'a StepId>,
    /// The name of its share: the id of the specialist, or [`ORCHESTRATOR`].
    pub share: Option<&'a str>,
}

/// The share of calls that no specialist makes: judges, and summaries of the history.
pub const ORCHESTRATOR: &str = "orchestrator";

impl<'a> From<Option<&'a StepId>> for Payer<'a> {
    fn from(step: Option<&'a StepId>) -> Self {
        Payer { step, ..Payer::default() }
    }
}

/// The part of the run's budget that calls of a specialist may use.
#[derive(Debug, Clone, Default)]
struct Share {
    percent: u32,
    account: Account,
}

impl Share {
    /// The limits for a run with this budget. Tool calls have no shares.
    fn update(&mut self, run: &Budget) {
        let part = |whole: u64| (u128::from(whole) * u128::from(self.percent) / 100) as u64;
        let cost = run.max_cost.map(|cap| Money(part(cap.0.max(0) as u64) as i64));
        self.account.budget =
            Budget { max_cost: cost, max_tokens: run.max_tokens.map(part), ..Budget::default() };
    }
}

/// A budget with the limits that are set in place of its own.
fn with(budget: Budget, limits: RunLimits) -> Budget {
    Budget {
        max_cost: limits.cost.or(budget.max_cost),
        max_tokens: limits.max_tokens.or(budget.max_tokens),
        max_tool_calls: limits.max_tool_calls.or(budget.max_tool_calls),
        ..budget
    }
}

/// The budgets of a child run: its own and those of its steps.
#[derive(Debug, Clone)]
pub struct ChildBudget {
    /// The run that executes it.
    pub parent: RunId,
    /// The `playbook` step of that run.
    pub step: StepId,
    /// `budget` of its playbook.
    pub run: Budget,
    /// `budget` of its steps.
    pub steps: Vec<(StepId, Budget)>,
}

/// The accounts of a child run.
#[derive(Debug)]
struct Child {
    parent: (RunId, StepId),
    run: Account,
    steps: BTreeMap<StepId, Account>,
}

#[derive(Debug, Default)]
struct Accounts {
    run: Account,
    steps: BTreeMap<StepId, Account>,
    shares: BTreeMap<String, Share>,
    children: BTreeMap<RunId, Child>,
    excess: Excess,
}

/// The text of a budget in messages.
type Whose = String;

impl Accounts {
    /// Visits the accounts that a call of a payer counts for: those of its run and step, and of all
    /// runs and `playbook` steps above them.
    fn visit(&mut self, payer: Payer<'_>, mut visitor: impl FnMut(Whose, &mut Account)) {
        let mut at = (payer.run.cloned(), payer.step.cloned());
        while let (Some(run), step) = &at
            && let Some(child) = self.children.get_mut(run)
        {
            visitor(format!("child run `{run}`"), &mut child.run);
            if let Some(step) = step
                && let Some(account) = child.steps.get_mut(step)
            {
                visitor(format!("step `{step}` of child run `{run}`"), account);
            }
            let (parent, step) = child.parent.clone();
            at = (Some(parent), Some(step));
        }
        visitor("the run".to_owned(), &mut self.run);
        if let Some(step) = at.1
            && let Some(account) = self.steps.get_mut(&step)
        {
            visitor(format!("step `{step}`"), account);
        }
        if let Some(name) = payer.share
            && let Some(share) = self.shares.get_mut(name)
        {
            visitor(format!("the share of `{name}`"), &mut share.account);
        }
    }

    /// The least that is left of the limits of a payer.
    fn left(&mut self, payer: Payer<'_>) -> Left {
        let mut least = Left::default();
        self.visit(payer, |_, account| {
            let left = account.left();
            least.cost = [least.cost, left.cost].into_iter().flatten().min();
            least.tokens = [least.tokens, left.tokens].into_iter().flatten().min();
        });
        least
    }

    /// Whether an account that a call of a payer counts for has this property.
    fn any(&mut self, payer: Payer<'_>, has: impl Fn(&Budget) -> bool) -> bool {
        let mut found = false;
        self.visit(Payer { share: None, ..payer }, |_, account| found |= has(&account.budget));
        found
    }
}

/// The budgets of a run, and what was spent and reserved of them.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: Mutex<Accounts>,
    settled: Notify,
    /// `global_limits` of the settings.
    global: GlobalLimits,
    pace: Pace,
    /// Whether a person permitted the calls of models without a price in this run, by the digest of the model.
    models: Mutex<BTreeMap<Digest, bool>>,
}

impl Ledger {
    /// A ledger without any spending.
    pub fn new(run: Budget, steps: impl IntoIterator<Item = (StepId, Budget)>) -> Ledger {
        let account = |budget| Account { budget, ..Account::default() };
        let steps = steps.into_iter().map(|(id, budget)| (id, account(budget))).collect();
        let accounts = Accounts { run: account(run), steps, ..Accounts::default() };
        Ledger { accounts: Mutex::new(accounts), ..Ledger::default() }
    }

    /// The same with `global_limits` of the settings.
    #[must_use]
    pub fn with_limits(self, global: GlobalLimits) -> Ledger {
        Ledger { global, pace: Pace::of(global), ..self }
    }

    /// Maximum tool calls of one attempt.
    pub(super) fn tool_calls_per_attempt(&self) -> u32 {
        self.global.tool_calls.unwrap_or(u32::MAX)
    }

    /// Notes whether a person permitted the calls of a model without a price.
    pub fn decide_model(&self, model: Digest, permitted: bool) {
        self.models.lock().unwrap_or_else(PoisonError::into_inner).insert(model, permitted);
    }

    /// Whether a person permitted the calls of a model without a price; `None` if no person was asked.
    pub(super) fn decision_on_model(&self, model: &Digest) -> Option<bool> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner).get(model).copied()
    }

    /// The model calls of the last minute.
    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The same with shares of the run's budget in percent, by specialist.
    #[must_use]
    pub fn with_shares<'s>(
        self,
        shares: impl IntoIterator<Item = (&'s String, &'s u32)>,
    ) -> Ledger {
        let mut accounts = self.lock();
        let run = accounts.run.budget;
        for (name, percent) in shares {
            let mut share = Share { percent: *percent, account: Account::default() };
            share.update(&run);
            accounts.shares.insert(name.clone(), share);
        }
        drop(accounts);
        self
    }

    /// Changes limits of the run, and with them the shares.
    pub fn limit(&self, limits: RunLimits) {
        let mut accounts = self.lock();
        accounts.run.budget = with(accounts.run.budget, limits);
        let run = accounts.run.budget;
        accounts.shares.values_mut().for_each(|share| share.update(&run));
    }

    /// Raises the limits of a step that are lower.
    pub fn raise_step(&self, step: &StepId, limits: RunLimits) {
        if let Some(account) = self.lock().steps.get_mut(step) {
            let own = account.budget;
            account.budget = Budget {
                max_cost: own.max_cost.max(limits.cost.filter(|_| own.max_cost.is_some())),
                max_tokens: own
                    .max_tokens
                    .max(limits.max_tokens.filter(|_| own.max_tokens.is_some())),
                max_tool_calls: own
                    .max_tool_calls
                    .max(limits.max_tool_calls.filter(|_| own.max_tool_calls.is_some())),
                ..own
            };
        }
    }

    /// Adds the accounts of a child run. Returns false if it has them already.
    pub fn open_child(&self, run: &RunId, budget: ChildBudget) -> bool {
        let ChildBudget { parent, step, run: own, steps } = budget;
        let account = |budget| Account { budget, ..Account::default() };
        let steps = steps.into_iter().map(|(id, budget)| (id, account(budget))).collect();
        let child = Child { parent: (parent, step), run: account(own), steps };
        let mut accounts = self.lock();
        let is_new = !accounts.children.contains_key(run);
        accounts.children.entry(run.clone()).or_insert(child);
        is_new
    }

    /// Whether calls of a payer have a limit or a warning threshold.
    pub fn limits<'a>(&self, payer: impl Into<Payer<'a>>) -> bool {
        self.lock().any(payer.into(), |budget| !budget.is_unlimited())
    }

    /// Whether the cost of calls of a payer is limited.
    pub fn limits_cost<'a>(&self, payer: impl Into<Payer<'a>>) -> bool {
        self.lock().any(payer.into(), |budget| budget.max_cost.is_some())
    }

    /// Whether there is no budget at all.
    pub fn is_unlimited(&self) -> bool {
        let accounts = self.lock();
        let all = std::iter::once(&accounts.run).chain(accounts.steps.values());
        all.into_iter().all(|account| account.budget.is_unlimited())
    }

    /// Adds what was spent before this process. Thresholds that it reaches were reported then.
    pub fn carry_over<'a>(&self, payer: impl Into<Payer<'a>>, amount: Amount) {
        self.lock().visit(payer.into(), |_, account| account.carry_over(amount));
    }

    /// Adds what a child run and a step of it spent before this process, to their own accounts only.
    pub fn carry_over_child(&self, run: &RunId, step: &StepId, amount: Amount) {
        let mut accounts = self.lock();
        let Some(child) = accounts.children.get_mut(run) else { return };
        child.run.carry_over(amount);
        if let Some(account) = child.steps.get_mut(step) {
            account.carry_over(amount);
        }
    }

    /// Reserves an amount for one call that uses no more. Waits while other calls have reserved what is left.
    pub async fn reserve<'a>(
        self: &Arc<Self>,
        payer: impl Into<Payer<'a>>,
        amount: Amount,
    ) -> Result<Reservation, Exhausted> {
        self.reserve_estimate(payer, |_left| Need { amount, at_most: amount, model: None }).await
    }

    /// Reserves what one call needs, which may depend on what is left. Waits while other calls have reserved
    /// that, or may use it. What the first call of a model uses is not known, so no call is made beside it.
    pub async fn reserve_estimate<'a>(
        self: &Arc<Self>,
        payer: impl Into<Payer<'a>>,
        mut need: impl FnMut(Left) -> Need,
    ) -> Result<Reservation, Exhausted> {
        let payer = payer.into();
        loop {
            // Created before the check, so that no settlement in between is missed.
            let settled = self.settled.notified();
            match self.try_reserve(payer, &mut need) {
                Ok((need, held)) => {
                    let (run, step) = (payer.run.cloned(), payer.step.cloned());
                    let (ledger, share) = (self.clone(), payer.share.map(str::to_owned));
                    return Ok(Reservation { ledger, run, step, share, need, held, open: true });
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

    fn try_reserve(
        &self,
        payer: Payer<'_>,
        need: &mut impl FnMut(Left) -> Need,
    ) -> Result<(Need, Amount), Refusal> {
        let mut accounts = self.lock();
        let need = need(accounts.left(payer));
        let held = accounts.excess.at_most(&need);
        let mut refused: Vec<Refusal> = Vec::new();
        accounts.visit(payer, |whose, account| {
            refused.extend(account.check(&whose, need.amount, held).err());
        });
        // Waiting does not help if one of the budgets is used up.
        let exhausted = |refusal: &Refusal| matches!(refusal, Refusal::Exhausted(_));
        if let Some(refusal) = refused.into_iter().max_by_key(exhausted) {
            return Err(refusal);
        }
        accounts.visit(payer, |_, account| {
            account.reserved.add(need.amount);
            account.at_most.add(held);
        });
        Ok((need, held))
    }

    fn settle(&self, payer: Payer<'_>, open: &Reservation, spent: Amount) -> Vec<String> {
        let mut accounts = self.lock();
        let mut warnings = Vec::new();
        accounts.visit(payer, |whose, account| {
            account.reserved.subtract(open.need.amount);
            account.at_most.subtract(open.held);
            account.spent.add(spent);
            warnings.extend(account.warning(&whose));
        });
        drop(accounts);
        self.settled.notify_waiters();
        warnings
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
    run: Option<RunId>,
    step: Option<StepId>,
    share: Option<String>,
    need: Need,
    /// The most that the call was taken to use.
    held: Amount,
    open: bool,
}

impl Reservation {
    /// Replaces the reservation by what an answered call spent. Returns the warnings of the thresholds that this
    /// reached.
    pub fn settle(mut self, spent: Amount) -> Vec<String> {
        self.open = false;
        self.ledger.lock().excess.note(&self.need, spent);
        self.end(spent)
    }

    /// Gives the reservation back: the call was refused, or reached no model.
    pub fn release(mut self) {
        self.open = false;
        self.end(Amount::default());
    }

    fn end(&self, spent: Amount) -> Vec<String> {
        let Reservation { run, step, share, .. } = &self;
        let payer = Payer { run: run.as_ref(), step: step.as_ref(), share: share.as_deref() };
        self.ledger.settle(payer, self, spent)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.open {
            self.end(self.need.amount);
        }
    }
}
