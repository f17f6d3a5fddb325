//! The HTTP server against hostile requests. `docs/security.md` lists these tests.

mod access;
mod hooks;
mod requests;
