//! How expressions read the values of a run.

use super::item_list::by_key;
use super::payloads::Payloads;
use super::read_faults::ReadFaults;
use super::secrets::Secrets;
use crate::journal::JournalError;
use kb_base::diagnostic::Code;
use kb_base::value::{Json, RunId, StepId};
use kb_core::evidence::AttemptStreams;
use kb_core::run::{Instance, InstanceIx, RunStatus, State, StepStatus, hints};
use kb_language::definition::{ParamType, StepPhase};
use kb_language::expression::{EvalError, Reference, Root, Scope};
use kb_language::plan::{Plan, StepIx};
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The values of a run that one instance can read.
pub struct RunScope<'a> {
    /// Plan of the run.
    pub plan: &'a Plan,
    /// State of the run.
    pub state: &'a State,
    /// The run whose values are read.
    pub run: &'a RunId,
    /// Parameters; secrets are references.
    pub params: &'a Arc<Json>,
    /// The reading instance; `None` for the outputs of the run.
    pub instance: Option<InstanceIx>,
    /// Loads large values.
    pub payloads: &'a Payloads,
    /// Resolves secrets.
    pub secrets: &'a dyn Secrets,
    /// Value and index of an item without an instance, while keys are evaluated.
    pub item: Option<(Arc<Json>, u32)>,
    /// Depth of environment variables that refer to each other.
    pub depth: Cell<u8>,
    /// What could not be read, until `check_reads` returns it.
    pub faults: ReadFaults,
}

