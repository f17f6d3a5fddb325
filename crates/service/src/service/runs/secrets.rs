//! Secrets from the settings: variables, files and commands.

use crate::service::params::SecretSources;
use futures::future::BoxFuture;
use kb_attempt::{Live, read_regular};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_clock as clock;
use kb_core::redaction::{Redactor, SHORTEST};
use kb_engine::engine::Secrets;
use kb_host::executor::SettingsCommands;
use kb_host::workspace::own_path;
use kb_language::definition::{SecretSource, Settings};
use kb_language::plan::Touched;
use kb_process::{ProcessEnd, ProcessResult, Spawn};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Time limit of the command of a secret.
const COMMAND_LIMIT: Duration = Duration::from_secs(20);
/// Maximum size of a secret in bytes.
const LONGEST: usize = 64 << 10;

/// The secrets of the settings. Variables and files are read at each use; a command runs once for
/// each run of this process, when its secret is first needed, because it may ask a person. A value
/// is registered with the redactor before it is returned; a value that cannot be masked is refused.
pub struct ConfiguredSecrets {
    settings: Arc<Settings>,
    env: BTreeMap<String, String>,
    root: PathBuf,
    starter: Option<SettingsCommands>,
    touched: OnceLock<Live<Option<Touched>>>,
    redactor: Arc<Redactor>,
    values: Mutex<BTreeMap<String, String>>,
    commands: BTreeMap<String, tokio::sync::Mutex<LastFailure>>,
}

/// Time and failure of the last execution of a command. Steps that were waiting at that time get
/// this failure, so that a failing command runs once for all of them, and again for a retry.
type LastFailure = Option<(Instant, Failure)>;

impl ConfiguredSecrets {
    /// The secrets of the settings. `env:` reads `env`; files and commands are relative to `root`. `starter` starts
    /// commands, and is missing if the project folder cannot be opened.
    pub fn new(
        settings: Arc<Settings>,
        env: BTreeMap<String, String>,
        root: PathBuf,
        starter: Option<SettingsCommands>,
        redactor: Arc<Redactor>,
    ) -> Self {
        let is_command = |source: &SecretSource| matches!(source, SecretSource::Command(_));
        let commands = settings.secrets.iter().filter(|(_, source)| is_command(source));
        let commands = commands.map(|(name, _)| (name.clone(), Default::default())).collect();
        let values = Mutex::default();
        let touched = OnceLock::new();
        ConfiguredSecrets { settings, env, root, starter, touched, redactor, values, commands }
    }

    /// The same secrets for what follows a run in which this step could write to the project.
    #[must_use]
    pub fn after(self, touched: Live<Option<Touched>>) -> Self {
        ConfiguredSecrets { touched: touched.into(), ..self }
    }

    /// Fetches a secret for something else than an attempt: a hook, a server, a coding agent.
    pub(in crate::service) async fn fetch_now(
        &self,
        secret: &str,
        cancel: &CancellationToken,
    ) -> Fetched {
        let nothing = || Live::always(None);
        self.fetch(secret, self.touched.get_or_init(nothing), cancel).await
    }

    /// Registers all secrets with the redactor before anything is displayed.
    pub fn reveal_all_to_redactor(&self) {
        for (name, source) in &self.settings.secrets {
            // A command may ask a person, so it runs only when its secret is needed.
            if let Some(value) = self.read(name, source) {
                self.redactor.add(name, &value);
            }
        }
    }

    /// The value of a secret by its name or reference, for something else than an attempt.
    pub(in crate::service) async fn value_of(&self, secret: &str) -> Result<String, Failure> {
        self.fetch_now(secret, &CancellationToken::new()).await?;
        self.value(secret).ok_or_else(|| {
            let (why, fix) = self.problem(secret).unwrap_or_else(|| {
                ("it is empty or not readable".to_owned(), "give it a value".to_owned())
            });
            let message = format!("the secret `{secret}` has no value: {why}");
            Failure::new(Code::SECRET_UNSET, message).help(fix)
        })
    }

    fn source(&self, secret: &str) -> Option<SecretSource> {
        if secret.contains(':') {
            SecretSources::source(secret)
        } else {
            self.settings.secrets.get(secret).cloned()
        }
    }

    /// The current value, if it is available without running a command.
    fn read(&self, secret: &str, source: &SecretSource) -> Option<String> {
        let value = match source {
            SecretSource::Env(name) => self.env.get(name).cloned(),
            // A link in the project may be the work of a specialist.
            SecretSource::File(path) => read_file(&own_path(&self.root, path.as_ref())?),
            SecretSource::Command(_) => {
                self.values.lock().unwrap_or_else(PoisonError::into_inner).get(secret).cloned()
            }
        };
        value.filter(|value| !value.is_empty())
    }

    fn value(&self, secret: &str) -> Option<String> {
        let value = self.read(secret, &self.source(secret)?)?;
        self.redactor.add(secret, &value);
        Redactor::can_keep(&value).then_some(value)
    }

