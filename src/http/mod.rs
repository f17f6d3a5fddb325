//! Requests that go where they may: the one HTTP client of tools and `http` steps.
//!
//! Only http(s), no password in the URL, and only public addresses unless the settings name the
//! host. The address is checked where the connection takes it from, so that a name cannot answer
//! differently a second time, and every redirect is a new request under the same rules.

mod address;
mod client;
mod error;
mod redirect;
mod response;

pub use client::{HttpClient, Lookup};
pub use error::{HttpError, shown_url, without_credentials};
pub use redirect::HttpRequest;
pub use response::HttpResponse;
