//! [`Fit`]: whether a recording still fits what a model is given.

use super::{ChatRequest, Message};
use kb_base::value::Digest;
use kb_language::definition::ScriptTurn;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Number of hexadecimal digits of a digest.
const DIGITS: usize = 12;
/// What precedes the names of the offered tools.
const TOOLS: &str = "tools";

/// What the model is given in a turn, in a form that can be compared: the offered tools, then each
/// message that is not of the model, as its name and a digest of its text.
pub(super) fn given(request: &ChatRequest) -> Vec<String> {
    let mut names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    let tools = format!("{TOOLS} {}", names.join(" ")).trim_end().to_owned();
    let digest = |text: &str| Digest::of(text).short(DIGITS).to_string();
    let message = |message: &Message| match message {
        Message::System(text) => Some(format!("system {}", digest(text))),
        Message::User(text) => Some(format!("user {}", digest(text))),
        Message::Tool { tool, content, .. } => Some(format!("{tool} {}", digest(content))),
        Message::Assistant { .. } => None,
    };
    [tools].into_iter().chain(request.messages.iter().filter_map(message)).collect()
}

/// The part of `given` that the turns before do not have.
pub(super) fn added(given: Vec<String>, before: &[String]) -> Vec<String> {
    if before.len() <= given.len() && given[..before.len()] == *before {
        given[before.len()..].to_vec()
    } else {
        given
    }
}

/// Compares what a model is given with what it was given when a recording was made. A difference is no
/// failure by itself, because texts may have times and paths; it explains one.
#[derive(Debug, Default)]
pub struct Fit(Mutex<BTreeMap<String, String>>);

impl Fit {
    /// The first difference of each attempt, such as ``turn 2 of `write`: the result of `fs:read` …``.
    pub fn differences(&self) -> Vec<String> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.values().cloned().collect()
    }

    /// Compares a request with the recorded turns up to the current one.
    pub(super) fn compare(&self, key: &str, turns: &[ScriptTurn], request: &ChatRequest) {
        let turn = request.origin.turn.max(1) as usize;
        let played = &turns[..turn.min(turns.len())];
        if played.iter().any(|turn| turn.given.is_empty()) {
            return;
        }
        let mut recorded: Vec<String> = Vec::new();
        for turn in played {
            if turn.given.first().is_some_and(|first| first.starts_with(TOOLS)) {
                recorded.clone_from(&turn.given)
            } else {
                recorded.extend(turn.given.iter().cloned())
            }
        }
        if let Some(why) = difference(&recorded, &given(request)) {
            let what = format!("turn {turn} of `{key}`: {why}");
            let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            found.entry(format!("{key} {}", request.origin.place)).or_insert(what);
        }
    }
}

/// The first difference between what was recorded and what is given now.
fn difference(recorded: &[String], given: &[String]) -> Option<String> {
    let name = |text: &str| text.split(' ').next().unwrap_or(text).to_owned();
    let changed = recorded.iter().zip(given).find(|(then, now)| then != now);
    if let Some((then, now)) = changed {
        return Some(match (name(then).as_str(), name(now).as_str()) {
            (TOOLS, TOOLS) => tools(then, now),
            ("system", "system") => {
                "the role, the rules or the schema of the specialist changed".to_owned()
            }
            ("user", "user") => "the task or its values changed".to_owned(),
            (then, now) if then == now => format!("the result of `{then}` changed"),
            (then, now) => format!("a result of `{now}` is in the place of one of `{then}`"),
        });
    }
    match recorded.len().cmp(&given.len()) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Less => {
            Some(format!("there is another message: {}", name(&given[recorded.len()])))
        }
        std::cmp::Ordering::Greater => {
            Some(format!("a message is missing: {}", name(&recorded[given.len()])))
        }
    }
}

fn tools(then: &str, now: &str) -> String {
    let names = |text: &str| text.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (then, now) = (names(then), names(now));
    let list = |names: Vec<&String>| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let gone = list(then.iter().filter(|name| !now.contains(name)).collect());
    let new = list(now.iter().filter(|name| !then.contains(name)).collect());
    match (gone.is_empty(), new.is_empty()) {
        (false, true) => format!("{gone} is not offered any more"),
        (true, _) => format!("{new} was not offered"),
        (false, false) => format!("{gone} is not offered any more, {new} was not offered"),
    }
}