impl RunScope<'_> {
    /// Returns the result of an evaluation, or the failure to load one of its values. Without this
    /// check an expression would treat a value that cannot be loaded as undefined, and a secret without
    /// a value would not be named.
    pub fn check_reads<T>(&self, made: Result<T, EvalError>) -> Result<T, EvalError> {
        self.faults.check(made)
    }

    fn loaded<T>(&self, read: Result<T, JournalError>) -> Option<T> {
        self.faults.loaded(read)
    }

    fn param(&self, name: &str) -> Option<Arc<Json>> {
        let value = self.params.get(name)?;
        let declared = self.plan.playbook().params.iter().find(|p| p.name == name);
        if declared.is_some_and(|p| p.kind == ParamType::Secret) {
            let reference = value.as_str()?;
            return self.secret(name, reference, self.secrets.by_reference(reference));
        }
        Some(Arc::new(value.clone()))
    }

    /// The value of a secret; why it has none is noted. `secret` is its name in the settings or its
    /// reference.
    fn secret(&self, name: &str, secret: &str, value: Option<String>) -> Option<Arc<Json>> {
        if value.is_none() {
            self.faults.note_secret(name, self.secrets.problem(secret));
        }
        value.map(|value| Arc::new(Json::String(value)))
    }

    fn env(&self, name: &str) -> Option<Arc<Json>> {
        let own = self
            .instance
            .map(|ix| &self.plan.step(self.state.instance(ix).step).step.details().env);
        let declared = own.into_iter().flatten().chain(&self.plan.playbook().env);
        let (_, template) = declared.clone().find(|(declared, _)| declared == name)?;
        // A variable that refers to itself is undefined.
        if self.depth.get() >= 8 {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let text = template.render(self);
        self.depth.set(self.depth.get() - 1);
        text.ok().map(|text| Arc::new(Json::String(text)))
    }

    fn item(&self) -> Option<(Arc<Json>, u32)> {
        if let Some(item) = &self.item {
            return Some(item.clone());
        }
        let item = self.state.instance(self.instance?).item.as_ref()?;
        let items = self.state.instance(item.parent).items()?;
        let value = self.loaded(self.payloads.element(&items.values, item.index() as usize))??;
        Some((Arc::new(value), item.index()))
    }

    /// `loop`: the number of the pass, and the result of the one before.
    fn repeat(&self) -> Option<Arc<Json>> {
        let instance = self.state.instance(self.instance?);
        self.plan.step(instance.step).step.details().repeat.as_ref()?;
        let mut fields = json!({"iteration": instance.pass()});
        if let Some(previous) = instance.previous_pass() {
            let output = match &previous.output {
                Some(output) => self.loaded(self.payloads.read(output))?,
                None => Arc::new(Json::Null),
            };
            let gate = previous.verification.as_ref();
            let (verdict, reason) = (gate.map(|g| g.verdict), gate.and_then(|g| g.reason.as_ref()));
            fields["previous"] = json!({"output": &*output, "verdict": verdict, "reason": reason});
        }
        Some(Arc::new(fields))
    }

    fn run_field(&self, field: Option<&str>) -> Option<Arc<Json>> {
        let status = if self.state.is_cancelled() {
            RunStatus::Cancelled
        } else if self.state.has_failed() || self.state.has_expired() {
            RunStatus::Failed
        } else if self.in_finally() {
            RunStatus::Succeeded
        } else {
            RunStatus::Running
        };
        let value = match field {
            Some("id") => json!(self.run),
            Some("startedAt") => json!(self.state.started_at().rfc3339()),
            Some("status") => json!(status),
            Some("error") => self.first_failure(),
            Some("failed") => self.failures(),
            Some("rejection") => self.rejection(),
            Some(_) => return None,
            None => json!({
                "id": self.run,
                "startedAt": self.state.started_at().rfc3339(),
                "status": status,
                "error": self.first_failure(),
                "failed": self.failures(),
                "rejection": self.rejection(),
            }),
        };
        Some(Arc::new(value))
    }

    /// The last rejection that sent the work back; null without one.
    fn rejection(&self) -> Json {
        let Some(rejection) = self.state.rejection() else { return Json::Null };
        let step = |ix| self.state.key(self.plan, ix).to_string();
        json!({
            "step": step(rejection.asked_by),
            "to": step(rejection.to),
            "by": rejection.by,
            "comment": rejection.comment,
            "count": rejection.taken,
        })
    }

    fn in_finally(&self) -> bool {
        let step = self.instance.map(|ix| &self.plan.step(self.state.instance(ix).step).step);
        step.is_some_and(|step| {
            let early = step.details().hook.as_ref().is_some_and(|hook| hook.is_early());
            step.phase == StepPhase::Finally && !early
        })
    }

    /// The steps that failed and are not tolerated, in plan order, each with its error. Of a `forEach`
    /// step, the failed items follow the step.
    fn failures(&self) -> Json {
        let failed = |instance: &Instance| instance.status == StepStatus::Failed;
        let counts = |instance: &Instance| match &instance.item {
            None => !instance.tolerated,
            Some(item) => !instance.tolerated && failed(self.state.instance(item.parent)),
        };
        let mut all: Vec<(StepIx, InstanceIx, Json)> = self
            .state
            .instances()
            .filter(|(_, instance)| failed(instance) && counts(instance))
            .map(|(ix, instance)| {
                let step = self.plan.step(instance.step).step.id.as_str();
                let instance_name = self.state.key(self.plan, ix).to_string();
                let entry =
                    json!({"step": step, "instance": instance_name, "error": self.error_of(instance)});
                (instance.step, ix, entry)
            })
            .collect();
        all.sort_by_key(|(step, ix, _)| (step.0, ix.0));
        Json::Array(all.into_iter().map(|(_, _, entry)| entry).collect())
    }

    fn first_failure(&self) -> Json {
        let failed = self
            .state
            .instances()
            .find(|(_, i)| i.status == StepStatus::Failed && !i.tolerated && i.item.is_none());
        if failed.is_none() && self.state.has_expired() {
            return json!({"code": Code::RUN_TIMED_OUT.as_str(), "message": "the run exceeded its timeout"});
        }
        failed.map_or(Json::Null, |(ix, instance)| {
            let mut error = self.error_of(instance);
            if let Some(map) = error.as_object_mut() {
                map.insert("step".into(), json!(self.state.key(self.plan, ix).to_string()));
            }
            error
        })
    }

    fn step(&self, id: &StepId, field: Option<&str>) -> Option<Arc<Json>> {
        let step = self.plan.find(id.as_str())?;
        let own = self.instance.filter(|ix| self.state.instance(*ix).step == step);
        let ix = own.unwrap_or(InstanceIx(step.0));
        let instance = self.state.instance(ix);
        match field {
            Some(field) => self.step_field(ix, instance, field),
            None => {
                let fields = [
                    "output",
                    "status",
                    "error",
                    "verdict",
                    "exitCode",
                    "stdout",
                    "stderr",
                    "attempts",
                    "durationMs",
                ];
                let known = fields.iter().filter_map(|name| {
                    let value = self.step_field(ix, instance, name)?;
                    Some(((*name).to_owned(), (*value).clone()))
                });
                Some(Arc::new(Json::Object(known.collect())))
            }
        }
    }

    fn step_field(&self, ix: InstanceIx, instance: &Instance, field: &str) -> Option<Arc<Json>> {
        if field == "output" {
            let readable = matches!(
                instance.status,
                StepStatus::Succeeded | StepStatus::Verifying | StepStatus::Running
            );
            return readable
                .then_some(())
                .and(instance.output.as_ref())
                .and_then(|p| self.loaded(self.payloads.read(p)));
        }
        let value = match field {
            "status" => json!(instance.status),
            "error" => self.error_with_partial(instance),
            "verdict" => json!(instance.verification().map(|v| v.verdict)),
            "verdictDetails" => json!(instance.verification()),
            "handoff" => handoff_of(instance)?,
            "attempts" => json!(instance.attempt),
            "durationMs" => {
                let ended = instance.ended_at()?;
                let whole = ended.since(instance.started_at().unwrap_or(ended)).as_millis() as u64;
                json!(whole.saturating_sub(self.state.lost_ms(ix)))
            }
            "exitCode" | "stdout" | "stderr" => {
                let streams = self.loaded(self.payloads.read(instance.streams.as_deref()?))?;
                let streams = AttemptStreams::of(&streams);
                match field {
                    "exitCode" => json!(streams.exit_code),
                    "stdout" => json!(streams.stdout),
                    _ => json!(streams.stderr),
                }
            }
            "byKey" => {
                let output = self.loaded(self.payloads.read(instance.output.as_ref()?))?;
                by_key(self.state, ix, &output)?
            }
            "errors" => self.item_errors(ix)?,
            _ => return None,
        };
        Some(Arc::new(value))
    }

    /// The failure of an instance, with what its specialist reported about it; null without one.
    fn error_of(&self, instance: &Instance) -> Json {
        let Some(failure) = instance.failure() else { return Json::Null };
        let mut error =
            json!({"code": failure.code, "message": failure.message, "help": failure.help});
        for field in ["kind", "hypothesis", "partial"] {
            let value = failure.details.as_ref().and_then(|details| details.get(field));
            value.into_iter().for_each(|value| error[field] = value.clone());
        }
        if error.get("kind").is_none() {
            error["kind"] = json!(instance.failed_with().map(|outcome| outcome.to_string()));
        }
        let step = &self.plan.step(instance.step).step;
        error["suggestedNext"] = json!(hints(step, instance.outcome, failure));
        error
    }

    /// The failure of an instance. If its gate refuted an output, that output is its partial result.
    fn error_with_partial(&self, instance: &Instance) -> Json {
        let mut error = self.error_of(instance);
        let output = instance.output.as_ref().filter(|_| error.get("partial").is_none());
        if let Some(output) = output.filter(|_| error.is_object())
            && let Some(output) = self.loaded(self.payloads.read(output))
        {
            error["partial"] = json!({"output": &*output});
        }
        error
    }

    fn item_errors(&self, ix: InstanceIx) -> Option<Json> {
        let items = self.state.instance(ix).items()?;
        let failed = items
            .all()
            .map(|ix| self.state.instance(ix))
            .filter(|i| i.status == StepStatus::Failed);
        let errors = failed.map(|instance| {
            let key = instance.item.as_ref().map(|item| item.key().into_owned());
            json!({"key": key, "error": self.error_of(instance)})
        });
        Some(Json::Array(errors.collect()))
    }
}

