//! The language server of `kb lsp`: problems while typing, completion, hover, definitions, references, rename of
//! steps, outlines, formatting and quick fixes, for the definition files of a project.
//!
//! [`serve`] speaks the Language Server Protocol over stdin and stdout. Problems come from the same loader
//! as those of `kb playbook validate`; completion and hover read the tables of keys. The texts of open
//! documents replace those of the files.

mod completion;
mod cursor;
mod documents;
mod expression_words;
mod expressions;
mod fixes;
mod known;
mod names;
mod navigation;
mod offer;
mod outline;
mod position;
mod tables;
mod transport;
mod values;
mod words;

use documents::{Document, Documents, Problem, kind_of, path_of, uri_of};
use fixes::{Fix, fixes};
use kb_base::diagnostic::Severity;
use kb_base::value::{Json, limits};
use kb_service::service::{Environment, Project, format_text};
use known::Known;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use offer::Context;
use position::{Position, range};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use transport::Transport;

const CODE_ACTION: &str = "textDocument/codeAction";
/// Maximum number of problems of one file that are sent.
const MAX_PROBLEMS: usize = 200;

/// Serves one editor until it disconnects. An error of the kind [`io::ErrorKind::InvalidData`] is about what the editor
/// sent.
pub fn serve(environment: &Environment) -> io::Result<()> {
    let (connection, transport) = Transport::start();
    let result = answer(environment, &connection);
    drop(connection);
    transport.end(result)
}

fn answer(environment: &Environment, connection: &Connection) -> io::Result<()> {
    let capabilities = json!({
        "textDocumentSync": {"openClose": true, "change": 1},
        "completionProvider": {"triggerCharacters": [".", "{", " ", "|", "/", "[", "'"]},
        "hoverProvider": true,
        "definitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "renameProvider": true,
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "documentFormattingProvider": true,
        "codeActionProvider": {"codeActionKinds": ["quickfix"]},
    });
    let (id, params) = connection.initialize_start().map_err(io::Error::other)?;
    let info = json!({"name": "kb", "version": env!("CARGO_PKG_VERSION")});
    connection
        .initialize_finish(id, json!({"capabilities": capabilities, "serverInfo": info}))
        .map_err(io::Error::other)?;
    Server::new(environment, &params).run(connection)
}

struct Server {
    environment: Environment,
    documents: Documents,
    project: Project,
    problems: BTreeMap<String, Vec<Problem>>,
    /// What was last known about the steps of each open document, by path.
    known: BTreeMap<String, Known>,
    /// URIs for which problems were sent.
    sent: BTreeSet<String>,
}

impl Server {
    fn new(environment: &Environment, params: &Json) -> Server {
        let folder = params["workspaceFolders"][0]["uri"].as_str().or(params["rootUri"].as_str());
        let cwd = folder.and_then(path_of).unwrap_or_else(|| environment.cwd.clone());
        let environment = Environment { cwd, ..environment.clone() };
        let documents = Documents::default();
        let project = documents.project(&environment);
        let (problems, known, sent) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Server { environment, documents, project, problems, known, sent }
    }

    fn run(&mut self, connection: &Connection) -> io::Result<()> {
        let mut changed = false;
        loop {
            // Problems are computed once for all changes that have arrived.
            let message = if changed {
                match connection.receiver.try_recv() {
                    Ok(message) => message,
                    Err(_) => {
                        changed = false;
                        self.publish(connection)?;
                        continue;
                    }
                }
            } else {
                match connection.receiver.recv() {
                    Ok(message) => message,
                    Err(_) => return Ok(()),
                }
            };
            match message {
                Message::Request(request) => {
                    if connection.handle_shutdown(&request).map_err(io::Error::other)? {
                        return Ok(());
                    }
                    // Quick fixes belong to problems. Other answers need the text only, so that typing does
                    // not wait for the project, unless an answer without it is empty.
                    let mut response = if changed && request.method == CODE_ACTION {
                        None
                    } else {
                        Some(self.answer(request.clone()))
                    };
                    if changed && response.as_ref().is_none_or(|(_, is_empty)| *is_empty) {
                        changed = false;
                        self.publish(connection)?;
                        response = None;
                    }
                    let (response, _) = response.unwrap_or_else(|| self.answer(request));
                    send(connection, Message::Response(response))?;
                }
                Message::Notification(notification) => {
                    // The text with which a document was opened is the one that is likely to have a plan.
                    if changed && self.replaces_new(&notification) {
                        self.publish(connection)?;
                    }
                    changed |= self.notice(&notification);
                }
                Message::Response(_) => {}
            }
        }
    }

