//! Static rule for URLs: scheme and host are literal.

use crate::definition::syntax::{Decoder, Node};
use kb_base::diagnostic::{Code, Diagnostic};

/// Checks that the scheme and host of a URL are literal.
pub(crate) fn check(text: &str, literal: bool, node: &Node, decoder: &mut Decoder) {
    let placeholder = if literal {
        text.len()
    } else {
        ["{{", "<<", "{"].iter().filter_map(|open| text.find(open)).min().unwrap_or(text.len())
    };
    let fixed = &text[..placeholder];
    let Some(rest) = ["http://", "https://"].iter().find_map(|scheme| fixed.strip_prefix(scheme))
    else {
        let (message, help) = if fixed.is_empty() && !literal {
            (
                "the scheme and host of a URL cannot be placeholders",
                "write `https://host/` literally; placeholders are allowed in the path and in `query`",
            )
        } else {
            ("a URL starts with `http://` or `https://`", "write the whole URL")
        };
        let code = if fixed.is_empty() && !literal { Code::VALUE_AS_CODE } else { Code::BAD_VALUE };
        decoder.push(Diagnostic::error(code, node.span, message).help(help));
        return;
    };
    let host_ends = rest.find(['/', '?', '#']);
    let host = &rest[..host_ends.unwrap_or(rest.len())];
    if host_ends.is_none() && !literal {
        decoder.push(
            Diagnostic::error(Code::VALUE_AS_CODE, node.span, "the host of a URL cannot be a placeholder")
                .help("write the host literally and end it with `/`; placeholders are allowed in the path and in `query`"),
        );
    } else if host.is_empty() || host.contains(char::is_whitespace) {
        decoder.push(
            Diagnostic::error(Code::BAD_VALUE, node.span, "the URL has no host")
                .help("write `https://host/path`"),
        );
    } else if host.contains('@') {
        decoder.push(
            Diagnostic::error(
                Code::SECRET_MISPLACED,
                node.span,
                "a URL cannot contain a user name or password",
            )
            .help("send them in `headers: {Authorization: \"{{secrets.NAME}}\"}`"),
        );
    }
}
