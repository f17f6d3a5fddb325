//! Which files the last commit of the workspace has as they are on disk.

use crate::executor::host_access::HostAccess;
use crate::git::Git;
use std::collections::{BTreeMap, BTreeSet};

/// The paths whose content on disk is that of the last commit, and those that neither has. None without a repository, or
/// for what filters of git convert.
pub(super) async fn as_on_disk(paths: &[String], host: &HostAccess) -> Vec<String> {
    let git = Git::new(host.processes.unconfined());
    let root = host.workspace.root();
    let listing: Vec<&str> = ["--literal-pathspecs", "ls-tree", "-r", "-z", "HEAD", "--"]
        .into_iter()
        .chain(paths.iter().map(String::as_str))
        .collect();
    let Ok(listed) = git.run(root, &listing).await else { return Vec::new() };
    // `MODE blob DIGEST<TAB>PATH`
    let entry = |entry: &str| {
        let (about, path) = entry.split_once('\t')?;
        Some((path.to_owned(), about.rsplit(' ').next()?.to_owned()))
    };
    let stored: BTreeMap<String, String> = listed.split('\0').filter_map(entry).collect();
    let is_file = |path: &&String| root.join(path).symlink_metadata().is_ok_and(|m| m.is_file());
    let is_gone = |path: &&String| root.join(path).symlink_metadata().is_err();
    let present: Vec<&String> =
        paths.iter().filter(is_file).filter(|path| !path.contains('\n')).collect();
    let input: String = present.iter().map(|path| format!("{path}\n")).collect();
    let args = ["hash-object", "--no-filters", "--stdin-paths"];
    let hashed = if present.is_empty() {
        String::new()
    } else {
        git.run_with(root, &args, &input).await.unwrap_or_default()
    };
    let same = present.into_iter().zip(hashed.lines());
    let same = same.filter(|(path, digest)| stored.get(*path).is_some_and(|own| own == digest));
    let same: BTreeSet<&String> = same.map(|(path, _)| path).collect();
    let is_known =
        |path: &&String| same.contains(path) || is_gone(path) && !stored.contains_key(*path);
    paths.iter().filter(is_known).cloned().collect()
}