    async fn ask(
        &self,
        name: &str,
        argv: &[String],
        touched: &Live<Option<Touched>>,
        cancel: &CancellationToken,
    ) -> Fetched {
        let Some(turn) = self.commands.get(name) else { return Ok(()) };
        let asked = clock::instant();
        let mut last = turn.lock().await;
        if self.values.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name) {
            return Ok(());
        }
        if let Some((_, failure)) = last.as_ref().filter(|(at, _)| *at >= asked) {
            return Err(failure.clone());
        }
        let exited = match &self.starter {
            Some(starter) => starter.run(self.spawn(argv), touched, cancel).await,
            None => Err("the project folder cannot be opened".to_owned()),
        };
        let values = value_of(name, argv, exited)
            .and_then(|value| if Redactor::can_keep(&value) { Ok(value) } else { Err(weak(name)) });
        match values {
            Ok(value) => {
                self.redactor.add(name, &value);
                let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
                values.insert(name.to_owned(), value);
                Ok(())
            }
            Err(failure) => {
                // Who was values to stop says nothing about the command.
                *last = (!cancel.is_cancelled()).then(|| (clock::instant(), failure.clone()));
                Err(failure)
            }
        }
    }

    fn spawn(&self, argv: &[String]) -> Spawn {
        Spawn {
            argv: argv.to_vec(),
            own_program: false,
            cwd: self.root.clone(),
            env: Vec::new(),
            stdin: Vec::new(),
            timeout: Some(COMMAND_LIMIT),
            idle: None,
            max_stream: LONGEST,
        }
    }
}

type Fetched = Result<(), Failure>;

impl Secrets for ConfiguredSecrets {
    fn by_name(&self, name: &str) -> Option<String> {
        self.value(name)
    }

    fn by_reference(&self, reference: &str) -> Option<String> {
        self.value(reference)
    }

    fn follow(&self, touched: Live<Option<Touched>>) {
        // That of the first run counts, which executes the others.
        let _ = self.touched.set(touched);
    }

    fn problem(&self, secret: &str) -> Option<(String, String)> {
        let sources = SecretSources { variables: &self.env, root: &self.root };
        sources.problem(&self.source(secret)?)
    }

    fn is_missing(&self, secret: &str) -> bool {
        let Some(source) = self.source(secret) else { return false };
        match self.read(secret, &source) {
            Some(value) => !Redactor::can_keep(&value),
            None => matches!(source, SecretSource::Command(_)),
        }
    }

    fn fetch<'a>(
        &'a self,
        secret: &'a str,
        touched: &'a Live<Option<Touched>>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Fetched> {
        Box::pin(async move {
            match self.source(secret) {
                Some(SecretSource::Command(argv)) => self.ask(secret, &argv, touched, cancel).await,
                Some(source) => match self.read(secret, &source) {
                    Some(value) if !Redactor::can_keep(&value) => Err(weak(secret)),
                    _ => Ok(()),
                },
                None => Ok(()),
            }
        })
    }
}

/// The content of a small regular file.
fn read_file(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_regular(path, LONGEST).ok()?).ok()?;
    Some(without_line_end(&text))
}

fn without_line_end(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).to_owned()
}

/// What a command printed. Of that nothing may be values, also where it did not end well.
fn value_of(
    name: &str,
    argv: &[String],
    exited: Result<(ProcessResult, Option<String>), String>,
) -> Result<String, Failure> {
    let program = argv.first().map_or("", String::as_str);
    let failed = |why: String, help: String| {
        let message =
            format!("the secret `{name}` is not available: its command `{program}` {why}");
        Err(Failure::new(Code::SECRET_COMMAND_FAILED, message).help(help))
    };
    let (exited, note) = match exited {
        Ok(exited) => exited,
        Err(refused) => return failed("was not started".to_owned(), refused),
    };
    let why = match exited.end {
        ProcessEnd::Code(0) => {
            let value = without_line_end(&exited.stdout);
            match value.as_str() {
                "" => "printed nothing".to_owned(),
                _ if exited.stdout_cut > 0 => format!("printed more than {} KiB", LONGEST >> 10),
                text if text.contains('\u{fffd}') => "printed text that is not UTF-8".to_owned(),
                text if text.contains('\0') => "printed a NUL character".to_owned(),
                _ => return Ok(value),
            }
        }
        ProcessEnd::Code(code) => format!("ended with exit code {code}"),
        ProcessEnd::Signal(signal) => format!("was ended by signal {signal}"),
        ProcessEnd::TimedOut | ProcessEnd::Idle => {
            format!("took longer than {}", kb_base::value::format_duration(COMMAND_LIMIT))
        }
        ProcessEnd::Cancelled => "was stopped".to_owned(),
        ProcessEnd::Lost => format!("did not end: {}", ProcessEnd::LOST),
        ProcessEnd::NotStarted(reason) => format!("did not start: {reason}"),
    };
    let help = match note {
        Some(note) => format!(
            "{note}; put an `approve` step between the two, or keep the program outside of the project and give it absolute paths"
        ),
        None => "run the command yourself in the project folder; its output is neither stored nor \
                 shown"
            .to_owned(),
    };
    failed(why, help)
}

fn weak(secret: &str) -> Failure {
    let message = format!(
        "the secret `{secret}` has fewer than {SHORTEST} characters, and masking does not protect short \
         values: a program that prints all of them shows which one is masked"
    );
    let help = format!(
        "use a value of at least {SHORTEST} characters; pass a value that is not secret as a parameter \
         or with `env.pass`"
    );
    Failure::new(Code::SECRET_TOO_SHORT, message).help(help)
}
