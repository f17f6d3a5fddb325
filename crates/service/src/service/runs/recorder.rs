//! [`Recorder`]: what `--record FILE` keeps of a run.
//!
//! The processes of a run that waited for a person share it, so that a session with questions is recorded
//! as a whole.

use crate::service::ServiceError;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::Manifest;
use kb_core::redaction::Redactor;
use kb_host::llm::{ModelProvider, RecordedTurns, Recording};
use kb_host::tool::{KeptCalls, ToolDoubles};
use kb_host::workspace::Workspace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum size of a text that is kept for the case that the run changes the file, in bytes.
const TEXT_BYTES: u64 = 64 << 10;
/// Maximum size of all these texts.
const ALL_BYTES: u64 = 32 << 20;

/// What `--record FILE` keeps of a run.
#[derive(Debug)]
pub struct Recorder {
    /// The script, an absolute path.
    script: PathBuf,
    turns: Arc<RecordedTurns>,
    calls: Arc<KeptCalls>,
    files: Option<FilesBefore>,
    redactor: Mutex<Arc<Redactor>>,
}

/// The files of the project when a run started that becomes a test.
#[derive(Debug)]
pub struct FilesBefore {
    /// Their states.
    pub manifest: Manifest,
    /// Their texts, as far as they are small.
    pub texts: BTreeMap<String, String>,
    /// The test file, an absolute path.
    pub test: PathBuf,
}

impl Recorder {
    /// Prepares a recording in this file. Fails if it cannot be written.
    pub(super) fn new(script: PathBuf, root: &Path) -> Result<Recorder, ServiceError> {
        let refused = |message: String, help: &str| {
            ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, message).help(help))
        };
        let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".test.yml") {
            let message = format!("`{name}` is the name of a test, and `--record` writes a script");
            let wanted = name.replace(".test.yml", ".script.yml");
            let help =
                format!("write `--record .kb/tests/{wanted}`; the test is written beside it");
            return Err(refused(message, &help));
        }
        let folder = script.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).map_err(|error| {
            let message = format!("`{}` cannot be created: {error}", folder.display());
            refused(message, "choose another file for `--record`")
        })?;
        let files = match test_of(&script, root) {
            Some(test) if !test.exists() => FilesBefore::read(root, test),
            _ => None,
        };
        let (turns, calls, redactor) = Default::default();
        Ok(Recorder { script, turns, calls, files, redactor })
    }

    /// The same provider, whose responses are recorded.
    pub(super) fn recording(
        &self,
        inner: Arc<dyn ModelProvider>,
        redactor: Arc<Redactor>,
    ) -> Arc<dyn ModelProvider> {
        Arc::new(Recording::new(inner, redactor).after(self.turns.clone()))
    }

    /// What keeps the results of calls, if the run becomes a test.
    pub(super) fn tools(&self) -> Option<Arc<ToolDoubles>> {
        self.files.is_some().then(|| Arc::new(ToolDoubles::keeping(self.calls.clone())))
    }

    /// Writes the script atomically: the file is complete or absent.
    pub(super) fn write(&self, redactor: &Arc<Redactor>) -> std::io::Result<()> {
        *self.redactor.lock().unwrap_or_else(PoisonError::into_inner) = redactor.clone();
        self.turns.write_to(&self.script, redactor)
    }

    /// The script, an absolute path.
    pub fn script(&self) -> &Path {
        &self.script
    }

    /// The test that stands beside the script, an absolute path; `None` outside of `.kb/tests/`.
    pub fn test(&self, root: &Path) -> Option<PathBuf> {
        test_of(&self.script, root)
    }

    /// The files when the run started; `None` if the run does not become a test.
    pub fn files(&self) -> Option<&FilesBefore> {
        self.files.as_ref()
    }

    /// The kept results of calls.
    pub fn kept_calls(&self) -> &KeptCalls {
        &self.calls
    }

    /// The files that coding agents wrote and whose content is not in the script.
    pub fn not_kept(&self) -> Vec<String> {
        self.turns.left_out()
    }

    /// What masks the secrets of the run.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.redactor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The test beside a script in `.kb/tests/`.
fn test_of(script: &Path, root: &Path) -> Option<PathBuf> {
    let below = script.strip_prefix(root.join(".kb/tests")).ok()?;
    let name = below.file_name()?.to_str()?;
    let ends = [".script.yml", ".script.yaml", ".yml", ".yaml"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    Some(script.with_file_name(format!("{stem}.test.yml")))
}

impl FilesBefore {
    fn read(root: &Path, test: PathBuf) -> Option<FilesBefore> {
        let workspace = Workspace::open(root, &[], &[]).ok()?;
        let manifest = workspace.manifest();
        let mut left = ALL_BYTES;
        let mut texts = BTreeMap::new();
        for (path, state) in &manifest.files {
            if state.size > TEXT_BYTES || state.size > left || path.starts_with(".kb/") {
                continue;
            }
            if let Ok(text) = std::fs::read_to_string(root.join(path)) {
                left -= state.size;
                texts.insert(path.clone(), text);
            }
        }
        Some(FilesBefore { manifest, texts, test })
    }
}
