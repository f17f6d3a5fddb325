use crate::definition::{SecretSource, Settings};
use crate::engine::Secrets;
use crate::process::{End, Spawn, Supervisor};
use crate::redaction::Redactor;
use crate::value::limits;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Secrets as the settings name them. Read anew at each use, and known to the redactor before they
/// are handed out.
pub struct KnownSecrets {
    /// Where to look.
    pub settings: Arc<Settings>,
    /// What `env:` reads.
    pub env: BTreeMap<String, String>,
    /// What `file:` paths are relative to.
    pub root: PathBuf,
    /// What `command:` is started by.
    pub supervisor: Supervisor,
    /// What masks them.
    pub redactor: Arc<Redactor>,
}

impl KnownSecrets {
    fn read(&self, source: &SecretSource) -> Option<String> {
        match source {
            SecretSource::Env(name) => self.env.get(name).cloned(),
            SecretSource::File(path) => {
                let text = std::fs::read_to_string(self.root.join(path)).ok()?;
                Some(text.trim_end_matches(['\n', '\r']).to_owned())
            }
            SecretSource::Command(argv) => self.run(argv),
        }
    }

    fn run(&self, argv: &[String]) -> Option<String> {
        let spawn = Spawn {
            argv: argv.to_vec(),
            cwd: self.root.clone(),
            env: Vec::new(),
            stdin: Vec::new(),
            timeout: Some(Duration::from_secs(20)),
            idle: None,
            max_stream: limits::INLINE_OUTPUT_BYTES,
        };
        let cancel = CancellationToken::new();
        let handle = tokio::runtime::Handle::try_current().ok()?;
        let running = self.supervisor.run(spawn, &cancel, None);
        let exited = tokio::task::block_in_place(|| handle.block_on(running));
        let ended_well = exited.end == End::Code(0);
        ended_well.then(|| exited.stdout.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn known(&self, name: &str, value: Option<String>) -> Option<String> {
        let value = value.filter(|value| !value.is_empty())?;
        self.redactor.add(name, &value);
        Some(value)
    }

    /// Makes every secret known to the redactor at once, before anything is shown.
    pub fn reveal_all_to_redactor(&self) {
        for (name, source) in &self.settings.secrets {
            // A command may ask a person; it is run when it is needed, not before.
            if !matches!(source, SecretSource::Command(_)) {
                self.known(name, self.read(source));
            }
        }
    }
}

impl Secrets for KnownSecrets {
    fn by_name(&self, name: &str) -> Option<String> {
        let source = self.settings.secrets.get(name)?;
        self.known(name, self.read(source))
    }

    fn by_reference(&self, reference: &str) -> Option<String> {
        let source = match reference.split_once(':')? {
            ("env", name) => SecretSource::Env(name.to_owned()),
            ("file", path) => SecretSource::File(path.to_owned()),
            _ => return None,
        };
        self.known(reference, self.read(&source))
    }
}
