//! The HTTP client of tools and `http` steps, with its address rules.
//!
//! Only http(s), no credentials in the URL, and only public addresses unless the settings allow the
//! host: this prevents server-side request forgery (SSRF). The address is checked when the connection
//! resolves it, so that DNS rebinding has no effect. Every redirect is a new request under the same rules. Start reading at `client.rs`.

mod address;
mod client;
mod error;
mod redirect;
mod request;
mod response;
mod stream;

pub use client::{HttpClient, Lookup};
pub use error::{HttpError, host_of, shown_url, without_credentials};
pub use request::HttpRequest;
pub use response::HttpResponse;
pub use stream::HttpStream;
