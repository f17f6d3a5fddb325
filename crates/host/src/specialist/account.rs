//! [`Account`]: what a run, step, specialist or child run has used of its budget.

use kb_base::value::{Digest, Money, Usage};
use kb_language::definition::Budget;

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

    /// The sum of both.
    #[must_use]
    pub fn and(mut self, other: Amount) -> Amount {
        self.add(other);
        self
    }

    /// This amount less another one, at least zero.
    #[must_use]
    pub fn without(mut self, other: Amount) -> Amount {
        self.subtract(other);
        self
    }

    pub(super) fn add(&mut self, other: Amount) {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.tool_calls = self.tool_calls.saturating_add(other.tool_calls);
    }

    pub(super) fn subtract(&mut self, other: Amount) {
        self.cost = Money(self.cost.0.saturating_sub(other.cost.0));
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.tool_calls = self.tool_calls.saturating_sub(other.tool_calls);
    }
}

/// What one call needs of a budget.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// The estimate, which is reserved.
    pub amount: Amount,
    /// The most that the call can use if the provider counts as expected.
    pub at_most: Amount,
    /// The model; `None` for what is known exactly.
    pub model: Option<Digest>,
}

/// What neither is spent nor reserved of the limits; `None` without a limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Left {
    /// Cost of model calls.
    pub cost: Option<Money>,
    /// Prompt and completion tokens.
    pub tokens: Option<u64>,
}

/// Why a call is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Exhausted(pub String);

/// The answer to one attempt of a reservation.
pub(super) enum Refusal {
    /// Other calls have reserved the rest; it may become free.
    Busy,
    Exhausted(Exhausted),
}

/// What the run, or one of its steps, has used of its budget.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    pub(super) budget: Budget,
    pub(super) spent: Amount,
    pub(super) reserved: Amount,
    /// The most that the calls with a reservation can use, by what their models have used before.
    pub(super) at_most: Amount,
    pub(super) warned: bool,
}

impl Account {
    /// Whether a call may be made that is estimated at an amount and uses at most another one. An estimate can be too
    /// low, so a call is made beside others only where the most that all of them can use fits. A budget is then exceeded
    /// at most by the difference of one call.
    pub(super) fn check(
        &self,
        whose: &str,
        amount: Amount,
        at_most: Amount,
    ) -> Result<(), Refusal> {
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
            let open = of(self.at_most);
            let most = spent.saturating_add(open).saturating_add(of(at_most));
            if spent.saturating_add(reserved).saturating_add(next) <= cap
                && (open == 0 || most <= cap)
            {
                continue;
            }
            if open > 0 && spent.saturating_add(next) <= cap {
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

    /// What is left of its limits.
    pub(super) fn left(&self) -> Left {
        let used = self.spent.and(self.reserved);
        Left {
            cost: self.budget.max_cost.map(|cap| Money(cap.0.saturating_sub(used.cost.0).max(0))),
            tokens: self.budget.max_tokens.map(|cap| cap.saturating_sub(used.tokens)),
        }
    }

    /// Adds what was spent before this process. A threshold that it reaches was reported then.
    pub(super) fn carry_over(&mut self, amount: Amount) {
        self.spent.add(amount);
        self.warned |= self.budget.warn_cost.is_some_and(|warn| self.spent.cost >= warn);
    }

    /// The warning about the cost, once.
    pub(super) fn warning(&mut self, whose: &str) -> Option<String> {
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
