//! Globs over paths, and the files of the workspace that match one.

use super::path_error::PathError;
use super::path_guard::Workspace;
use super::path_text::nfc;
use super::walk::walk;
use kb_base::value::Glob;
use kb_core::evidence::FileKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A glob over shown paths: `*` and `?` match within a component, `**` matches across components.
#[derive(Debug, Clone)]
pub struct PathGlob {
    whole: Glob,
    text: String,
    /// Whether the glob also matches names at any depth, because it contains no `/`.
    name: bool,
}

impl PathGlob {
    /// A glob that matches whole paths.
    pub fn new(glob: &str) -> Result<Self, PathError> {
        let text = nfc(glob.strip_prefix("./").unwrap_or(glob));
        let whole = Glob::of_paths(&text)
            .map_err(|why| PathError::BadGlob { glob: glob.to_owned(), why })?;
        Ok(PathGlob { whole, text, name: false })
    }

    /// A glob that matches whole paths or, without a `/`, names at any depth, as in `.gitignore`.
    pub fn anywhere(glob: &str) -> Result<Self, PathError> {
        Ok(PathGlob { name: !glob.contains('/'), ..Self::new(glob)? })
    }

    /// The path that contains everything that the glob matches; empty is the root.
    pub(super) fn base(&self) -> PathBuf {
        let base = if self.name { String::new() } else { literal_beginning(&self.text).0 };
        PathBuf::from(base)
    }

    /// Whether the glob matches a path.
    pub fn matches(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.whole.is_match(path) || (self.name && self.whole.is_match(name))
    }
}

impl Workspace {
    /// The files that match a glob, in path order, relative to the workspace. Hidden files are
    /// included, `.git` is not. Ignored files are included only if the literal prefix of the glob
    /// names their directory.
    pub fn glob(&self, pattern: &str) -> Result<Vec<String>, PathError> {
        let (root, pattern) = self.relative(pattern)?;
        if root != 0 {
            return Err(PathError::Outside(pattern));
        }
        let glob = PathGlob::new(&pattern)?;
        let (literal, is_whole) = literal_beginning(&pattern);
        if is_whole {
            return match self.locate(&literal) {
                Ok(located) => Ok(vec![located.shown]),
                Err(PathError::Missing(_)) => Ok(Vec::new()),
                Err(error) => Err(error),
            };
        }
        let base = match self.locate(if literal.is_empty() { "." } else { &literal }) {
            Ok(located) => located,
            Err(PathError::Missing(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let spelt = literal.trim_end_matches('/').trim_start_matches("./");
        let mut found = Vec::new();
        walk(self, &base, None, self.ignore_rules(), &mut |entry| {
            let asked = super::path_text::shown(&Path::new(spelt).join(&entry.below));
            let hit = glob.matches(&entry.shown) || glob.matches(&asked);
            if hit && entry.kind == FileKind::File {
                found.push(entry.shown.clone());
            }
            ControlFlow::Continue(())
        });
        Ok(found)
    }
}

/// The leading directories of a glob without special characters, with the last `/`, and `false`; the
/// whole path and `true` if the glob matches one path only. A class of one character, as in `[*]`, stands
/// for the character.
fn literal_beginning(glob: &str) -> (String, bool) {
    let (mut path, mut chars) = (String::new(), glob.chars());
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        let class = || {
            let mut class = rest.chars();
            let one = class.next().filter(|one| !matches!(one, '!' | '^' | ']'))?;
            class.as_str().strip_prefix(']').map(|after| (one, after))
        };
        match c {
            '[' if class().is_some() => {
                if let Some((one, after)) = class() {
                    path.push(one);
                    chars = after.chars();
                }
            }
            '*' | '?' | '[' | '{' | '\\' => {
                path.truncate(path.rfind('/').map_or(0, |slash| slash + 1));
                return (path, false);
            }
            _ => path.push(c),
        }
    }
    (path, true)
}
