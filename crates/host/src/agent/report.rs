//! What an agent tells while it works.

use kb_base::value::{Json, Money};
use serde_json::json;

/// Maximum size of the input of a reported call that is kept, in bytes.
const INPUT_BYTES: usize = 8 << 10;
/// Maximum number of characters of a title.
const TITLE: usize = 300;
/// Maximum number of paths of a reported call.
const PATHS: usize = 50;
/// Maximum number of steps of a plan that are shown.
const PLAN: usize = 30;

/// What an agent tells.
#[derive(Debug, PartialEq)]
pub(crate) enum Update {
    /// A part of its response.
    Text(String),
    /// A call of one of its own tools, or news about one.
    Call(CallReport),
    /// Its plan, one step a line.
    Plan(String),
    /// What the session has cost so far.
    Cost(Money),
    /// Something that is not used, such as its thoughts.
    Other,
}

/// How far a reported call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallState {
    /// It has not ended.
    Running,
    /// It ended, as the agent says, with success.
    Completed,
    /// It ended without success.
    Failed,
}

/// What an agent says about a call of one of its tools. Absent parts are as they were.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct CallReport {
    /// The id that the agent gave it.
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    /// Such as `edit` and `execute`.
    pub(crate) kind: Option<String>,
    pub(crate) state: Option<CallState>,
    /// Files that it concerns.
    pub(crate) paths: Vec<String>,
    /// Its arguments; a text if they are long.
    pub(crate) input: Option<Json>,
}

impl CallReport {
    /// Reads a call in an update or in a question.
    pub(crate) fn of(call: &Json) -> CallReport {
        let text = |key: &str| call.get(key).and_then(Json::as_str);
        let state = text("status").map(|status| match status {
            "completed" => CallState::Completed,
            "failed" | "cancelled" => CallState::Failed,
            _ => CallState::Running,
        });
        let input = call.get("rawInput").filter(|input| !input.is_null());
        let named = ["path", "file_path", "filePath", "abs_path"];
        let own = named.iter().filter_map(|key| input?.get(*key)?.as_str());
        let listed = call.get("locations").and_then(Json::as_array);
        let listed = listed.into_iter().flatten().filter_map(|at| at.get("path")?.as_str());
        let changed = call.get("content").and_then(Json::as_array);
        let changed = changed.into_iter().flatten().filter_map(|part| part.get("path")?.as_str());
        let mut paths: Vec<String> = Vec::new();
        for path in own.chain(listed).chain(changed).take(PATHS) {
            if !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
        CallReport {
            id: text("toolCallId").unwrap_or_default().chars().take(TITLE).collect(),
            title: text("title").map(|title| title.chars().take(TITLE).collect()),
            kind: text("kind").map(kind_of),
            state,
            paths,
            input: input.map(bounded),
        }
    }

    /// A call that was recorded with these arguments.
    pub(crate) fn recorded(kind: &str, args: &Json) -> CallReport {
        let text = |key: &str| args.get(key).and_then(Json::as_str).map(str::to_owned);
        let listed = args.get("paths").and_then(Json::as_array).into_iter().flatten();
        let listed = listed.filter_map(|path| path.as_str().map(str::to_owned));
        CallReport {
            id: String::new(),
            title: text("title"),
            kind: Some(kind_of(kind)),
            state: None,
            paths: text("path").into_iter().chain(listed).take(PATHS).collect(),
            input: args.get("input").cloned(),
        }
    }

    /// Adds what is new.
    pub(crate) fn take(&mut self, news: CallReport) {
        self.title = news.title.or(self.title.take());
        self.kind = news.kind.or(self.kind.take());
        self.state = news.state.or(self.state);
        self.input = news.input.or(self.input.take());
        for path in news.paths {
            if self.paths.len() < PATHS && !self.paths.contains(&path) {
                self.paths.push(path);
            }
        }
    }

    /// The kind of the call; `other` if the agent does not say.
    pub(crate) fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("other")
    }

