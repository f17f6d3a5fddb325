//! [`AgentFault`]: why an agent could not be used.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, format_duration, one_line};
use kb_jsonrpc::Fault;
use kb_language::definition::CodingAgent;
use std::time::Duration;

/// Characters of a text of an agent in a message.
const SHOWN: usize = 500;

/// Why an agent could not be used. Texts of the agent are not masked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AgentFault {
    /// The conversation is over.
    Over(Fault),
    /// It did not answer this request within this time.
    Silent(&'static str, Duration),
    /// It answered a request with an error: the method, the code and the text.
    Refused(&'static str, i64, String),
    /// It has no mode or model with this name: the key, the name, and those that it has.
    NoChoice(&'static str, String, Vec<String>),
    /// It ended its turn in this way, which is no answer.
    Stopped(String),
}

impl From<Fault> for AgentFault {
    fn from(fault: Fault) -> AgentFault {
        AgentFault::Over(fault)
    }
}

impl AgentFault {
    /// It broke the protocol or a limit.
    pub(crate) fn broken(why: impl Into<String>) -> AgentFault {
        AgentFault::Over(Fault::Broken(why.into()))
    }

    /// The failure of an attempt. `is_open` tells whether its session was open already.
    pub(crate) fn failure(&self, agent: &CodingAgent, is_open: bool) -> Failure {
        let name = &agent.name;
        let starts = if is_open { Code::AGENT_ENDED } else { Code::AGENT_NOT_STARTED };
        let failure = |code, what: String| Failure::new(code, format!("the agent `{name}` {what}"));
        match self {
            AgentFault::Over(Fault::NotStarted(why)) => {
                let failure = failure(
                    Code::AGENT_NOT_STARTED,
                    format!("did not start: {}", one_line(why, SHOWN)),
                );
                match agent.install() {
                    Some(install) => failure.help(format!("install it: {install}")),
                    None => failure.help("check `command` of the agent"),
                }
            }
            AgentFault::Over(Fault::Ended(how, line)) => {
                let line = if line.is_empty() { String::new() } else { format!(": {line}") };
                failure(starts, format!("ended ({how}){line}"))
            }
            AgentFault::Over(Fault::NotRead) => {
                failure(starts, "does not read its input".to_owned())
            }
            AgentFault::Over(Fault::Broken(why)) => {
                failure(Code::AGENT_ANSWER, format!("is not usable: {}", one_line(why, SHOWN)))
            }
            AgentFault::Silent(method, limit) => {
                let limit = format_duration(*limit);
                let what = format!("did not answer `{method}` within {limit}");
                failure(Code::AGENT_NOT_STARTED, what).help(
                    "most agents need `network: open` in the specialist, and a key in `env` of the agent",
                )
            }
            AgentFault::Refused(method, code, text) => {
                let text = one_line(text, SHOWN);
                failure(Code::AGENT_REFUSED, format!("refused `{method}` ({code}): {text}")).help(
                    "if it asks for a login, give it a key in `env` of the agent: its home folder is empty",
                )
            }
            AgentFault::NoChoice(key, wanted, known) => {
                let known = match known.as_slice() {
                    [] => "it offers none".to_owned(),
                    known => format!("it has `{}`", known.join("`, `")),
                };
                let known = one_line(&known, SHOWN);
                failure(Code::AGENT_REFUSED, format!("has no {key} `{wanted}`; {known}"))
                    .help(format!("correct or remove `{key}` of the agent"))
            }
            AgentFault::Stopped(how) => {
                failure(Code::AGENT_REFUSED, format!("ended its turn: {}", one_line(how, SHOWN)))
            }
        }
    }
}
