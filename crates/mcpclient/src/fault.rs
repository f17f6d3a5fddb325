//! [`Fault`]: why a server could not be used.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, format_duration, one_line};
use kb_jsonrpc::Fault as Broken;
use std::time::Duration;

/// Characters of a text of a server in a message.
const SHOWN: usize = 500;

/// Why a server could not be used. Texts of the server are not masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Its program did not start, for this reason.
    NotStarted(String),
    /// It did not answer within this time: what was asked of it.
    Silent(&'static str, Duration),
    /// It ended: how, and the last line of its stderr.
    Ended(String, String),
    /// Its address was not reached: why, and the fix if it is known.
    NotReached(String, Option<String>),
    /// It answered with an HTTP status, a content type and a message that are no answer to the request.
    Status(u16, String, String),
    /// It does not read what is sent to it.
    NotRead,
    /// It broke the protocol or a limit.
    Broken(String),
    /// It answered a request with an error: the method, the code and the text.
    Refused(&'static str, i64, String),
    /// It asks for something in the call that no person has answered.
    Unanswered,
    /// The tool says that the call failed.
    CallFailed(String),
    /// The result is larger than this number of bytes.
    TooLarge(usize),
}

impl Fault {
    /// The failure of a call or a command that uses the server with this name.
    pub fn failure(&self, server: &str) -> Failure {
        let not_started = |what: String| {
            let message = format!("the MCP server `{server}` {what}");
            let help = "`kb explain KB1306` names what a server can reach in the sandbox";
            Failure::new(Code::MCP_NOT_STARTED, message).help(help)
        };
        match self {
            Fault::NotStarted(reason) => not_started(format!("did not start: {reason}")),
            Fault::Silent("tools/call", limit) => {
                let limit = format_duration(*limit);
                let message =
                    format!("the MCP server `{server}` did not answer a call within {limit}");
                Failure::new(Code::MCP_CALL_FAILED, message).help("raise `timeout` of the server")
            }
            Fault::Silent(what, limit) => {
                not_started(format!("did not answer `{what}` within {}", format_duration(*limit)))
            }
            Fault::Ended(how, line) if line.is_empty() => not_started(format!("ended ({how})")),
            Fault::Ended(how, line) => not_started(format!("ended ({how}): {line}")),
            Fault::NotReached(why, help) => {
                let failure = not_started(format!("was not reached: {}", one_line(why, SHOWN)));
                Failure { help: help.clone(), ..failure }
            }
            Fault::Status(status, kind, said) => {
                let kind = match (said.is_empty(), kind.is_empty()) {
                    (false, _) => format!("and says: {}", one_line(said, SHOWN)),
                    (true, true) => "without a content type".to_owned(),
                    (true, false) => format!("with the content type `{}`", one_line(kind, SHOWN)),
                };
                let message = format!(
                    "the MCP server `{server}` is not usable: it answered with the HTTP status {status} {kind}"
                );
                let help = match status {
                    401 | 403 => "check `token` of the server",
                    404 | 405 => {
                        "check `url` of the server: an address that ends in `/sse` is of the older transport, which is \
                         not spoken"
                    }
                    500..600 => "try again later; the server reports a fault of its own",
                    _ if said.is_empty() => "check `url` of the server",
                    _ => "check `url` and `token` of the server",
                };
                Failure::new(Code::MCP_ANSWER, message).help(help)
            }
            Fault::NotRead => not_started("does not read its input".to_owned()),
            Fault::Broken(why) => {
                let message =
                    format!("the MCP server `{server}` is not usable: {}", one_line(why, SHOWN));
                Failure::new(Code::MCP_ANSWER, message)
            }
            Fault::Refused(method, code, text) => {
                let text = one_line(text, SHOWN);
                let message =
                    format!("the MCP server `{server}` refused `{method}` ({code}): {text}");
                Failure::new(Code::MCP_CALL_FAILED, message)
            }
            Fault::CallFailed(text) => {
                let message = format!("the MCP server `{server}` says: {}", one_line(text, SHOWN));
                Failure::new(Code::MCP_CALL_FAILED, message)
            }
            Fault::Unanswered => {
                let message =
                    format!("the MCP server `{server}` asks a person, and no person answered");
                Failure::new(Code::MCP_CALL_FAILED, message)
            }
            Fault::TooLarge(limit) => {
                let message = format!(
                    "the result of the MCP server `{server}` has more than {} KiB",
                    limit >> 10
                );
                let help = "ask for less, or raise `maxResultKib` of the server";
                Failure::new(Code::MCP_CALL_FAILED, message).help(help)
            }
        }
    }
}

impl From<Broken> for Fault {
    fn from(fault: Broken) -> Fault {
        match fault {
            Broken::NotStarted(why) => Fault::NotStarted(why),
            Broken::Ended(how, line) => Fault::Ended(how, line),
            Broken::NotRead => Fault::NotRead,
            Broken::Broken(why) => Fault::Broken(why),
        }
    }
}