    /// The arguments as they are recorded.
    pub(crate) fn args(&self) -> Json {
        let mut args = json!({"title": self.title.as_deref().unwrap_or_default()});
        match self.paths.as_slice() {
            [] => {}
            [path] => args["path"] = json!(path),
            paths => args["paths"] = json!(paths),
        }
        if let Some(command) = self.input.as_ref().and_then(|input| input.get("command")) {
            args["command"] = command.clone();
        }
        if let Some(input) = &self.input {
            args["input"] = input.clone();
        }
        args
    }
}

/// A kind of the protocol, or `other`: it becomes a part of a name.
fn kind_of(kind: &str) -> String {
    const KINDS: [&str; 9] =
        ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode"];
    KINDS.iter().find(|known| **known == kind).map_or("other", |known| known).to_owned()
}

fn bounded(input: &Json) -> Json {
    let text = input.to_string();
    if text.len() <= INPUT_BYTES {
        return input.clone();
    }
    let start: String = text.chars().take(INPUT_BYTES / 4).collect();
    Json::String(format!("{start}… ({} bytes)", text.len()))
}

impl Update {
    /// Reads `update` of a notification.
    pub(crate) fn of(update: &Json) -> Update {
        let text = |key: &str| update.get(key).and_then(Json::as_str);
        match text("sessionUpdate").unwrap_or_default() {
            "agent_message_chunk" => {
                let content = update.pointer("/content/text").and_then(Json::as_str);
                content.map_or(Update::Other, |text| Update::Text(text.to_owned()))
            }
            "tool_call" | "tool_call_update" => Update::Call(CallReport::of(update)),
            "plan" => Update::Plan(plan_of(update)),
            "usage_update" => cost_of(update).map_or(Update::Other, Update::Cost),
            _ => Update::Other,
        }
    }
}

fn plan_of(update: &Json) -> String {
    let entries = update.get("entries").and_then(Json::as_array);
    let line = |entry: &Json| {
        let text = entry.get("content").and_then(Json::as_str)?;
        let status = entry.get("status").and_then(Json::as_str).unwrap_or("pending");
        let text: String = text.chars().take(TITLE).collect();
        Some(format!("{text} ({})", kb_base::value::one_line(status, 20)))
    };
    let lines = entries.into_iter().flatten().take(PLAN).filter_map(line);
    lines.collect::<Vec<String>>().join("; ")
}

/// A cost in US dollars. Others are not known.
fn cost_of(update: &Json) -> Option<Money> {
    let currency = update.pointer("/cost/currency").and_then(Json::as_str)?;
    let amount = update.pointer("/cost/amount").and_then(Json::as_f64)?;
    let is_cost = currency.eq_ignore_ascii_case("USD") && (0.0..1e6).contains(&amount);
    is_cost.then(|| Money::from_usd(amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_told_apart_and_limited() {
        let text = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}});
        assert_eq!(Update::of(&text), Update::Text("Hi".to_owned()));
        let image = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image"}});
        for other in [image, json!({"sessionUpdate": "agent_thought_chunk"}), json!(7)] {
            assert_eq!(Update::of(&other), Update::Other);
        }
        let long = "x".repeat(100_000);
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "c1", "title": long, "kind": "../evil",
            "status": "completed", "locations": [{"path": "/p/a"}, {"path": "/p/a"}],
            "rawInput": {"file_path": "/p/b", "content": long},
        });
        let Update::Call(call) = Update::of(&call) else { panic!("no call") };
        assert_eq!((call.kind(), call.state), ("other", Some(CallState::Completed)));
        assert_eq!(call.paths, ["/p/b", "/p/a"]);
        assert!(call.args().to_string().len() < 4_000, "{}", call.args().to_string().len());
    }

    #[test]
    fn only_a_cost_in_dollars_counts() {
        let cost = |amount: Json, currency: &str| {
            let cost = json!({"amount": amount, "currency": currency});
            Update::of(&json!({"sessionUpdate": "usage_update", "cost": cost}))
        };
        assert_eq!(cost(json!(0.5), "USD"), Update::Cost(Money::from_usd(0.5)));
        for (amount, currency) in [(json!(-1), "USD"), (json!(1e300), "USD"), (json!(1), "EUR")] {
            assert_eq!(cost(amount, currency), Update::Other);
        }
    }
}
