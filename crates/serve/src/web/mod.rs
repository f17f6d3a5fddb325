//! The HTTP server of `kb serve`: the API, its streams, webhooks and pages.
//!
//! Every address is a row of a table: method, path, [`Access`], handler and documentation
//! ([`Route`]). Each file of `routes/` has a constant `ROUTES`, and `routes/mod.rs` lists them
//! ([`ROUTE_GROUPS`]). The router, the OpenAPI document and the tests derive from these tables.
//!
//! To add a page: write `routes/NAME.rs` with `ROUTES`, each row made by `page(path, role, handler,
//! summary)`, and add one line in `routes/mod.rs`. A handler is a function from [`Call`] to an answer:
//! it reads through the use cases of `service` and `serve` (`call.projects()`), and returns
//! `reply::page(html)`. A request for a page without a session is led to `/login`. Scripts, styles and
//! pictures are rows made by `asset(path, handler, summary)`, compiled into the program; everybody can
//! read them. An answer that ends later is a stream (`reply::stream`).
//!
//! A request passes these checks in order before a handler sees it: the host, the site that it comes from,
//! its origin, its content type (`gate.rs`, pure), then who asks and with which role (`access.rs`). A
//! route without a row does not exist, and every row names its access. The server keeps no state of runs
//! or triggers: it reads the journal and the trigger store, and writes through the use cases that the
//! command line uses too.

mod access;
mod answers;
mod call;
mod connection;
mod exposition;
mod feed;
mod form;
mod gate;
mod hosts;
mod kept_session;
mod live;
mod mcp_messages;
mod meter;
mod openapi;
mod pages;
mod param;
mod problem;
mod reply;
mod route;
mod router;
mod routes;
mod secret;
mod server;
mod sessions;
mod state;
mod tail;
mod tokens;
mod views;
mod watching;

pub use call::{Call, Query};
pub use hosts::Hosts;
pub use mcp_messages::McpMessages;
pub use openapi::document;
pub use param::{QueryParam, QueryValues};
pub use problem::{Problem, ProblemContents};
pub use route::{Access, Handler, Kind, Method, Returns, Route, SchemaOf};
pub use routes::ROUTE_GROUPS;
pub use secret::{NewToken, TokenView, new_token, revoke_token, token_state, token_view};
pub use server::{Listen, Server, login_url_of};
pub use state::WebState;
