//! Writes the test of a run that `--record` recorded.
//!
//! The test has what the run was given by the world: parameters, the files that it read or changed as they were
//! before, replies of people, results of requests. It expects what the run did: statuses, verdicts, changed files.

use crate::service::runs::{FilesBefore, ProjectContext, Recorder};
use crate::service::{ServiceError, read_run, show_run};
use kb_attempt::replace_file;
use kb_base::diagnostic::Code;
use kb_base::value::{AttemptPlace, Failure, Json, JsonMap, PlacedStep};
use kb_core::evidence::InvocationStatus;
use kb_core::run::RunStatus;
use kb_core::wire::{Body, InstanceView, RunView, StepStatus};
use kb_engine::inspect::{Frozen, Reader};
use kb_host::llm::readable_yaml;
use kb_host::workspace::Workspace;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// Maximum number of steps and items whose status a test expects.
const INSTANCES: usize = 200;
/// Maximum size of all files in a test, in bytes.
const FILE_BYTES: usize = 512 << 10;
/// The work of a run from which its test gets a time limit of its own.
const LONG: Duration = Duration::from_secs(30);

/// What became of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFiles {
    /// Path of the script.
    pub script: String,
    /// The test, and what happened to it; `None` if the script is not in `.kb/tests/` or the run has no result.
    pub test: Option<(String, RecordedTest)>,
}

/// What happened to the test of a recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedTest {
    /// It was written. These files of the run are not in it, because they are large or not text.
    Written {
        /// Their paths.
        left_out: Vec<String>,
    },
    /// It existed and was kept.
    Kept,
}

/// Writes the test of a run that this process recorded and drove; `None` if it was not recorded.
pub fn write_recorded_test(
    context: &ProjectContext,
    run: &str,
) -> Result<Option<RecordedFiles>, ServiceError> {
    let Some(recorder) = &context.recorder else { return Ok(None) };
    let shown =
        |path: &Path| path.strip_prefix(&context.root).unwrap_or(path).display().to_string();
    let script = shown(recorder.script());
    let Some(files) = recorder.files() else {
        let test = recorder.test(&context.root).map(|path| (shown(&path), RecordedTest::Kept));
        return Ok(Some(RecordedFiles { script, test }));
    };
    let view = show_run(context, run)?;
    if matches!(view.status, RunStatus::Running | RunStatus::Interrupted) {
        return Ok(Some(RecordedFiles { script, test: None }));
    }
    let (test, left_out) = test_of(context, recorder, files, &view)?;
    replace_file(&files.test, readable_yaml(&test).as_bytes()).map_err(|error| {
        let message = format!("the test `{}` could not be written: {error}", files.test.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    let test = Some((shown(&files.test), RecordedTest::Written { left_out }));
    Ok(Some(RecordedFiles { script, test }))
}

/// The test file, and the paths of the files of the run that are not in it.
fn test_of(
    context: &ProjectContext,
    recorder: &Recorder,
    before: &FilesBefore,
    view: &RunView,
) -> Result<(Json, Vec<String>), ServiceError> {
    let reader = read_run(context, &view.run)?;
    let frozen = Frozen::of_run(&*context.journal(Default::default())?, reader.run())?;
    let mut world = World { context, yes: frozen.yes, ..World::new(context) };
    world.add(view, &[])?;
    let redactor = recorder.redactor();
    let (files, copy, changes, mut left_out) = files(context, before, &world.read);
    left_out.extend(recorder.not_kept());
    let name = recorder.script().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut test = JsonMap::new();
    let mut set = |key: &str, value: Json| {
        let is_empty = value.as_object().is_some_and(JsonMap::is_empty)
            || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            test.insert(key.to_owned(), redactor.mask_json(&value));
        }
    };
    set("schema", json!("kb.test/1"));
    set(
        "description",
        json!(
            "Written by `kb playbook run --record`. The model is not called; commands of steps are executed."
        ),
    );
    set("playbook", json!(view.definition));
    set("script", json!(name));
    set("params", Json::Object(frozen.params));
    set("copy", json!(copy));
    set("files", json!(files));
    if context.root.join(".git").exists() {
        set("git", json!(true));
    }
    set("tools", tools(recorder));
    set("answers", Json::Object(world.answers));
    let work = Duration::from_millis(view.work_ms.unwrap_or_default());
    if work > LONG {
        set("timeout", json!(format!("{}s", work.as_secs() * 4)));
    }
    set("tests", json!([{"name": "as recorded", "expect": expectation(view, changes)}]));
    Ok((Json::Object(test), left_out))
}

/// What happened in the run.
fn expectation(view: &RunView, changes: Vec<String>) -> Json {
    let known = |step: &&InstanceView| step.status != StepStatus::Running;
    let steps: Vec<&InstanceView> = view.steps.iter().filter(known).take(INSTANCES).collect();
    let statuses: JsonMap =
        steps.iter().map(|step| (step.instance.clone(), json!(step.status.as_str()))).collect();
    let verdicts: JsonMap = steps
        .iter()
        .filter_map(|step| Some((step.instance.clone(), json!(step.verdict?.to_string()))))
        .collect();
    let mut expected = json!({"status": view.status.as_str(), "steps": statuses});
    if !verdicts.is_empty() {
        expected["verdicts"] = Json::Object(verdicts);
    }
    expected["changes"] = json!(changes);
    expected
}

/// The results of requests. Arguments with secrets are not compared, because the test has no secrets.
fn tools(recorder: &Recorder) -> Json {
    let redactor = recorder.redactor();
    let mut found: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for mut call in recorder.kept_calls().all() {
        if let Some(args) = call.args.as_object_mut() {
            args.retain(|_, value| redactor.mask_json(value) == *value);
        }
        let stub = match call.result {
            Ok(output) => json!({"args": call.args, "output": output}),
            Err(message) => json!({"args": call.args, "error": message}),
        };
        found.entry(call.tool).or_default().push(stub);
    }
    json!(found)
}

type Files = (BTreeMap<String, String>, Vec<String>, Vec<String>, Vec<String>);

/// The files that the run read or changed, as they were before; the globs of the others; the changed paths; and
/// the paths whose content before is not known.
fn files(context: &ProjectContext, before: &FilesBefore, read: &BTreeSet<String>) -> Files {
    let (mut files, mut copy, mut changed) = (BTreeMap::new(), vec!["**".to_owned()], Vec::new());
    let mut left_out = Vec::new();
    let mut size = 0;
    let mut pin = |path: &str, left_out: &mut Vec<String>| match before.texts.get(path) {
        Some(text) if size + text.len() <= FILE_BYTES => {
            size += text.len();
            files.insert(path.to_owned(), text.clone());
        }
        _ => left_out.push(path.to_owned()),
    };
    let now = Workspace::open(&context.root, &[], &[])
        .map(|workspace| workspace.changes(&before.manifest, &workspace.manifest()));
    for change in now.unwrap_or_default() {
        if change.path.starts_with(".kb/") || change.same_content {
            continue;
        }
        if before.manifest.files.contains_key(&change.path) {
            pin(&change.path, &mut left_out)
        } else {
            copy.push(format!("!{}", literal_glob(&change.path)))
        }
        changed.push(literal_glob(&change.path));
    }
    for path in read.iter().filter(|path| before.manifest.files.contains_key(*path)) {
        if !left_out.contains(path) {
            pin(path, &mut left_out);
        }
    }
    (files, copy, changed, left_out)
}

/// A path as a glob that matches nothing else.
fn literal_glob(path: &str) -> String {
    let mut glob = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' | '{' | '}' | '\\' => glob.extend(['[', c, ']']),
            c => glob.push(c),
        }
    }
    glob
}

