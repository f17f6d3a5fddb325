use super::assembly::{LeasedRun, assemble, environment, max_parallel, needs_model, tiers};
use super::context::ProjectContext;
use super::frozen::{Frozen, FrozenFile, read_script, refusals};
use super::prepared::Prepared;
use super::task_files::read_task_files;
use crate::clock;
use crate::definition::{Catalog, InputFile, Settings};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::engine::StartMode;
use crate::journal::{Journal, NewRun};
use crate::llm::Tiers;
use crate::plan::Plan;
use crate::project::Project;
use crate::redaction::Redactor;
use crate::run::{InstanceIx, RunStatus};
use crate::service::inspect::find_run;
use crate::service::{ResourceKind, ServiceError};
use crate::value::{DefinitionId, Digest, Failure, JsonMap, RunId, json_text};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What begins a run.
#[derive(Debug, Clone)]
pub struct Begin {
    /// Where.
    pub context: ProjectContext,
    /// Every definition file of the project, and the one named on the command line.
    pub files: Vec<InputFile>,
    /// What is clean of them.
    pub catalog: Catalog,
    /// What is wrong with the others.
    pub diagnostics: Vec<Diagnostic>,
    /// What to run.
    pub definition: DefinitionId,
    /// Its plan, where it is made already.
    pub plan: Option<Arc<Plan>>,
    /// Its parameters, checked.
    pub params: JsonMap,
    /// A script's path and bytes, where one plays the model.
    pub script: Option<(String, Vec<u8>)>,
    /// Where to write what a model says.
    pub record: Option<PathBuf>,
    /// What holds over the definition.
    pub overrides: Overrides,
}

/// What a command line says over definition and settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--model`.
    pub model: Option<String>,
    /// `--max-parallel`.
    pub max_parallel: Option<u32>,
    /// `--yes`.
    pub yes: bool,
}

/// How a cancellation went.
pub enum Cancelled {
    /// The run has a holder, and it was told.
    Delivered(RunId),
    /// It has none: drive this to end it.
    Ready(Box<Prepared>),
    /// It had ended before.
    AlreadyEnded(RunId, RunStatus),
}

