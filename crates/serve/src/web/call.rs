//! [`Call`]: a request that has passed all checks.

use super::access::Identity;
use super::param::QueryParam;
use super::problem::Problem;
use super::state::{WebProject, WebState};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use futures::StreamExt;
use kb_base::diagnostic::{Code, nearest};
use kb_base::value::{Json, RunId, Timestamp};
use kb_engine::journal::{JournalError, RunRow};
use kb_service::service::Environment;
use kb_service::trigger::Role;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Maximum size of the body of a request in bytes.
pub(super) const LARGEST_BODY: usize = 1 << 20;
/// The time in which a body must arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Maximum number of parameters of a query.
const MOST_PARAMS: usize = 32;

/// A request that has passed all checks.
pub struct Call {
    /// What all requests share.
    pub state: Arc<WebState>,
    /// Who asks; `None` for routes that everybody may use.
    pub identity: Option<Identity>,
    /// The address of the sender. Headers of proxies are ignored.
    pub peer: IpAddr,
    /// Headers of the request, as they were sent.
    pub headers: HeaderMap,
    /// The parameters of the query.
    pub query: Query,
    pub(super) path: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) unread: Option<Body>,
}

impl Call {
    /// The time of the request.
    pub fn now(&self) -> Timestamp {
        self.state.clock().wall()
    }

    /// A parameter of the path, decoded. Empty if the route has none of this name.
    pub fn path(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value)
    }

    /// All projects that the caller sees.
    pub fn visible_projects(&self) -> Vec<Arc<WebProject>> {
        let only = self.identity.as_ref().and_then(|identity| identity.project);
        let all = self.state.projects().iter().enumerate();
        let seen = all.filter(|(index, _)| only.is_none_or(|only| only == *index));
        seen.map(|(_, project)| project.clone()).collect()
    }

    /// The projects that the caller sees, or the one that `project` of the query names.
    pub fn projects(&self) -> Result<Vec<Arc<WebProject>>, Problem> {
        let named = self.query.get("project");
        let mut found = self.visible_projects();
        found.retain(|project| named.is_none_or(|named| project.id == named));
        match (found.is_empty(), named) {
            (true, Some(named)) => {
                Err(Problem::not_found(format!("there is no project `{named}`")))
            }
            _ => Ok(found),
        }
    }

    /// The id of a project, if the caller sees several.
    pub fn name_of<'p>(&self, project: &'p WebProject) -> Option<&'p str> {
        (self.visible_projects().len() > 1).then_some(project.id.as_str())
    }

    /// The query that names a project in addresses; empty if the caller sees no other one.
    pub fn query_of(&self, project: &WebProject) -> String {
        let percent = |id| utf8_percent_encode(id, NON_ALPHANUMERIC);
        self.name_of(project).map(|id| format!("?project={}", percent(id))).unwrap_or_default()
    }

    /// The index of a project in the state.
    pub(super) fn index_of(&self, project: &Arc<WebProject>) -> usize {
        let all = self.state.projects().iter();
        all.clone().position(|own| Arc::ptr_eq(own, project)).unwrap_or_default()
    }

    /// The project with a run, and the row of the run. `run` of the path is an id; prefixes and `@last`
    /// are for people.
    pub fn run(&self) -> Result<(Arc<WebProject>, RunRow), Problem> {
        self.run_of("run")
    }

    /// The same for another parameter of the path.
    pub fn run_of(&self, param: &str) -> Result<(Arc<WebProject>, RunRow), Problem> {
        let name = self.path(param);
        let unknown = || {
            Problem::new(
                StatusCode::NOT_FOUND,
                Code::NO_SUCH_RUN,
                format!("there is no run `{name}`"),
            )
        };
        let id = RunId::new(name).map_err(|_| unknown())?;
        for project in self.projects()? {
            match project.shared.journal.run(&id) {
                Ok(row) => return Ok((project, row)),
                Err(JournalError::NoRun(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Recorded by a trigger, and removed since or not started yet.
        for project in self.projects()? {
            if let Some(fire) = project.shared.store.fire_of(&id)? {
                return Err(if fire.state.is_open() {
                    unknown().help("it waits for its start; read it again later")
                } else {
                    Problem::new(
                        StatusCode::GONE,
                        Code::NO_SUCH_RUN,
                        format!("run `{name}` has been removed"),
                    )
                });
            }
        }
        Err(unknown())
    }

    /// The only project that has a definition or trigger.
    pub fn project_with(
        &self,
        what: &str,
        has: impl Fn(&WebProject) -> bool,
    ) -> Result<Arc<WebProject>, Problem> {
        let mut all = self.projects()?;
        if all.len() > 1 {
            all.retain(|project| has(project));
        }
        match all.len() {
            1 => Ok(all.remove(0)),
            0 => Err(Problem::not_found(format!("no project has {what}"))),
            _ => Err(Problem::bad_request(format!("several projects have {what}"))
                .help("name one with `?project=ID`")),
        }
    }

    /// The environment of a project in which the caller acts.
    pub(super) fn environment_of(&self, project: &WebProject) -> Environment {
        let own = project.state().project.acting_as(self.user());
        Environment { cwd: own.context.root.clone(), ..own.context.environment }
    }

    /// Who asks, for records.
    pub fn user(&self) -> &str {
        self.identity.as_ref().map_or("", |identity| identity.name.as_str())
    }

    /// Whether the caller has a role.
    pub fn has(&self, role: Role) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.role >= role)
    }

    /// The body as a value of a type. An empty body is an empty object.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        // First as any JSON: malformed text is another error than a value that does not fit.
        let value: Json = serde_json::from_slice(body)
            .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))?;
        serde_json::from_value(value)
            .map_err(|error| Problem::unprocessable(format!("the body does not fit: {error}")))
    }

    /// Reads the body of a route that waits, up to the largest size.
    pub async fn read_body(&mut self) -> Result<Bytes, Problem> {
        let body = self.unread.take().unwrap_or_default();
        read(body, &self.headers).await
    }
}

