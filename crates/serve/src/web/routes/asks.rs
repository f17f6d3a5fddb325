//! The inbox: what waits for a person, and decisions.

use crate::serve::RunCommand;
use crate::web::answers::{DecidedAsk, OfProject};
use crate::web::call::Call;
use crate::web::param::{PROJECT, param};
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get, post};
use axum::http::StatusCode;
use kb_base::diagnostic::Code;
use kb_base::value::{Json, RunId};
use kb_service::service::{AskReply, AskView, Decided, asks_of, decide, open_asks};
use kb_service::trigger::Role;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const ROUTES: &[Route] = &[
    get(
        "/api/v1/asks",
        Role::Read,
        list,
        "What waits for a person, with the evidence for the decision.",
    )
    .query(&[param("run", "Only of this run."), PROJECT])
    .returns(|all| all.subschema_for::<Vec<OfProject<AskView>>>()),
    post("/api/v1/asks/{ask}", Role::Approve, answer, "Decides a question.")
        .query(&[PROJECT])
        .body(|all| all.subschema_for::<Reply>())
        .answers(&[
            (202, "The decision counts; the run continues."),
            (404, "There is no such run."),
            (
                409,
                "Another person has decided, or question or evidence changed since they were seen.",
            ),
            (410, "Its time is over."),
            (422, "The answer does not fit the question."),
            (429, "The decision is stored; the run is resumed later."),
        ])
        .returns(|all| all.subschema_for::<DecidedAsk>()),
];

/// A decision.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reply {
    /// What is decided.
    decision: DecisionName,
    /// The answer to a question: one of its options, or a value that fits its schema.
    #[serde(default)]
    answer: Option<Json>,
    /// A remark, recorded with the decision.
    #[serde(default)]
    comment: Option<String>,
    /// The `digest` of the question and evidence that the person has seen.
    digest: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DecisionName {
    /// The step continues.
    Approve,
    /// The step fails.
    Reject,
    /// The answer to a question.
    Answer,
}

/// The longest comment in bytes.
const LONGEST_COMMENT: usize = 8192;

fn list(call: &Call) -> Answer {
    let mut all = Vec::new();
    for project in call.projects()? {
        let journal = &project.shared.journal;
        let place = (journal, project.shared.context.root.as_path());
        let asks = match call.query.get("run") {
            Some(run) => {
                let id = RunId::new(run).map_err(|_| Problem::bad_request("`run` is not an id"))?;
                match journal.run(&id) {
                    Ok(_) => asks_of(place, id.as_str(), call.now())?,
                    Err(_) => continue,
                }
            }
            None => open_asks(place, call.now())?,
        };
        let of = |value| OfProject { project: project.id.clone(), value };
        all.extend(asks.into_iter().map(of));
    }
    reply::json(&all)
}

fn answer(call: &Call) -> Answer {
    let body: Reply = call.json()?;
    if body.comment.as_ref().is_some_and(|comment| comment.len() > LONGEST_COMMENT) {
        return Err(Problem::unprocessable("the comment is too long"));
    }
    let id = call.path("ask");
    let run = id.rsplit_once('.').and_then(|(run, _)| RunId::new(run).ok());
    let unknown = || Problem::not_found("there is no such question");
    let run = run.ok_or_else(unknown)?;
    let projects = call.projects()?;
    let found = projects.iter().find(|project| project.shared.journal.run(&run).is_ok());
    let project = found.ok_or_else(unknown)?;
    let reply = AskReply {
        approved: body.decision != DecisionName::Reject,
        answer: body.answer,
        comment: body.comment,
        digest: Some(body.digest),
        by: call.user().to_owned(),
    };
    let changed = |detail: &str| Problem::conflict(Code::CHANGED_MEANWHILE, detail);
    let posted = match decide(
        (&project.shared.journal, &project.shared.context.root),
        id,
        reply,
        call.now(),
    )? {
        Decided::Accepted(posted) => posted,
        Decided::Taken => return Err(changed("the question is decided already")),
        Decided::Changed => {
            return Err(changed("question or evidence changed since they were seen"));
        }
        Decided::Expired => {
            let detail = "the time of the question is over";
            return Err(Problem::new(StatusCode::GONE, Code::CHANGED_MEANWHILE, detail));
        }
    };
    if !posted.is_driven {
        let args = ["run", "resume", posted.run.as_str()].map(str::to_owned).to_vec();
        let root = project.shared.context.root.clone();
        let command = RunCommand { root, run: posted.run.clone(), args };
        if !project.shared.daemon.start(command) {
            return Err(Problem::too_many("the decision is stored; the run is not resumed yet", 5));
        }
    }
    let decided = DecidedAsk { run: posted.run.to_string(), ask: id.to_owned() };
    reply::json_with(StatusCode::ACCEPTED, &decided)
}
