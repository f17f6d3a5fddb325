//! [`AttemptPlace`]: where an attempt stands in a run and in the runs above it. [`AttemptName`]: how
//! scripts, stubs and answers of tests name attempts.

use super::InstanceKey;
use std::fmt;

/// One attempt of a step: of a run itself, or of a run above it that the attempt started as a child run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlacedStep {
    /// The id of the step; with `#judge` or `#history` behind it, a call beside the work of the step.
    pub step: String,
    /// The key of the item of a `forEach` step.
    pub item: Option<String>,
    /// Iteration of the instance, from 1.
    pub iteration: u32,
    /// Number of the attempt in the iteration, from 1.
    pub attempt: u32,
}

impl PlacedStep {
    /// The place of an attempt in its run.
    pub fn new(instance: &InstanceKey, iteration: u32, attempt: u32) -> PlacedStep {
        PlacedStep::named(instance.step.as_str(), &instance.to_string(), iteration, attempt)
    }

    /// The place of an attempt of the instance with this name, such as `review[src/a.rs]`.
    pub fn named(step: &str, instance: &str, iteration: u32, attempt: u32) -> PlacedStep {
        let item = instance.strip_prefix(step).and_then(|rest| rest.strip_prefix('['));
        let item = item.and_then(|rest| rest.strip_suffix(']')).map(str::to_owned);
        PlacedStep { step: step.to_owned(), item, iteration, attempt }
    }

    /// The step instance, such as `review[src/a.rs]`.
    pub fn instance(&self) -> String {
        let (step, role) = self.step.split_at(self.step.find('#').unwrap_or(self.step.len()));
        match &self.item {
            Some(item) => format!("{step}[{item}]{role}"),
            None => self.step.clone(),
        }
    }
}

/// An attempt below the attempts that started its run, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptPlace {
    /// The `playbook` steps above; empty for a run that no other one started.
    pub callers: Vec<PlacedStep>,
    /// The attempt itself.
    pub own: PlacedStep,
}

impl AttemptPlace {
    /// The same place for a call beside the work of the step, such as `#judge`.
    #[must_use]
    pub fn beside(mut self, role: &str) -> AttemptPlace {
        self.own.step.push_str(role);
        self
    }

    /// The callers of the run that the attempt starts.
    pub fn below(self) -> Vec<PlacedStep> {
        let AttemptPlace { mut callers, own } = self;
        callers.push(own);
        callers
    }

    fn levels(&self) -> impl DoubleEndedIterator<Item = &PlacedStep> {
        self.callers.iter().chain([&self.own])
    }
}

/// The name that means this place and no other one: first attempts and iterations are not written.
impl fmt::Display for AttemptPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, level) in self.levels().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { "/" }, level.instance())?;
            if level.iteration > 1 {
                write!(f, "@{}", level.iteration)?;
            }
            if level.attempt > 1 {
                write!(f, "#{}", level.attempt)?;
            }
        }
        Ok(())
    }
}

/// How an author names attempts: `STEP[ITEM]@ITERATION#ATTEMPT`, behind the steps that started the child
/// run: `fix#2/review`. What is not written is any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptName {
    levels: Vec<NamedStep>,
}

/// A part of an [`AttemptName`]. What is `None` is any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct NamedStep {
    /// As in [`PlacedStep::step`].
    step: String,
    item: Option<String>,
    iteration: Option<u32>,
    attempt: Option<u32>,
}

/// How exact a name is: of two names for one attempt, the greater one applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Exactness {
    details: usize,
    has_attempt: bool,
    levels: usize,
}

impl AttemptName {
    /// Reads a name. A `/` in brackets belongs to the key of an item. A text in another form names a step
    /// that cannot exist.
    pub fn of(text: &str) -> AttemptName {
        let mut depth = 0u32;
        let levels = text.split(|char| {
            match char {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            char == '/' && depth == 0
        });
        AttemptName { levels: levels.map(NamedStep::of).collect() }
    }

    /// The ids of the steps that the name lists, outermost first; the last one is the step itself.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().map(|level| level.step.split('#').next().unwrap_or_default())
    }

    /// How exactly the name names an attempt; `None` if it names others.
    fn exactness(&self, place: &AttemptPlace) -> Option<Exactness> {
        let mut above = place.levels().rev();
        let mut details = self.levels.len();
        for level in self.levels.iter().rev() {
            details += level.details_of(above.next()?)?;
        }
        let has_attempt = self.levels.last().is_some_and(|level| level.attempt.is_some());
        Some(Exactness { details, has_attempt, levels: self.levels.len() })
    }

