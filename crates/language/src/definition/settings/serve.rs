//! `serve`: the daemon `kb serve`.

use crate::definition::keys::KeyType::{self, Integer, Map, MapOf, OneOf, Pattern, Text};
use crate::definition::keys::{keys, settings};
use crate::definition::notify::{is_reference, is_url};
use crate::definition::syntax::{Decoder, Node};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

settings! {
    /// The daemon `kb serve`.
    pub struct ServeSettings(Debug, Clone, PartialEq): SERVE = ("serveSettings", "`serve`") {
        /// Maximum number of runs that triggers and the API keep running; further starts wait.
        [own] max_runs: Option<u32> = "maxRuns" as RUNS, default("number of processors, at least 2");
        /// Further projects that a `kb serve` of this project serves, relative to the project root; `~/` is the home directory.
        [own] projects: Vec<String> = "projects", example("[../website, ~/reports]");
        /// Named queues: playbooks whose runs share a limit and a priority.
        [own] queues: Vec<Queue> = "queues" as MapOf(const { &Map(&QUEUE) }) => queues,
            example("{deploy: {playbooks: [deploy, migrate], maxRuns: 1}}");
        /// Header with the name of the person, which a proxy on this machine sets.
        [own] user_header: Option<String> = "userHeader" as Pattern("^[A-Za-z0-9-]+$") => user_header,
            example("X-Forwarded-User");
        /// Address of the pages for the links of notifications, as people reach it.
        [own] url: Option<String> = "url" as Pattern("^https?://.+") => url,
            default("the address that `kb serve` listens on"), example("https://kb.example.org");
        /// Sends the trace of each run that has ended to a collector. A text is short for `{endpoint: TEXT}`.
        [own] traces: Option<Box<TraceSettings>> = "traces" as OneOf(const { &[Text, Map(&TRACES)] }) => traces,
            example("{endpoint: \"http://127.0.0.1:4318\"}");
    }

    /// Export of traces as OTLP/JSON over HTTP.
    pub struct TraceSettings(Debug, Clone, PartialEq, Eq): TRACES = ("traceSettings", "`traces` of `serve`") {
        /// Address of the collector, or a reference to it: `env:NAME` or `file:PATH`. `/v1/traces` is added if it is missing.
        [own] endpoint: String = "endpoint" as Pattern("^(https?://|env:|file:).+"), required,
            example("http://127.0.0.1:4318");
        /// Headers of each request; `env:NAME` and `file:PATH` are references.
        [own] headers: BTreeMap<String, String> = "headers" as MapOf(&Text) => headers,
            example("{authorization: env:OTLP_AUTHORIZATION}");
        /// The attribute `service.name` of all spans.
        [own] service: String = "service", default("kb"), example("kb-ci");
    }
}

keys! {
    /// Playbooks whose runs share a limit and a priority.
    pub struct Queue(Debug, Clone, PartialEq, Eq): QUEUE = ("queueSettings", "a queue of `serve`") {
        /// Ids of the playbooks; a playbook is in at most one queue.
        playbooks: Vec<String> = "playbooks", required, example("[deploy, migrate]");
        /// Maximum number of runs of these playbooks that have started and not ended; further starts wait.
        max_runs: Option<u32> = "maxRuns" as RUNS, default("`maxRuns` of `serve`"), example("1");
        /// Of waiting starts, those with the highest priority are next. Playbooks without a queue have 100.
        priority: u32 = "priority" as Integer(0, 1000), default("100"), example("200");
    } plus {
        /// The name, unique in the settings.
        name: String,
    }
}

const RUNS: KeyType = Integer(1, 10_000);

impl Queue {
    /// The priority of playbooks without a queue.
    pub const PRIORITY: u32 = 100;
}

impl ServeSettings {
    /// The queue that a playbook is in.
    pub fn queue_of(&self, playbook: &str) -> Option<&Queue> {
        queue_of(&self.queues, playbook)
    }
}

fn queue_of<'q>(queues: &'q [Queue], playbook: &str) -> Option<&'q Queue> {
    queues.iter().find(|queue| queue.playbooks.iter().any(|id| id == playbook))
}

fn queues(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<Queue> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "queues", "a map from names to queues");
        return Vec::new();
    };
    let mut found: Vec<Queue> = Vec::new();
    for (name, node) in entries {
        let Some(fields) = decoder.fields(node, &QUEUE) else { continue };
        let Some(mut queue) = Queue::of(&fields, decoder) else { continue };
        name.text.as_str().clone_into(&mut queue.name);
        for id in &queue.playbooks {
            let Some(other) = queue_of(&found, id) else { continue };
            let message = format!(
                "the playbook `{id}` is in the queues `{}` and `{}`",
                other.name, name.text
            );
            let at = fields.get("playbooks").map_or(node.span, |list| list.span);
            let problem = Diagnostic::error(Code::BAD_SETTING, at, message);
            decoder.push(problem.help("name it in one queue"));
        }
        found.push(queue);
    }
    found
}

fn user_header(node: &Node, _: &str, decoder: &mut Decoder) -> Option<String> {
    let name = decoder.text(node, "userHeader")?;
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Some(name.to_owned());
    }
    let message = "`userHeader` is not the name of a header";
    let problem = Diagnostic::error(Code::BAD_SETTING, node.span, message);
    decoder.push(problem.help("write a name such as `X-Forwarded-User`"));
    None
}

/// Decodes `url`, without a slash at its end.
fn url(node: &Node, _: &str, decoder: &mut Decoder) -> Option<String> {
    let url = decoder.text(node, "url")?.trim_end_matches('/');
    if is_url(url) {
        return Some(url.to_owned());
    }
    let problem = Diagnostic::error(Code::BAD_SETTING, node.span, "`url` is not a URL");
    decoder.push(problem.help("write the address of the pages, such as `https://kb.example.org`"));
    None
}

fn traces(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Box<TraceSettings>> {
    let (at, found) = if node.as_map().is_none() {
        let endpoint = decoder.text(node, "endpoint")?.to_owned();
        (node.span, TraceSettings { endpoint, ..TraceSettings::default() })
    } else {
        let fields = decoder.fields(node, &TRACES)?;
        let found = TraceSettings::of(&fields, decoder)?;
        (fields.get("endpoint")?.span, found)
    };
    if !is_url(&found.endpoint) && !is_reference(&found.endpoint) {
        let message = "`endpoint` is neither a URL nor a reference".to_owned();
        let help = "write `http://127.0.0.1:4318`, `env:NAME` or `file:PATH`".to_owned();
        decoder.bad_value(at, message, help);
        return None;
    }
    Some(Box::new(found))
}

fn headers(node: &Node, _: &str, decoder: &mut Decoder) -> BTreeMap<String, String> {
    if node.as_map().is_none() {
        decoder.wrong_type(node, "headers", "a map of texts");
    }
    let entries = node.as_map().into_iter().flatten();
    let texts = entries.filter_map(|(name, node)| {
        Some((name.text.to_string(), decoder.text(node, "headers")?.to_owned()))
    });
    texts.collect()
}