    /// Whether a notification replaces a text before it was analysed, and none of the document was.
    fn replaces_new(&self, notification: &Notification) -> bool {
        let uri = notification.params["textDocument"]["uri"].as_str().unwrap_or_default();
        notification.method == "textDocument/didChange"
            && self.documents.get(uri).is_some_and(|document| document.is_new)
    }

    /// Applies a notification; whether a text changed.
    fn notice(&mut self, notification: &Notification) -> bool {
        let params = &notification.params;
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let text = match notification.method.as_str() {
            "textDocument/didOpen" => params["textDocument"]["text"].as_str(),
            "textDocument/didChange" => {
                let changes = params["contentChanges"].as_array();
                changes.and_then(|changes| changes.last()?["text"].as_str())
            }
            "textDocument/didClose" => {
                self.documents.close(uri);
                return true;
            }
            "textDocument/didSave" => return true,
            _ => return false,
        };
        match text {
            Some(text) if text.len() <= limits::DEFINITION_BYTES => {
                self.documents.set(uri, text.to_owned());
                true
            }
            _ => false,
        }
    }

    /// Loads the project again and sends the problems of all files that have or had some.
    fn publish(&mut self, connection: &Connection) -> io::Result<()> {
        self.project = self.documents.project(&self.environment);
        self.documents.set_analysed();
        self.problems = self.documents.problems(&self.project).into_iter().collect();
        for shown in self.documents.shown(&self.project) {
            self.known.entry(shown.clone()).or_default().update(&self.project, &shown);
        }
        let root = self.project.context.root.clone();
        let mut now = BTreeSet::new();
        for (shown, problems) in &self.problems {
            let path = root.join(shown);
            let uri = uri_of(&path);
            let text = match self.documents.get(&uri) {
                Some(document) => document.text.clone(),
                None => std::fs::read_to_string(&path).unwrap_or_default(),
            };
            let problems: Vec<Json> =
                problems.iter().take(MAX_PROBLEMS).map(|problem| view(problem, &text)).collect();
            publish(connection, &uri, &problems)?;
            now.insert(uri);
        }
        for uri in self.sent.difference(&now) {
            publish(connection, uri, &[])?;
        }
        self.sent = now;
        Ok(())
    }

    /// The answer to a request, and whether it has nothing.
    fn answer(&self, request: Request) -> (Response, bool) {
        let Request { id, method, params } = request;
        let found = match method.as_str() {
            "textDocument/completion"
            | "textDocument/hover"
            | "textDocument/definition"
            | "textDocument/references"
            | "textDocument/documentHighlight"
            | "textDocument/rename" => self.at_position(&method, &params),
            "textDocument/documentSymbol" | "textDocument/formatting" | CODE_ACTION => {
                self.of_document(&method, &params)
            }
            "workspace/symbol" => {
                let query = params["query"].as_str().unwrap_or_default();
                Ok(outline::of_project(&self.project, query).into())
            }
            _ => {
                let message = format!("`{method}` is not supported");
                let code = ErrorCode::MethodNotFound as i32;
                return (Response::new_err(id, code, message), false);
            }
        };
        match found {
            Ok(result) => {
                let is_empty = has_nothing(&result);
                (Response::new_ok(id, result), is_empty)
            }
            Err(message) => (Response::new_err(id, ErrorCode::RequestFailed as i32, message), true),
        }
    }

