//! The verdicts of a run, compared with those that its recorded observations give.

use super::{Audit, Frozen};
use crate::inspect::replay::{Judgement, Reading, replay};
use crate::journal::Journal;
use kb_base::diagnostic::Code;
use kb_core::evidence::Verification;
use kb_core::run::Event;
use std::sync::Arc;

impl Audit {
    pub(super) fn verdicts(
        &mut self,
        journal: &Arc<dyn Journal>,
        frozen: &Frozen,
        events: &[(u64, Event)],
    ) {
        let plan = match frozen.load() {
            Ok((_, plan)) => plan,
            Err(error) => {
                let message = format!("the stored definitions cannot be loaded: {error}");
                return self.fault(Code::RECORD_INCONSISTENT, None, message);
            }
        };
        let events = events.iter().map(|(seq, event)| (*seq, event));
        replay(journal, plan, events, Reading::Same, &mut |judgement| self.compare(judgement));
    }

    fn compare(&mut self, judgement: Judgement<'_>) {
        let Judgement { seq, name, recorded, again } = judgement;
        match again {
            None => self.without_basis += 1,
            Some(Ok(again)) if is_same(&again, recorded) => self.verdicts += 1,
            Some(Ok(again)) => {
                let message = format!(
                    "the verdict on `{name}` is recorded as {}, but the recorded observations give {}{}",
                    recorded.verdict,
                    again.verdict,
                    again.reason.map(|reason| format!(": {reason}")).unwrap_or_default(),
                );
                self.fault(Code::VERDICT_DIFFERS, Some(seq), message);
            }
            Some(Err(reason)) => {
                let message = format!("the verdict on `{name}` cannot be recomputed: {reason}");
                self.fault(Code::VERDICT_DIFFERS, Some(seq), message);
            }
        }
    }
}

/// Whether two verifications have the same verdicts, in total and for each check. Messages are not
/// compared, because a later `kb` may phrase them differently.
fn is_same(a: &Verification, b: &Verification) -> bool {
    let verdicts =
        |v: &Verification| v.checks.iter().map(|check| check.verdict).collect::<Vec<_>>();
    (a.verdict, a.confidence, verdicts(a)) == (b.verdict, b.confidence, verdicts(b))
}
