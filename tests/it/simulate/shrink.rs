//! Reduces a failing case: removes turns, steps, edges and features for as long as it still fails.

use super::case::{Case, End, GateSpec, Kind, Loop, Row, Spec, Turn};
use super::watch::Fault;
use kb::definition::{InconclusivePolicy, OnItemError, RunIf};

/// How many cases are tried at most.
const TRIES: usize = 4_000;

/// The smallest case found that still fails, and how it fails.
pub(super) fn shrink(
    case: Case,
    fault: Fault,
    fails: &dyn Fn(&Case) -> Option<Fault>,
) -> (Case, Fault) {
    let mut shrinking = Shrinking { case, fault, fails, tries: TRIES };
    loop {
        let before = shrinking.case.clone();
        shrinking.fewer_turns();
        shrinking.fewer_steps();
        shrinking.plainer_steps();
        shrinking.plainer_turns();
        if shrinking.case == before || shrinking.tries == 0 {
            return (shrinking.case, shrinking.fault);
        }
    }
}

struct Shrinking<'a> {
    case: Case,
    fault: Fault,
    fails: &'a dyn Fn(&Case) -> Option<Fault>,
    tries: usize,
}

impl Shrinking<'_> {
    /// Keeps the change if the case still fails.
    fn attempt(&mut self, change: impl FnOnce(&mut Case)) -> bool {
        let mut changed = self.case.clone();
        change(&mut changed);
        if changed == self.case || self.tries == 0 {
            return false;
        }
        self.tries -= 1;
        match (self.fails)(&changed) {
            Some(fault) => {
                (self.case, self.fault) = (changed, fault);
                true
            }
            None => false,
        }
    }

    /// Delta debugging: halves, quarters, … down to single turns.
    fn fewer_turns(&mut self) {
        let mut size = self.case.turns.len();
        while size > 0 {
            let mut at = 0;
            while at < self.case.turns.len() {
                let end = (at + size).min(self.case.turns.len());
                if !self.attempt(|case| drop(case.turns.drain(at..end))) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    fn fewer_steps(&mut self) {
        let mut at = self.case.steps.len();
        while at > 0 {
            at -= 1;
            let is_last_main = |case: &Case| case.steps.iter().filter(|s| !s.finally).count() == 1;
            if !self.case.steps[at].finally && is_last_main(&self.case) {
                continue;
            }
            self.attempt(|case| {
                let gone = case.steps.remove(at);
                case.steps.iter_mut().for_each(|step| step.edges.retain(|(on, _)| *on != gone.id));
                let of_it = |step: &Spec| {
                    step.hook.as_ref().is_some_and(|(of, _)| of.as_ref() == Some(&gone.id))
                };
                case.steps.iter_mut().filter(|step| of_it(step)).for_each(|step| step.hook = None);
            });
        }
    }

    fn plainer_steps(&mut self) {
        for at in 0..self.case.steps.len() {
            for edge in (0..self.case.steps[at].edges.len()).rev() {
                self.attempt(|case| drop(case.steps[at].edges.remove(edge)));
            }
            for plain in PLAINER {
                self.attempt(|case| plain(&mut case.steps[at]));
            }
            for item in (0..self.case.steps[at].ends.len()).rev() {
                if self.case.steps[at].for_each.is_some() {
                    self.attempt(|case| drop(case.steps[at].ends.remove(item)));
                }
            }
            for item in 0..self.case.steps[at].ends.len() {
                for end in (0..self.case.steps[at].ends[item].len()).rev() {
                    self.attempt(|case| {
                        case.steps[at].ends[item].remove(end);
                    });
                }
            }
        }
        self.attempt(|case| case.limited_by_processors = false);
        self.attempt(|case| case.max_parallel = 1);
        self.attempt(|case| case.fail_fast = false);
        self.attempt(|case| case.concludes = true);
        self.attempt(|case| case.inconclusive = InconclusivePolicy::Warn);
    }

    fn plainer_turns(&mut self) {
        for at in 0..self.case.turns.len() {
            self.attempt(|case| {
                match &mut case.turns[at] {
                    Turn::Answer(n) | Turn::Repeat(n) | Turn::Alarm(n) | Turn::Record(n) => *n = 0,
                    Turn::Ask(n) => *n = 0,
                    Turn::PowerCut(n) | Turn::Person(n, _) | Turn::RetryAlone(n) => *n = 0,
                    Turn::Child(n) => *n = 0,
                    Turn::Together(n) => *n = 1,
                    Turn::Retry(from) => *from = None,
                    Turn::Crash | Turn::Cancel | Turn::Expire | Turn::Drain => {}
                };
            });
        }
    }
}

const PLAINER: [fn(&mut Spec); 24] = [
    |step| step.locks.clear(),
    |step| step.hook = None,
    |step| step.preset = None,
    |step| step.recovery = None,
    |step| step.kind = Kind::Set,
    |step| step.kind = Kind::Run,
    |step| step.condition = None,
    |step| step.run_if = RunIf::AllSucceeded,
    |step| step.tolerated = false,
    |step| step.retry = None,
    |step| step.max_attempts = None,
    |step| step.retry_safe = true,
    |step| step.exclusive = false,
    |step| step.gate = None,
    |step| step.evaluates = true,
    |step| step.gathers = true,
    |step| step.merges = None,
    |step| step.heals = false,
    |step| step.returns = None,
    |step| step.ends.iter_mut().for_each(Vec::clear),
    |step| step.repeat = None,
    |step| step.repeat = step.repeat.map(|(max, at)| (1, if at > max { 2 } else { 1 })),
    |step| {
        step.for_each = None;
        step.ends.truncate(1);
        step.ends.resize(1, Vec::new());
    },
    |step| {
        let each =
            step.for_each.map(|_| Loop { max_parallel: None, on_error: OnItemError::Continue });
        step.for_each = each;
        step.ends.iter_mut().flatten().for_each(|end| end.retry_after_ms = None);
    },
];

/// The case as a small playbook, with what its attempts come to and what happens beside them.
pub(super) fn show(case: &Case) -> String {
    let Case { max_parallel, limited_by_processors, fail_fast, inconclusive, concludes, .. } = case;
    let mut text = format!("limits: {{maxParallel: {max_parallel}, failFast: {fail_fast}}}\n");
    if *limited_by_processors {
        text.push_str("(maxParallel is the number of processors)\n");
    }
    if *inconclusive != InconclusivePolicy::Warn {
        text.push_str(&format!("verifier: {{inconclusivePolicy: {inconclusive:?}}}\n"));
    }
    if !concludes {
        text.push_str("outputs: {none: cannot be evaluated}\n");
    }
    for (title, finally) in [("steps", false), ("finally", true)] {
        let chosen: Vec<&Spec> = case.steps.iter().filter(|s| s.finally == finally).collect();
        if !chosen.is_empty() {
            text.push_str(&format!("{title}:\n"));
        }
        for spec in chosen {
            text.push_str(&format!("  - {{{}}}\n", keys(spec).join(", ")));
            text.push_str(&fate(spec));
        }
    }
    let turns: Vec<String> = case.turns.iter().map(|turn| format!("{turn:?}")).collect();
    text.push_str(&format!("turns: [{}]\n", turns.join(", ")));
    text
}

fn keys(spec: &Spec) -> Vec<String> {
    let mut keys = vec![format!("id: {}", spec.id), format!("{:?}: …", spec.kind).to_lowercase()];
    let edges: Vec<String> = spec.edges.iter().map(|(on, how)| format!("{on} ({how:?})")).collect();
    let mut key = |there: bool, text: String| {
        if there {
            keys.push(text);
        }
    };
    key(!edges.is_empty(), format!("dependsOn: [{}]", edges.join(", ")));
    key(!spec.locks.is_empty(), format!("locks: {:?}", spec.locks));
    key(spec.hook.is_some(), format!("hook: {:?}", spec.hook));
    key(spec.condition.is_some(), format!("condition: {}", spec.condition.unwrap_or(true)));
    key(spec.run_if != RunIf::AllSucceeded, format!("runIf: {:?}", spec.run_if));
    key(spec.tolerated, "onError: continue".into());
    let (max, on) = spec.retry.map_or((0, String::new()), |(max, on)| (max, format!("{on:?}")));
    key(spec.retry.is_some(), format!("retry: {{max: {max}, on: [{on}]}}"));
    if let Some(rows) = &spec.recovery {
        let row = |row: &Row| format!("{:?}: {:?} {}", row.on, row.action, row.max);
        key(true, format!("recovery: [{}]", rows.iter().map(row).collect::<Vec<_>>().join(", ")));
    }
    key(spec.max_attempts.is_some(), format!("maxAttempts: {}", spec.max_attempts.unwrap_or(0)));
    key(!spec.retry_safe, "retrySafe: false".into());
    let preset = spec.preset.map(|preset| format!("preset: {preset:?}"));
    key(preset.is_some(), preset.unwrap_or_default());
    key(spec.exclusive, "workspace: exclusive".into());
    if let Some(GateSpec { on_failed, on_inconclusive, max_reworks }) = spec.gate {
        let inconclusive = on_inconclusive.map(|policy| format!(", onInconclusive: {policy:?}"));
        let inconclusive = inconclusive.unwrap_or_default();
        let text =
            format!("verify: {{onFailed: {on_failed:?}{inconclusive}, maxReworks: {max_reworks}}}");
        key(true, text);
    }
    if let Some((max, done_at)) = spec.repeat {
        key(true, format!("loop: {{max: {max}}} (done at {done_at})"));
    }
    if let Some(each) = spec.for_each {
        let most = each.max_parallel.map_or("all".into(), |most| most.to_string());
        let policy = each.on_error;
        let count = spec.ends.len();
        let text =
            format!("forEach: {{items: {count}, maxParallel: {most}, onItemError: {policy:?}}}");
        key(true, text);
    }
    keys
}

fn fate(spec: &Spec) -> String {
    let mut words = Vec::new();
    for (item, ends) in spec.ends.iter().enumerate().filter(|(_, ends)| !ends.is_empty()) {
        let end = |end: &End| match end.retry_after_ms {
            Some(ms) => format!("{} ({}) wait {ms} ms", end.outcome, end.verdict),
            None => format!("{} ({}) #{}", end.outcome, end.verdict, end.words),
        };
        let ends: Vec<String> = ends.iter().map(end).collect();
        let item = spec.for_each.map(|_| format!("[{item}]")).unwrap_or_default();
        words.push(format!("attempts{item}: {}, then ok", ends.join(", ")));
    }
    let mut word = |there: bool, text: &str| {
        if there {
            words.push(text.to_owned());
        }
    };
    word(spec.heals && spec.ends.iter().any(|ends| !ends.is_empty()), "well when retried");
    word(!spec.evaluates, "its condition or list cannot be evaluated");
    word(spec.merges.is_some(), "it has files of its own");
    word(spec.merges == Some(false), "its changes cannot be merged");
    word(spec.returns.is_some(), "a rejection may send the work back");
    word(!spec.gathers && spec.for_each.is_some(), "its items cannot be gathered");
    words.iter().map(|word| format!("    # {word}\n")).collect()
}