    /// The answer to a request about a whole document, or a range of it.
    fn of_document(&self, method: &str, params: &Json) -> Result<Json, String> {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let Some(document) = self.documents.get(uri) else { return Ok(Json::Null) };
        let text = &document.text;
        let shown = self.project.relative(&document.path);
        match method {
            "textDocument/documentSymbol" => Ok(outline::of_document(text).into()),
            "textDocument/formatting" => {
                let formatted = format_text(&shown, text).map_err(|error| error.to_string())?;
                let edit =
                    |new: String| json!({"range": range(text, 0, text.len()), "newText": new});
                Ok(formatted.map(edit).into_iter().collect())
            }
            _ => {
                let at = |key: &str| Position::of(&params["range"][key]).map(|at| at.offset(text));
                let (Some(start), Some(end)) = (at("start"), at("end")) else {
                    return Ok(Json::Null);
                };
                let problems = self.problems.get(&shown).map(Vec::as_slice).unwrap_or_default();
                let touching = problems.iter().filter(|own| own.start <= end && start <= own.end);
                let fixes = touching.flat_map(|problem| self.fix(uri, document, &shown, problem));
                Ok(fixes.map(|fix| fix.view(uri, text)).collect())
            }
        }
    }

    /// The first edit for a problem after which it is gone and the file has fewer problems.
    fn fix(&self, uri: &str, document: &Document, shown: &str, problem: &Problem) -> Option<Fix> {
        let before = self.problems.get(shown).map_or(0, Vec::len);
        let solves = |fix: &Fix| {
            let mut documents = self.documents.clone();
            documents.set(uri, fix.apply(&document.text));
            let after = documents.problems(&documents.project(&self.environment));
            let after =
                after.iter().find(|(path, _)| path == shown).map_or(&[][..], |(_, all)| all);
            let is_same = |own: &Problem| {
                (own.diagnostic.code, &own.diagnostic.message)
                    == (problem.diagnostic.code, &problem.diagnostic.message)
            };
            after.len() < before && !after.iter().any(is_same)
        };
        fixes(document, problem).into_iter().find(solves)
    }

    /// The answer to a request about a position in a document.
    fn at_position(&self, method: &str, params: &Json) -> Result<Json, String> {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let Some(document) = self.documents.get(uri) else { return Ok(Json::Null) };
        let text = &document.text;
        let shown = self.project.relative(&document.path);
        let Some(at) = Position::of(&params["position"]) else { return Ok(Json::Null) };
        let offset = at.offset(text);
        let found = match method {
            "textDocument/completion" => {
                let Some(file) = kind_of(&shown) else { return Ok(Json::Null) };
                let cursor = cursor::cursor(text, offset);
                let (known, project) = (self.known.get(&shown), &self.project);
                let context = Context { file, cursor: &cursor, text, offset, known, project };
                let items = completion::complete(context);
                Some(json!({"isIncomplete": false, "items": items}))
            }
            "textDocument/hover" => {
                let known = self.known.get(&shown);
                navigation::hover(document, &shown, offset, &self.project, known)
            }
            "textDocument/definition" => {
                navigation::definition(document, uri, offset, &self.project)
            }
            "textDocument/references" => {
                let places = navigation::references(document, &shown, offset);
                Some(places.into_iter().map(|range| json!({"uri": uri, "range": range})).collect())
            }
            "textDocument/documentHighlight" => {
                let places = navigation::references(document, &shown, offset);
                Some(places.into_iter().map(|range| json!({"range": range})).collect())
            }
            _ => {
                let name = params["newName"].as_str().unwrap_or_default();
                Some(navigation::rename(document, (uri, &shown), offset, name)?)
            }
        };
        Ok(found.unwrap_or(Json::Null))
    }
}

/// Whether a result is null, or a list without items.
fn has_nothing(result: &Json) -> bool {
    let items = result.get("items").and_then(Json::as_array);
    result.is_null() || items.is_some_and(Vec::is_empty)
}

fn view(problem: &Problem, text: &str) -> Json {
    let found = &problem.diagnostic;
    let severity = match found.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Info => 3,
    };
    let help = found.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    json!({
        "range": range(text, problem.start, problem.end),
        "severity": severity,
        "code": found.code.as_str(),
        "source": "kb",
        "message": format!("{}{help}", found.message),
    })
}

fn publish(connection: &Connection, uri: &str, problems: &[Json]) -> io::Result<()> {
    let method = "textDocument/publishDiagnostics".to_owned();
    let params = json!({"uri": uri, "diagnostics": problems});
    send(connection, Message::Notification(Notification { method, params }))
}

fn send(connection: &Connection, message: Message) -> io::Result<()> {
    connection.sender.send(message).map_err(io::Error::other)
}
