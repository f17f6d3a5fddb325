//! Files as parts of stored results: their digests, their content, and putting them back.

use super::ignore_rules::{IgnoreFiles, IgnoreRules, ParsedIgnoreFiles};
use super::path_error::PathError;
use super::path_glob::PathGlob;
use super::path_guard::Workspace;
use super::walk::walk;
use super::write_target::WriteTarget;
use kb_base::value::Digest;
use kb_clock::Clock;
use kb_core::evidence::{FileKind, Manifest};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

impl Workspace {
    /// The digests of the files that match one of the globs and none of those with `!`; without globs,
    /// of all files that the ignore rules leave. `None` for a file that is too large to be hashed.
    /// Digests of unchanged small files are taken from memory; the clock tells which were just written. Blocks.
    pub fn file_digests(
        &self,
        globs: Option<&[String]>,
        clock: &Clock,
    ) -> Result<Vec<(String, Option<Digest>)>, PathError> {
        let mut manifest = match globs {
            None => self.manifest(),
            Some(globs) => {
                let paths = self.matching(globs)?;
                let state = |path: String| Some((self.locate(&path).ok()?.state(), path));
                let files = paths.into_iter().filter_map(state).map(|(state, path)| (path, state));
                Manifest { files: files.collect(), truncated: false }
            }
        };
        if manifest.truncated {
            return Err(PathError::io(
                ".",
                "the project has too many files to compare all of them",
            ));
        }
        self.add_digests(&mut manifest, clock.of_files());
        let digest = |(path, state): (String, kb_core::evidence::FileState)| {
            let read = || self.stat(&path).ok().flatten().and_then(|seen| seen.sha256);
            let digest = state.sha256.or_else(read);
            (path, digest)
        };
        Ok(manifest.files.into_iter().map(digest).collect())
    }

    /// The files that match one of the globs and none of those with `!`, in path order. Blocks.
    pub fn matching(&self, globs: &[String]) -> Result<Vec<String>, PathError> {
        self.selected(globs, |glob| self.glob(glob))
    }

    /// The same, with files that the ignore rules hide. Blocks.
    pub fn matching_all(&self, globs: &[String]) -> Result<Vec<String>, PathError> {
        self.selected(globs, |glob| self.glob_all(glob))
    }

    fn selected(
        &self,
        globs: &[String],
        find: impl Fn(&str) -> Result<Vec<String>, PathError>,
    ) -> Result<Vec<String>, PathError> {
        let mut found = std::collections::BTreeSet::new();
        for own in globs.iter().filter(|glob| !glob.starts_with('!')) {
            found.extend(find(own)?);
        }
        for excluded in globs.iter().filter_map(|glob| glob.strip_prefix('!')) {
            for path in find(excluded)? {
                found.remove(&path);
            }
        }
        Ok(found.into_iter().collect())
    }

    fn glob_all(&self, pattern: &str) -> Result<Vec<String>, PathError> {
        let (root, pattern) = self.relative(pattern)?;
        if root != 0 {
            return Err(PathError::Outside(pattern));
        }
        let glob = PathGlob::new(&pattern)?;
        let folder = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', '{']));
        let folder: Vec<&str> = folder.collect();
        let whole = folder.len() == pattern.split('/').count();
        let start = match folder.len().saturating_sub(usize::from(whole)) {
            0 => ".".to_owned(),
            parts => folder[..parts].join("/"),
        };
        let located = match self.locate(&start) {
            Ok(located) => located,
            Err(PathError::Missing(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let none = Arc::new(ParsedIgnoreFiles::of(&IgnoreFiles::default()));
        let mut found = Vec::new();
        walk(self, &located, None, IgnoreRules::new(Some(none)), &mut |entry| {
            if entry.kind == FileKind::File && glob.matches(&entry.shown) {
                found.push(entry.shown.clone());
            }
            ControlFlow::Continue(())
        });
        Ok(found)
    }

    /// Whether a step may not change a path.
    pub fn is_protected(&self, path: &str) -> bool {
        WriteTarget::find(self, path, false).is_err()
            || self.check_writable(path, Path::new(path)).is_err()
    }

    /// Writes a file with this content and these permission bits, unless it is there already. Returns
    /// whether it was written. Blocks.
    pub fn put_file(&self, path: &str, bytes: &[u8], mode: u32) -> Result<bool, PathError> {
        let mut target = WriteTarget::find(self, path, false)?;
        let now = target.observed()?.state;
        let is_there = now.is_some_and(|now| {
            now.kind == FileKind::File
                && now.sha256 == Some(Digest::of(bytes))
                && now.mode & 0o777 == mode & 0o777
        });
        if is_there {
            return Ok(false);
        }
        self.writing(path, || target.write_with_mode(bytes, mode))?;
        Ok(true)
    }

    /// Removes a file, unless it is gone already. Returns whether it was removed. Blocks.
    pub fn remove_file(&self, path: &str) -> Result<bool, PathError> {
        let target = WriteTarget::find(self, path, false)?;
        match &target.existing {
            None => Ok(false),
            Some(_) => self.writing(path, || target.remove()).map(|()| true),
        }
    }
}
