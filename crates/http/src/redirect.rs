//! Redirects: the next request of a chain, and what it may carry to another origin.

use crate::error::{HttpError, shown_url as shown};
use crate::request::{PreparedRequest, checked_url};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use reqwest::Method;
use reqwest::header::HeaderName;

/// Headers that follow a redirect to another origin. Any other header may be a credential: API keys
/// have many names.
const HARMLESS: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

impl PreparedRequest {
    /// The request that follows a redirect, without what must not reach another origin.
    pub(crate) fn redirect(
        mut self,
        status: u16,
        target: &str,
    ) -> Result<PreparedRequest, HttpError> {
        let url = checked_url(target, Some(&self.url))?;
        if self.url.scheme() == "https" && url.scheme() != "https" {
            let message =
                format!("the redirect from https to `{}` was not followed", shown(url.as_str()));
            let failure = Failure::new(Code::ADDRESS_REFUSED, message)
                .help("request the http URL directly if the response need not be trusted");
            return Err(HttpError::Refused(Box::new(failure)));
        }
        if url.origin() != self.url.origin() {
            self.headers = HARMLESS
                .iter()
                .filter_map(|name| {
                    Some((HeaderName::from_static(name), self.headers.remove(*name)?))
                })
                .collect();
            self.body = None;
        }
        let reads = matches!(self.method, Method::GET | Method::HEAD);
        if status == 303 || (matches!(status, 301 | 302) && !reads) {
            self.method = if self.method == Method::HEAD { Method::HEAD } else { Method::GET };
            self.body = None;
            self.headers.remove("content-type");
        }
        Ok(PreparedRequest { url, ..self })
    }
}

#[cfg(test)]
mod tests {
    use crate::HttpRequest;
    use crate::request::PreparedRequest;

    #[test]
    fn no_redirect_downgrades_to_http_or_carries_credentials_to_another_origin() {
        let cases = [
            ("https://a.example/x", Ok(true)),
            ("/x", Ok(true)),
            ("https://a.example:444/", Ok(false)),
            ("https://b.a.example/", Ok(false)),
            ("https://a.example.b/", Ok(false)),
            ("//b.example/", Ok(false)),
            ("http://a.example/", Err(())),
            ("http://b.example/", Err(())),
            ("https://me:secret@a.example/", Err(())),
            ("file:///etc/passwd", Err(())),
        ];
        for (target, expected) in cases {
            for status in [301, 302, 303, 307, 308] {
                let request = HttpRequest {
                    url: "https://a.example/".into(),
                    headers: vec![("Authorization".into(), "Bearer x".into())],
                    ..HttpRequest::default()
                };
                let current =
                    PreparedRequest::first(&request).unwrap_or_else(|error| panic!("{error}"));
                let next = current.redirect(status, target);
                let kept = next.map(|current| current.headers.contains_key("authorization"));
                assert_eq!(kept.map_err(|_| ()), expected, "{status} {target}");
            }
        }
    }
}
