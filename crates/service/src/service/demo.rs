//! The project of `kb demo`: an example with a script in place of the model.

use super::scaffold::INITIAL;
use super::writing::write_files;
use super::{Environment, Project, ServiceError, StartRequest};
use crate::project::ProjectFolder;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use std::path::{Path, PathBuf};

/// The demo project and its run.
#[derive(Debug, Clone)]
pub struct Demo {
    /// The folder of the project.
    pub folder: PathBuf,
    /// The loaded project.
    pub project: Project,
    /// The request that starts its run.
    pub request: StartRequest,
}

const FILES: [(&str, &str); 5] = [
    (".kb/kb.config.yml", include_str!("../../../../assets/demo/files/kb.config.yml")),
    ("README.md", include_str!("../../../../assets/demo/files/README.md")),
    ("script.yml", include_str!("../../../../assets/demo/script.yml")),
    ("src/farewell.sh", include_str!("../../../../assets/demo/files/src/farewell.sh")),
    (
        "tests/farewell_test.sh",
        include_str!("../../../../assets/demo/files/tests/farewell_test.sh"),
    ),
];

/// Creates the demo project in the given folder, which must be empty, or in a new temporary folder.
pub fn create_demo(environment: &Environment, folder: Option<&Path>) -> Result<Demo, ServiceError> {
    let folder = match folder {
        Some(folder) => environment.absolute(folder),
        None => {
            let seed = format!("{}/{}", environment.clock.now().0, std::process::id());
            environment.temp_dir.join(format!("kb-demo-{}", Digest::of(seed).short(8)))
        }
    };
    let occupied = folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        let message = format!("the folder `{}` is not empty", folder.display());
        let failure = Failure::new(Code::FILE_EXISTS, message);
        return Err(ServiceError::refused(failure.help("choose another folder, or omit `--dir`")));
    }
    let settings = |(path, _): &&(&str, &str)| path.ends_with("kb.config.yml");
    let shipped = INITIAL.iter().filter(|file| !settings(file));
    let files: Vec<(&str, &str)> = FILES.iter().chain(shipped).copied().collect();
    write_files(&folder, &files)?;
    let root = ProjectFolder::at(&folder);
    let folder = root.root().to_owned();
    let request = StartRequest {
        definition: "add-feature".to_owned(),
        params: vec![("featureName".to_owned(), "greeting".to_owned())],
        script: Some(folder.join("script.yml")),
        ..StartRequest::default()
    };
    let mut project = Project::load(root, environment);
    // The project of the working directory is not trusted either.
    if let Ok(own) = Project::find(environment) {
        project.context = project.context.beside(&own.context);
    }
    Ok(Demo { project, folder, request })
}
