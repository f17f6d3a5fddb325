//! The pages and their static parts.

use crate::web::call::Call;
use crate::web::pages;
use crate::web::param::{PROJECT, param};
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, asset, page};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use kb_service::trigger::Role;

const READ: Role = Role::Read;

pub(super) const ROUTES: &[Route] = &[
    page("/", READ, runs, "The page of all runs.").query(&[
        PROJECT,
        param("status", "Only runs with this status."),
        param("playbook", "Only runs of this playbook."),
        param("since", "Only runs that started since: a time, or a duration such as `24h`."),
        param("text", "Only runs whose id, playbook or parameters contain this text."),
        param("page", "Number of the page, from 1."),
    ]),
    page("/runs/{run}", READ, run, "The page of a run.").query(&[
        PROJECT,
        param("step", "The step or item that is shown."),
        param("view", "`graph` or `timeline`."),
        param("items", "`all` lists every item."),
        param("attempt", "The attempt of the step whose log is shown: `ITERATION.ATTEMPT`."),
    ]),
    page("/goals", READ, goals, "The page of goals.").query(&[PROJECT]),
    page("/goals/{goal}", READ, goal, "The page of a goal.").query(&[PROJECT]),
    page("/inbox", READ, inbox, "The page of open questions.").query(&[PROJECT]),
    page("/triggers", READ, triggers, "The page of triggers.").query(&[PROJECT]),
    page("/playbooks", READ, playbooks, "The page of playbooks.").query(&[PROJECT]),
    page("/playbooks/{playbook}", READ, playbook, "The page of a playbook.")
        .query(&[PROJECT, param("from", "The run whose parameters the form has.")]),
    page("/memory", READ, memory, "The page of the memory.").query(&[
        PROJECT,
        param("text", "Only entries with one of these words."),
        param("kind", "Only entries of this kind."),
        param("tag", "Only entries with this tag."),
        param("author", "Only entries of this author."),
    ]),
    page("/system", READ, system, "The page of the system.").query(&[PROJECT]),
    asset("/assets/kb.css", css, "The style of the pages."),
    asset("/assets/kb.js", script, "The script of the pages."),
    asset("/assets/log.js", log_script, "The script of logs."),
    asset("/assets/graph.js", graph_script, "The script of graphs."),
    asset("/assets/writing.js", writing_script, "The script of what models write."),
    asset("/assets/icon.svg", icon, "The icon of the pages."),
];

fn runs(call: &Call) -> Answer {
    reply::page(pages::runs(call)?)
}

fn run(call: &Call) -> Answer {
    reply::page(pages::run(call)?)
}

fn goals(call: &Call) -> Answer {
    reply::page(pages::goals(call)?)
}

fn goal(call: &Call) -> Answer {
    reply::page(pages::goal(call)?)
}

fn inbox(call: &Call) -> Answer {
    reply::page(pages::inbox(call)?)
}

fn triggers(call: &Call) -> Answer {
    reply::page(pages::triggers(call)?)
}

fn playbooks(call: &Call) -> Answer {
    reply::page(pages::playbooks(call)?)
}

fn playbook(call: &Call) -> Answer {
    reply::page(pages::playbook(call)?)
}

fn memory(call: &Call) -> Answer {
    reply::page(pages::memory(call)?)
}

fn system(call: &Call) -> Answer {
    reply::page(pages::system(call)?)
}

fn css(_: &Call) -> Answer {
    fixed("text/css; charset=utf-8", include_bytes!("../assets/pages/kb.css"))
}

fn script(_: &Call) -> Answer {
    fixed("text/javascript; charset=utf-8", include_bytes!("../assets/pages/kb.js"))
}

fn log_script(_: &Call) -> Answer {
    fixed("text/javascript; charset=utf-8", include_bytes!("../assets/pages/log.js"))
}

fn graph_script(_: &Call) -> Answer {
    fixed("text/javascript; charset=utf-8", include_bytes!("../assets/pages/graph.js"))
}

fn writing_script(_: &Call) -> Answer {
    fixed("text/javascript; charset=utf-8", include_bytes!("../assets/pages/writing.js"))
}

fn icon(_: &Call) -> Answer {
    fixed("image/svg+xml", include_bytes!("../assets/pages/icon.svg"))
}

/// A part that is compiled into the program. It may change with the next version of the program.
fn fixed(content_type: &'static str, bytes: &'static [u8]) -> Answer {
    let mut response = reply::bytes(StatusCode::OK, content_type, bytes);
    let cache = HeaderValue::from_static("private, max-age=300");
    response.headers_mut().insert(CACHE_CONTROL, cache);
    Ok(response)
}
