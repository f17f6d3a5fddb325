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

/// Programs with the subcommands that have the need; without any, every call has it. A URL shows a need too.
const NEEDS: [(SandboxNeed, &str, &str); 10] = [
    (
        SandboxNeed::Repository,
        "git",
        "add am checkout cherry-pick commit fetch merge mv pull rebase reset restore revert rm stash switch tag",
    ),
    (SandboxNeed::Network, "git", "clone fetch ls-remote pull push"),
    (
        SandboxNeed::Network,
        "bunx curl dig ftp gh glab mongosh mysql nc ncat netcat npx nslookup ping psql redis-cli rsync scp sftp ssh telnet \
         uvx wget",
        "",
    ),
    (
        SandboxNeed::Network,
        "bun npm pnpm yarn",
        "add ci create dlx i init install publish update upgrade",
    ),
    (SandboxNeed::Network, "pip pip3 pipx poetry uv", "add download install publish sync"),
    (SandboxNeed::Network, "cargo", "add fetch install publish update"),
    (SandboxNeed::Network, "go", "get install mod"),
    (SandboxNeed::Network, "aws az gcloud helm kubectl terraform", ""),
    (SandboxNeed::Service, "docker docker-compose podman podman-compose systemctl", ""),
    // They need rights that the sandbox takes away.
    (SandboxNeed::Service, "apt apt-get brew dnf doas pkexec su sudo yum", ""),
];
/// Options of `git` with a value that stand before its subcommand.
const OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// The commands of a process or of the text of a script that do something: program and arguments.
pub fn commands_of(argv: &[String]) -> Vec<Vec<String>> {
    let script = match argv {
        [text] => Script::of_text(text),
        words => Script::of(words),
    };
    let prints = |argv: &Vec<String>| matches!(argv[0].as_str(), "echo" | "printf");
    script.commands.into_iter().map(|used| used.argv).filter(|argv| !prints(argv)).collect()
}

/// What a command needs, with the words that show it, such as `git push`.
pub fn sandbox_needs(argv: &[String]) -> Vec<(SandboxNeed, String)> {
    let is_python = |name: &str| name.starts_with("python");
    let argv = match argv {
        [program, module, rest @ ..] if is_python(base_name(program)) && module == "-m" => rest,
        words => words,
    };
    let Some((program, arguments)) = argv.split_first() else { return Vec::new() };
    let name = base_name(program);
    let mut words = arguments.iter().map(String::as_str);
    let mut word = words.next();
    while let Some(option) = word.filter(|word| word.starts_with('-')) {
        if name == "git" && OPTIONS.contains(&option) {
            words.next();
        }
        word = words.next();
    }
    let mut found = Vec::new();
    for (need, programs, subcommands) in NEEDS {
        let mut programs = programs.split_whitespace();
        if !programs.any(|one| one == name) {
            continue;
        }
        if subcommands.is_empty() {
            found.push((need, name.to_owned()));
        } else if let Some(word) = word
            && subcommands.split_whitespace().any(|one| one == word)
        {
            found.push((need, format!("{name} {word}")));
        }
    }
    let url = arguments.iter().find_map(|word| url_in(word));
    if let Some(url) = url.filter(|_| found.is_empty()) {
        found.push((SandboxNeed::Network, url.to_owned()));
    }
    found
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The scheme and host of the first URL in a word.
fn url_in(word: &str) -> Option<&str> {
    let at = ["https://", "http://", "ssh://"].iter().find_map(|scheme| word.find(scheme))?;
    let (scheme, rest) = word[at..].split_once("://")?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let length = rest.find(|c| !is_host(c)).unwrap_or(rest.len());
    (length > 0).then(|| &word[at..at + scheme.len() + 3 + length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_found_in_scripts_and_programs() {
        let of = |script: &str| {
            commands_of(&[script.to_owned()])
                .iter()
                .flat_map(|argv| sandbox_needs(argv))
                .map(|(_, words)| words)
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(of("git add . && git commit -m x\ngit push"), "git add, git commit, git push");
        assert_eq!(of("timeout 9 curl -s https://example.org | jq ."), "curl");
        assert_eq!(of("git status; npm test; cargo test; echo curl"), "");
        assert_eq!(of("npm ci\ndocker build ."), "npm ci, docker");
        assert_eq!(of("git -C sub -c a=b commit -m push"), "git commit");
        assert_eq!(of("docker-compose up; sudo make; npx vite"), "docker-compose, sudo, npx");
        assert_eq!(of("python3 -m pip install x && python3 -m http.server"), "pip install");
        let code = "python3 -c \"urlopen('https://example.org/x')\"; node a.js http://localhost:3";
        assert_eq!(of(code), "https://example.org, http://localhost");
    }
}