/// What the world gave to a run and its child runs.
struct World<'a> {
    context: &'a ProjectContext,
    /// Whether all calls that require approval were approved.
    yes: bool,
    answers: JsonMap,
    /// Paths in the arguments of tool calls.
    read: BTreeSet<String>,
}

impl<'a> World<'a> {
    fn new(context: &'a ProjectContext) -> World<'a> {
        let (answers, read) = Default::default();
        World { context, yes: false, answers, read }
    }

    /// Adds a run, which the attempts `callers` started, and the runs below it.
    fn add(&mut self, view: &RunView, callers: &[PlacedStep]) -> Result<(), ServiceError> {
        let children = self.events(read_run(self.context, &view.run)?, view, callers)?;
        let above: String = callers.iter().map(|step| format!("{}/", step.instance())).collect();
        for step in view.steps.iter().filter(|step| self.yes && step.kind == "specialist") {
            let name = format!("{above}{}", step.step);
            self.answers.entry(name).or_insert_with(|| json!("approve"));
        }
        for (own, child) in children.into_iter().filter(|_| callers.len() < 16) {
            let below = AttemptPlace { callers: callers.to_vec(), own }.below();
            let child = show_run(self.context, &child)?;
            self.add(&child, &below)?;
        }
        Ok(())
    }

    /// Adds the events of a run; returns the child runs with the attempts that started them.
    fn events(
        &mut self,
        mut reader: Reader,
        view: &RunView,
        callers: &[PlacedStep],
    ) -> Result<Vec<(PlacedStep, String)>, ServiceError> {
        let mut children: Vec<(PlacedStep, String)> = Vec::new();
        let mut called: BTreeMap<(String, String), String> = BTreeMap::new();
        while let Some(events) = reader.next_events()? {
            for event in events {
                let Some(place) = &event.place else { continue };
                let instance = place.instance.to_string();
                let attempt = place.attempt.unwrap_or(1);
                let own =
                    PlacedStep::named(place.step.as_str(), &instance, place.iteration, attempt);
                match &event.body {
                    Body::ChildStart { child, .. } => {
                        children.retain(|(_, known)| known != child);
                        children.push((own, child.clone()));
                    }
                    Body::ToolCall { id, args: Some(args), .. } => {
                        if let Some(path) = args.get("path").and_then(Json::as_str) {
                            let path = path.trim_start_matches("./").to_owned();
                            called.insert((instance, id.clone()), path);
                        }
                    }
                    // What a policy denied was not read.
                    Body::ToolResult { id, status: InvocationStatus::Success, .. } => {
                        self.read.extend(called.remove(&(instance, id.clone())));
                    }
                    Body::AskAnswered { approved, answer, comment, .. } => {
                        let step = view.steps.iter().find(|step| step.instance == instance);
                        let is_question = step.is_some_and(|step| step.kind == "ask");
                        let reply = match (is_question, approved, comment) {
                            (true, ..) => answer.as_ref().map(|answer| json!({"answer": **answer})),
                            (_, true, None) => Some(json!("approve")),
                            (_, true, Some(comment)) => Some(json!({"approve": comment})),
                            (_, false, None) => Some(json!("reject")),
                            (_, false, Some(comment)) => Some(json!({"reject": comment})),
                        };
                        let place = AttemptPlace { callers: callers.to_vec(), own };
                        let name = place.to_string();
                        self.answers.extend(reply.map(|reply| (name, reply)));
                    }
                    _ => {}
                }
            }
        }
        Ok(children)
    }
}