/// Reads a body within a size and a time.
pub(super) async fn read(body: Body, headers: &HeaderMap) -> Result<Bytes, Problem> {
    let length = headers.get(axum::http::header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > LARGEST_BODY as u64) {
        return Err(Problem::too_large(LARGEST_BODY));
    }
    let late = |_| Problem::plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in 30 s");
    tokio::time::timeout(BODY_TIME, collect(body)).await.map_err(late)?
}

/// The bytes of a body, at most [`LARGEST_BODY`].
async fn collect(body: Body) -> Result<Bytes, Problem> {
    let mut parts = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| Problem::bad_request("the body ended early"))?;
        if bytes.len() + part.len() > LARGEST_BODY {
            return Err(Problem::too_large(LARGEST_BODY));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.into())
}

/// The parameters of a query, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(BTreeMap<String, Vec<String>>);

impl Query {
    /// Reads a query. Only these parameters are accepted.
    pub(super) fn read(text: &str, accepted: &[QueryParam]) -> Result<Query, Problem> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (count, pair) in text.split('&').filter(|pair| !pair.is_empty()).enumerate() {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if count >= MOST_PARAMS {
                return Err(Problem::bad_request("the query has too many parameters"));
            }
            if !accepted.iter().any(|param| param.name == name) {
                let near = nearest(&name, accepted.iter().map(|param| param.name));
                let problem = Problem::bad_request(format!("there is no parameter `{name}`"));
                return Err(match near {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None => problem,
                });
            }
            found.entry(name).or_default().push(value);
        }
        Ok(Query(found))
    }

    /// The first value of a parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a parameter that are not empty.
    pub fn all<'q>(&'q self, name: &str) -> impl Iterator<Item = &'q str> {
        let values = self.0.get(name).into_iter().flatten();
        values.map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The value of a parameter, read by `parse`. `expected` completes the message "… is not".
    pub fn parsed<T>(
        &self,
        name: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let read = |text: &str| {
            parse(text).ok_or_else(|| {
                let detail = format!("`{name}` is not {expected}");
                Problem::new(StatusCode::BAD_REQUEST, Code::BAD_REQUEST, detail)
            })
        };
        self.get(name).map(read).transpose()
    }

    /// A number of a parameter, at most `most`.
    pub fn number(&self, name: &str, default: u64, most: u64) -> Result<u64, Problem> {
        let expected = format!("a number up to {most}");
        let parse = |text: &str| text.parse().ok().filter(|number| *number <= most);
        if self.0.get(name).into_iter().flatten().any(String::is_empty) {
            return Err(Problem::bad_request(format!("`{name}` is not {expected}: it is empty")));
        }
        Ok(self.parsed(name, &expected, parse)?.unwrap_or(default))
    }
}

fn decoded(text: &str) -> Result<String, Problem> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded
        .map(|text| text.into_owned())
        .map_err(|_| Problem::bad_request("the query is not UTF-8"))
}
