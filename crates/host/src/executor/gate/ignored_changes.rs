//! Ignored files that changed since a step began. Scans do not cover them, but the kernel dates them.

use crate::workspace::{ChangedFile, ChangedFiles, Workspace};
use kb_core::evidence::FileKind;
use kb_core::verify::{IgnoredChange, IgnoredFiles, IgnoredFolder};
use std::collections::BTreeMap;

/// Maximum number of files; one is enough for a doubt.
const MOST: usize = 200;
/// A name in an ignored folder.
const NO_NAME: &str = "no-rule-names-this";

/// The ignored files that changed and that a gate asks for; `None` if not all files could be compared. Blocks.
pub(super) fn changed(workspace: &Workspace, asked: &IgnoredFiles) -> Option<Vec<IgnoredChange>> {
    let all = ChangedFiles::default().since(workspace.root(), asked.since)?;
    let began = asked.since.0.saturating_mul(1_000_000);
    let is_later = |file: &&ChangedFile| {
        file.state.kind != FileKind::Directory && file.state.ctime_ns >= began
    };
    let mut folders = Folders { workspace, known: BTreeMap::new() };
    let mut found: Vec<IgnoredChange> = Vec::new();
    for path in all.iter().filter(is_later).filter_map(|file| file.path.to_str()) {
        let folder = folders.of(path);
        match &folder {
            Some(folder) if folder.installed => {
                let is_listed = found.iter().any(|file| file.folder.as_ref() == Some(folder));
                if is_listed || is_cache(&path[folder.path.len()..]) {
                    continue;
                }
            }
            Some(_) if !asked.includes(path) => continue,
            None if !asked.includes(path) || !workspace.ignores(path) => continue,
            Some(_) | None => {}
        }
        found.push(IgnoredChange { path: path.to_owned(), folder });
        if found.len() == MOST {
            break;
        }
    }
    Some(found)
}

/// The ignored folders of a workspace, as far as they were asked for.
struct Folders<'w> {
    workspace: &'w Workspace,
    known: BTreeMap<String, Option<IgnoredFolder>>,
}

impl Folders<'_> {
    /// The outermost ignored folder that holds a path.
    fn of(&mut self, path: &str) -> Option<IgnoredFolder> {
        let (parent, _) = path.rsplit_once('/')?;
        if let Some(known) = self.known.get(parent) {
            return known.clone();
        }
        let folder = self.of(parent).or_else(|| self.ignored(parent));
        self.known.insert(parent.to_owned(), folder.clone());
        folder
    }

    /// A rule such as `.venv/` is about folders, so what is asked for is in it, by a name that no rule names.
    fn ignored(&self, path: &str) -> Option<IgnoredFolder> {
        let is_ignored = self.workspace.ignores(&format!("{path}/{NO_NAME}"));
        let path = is_ignored.then(|| path.to_owned())?;
        let root = self.workspace.root().join(&path);
        let has = |name: &str| root.join(name).exists();
        let installed = path.rsplit('/').next() == Some("node_modules")
            || [".bin", "bin", "pyvenv.cfg"].into_iter().any(has);
        Some(IgnoredFolder { path, installed })
    }
}

/// Whether runs of programs write a file of a folder of installed programs: in `.cache`, `.vite`, `__pycache__`. No package
/// has a hidden name.
fn is_cache(path: &str) -> bool {
    path.split('/').any(|name| {
        name == "__pycache__" || name.starts_with('.') && name != ".bin" && name != ".pnpm"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_base::value::Timestamp;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn ignored_files_that_changed_are_found_with_their_folders() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let write = |path: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        fs::write(root.join(".gitignore"), "node_modules/\n.venv\ntarget/\nrun.sh\n*.pyc\nbin/\n")
            .unwrap();
        write("node_modules/old/.bin/x");
        let old = fs::metadata(root.join("node_modules/old/.bin/x")).unwrap();
        let since = Timestamp(old.ctime() * 1_000 + old.ctime_nsec() / 1_000_000 + 1);
        std::thread::sleep(std::time::Duration::from_millis(20));
        for path in [
            "a/node_modules/foo/index.js",
            "a/node_modules/foo/second.js",
            "a/node_modules/.cache/x",
            ".venv/bin/ruff",
            "target/debug/app",
            "target/debug/other",
            "src/unittest.pyc",
            "src/conftest.py",
            "run.sh",
            "other.sh",
        ] {
            write(path);
        }
        let workspace = Workspace::open(root, &[], &[]).unwrap();
        let named = ["target/debug/app", "run.sh"].map(str::to_owned).to_vec();
        let mut found = changed(&workspace, &IgnoredFiles { since, named }).unwrap();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let folder = |file: &IgnoredChange| {
            file.folder.as_ref().map(|folder| (folder.path.clone(), folder.installed))
        };
        let told: Vec<_> = found.iter().map(|file| (file.path.as_str(), folder(file))).collect();
        let of = |path: &str, installed| Some((path.to_owned(), installed));
        assert_eq!(
            told,
            [
                (".venv/bin/ruff", of(".venv", true)),
                ("a/node_modules/foo/index.js", of("a/node_modules", true)),
                ("run.sh", None),
                ("src/unittest.pyc", None),
                ("target/debug/app", of("target", false)),
            ]
        );
    }
}
