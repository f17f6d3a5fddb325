//! [`Excess`]: by how much the calls of each model have used more than they could by their size.

use super::account::{Amount, Need};
use kb_base::value::{Digest, Money};
use std::collections::BTreeMap;

/// More than any call uses, and little enough that many of them can be added.
const UNKNOWN: Amount = Amount { cost: Money(1 << 50), tokens: 1 << 50, tool_calls: 0 };

/// The worst ratio of each model that has answered, in thousandths.
///
/// A provider may count more tokens than the text has bytes, or ignore the limit of a response. How much more is known
/// from its first answer on.
#[derive(Debug, Default)]
pub(super) struct Excess(BTreeMap<Digest, u64>);

impl Excess {
    /// The most that a call can use. Until its model has answered, no amount is enough.
    pub(super) fn at_most(&self, need: &Need) -> Amount {
        let Some(model) = need.model else { return need.at_most };
        let Some(ratio) = self.0.get(&model) else {
            return Amount { tool_calls: need.at_most.tool_calls, ..UNKNOWN };
        };
        let times = |n: u64| {
            u64::try_from(u128::from(n) * u128::from(*ratio) / 1_000).unwrap_or(UNKNOWN.tokens)
        };
        let Amount { cost, tokens, tool_calls } = need.at_most;
        let cost = Money(i64::try_from(times(cost.0.max(0) as u64)).unwrap_or(UNKNOWN.cost.0));
        Amount { cost, tokens: times(tokens), tool_calls }
    }

    /// Notes what an answered call has used.
    pub(super) fn note(&mut self, need: &Need, spent: Amount) {
        let Some(model) = need.model else { return };
        let ratio = |spent: u64, most: u64| spent.saturating_mul(1_000).div_ceil(most.max(1));
        let money = |amount: Amount| amount.cost.0.max(0) as u64;
        let by_cost = ratio(money(spent), money(need.at_most));
        let own = ratio(spent.tokens, need.at_most.tokens).max(by_cost).max(1_000);
        let worst = self.0.entry(model).or_default();
        *worst = own.max(*worst);
    }
}