/// Checks everything that can be checked, freezes it, and takes hold of a new run.
pub async fn begin(options: Begin) -> Result<Prepared, ServiceError> {
    let Begin { context, files, catalog, diagnostics, definition, .. } = options;
    let Begin { plan, params, script, record, overrides, .. } = options;
    let plan = match plan {
        Some(plan) => plan,
        None => Arc::new(plan_of(&catalog, diagnostics, &definition, &files)?),
    };
    let refused = |diagnostics| {
        let sources = Box::new(catalog.sources.clone());
        ServiceError::Definitions { diagnostics, sources }
    };
    refusals(plan.playbook(), &catalog)?;
    let script = script.map(|(path, bytes)| {
        read_script(&path, &bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok::<_, ServiceError>(FrozenFile { path, role: "script".to_owned(), text })
    });
    let settings = catalog.settings.clone();
    let tiers =
        tiers(&plan, script.is_some(), &settings, &context, overrides.model.as_deref()).await?;
    let mut frozen = Frozen {
        version: Frozen::VERSION,
        definition: definition.clone(),
        files: Frozen::reached(&plan, &files),
        task_files: read_task_files(plan.playbook(), &context.root).map_err(refused)?,
        params,
        script: script.transpose()?,
        tiers: tiers.as_ref().map(Tiers::frozen).unwrap_or_default(),
        model: overrides.model.clone(),
        yes: overrides.yes,
        max_parallel: max_parallel(&plan, &settings, &overrides),
    };
    // From here on the texts of definitions are in what is frozen.
    drop((files, catalog));
    let assembled = assemble(&context, &settings, &frozen, tiers, record)?;
    no_written_secret(&frozen, &assembled.parts.redactor)?;
    let run = new_run_id();
    let journal = assembled.parts.journal.clone();
    let stored = frozen.json();
    // Stored texts are not needed here; the journal is about to write them.
    frozen.files.clear();
    let digest = Digest::of_json(&stored);
    let new = NewRun {
        run: run.clone(),
        definition: definition.to_string(),
        at: clock::now(),
        frozen: stored,
    };
    let epoch = journal.create(new)?;
    let opening = StartMode::Start { digest, environment: environment(&assembled, &frozen) };
    let leased =
        LeasedRun { run, epoch, before: Vec::new(), changed: Vec::new(), killed_owner: None };
    Ok(assembled.prepare(leased, plan, frozen, opening))
}

/// What is frozen is stored as it is, so it may hold no value of a secret.
fn no_written_secret(frozen: &Frozen, redactor: &Redactor) -> Result<(), ServiceError> {
    let refused = |location: String, name: String, help: &str| {
        let message = format!("{location} holds the value of the secret `{name}`");
        let failure = Failure::new(Code::SECRET_LITERAL.as_str(), message).help(help);
        Err(ServiceError::refused(failure))
    };
    for (param, value) in &frozen.params {
        if let Some(name) = redactor.written_in(&json_text(value)) {
            let help = "declare it with `type: secret`, and give `env:NAME` or `file:PATH`";
            return refused(format!("the parameter `{param}`"), name, help);
        }
    }
    let files = frozen.files.iter().chain(&frozen.script).map(|file| (&file.path, &*file.text));
    let tasks = frozen.task_files.iter().map(|(path, text)| (path, text.as_str().unwrap_or("")));
    for (path, text) in files.chain(tasks) {
        if let Some(name) = redactor.written_in(text) {
            let help = "refer to it as `{{secrets.NAME}}`, and change the secret if others may have \
                        seen the file";
            return refused(format!("`{path}`"), name, help);
        }
    }
    Ok(())
}

/// Goes on with a run that was interrupted or waits.
pub fn resume(
    context: ProjectContext,
    name: &str,
    overrides: &Overrides,
) -> Result<Prepared, ServiceError> {
    let (journal, run, status) = find(&context, name)?;
    if status.has_ended() {
        let help = match status {
            RunStatus::Succeeded => {
                "there is nothing left to do; start a new run with `kb playbook run`".to_owned()
            }
            _ => format!("`kb run retry {run}` re-opens it"),
        };
        let failure =
            Failure::new(Code::NOT_RESUMABLE.as_str(), format!("run `{run}` has {status}"))
                .help(help);
        return Err(ServiceError::refused(failure));
    }
    reopen(context, &*journal, run, overrides, |_| Ok(StartMode::Resume))
}

/// Re-opens a run that failed or was cancelled, from a step or from all that did not succeed.
pub fn retry(
    context: ProjectContext,
    name: &str,
    from: Option<&str>,
    overrides: &Overrides,
) -> Result<Prepared, ServiceError> {
    let (journal, run, status) = find(&context, name)?;
    if !status.has_ended() {
        let failure = Failure::new(
            Code::NOT_RESUMABLE.as_str(),
            format!("run `{run}` is {status}, not ended"),
        )
        .help(format!("`kb run resume {run}` goes on with it"));
        return Err(ServiceError::refused(failure));
    }
    if status == RunStatus::Succeeded && from.is_none() {
        let failure = Failure::new(Code::NOT_RESUMABLE.as_str(), format!("run `{run}` succeeded"))
            .help("`--from STEP` runs that step and everything after it again");
        return Err(ServiceError::refused(failure));
    }
    reopen(context, &*journal, run, overrides, |plan| {
        let step = |name: &str| {
            let known = plan.steps().iter().map(|s| s.step.id.to_string());
            plan.find(name).ok_or_else(|| ServiceError::unknown(ResourceKind::Step, name, known))
        };
        let from = from.map(step).transpose()?.map(|ix| InstanceIx(ix.0));
        Ok(StartMode::Retry { from: from.into_iter().collect() })
    })
}

/// Stops a run for good: its holder is told, or it is ended here where it has none.
pub fn cancel(context: ProjectContext, name: &str, by: &str) -> Result<Cancelled, ServiceError> {
    let (journal, run, status) = find(&context, name)?;
    if status.has_ended() {
        return Ok(Cancelled::AlreadyEnded(run, status));
    }
    if journal.is_leased(&run)? {
        let key = format!("cancel-{}-{}", clock::now().0, std::process::id());
        journal.post(&run, &key, "cancel", json!({"by": by}))?;
        // A holder that left in between did not read it; what was left waits for the next one.
        if journal.is_leased(&run)? {
            return Ok(Cancelled::Delivered(run));
        }
        let prepared =
            reopen(context, &*journal, run, &Overrides::default(), |_| Ok(StartMode::Resume))?;
        return Ok(Cancelled::Ready(Box::new(prepared)));
    }
    let opening = StartMode::Cancel { by: by.to_owned() };
    let prepared = reopen(context, &*journal, run, &Overrides::default(), |_| Ok(opening))?;
    Ok(Cancelled::Ready(Box::new(prepared)))
}

/// A run by its name, with the journal that knows it. It stays open until the run's own is, since
/// who closes a journal last tidies it up, and the next one would begin anew.
pub(super) fn find(
    context: &ProjectContext,
    name: &str,
) -> Result<(Arc<dyn Journal>, RunId, RunStatus), ServiceError> {
    let journal = context.journal(Default::default())?;
    let run = find_run(&*journal, name)?;
    let status = journal.run(&run)?.status;
    Ok((journal, run, status))
}

pub(super) fn reopen(
    context: ProjectContext,
    journal: &dyn Journal,
    run: RunId,
    overrides: &Overrides,
    opening: impl FnOnce(&Plan) -> Result<StartMode, ServiceError>,
) -> Result<Prepared, ServiceError> {
    let frozen = Frozen::of_run(journal, &run)?;
    let frozen = Frozen {
        yes: frozen.yes || overrides.yes,
        max_parallel: overrides.max_parallel.unwrap_or(frozen.max_parallel),
        ..frozen
    };
    let (catalog, plan) = frozen.thaw()?;
    let opening = opening(&plan)?;
    let needs_model = needs_model(&plan) && frozen.script.is_none();
    let tiers = needs_model.then(|| Tiers::thawed(&frozen.tiers, &catalog.settings, &context.env));
    let present = present_settings(&context)?;
    let settings = Arc::new(catalog.settings.narrowed_by(&present));
    let assembled = assemble(&context, &settings, &frozen, tiers, None)?;
    let epoch = assembled.parts.journal.acquire(&run)?;
    let killed_owner = assembled.parts.journal.previous_owner(&run);
    // Read once, by who holds the run: the engine and whoever watches fold the same events.
    let before = assembled.parts.journal.events(&run, 0)?;
    let opening = match opening {
        // A holder that died before its first event left a run that has yet to begin.
        StartMode::Resume | StartMode::Answer { .. } if before.is_empty() => {
            let environment = environment(&assembled, &frozen);
            StartMode::Start { digest: Digest::of_json(&frozen.json()), environment }
        }
        other => other,
    };
    let changed = frozen.changed_since(&context.root);
    let leased = LeasedRun { run, epoch, before, changed, killed_owner };
    Ok(assembled.prepare(leased, plan, frozen, opening))
}

/// The settings as they are now: a run that goes on may do no more than they allow.
fn present_settings(context: &ProjectContext) -> Result<Arc<Settings>, ServiceError> {
    let (files, unread) = Project::at(&context.root).settings_files();
    let (catalog, diagnostics) = crate::definition::load(files);
    let errors = unread.into_iter().chain(diagnostics).filter(Diagnostic::is_error);
    let errors: Vec<Diagnostic> = errors.collect();
    if errors.is_empty() {
        return Ok(catalog.settings);
    }
    Err(ServiceError::Definitions { diagnostics: errors, sources: Box::new(catalog.sources) })
}

fn plan_of(
    catalog: &Catalog,
    diagnostics: Vec<Diagnostic>,
    definition: &DefinitionId,
    files: &[InputFile],
) -> Result<Plan, ServiceError> {
    let refused = |diagnostics: Vec<Diagnostic>| {
        let diagnostics = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        ServiceError::Definitions { diagnostics, sources: Box::new(catalog.sources.clone()) }
    };
    let Some(playbook) = catalog.playbooks.get(definition.as_str()) else {
        // Files of that id with errors are why it is not there.
        let paths = catalog.refused.playbooks.get(definition.as_str());
        let mine = of_files(diagnostics, &paths.cloned().unwrap_or_default(), catalog);
        if mine.iter().any(Diagnostic::is_error) || files.is_empty() {
            return Err(refused(mine));
        }
        let known = catalog.playbooks.keys().map(ToString::to_string);
        return Err(ServiceError::unknown(ResourceKind::Playbook, definition.as_str(), known));
    };
    let (plan, problems) = Plan::build(playbook, catalog);
    plan.ok_or_else(|| {
        let reached = of_files(diagnostics, &catalog.files_of(playbook), catalog);
        refused(problems.into_iter().chain(reached).collect())
    })
}

/// Those that point into one of these files.
fn of_files(
    mut diagnostics: Vec<Diagnostic>,
    paths: &BTreeSet<String>,
    catalog: &Catalog,
) -> Vec<Diagnostic> {
    let inside = |span: Span| paths.contains(&*catalog.sources.get(span.source).path);
    diagnostics.retain(|d| d.span.is_some_and(inside));
    diagnostics
}

/// Eight letters and digits that no other run of the project has; short enough to type. It begins with
/// a letter and a digit, so that it never looks like a number or a word.
fn new_run_id() -> RunId {
    use std::hash::{BuildHasher, Hasher};
    const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let random = std::hash::RandomState::new().build_hasher().finish();
    let digest = Digest::of(format!("{}/{}/{random}", clock::now().0, std::process::id()));
    let bytes = digest.as_bytes();
    let text: String = bytes[1..7].iter().map(|b| LETTERS[usize::from(b % 32)] as char).collect();
    RunId::new(format!("r{}{text}", bytes[0] % 10)).expect("letters and digits make a run id")
}
