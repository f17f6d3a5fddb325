//! The whole thing in one minute: a scratch project and a script that stands in for the model.

use super::scaffold::{INITIAL, place};
use super::{Project, ServiceError, Start};
use crate::clock;
use crate::diagnostic::Code;
use crate::project;
use crate::value::{Digest, Failure};
use std::path::{Path, PathBuf};

/// A scratch project, ready to run.
#[derive(Debug, Clone)]
pub struct Demo {
    /// Its folder.
    pub folder: PathBuf,
    /// It, loaded.
    pub project: Project,
    /// What to run in it.
    pub start: Start,
}

const FILES: [(&str, &str); 5] = [
    (".kb/kb.config.yml", include_str!("../../assets/demo/files/kb.config.yml")),
    ("README.md", include_str!("../../assets/demo/files/README.md")),
    ("script.yml", include_str!("../../assets/demo/script.yml")),
    ("src/farewell.sh", include_str!("../../assets/demo/files/src/farewell.sh")),
    ("tests/farewell_test.sh", include_str!("../../assets/demo/files/tests/farewell_test.sh")),
];

/// Makes the scratch project: in a new temporary folder, or in this one, which must be empty.
pub fn create_demo(folder: Option<&Path>) -> Result<Demo, ServiceError> {
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        None => {
            let seed = format!("{}/{}", clock::now().0, std::process::id());
            std::env::temp_dir().join(format!("kb-demo-{}", Digest::of(seed).short(8)))
        }
    };
    let occupied = folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        let message = format!("the folder `{}` is not empty", folder.display());
        let failure = Failure::new(Code::FILE_EXISTS.as_str(), message);
        return Err(ServiceError::refused(failure.help("name a new one, or leave `--dir` out")));
    }
    let settings = |(path, _): &&(&str, &str)| path.ends_with("kb.config.yml");
    let shipped = INITIAL.iter().filter(|file| !settings(file));
    let files: Vec<(&str, &str)> = FILES.iter().chain(shipped).copied().collect();
    place(&folder, &files)?;
    let home = project::Project::at(&folder);
    let folder = home.root().to_owned();
    let start = Start {
        definition: "add-feature".to_owned(),
        params: vec![("featureName".to_owned(), "greeting".to_owned())],
        script: Some(folder.join("script.yml")),
        ..Start::default()
    };
    Ok(Demo { project: Project::load(home), folder, start })
}