    /// Of values by name, the one whose name is the most exact for an attempt.
    pub fn most_exact<'v, T>(
        values: impl IntoIterator<Item = (&'v str, T)>,
        place: &AttemptPlace,
    ) -> Option<(&'v str, T)> {
        let named = values.into_iter().filter_map(|(name, value)| {
            Some((AttemptName::of(name).exactness(place)?, name, value))
        });
        named.max_by_key(|(exactness, ..)| *exactness).map(|(_, name, value)| (name, value))
    }
}

impl NamedStep {
    fn of(text: &str) -> NamedStep {
        let (name, item, rest) = match (text.find('['), text.rfind(']')) {
            (Some(open), Some(close)) if open < close => {
                (&text[..open], Some(&text[open + 1..close]), &text[close + 1..])
            }
            _ => {
                let end = text.find(['#', '@']).unwrap_or(text.len());
                (&text[..end], None, &text[end..])
            }
        };
        let mut found = NamedStep {
            step: name.to_owned(),
            item: item.map(str::to_owned),
            ..NamedStep::default()
        };
        let marks = rest.match_indices(['#', '@']).map(|(at, _)| at);
        let starts: Vec<usize> = [0].into_iter().chain(marks).collect();
        let ends = starts[1..].iter().copied().chain([rest.len()]);
        for part in starts.iter().zip(ends).map(|(start, end)| &rest[*start..end]) {
            let number = |mark: char| part.strip_prefix(mark).and_then(|rest| rest.parse().ok());
            if let Some(iteration) = number('@') {
                found.iteration = Some(iteration);
            } else if let Some(attempt) = number('#') {
                found.attempt = Some(attempt);
            } else {
                found.step.push_str(part);
            }
        }
        found
    }

    /// Number of the details of the name that agree with a step; `None` if one does not.
    fn details_of(&self, placed: &PlacedStep) -> Option<usize> {
        let agrees = |own: Option<u32>, placed: u32| own.is_none_or(|own| own == placed);
        let item_agrees = self.item.is_none() || self.item == placed.item;
        let all = self.step == placed.step
            && item_agrees
            && agrees(self.iteration, placed.iteration)
            && agrees(self.attempt, placed.attempt);
        let details = [self.item.is_some(), self.iteration.is_some(), self.attempt.is_some()];
        all.then(|| details.into_iter().filter(|given| *given).count())
    }
}

#[cfg(test)]
mod tests {
    use super::{AttemptName, AttemptPlace, PlacedStep};

    fn step(step: &str, item: Option<&str>, iteration: u32, attempt: u32) -> PlacedStep {
        let item = item.map(str::to_owned);
        PlacedStep { step: step.to_owned(), item, iteration, attempt }
    }

    fn best<'n>(names: &[&'n str], place: &AttemptPlace) -> Option<&'n str> {
        let values = names.iter().map(|name| (*name, ()));
        AttemptName::most_exact(values, place).map(|(name, ())| name)
    }

    #[test]
    fn the_most_exact_name_of_an_attempt_applies() {
        let place = AttemptPlace {
            callers: vec![step("fix", Some("a/b"), 1, 2)],
            own: step("review", Some("x]#1"), 2, 3),
        };
        let by_rank = [
            "review",
            "review#3",
            "fix/review@2#3",
            "fix#2/review@2#3",
            "fix[a/b]#2/review[x]#1]@2#3",
        ];
        for n in 1..=by_rank.len() {
            assert_eq!(best(&by_rank[..n], &place), Some(by_rank[n - 1]));
        }
        let others = [
            "revie",
            "review#2",
            "review@1",
            "review[y]",
            "fix#1/review",
            "fix",
            "a/fix/review",
            "review#judge",
            "review#",
            "/review",
            "",
        ];
        assert_eq!(best(&others, &place), None);
        assert_eq!(place.to_string(), "fix[a/b]#2/review[x]#1]@2#3");
        assert!(AttemptName::of(&place.to_string()).exactness(&place).is_some());
    }

    #[test]
    fn a_call_beside_the_work_has_a_name_of_its_own() {
        let place = AttemptPlace { callers: Vec::new(), own: step("review", Some("a"), 1, 2) };
        let judge = place.beside("#judge");
        assert_eq!(judge.to_string(), "review[a]#judge#2");
        let names = ["review", "review[a]#2", "review#judge", "review#judge#2", "review[a]#judge"];
        assert_eq!(best(&names, &judge), Some("review#judge#2"));
    }
}
