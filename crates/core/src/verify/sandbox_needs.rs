//! What well-known commands need that the sandbox lacks. It only serves hints: the sandbox itself knows no program.

use super::shell::Script;

/// What a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxNeed {
    /// It writes to `.git`.
    Repository,
    /// It reaches other machines.
    Network,
    /// It asks a service of this machine to do the work, outside of the sandbox.
    Service,
}

/// Programs with the subcommands that have the need; without any, every call has it.
const NEEDS: [(SandboxNeed, &[&str], &[&str]); 9] = [
    (
        SandboxNeed::Repository,
        &["git"],
        &[
            "add",
            "am",
            "checkout",
            "cherry-pick",
            "commit",
            "merge",
            "mv",
            "rebase",
            "reset",
            "restore",
            "revert",
            "rm",
            "stash",
            "switch",
            "tag",
        ],
    ),
    (SandboxNeed::Network, &["git"], &["clone", "fetch", "ls-remote", "pull", "push"]),
    (SandboxNeed::Network, &["curl", "gh", "glab", "rsync", "scp", "sftp", "ssh", "wget"], &[]),
    (
        SandboxNeed::Network,
        &["bun", "npm", "pnpm", "yarn"],
        &["add", "ci", "install", "publish", "update"],
    ),
    (
        SandboxNeed::Network,
        &["pip", "pip3", "poetry", "uv"],
        &["add", "download", "install", "publish", "sync"],
    ),
    (SandboxNeed::Network, &["cargo"], &["add", "fetch", "install", "publish", "update"]),
    (SandboxNeed::Network, &["go"], &["get", "install"]),
    (SandboxNeed::Network, &["aws", "az", "gcloud", "helm", "kubectl", "terraform"], &[]),
    (SandboxNeed::Service, &["docker", "podman", "systemctl"], &[]),
];

/// The needs of the commands of a process, each with the words that show it, such as `git push`.
pub fn sandbox_needs(argv: &[String]) -> Vec<(SandboxNeed, String)> {
    needs(Script::of(argv))
}

/// The same for the text of a script.
pub fn sandbox_needs_of_script(text: &str) -> Vec<(SandboxNeed, String)> {
    needs(Script::of_text(text))
}

fn needs(script: Script) -> Vec<(SandboxNeed, String)> {
    let mut found = Vec::new();
    for used in script.commands {
        let Some((program, arguments)) = used.argv.split_first() else { continue };
        let name = program.rsplit('/').next().unwrap_or(program);
        let word = arguments.iter().find(|word| !word.starts_with('-')).map(String::as_str);
        for (need, programs, subcommands) in NEEDS {
            let says =
                subcommands.is_empty() || word.is_some_and(|word| subcommands.contains(&word));
            if programs.contains(&name) && says {
                let words = if subcommands.is_empty() {
                    name.to_owned()
                } else {
                    format!("{name} {}", word.unwrap_or_default())
                };
                found.push((need, words));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_found_in_scripts_and_programs() {
        let of = |script: &str| {
            sandbox_needs_of_script(script)
                .into_iter()
                .map(|(_, words)| words)
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(of("git add . && git commit -m x\ngit push"), "git add, git commit, git push");
        assert_eq!(of("timeout 9 curl -s https://example.org | jq ."), "curl");
        assert_eq!(of("git status; npm test; cargo test; echo curl"), "");
        assert_eq!(of("npm ci\ndocker build ."), "npm ci, docker");
    }
}
