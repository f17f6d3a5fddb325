//! [`Route`]: one row of the table of addresses.

use super::call::Call;
use super::param::QueryParam;
use super::reply::Answer;
use futures::future::BoxFuture;
use kb_service::trigger::Role;
use schemars::{Schema, SchemaGenerator};

/// The methods in use. What a `Get` serves has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Reads; `HEAD` too.
    Get,
    /// Writes.
    Post,
}

impl Method {
    /// The name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "get",
            Method::Post => "post",
        }
    }
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody: login, logout, health, and the static parts of pages.
    Public,
    /// Tokens and sessions with this role.
    Role(Role),
    /// The sender of a webhook, whose signature the handler checks.
    Signed,
}

/// What a route serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// JSON for programs; described by the OpenAPI document.
    Api,
    /// A page. A browser without a session is led to the login.
    Page,
    /// A static part of pages.
    Asset,
}

/// What executes a request.
#[derive(Clone, Copy)]
pub enum Handler {
    /// A function that reads or writes files or databases. It runs on a thread for blocking work, with
    /// the whole body read.
    Blocking(fn(&Call) -> Answer),
    /// A function that waits, or reads the body itself.
    Waiting(fn(Call) -> BoxFuture<'static, Answer>),
}

/// Makes the schema of a type; types with names become components of the document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What a route answers with success; neither: a status without a body.
#[derive(Clone, Copy)]
pub struct Returns {
    /// The schema of its JSON.
    pub json: Option<SchemaOf>,
    /// The content types of its texts.
    pub text: &'static [&'static str],
}

/// One address of the server.
#[derive(Clone, Copy)]
pub struct Route {
    /// HTTP method; `GET` accepts `HEAD` too.
    pub method: Method,
    /// The path; `{name}` is a parameter.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    /// What it serves.
    pub kind: Kind,
    /// What executes it.
    pub handler: Handler,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The accepted parameters of the query; others are refused.
    pub query: &'static [QueryParam],
    /// The JSON Schema of the body, if it has one.
    pub body: Option<SchemaOf>,
    /// What it answers with success.
    pub returns: Returns,
    /// The statuses of its answers, each with what it means; problems included.
    pub answers: &'static [(u16, &'static str)],
}

impl Route {
    const fn new(
        method: Method,
        path: &'static str,
        access: Access,
        kind: Kind,
        handler: Handler,
        summary: &'static str,
    ) -> Route {
        let (query, body, answers) = (&[], None, &[] as &[(u16, &str)]);
        let returns = Returns { json: None, text: &[] };
        Route { method, path, access, kind, handler, summary, query, body, returns, answers }
    }

    /// Declares the parameters of the query.
    pub const fn query(mut self, query: &'static [QueryParam]) -> Route {
        self.query = query;
        self
    }

    /// Declares the body.
    pub const fn body(mut self, schema: SchemaOf) -> Route {
        self.body = Some(schema);
        self
    }

    /// Declares the JSON of its answers of success.
    pub const fn returns(mut self, schema: SchemaOf) -> Route {
        self.returns.json = Some(schema);
        self
    }

    /// Declares the content types of its answers of success that are not JSON.
    pub const fn returns_text(mut self, types: &'static [&'static str]) -> Route {
        self.returns.text = types;
        self
    }

    /// Declares the statuses of the answers, other than those that every route has.
    pub const fn answers(mut self, answers: &'static [(u16, &'static str)]) -> Route {
        self.answers = answers;
        self
    }

    /// Lets everybody use it.
    pub const fn public(mut self) -> Route {
        self.access = Access::Public;
        self
    }

    /// Lets the sender of a signed request use it.
    pub const fn signed(mut self) -> Route {
        self.access = Access::Signed;
        self
    }
}

/// A row of the API that reads.
pub(super) const fn get(
    path: &'static str,
    role: Role,
    handler: fn(&Call) -> Answer,
    summary: &'static str,
) -> Route {
    row(Method::Get, (path, role), Kind::Api, handler, summary)
}

/// A row of the API that writes.
pub(super) const fn post(
    path: &'static str,
    role: Role,
    handler: fn(&Call) -> Answer,
    summary: &'static str,
) -> Route {
    row(Method::Post, (path, role), Kind::Api, handler, summary)
}

/// A row of a page.
pub(super) const fn page(
    path: &'static str,
    role: Role,
    handler: fn(&Call) -> Answer,
    summary: &'static str,
) -> Route {
    row(Method::Get, (path, role), Kind::Page, handler, summary)
}

/// A row of a static part of pages, which everybody can read.
pub(super) const fn asset(
    path: &'static str,
    handler: fn(&Call) -> Answer,
    summary: &'static str,
) -> Route {
    row(Method::Get, (path, Role::Read), Kind::Asset, handler, summary).public()
}

const fn row(
    method: Method,
    (path, role): (&'static str, Role),
    kind: Kind,
    handler: fn(&Call) -> Answer,
    summary: &'static str,
) -> Route {
    Route::new(method, path, Access::Role(role), kind, Handler::Blocking(handler), summary)
}

/// A row of the API whose handler waits, such as a stream.
pub(super) const fn waiting(
    method: Method,
    path: &'static str,
    role: Role,
    handler: fn(Call) -> BoxFuture<'static, Answer>,
    summary: &'static str,
) -> Route {
    Route::new(method, path, Access::Role(role), Kind::Api, Handler::Waiting(handler), summary)
}
