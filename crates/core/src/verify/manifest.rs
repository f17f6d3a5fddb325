//! Manifests: files that describe a project and can hold settings of its tests beside much else, such as `package.json`.
//!
//! Of a change of one, each line is read with the section above it: some lines decide what a command does, versions and
//! dependencies decide nothing, and of the others it is not known.

use super::runner;

/// Settings of test runners whose names do not begin with `test`.
const SETTINGS: &[&str] = &[
    "addopts",
    "testpaths",
    "python_files",
    "python_classes",
    "python_functions",
    "norecursedirs",
    "autotests",
    "harness",
];

/// What the changed lines of a manifest can do to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// They are versions and dependencies.
    None,
    Unknown,
    /// A line is a script that the command runs, or a setting of a test runner.
    Decides,
}

/// What the differences of a manifest can do to a command.
pub(super) fn effect(diffs: &[&str], argv: &[String]) -> Effect {
    diffs.iter().map(|diff| of_diff(diff, argv)).max().unwrap_or(Effect::None)
}

fn of_diff(diff: &str, argv: &[String]) -> Effect {
    let changed = |mark: char| diff.lines().filter_map(move |line| line.strip_prefix(mark));
    // A line to which only the comma before the next one was added is the same.
    let stays = |mark: char, text: &str| {
        let other = if mark == '+' { '-' } else { '+' };
        changed(other).any(|own| plain(own) == plain(text))
    };
    let (mut section, mut found) = (String::new(), Effect::None);
    for line in diff.lines() {
        let Some((mark, text)) = line.split_at_checked(1) else { continue };
        let own = text.trim();
        match mark {
            "@" => section.clear(),
            "+" | "-" if !stays(if mark == "+" { '+' } else { '-' }, text) => {
                let decides = is_about(own, argv) || is_about(&section, argv);
                found = found.max(match (decides, is_dependency(own)) {
                    (_, true) => Effect::None,
                    (true, false) => Effect::Decides,
                    (false, false) => Effect::Unknown,
                });
            }
            _ => {}
        }
        if own.starts_with('[') && own.ends_with(']') || own.ends_with('{') {
            own.clone_into(&mut section);
        } else if own.starts_with('}') {
            section.clear();
        }
    }
    found
}

fn plain(text: &str) -> &str {
    text.trim().trim_end_matches(',')
}

/// Whether a line begins with the name of a script of the command, of a test runner or of a setting of one.
fn is_about(line: &str, argv: &[String]) -> bool {
    if line.starts_with('[') {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        return words.any(runner::is_name);
    }
    // Keys behind the first one of a line are those in quotation marks.
    let parts = line.split(['{', ',']).map(str::trim).enumerate();
    let mut keys = parts.filter(|(at, part)| *at == 0 || part.starts_with('"'));
    keys.any(|(_, part)| is_name_of(part, argv))
}

fn is_name_of(line: &str, argv: &[String]) -> bool {
    let line = line.trim_start_matches(['"', '\'']);
    let is_part = |c: char| c.is_alphanumeric() || "_:-".contains(c);
    let name = line.split(|c: char| !is_part(c)).next().unwrap_or_default();
    let name = name.trim_end_matches(':');
    let separator = line[name.len()..].trim_start_matches(['"', '\'', ' ']).chars().next();
    let names = |word: &String| {
        let before = ["pre", "post"].iter().find_map(|part| name.strip_prefix(part));
        name == word.as_str() || before == Some(word.as_str())
    };
    !name.is_empty()
        && (argv.iter().any(names)
            || runner::is_name(name)
            || SETTINGS.contains(&name)
            || separator == Some(':') && name.starts_with("test") && !name.contains([':', '-']))
}

/// Whether a line gives a dependency a version, or is one of a list of requirements.
fn is_dependency(line: &str) -> bool {
    const SIGNS: &[char] = &['>', '<', '=', '~', '^', '!'];
    let line = plain(line);
    let quoted = |text: &str| {
        let inner = text.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
        (!inner.contains(['"', '\''])).then(|| inner.to_owned())
    };
    let value = line.split_once([':', '=']).and_then(|(_, value)| quoted(value.trim()));
    let is_version = value.is_some_and(|version| {
        version.starts_with(|c: char| c.is_ascii_digit() || "^~>=*".contains(c))
    });
    let is_requirement = quoted(line).is_some_and(|text| {
        text.split_once(SIGNS).is_some_and(|(name, version)| {
            name.chars().all(|c| c.is_alphanumeric() || "-_.[], @/".contains(c))
                && version.trim_start_matches(SIGNS).trim().starts_with(char::is_numeric)
        })
    });
    line.is_empty() || is_version || is_requirement
}

#[cfg(test)]
mod tests {
    use super::{Effect, effect};

    fn of(command: &str, lines: &str) -> Effect {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        effect(&[lines], &argv)
    }

    #[test]
    fn settings_and_scripts_of_the_command_decide() {
        for (command, lines) in [
            (
                "npm test",
                "@@ -1 +1 @@\n   \"scripts\": {\n-    \"test\": \"jest\"\n+    \"test\": \"echo ok\"",
            ),
            ("npm test", "+    \"pretest\": \"rm -r test\","),
            (
                "npm test",
                "-{\"scripts\": {\"test\": \"jest\"}}\n+{\"scripts\": {\"test\": \"true\"}}",
            ),
            ("npm run lint", "-    \"lint\": \"eslint .\"\n+    \"lint\": \"true\""),
            ("npm test", "   \"jest\": {\n+    \"bail\": 1"),
            ("npm test", "+    \"testMatch\": [\"x\"]"),
            ("pytest -q", " [tool.pytest.ini_options]\n pythonpath = [\".\"]\n+log_cli = true"),
            ("pytest", "+[tool.pytest.ini_options]\n+addopts = \"--ignore tests\""),
            ("pytest", "+addopts = \"-k x\""),
            ("cargo test", "-test = true\n+test = false"),
            ("npx vitest", "+  test: { exclude: ['x'] },"),
        ] {
            assert_eq!(of(command, lines), Effect::Decides, "{command}: {lines}");
        }
    }

    #[test]
    fn versions_and_dependencies_decide_nothing_and_the_rest_is_not_known() {
        for lines in [
            "-    \"left-pad\": \"^1.0.0\"\n+    \"left-pad\": \"^1.0.0\",\n+    \"jest\": \"^29.0.0\"",
            "-version = \"0.1.0\"\n+version = \"0.2.0\"",
            "+    \"requests>=2.31\",\n+    \"pytest==8.0\",",
        ] {
            assert_eq!(of("npm test", lines), Effect::None, "{lines}");
        }
        for lines in [
            "-    \"test\": \"jest\"\n+    \"test\": \"jest\",\n+    \"lint\": \"eslint test\"",
            "+  \"type\": \"module\",",
            "+[project.scripts]\n+shop = \"shop.cli:main\"",
        ] {
            assert_eq!(of("npm test", lines), Effect::Unknown, "{lines}");
        }
    }
}