/// What a specialist passed on, for expressions: artifacts have their name, type, preview and size.
fn handoff_of(instance: &Instance) -> Option<Json> {
    let mut handoff = json!(instance.handoff()?);
    // An empty list is not stored, and is a list for a condition all the same.
    for list in ["decisions", "constraints", "blockers", "artifacts"] {
        handoff.as_object_mut()?.entry(list).or_insert_with(|| json!([]));
    }
    let artifacts = handoff["artifacts"].as_array_mut();
    for artifact in artifacts.into_iter().flatten().filter_map(Json::as_object_mut) {
        artifact.shift_remove("content");
    }
    Some(handoff)
}

impl Scope for RunScope<'_> {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        match root {
            Root::Step(id) => self.step(id, field),
            Root::Param(name) => select(self.param(name)?, field),
            Root::Params => match field {
                Some(name) => self.param(name),
                None => Some(self.params.clone()),
            },
            Root::Run => self.run_field(field),
            Root::Env(name) => self.env(name),
            Root::Secret(name) => self.secret(name, name, self.secrets.by_name(name)),
            Root::Item => select(self.item()?.0, field),
            Root::Index => Some(Arc::new(json!(self.item()?.1))),
            Root::Loop => select(self.repeat()?, field),
        }
    }
}

fn select(value: Arc<Json>, field: Option<&str>) -> Option<Arc<Json>> {
    match field {
        None => Some(value),
        Some(name) => value.get(name).cloned().map(Arc::new),
    }
}

/// The values of some references at one time, for work in another task.
#[derive(Debug, Clone, Default)]
pub struct Snapshot(BTreeMap<(Root, Option<String>), Arc<Json>>);

impl Snapshot {
    /// Reads the values of these references.
    pub fn of<'r>(references: impl IntoIterator<Item = &'r Reference>, scope: &dyn Scope) -> Self {
        let mut values = BTreeMap::new();
        for reference in references {
            for field in [None, reference.field().map(str::to_owned)] {
                let key = (reference.root.clone(), field);
                if !values.contains_key(&key)
                    && let Some(value) = scope.lookup(&key.0, key.1.as_deref())
                {
                    values.insert(key, value);
                }
            }
        }
        Snapshot(values)
    }
}

impl Scope for Snapshot {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let key = (root.clone(), field.map(str::to_owned));
        self.0.get(&key).cloned()
    }
}
