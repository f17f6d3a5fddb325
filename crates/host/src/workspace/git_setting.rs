//! [`Setting`]: a setting of git, and how a list or a file of them is read.

use kb_attempt::read_regular;
use std::path::PathBuf;

/// A setting of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The file that has it.
    pub(super) origin: Option<PathBuf>,
    /// Section and name in lower case.
    pub(super) key: String,
    pub(super) value: String,
}

impl Setting {
    /// Whether it includes a file of settings.
    pub(super) fn is_include(&self) -> bool {
        self.name() == "path"
            && (self.key.starts_with("include.") || self.key.starts_with("includeif."))
    }

    /// Whether the value must be a path: git names such settings so.
    pub(super) fn is_path(&self) -> bool {
        ["path", "dir", "file"].iter().any(|end| self.name().ends_with(end))
    }

    /// Key, value and place, for messages.
    pub(super) fn shown(&self) -> String {
        let Setting { origin, key, value } = self;
        let Some(file) = origin else { return format!("`{key} = {value}` in the environment") };
        let text = read_regular(file, 1 << 20).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let names = |line: &str| line.to_lowercase().contains(self.name());
        let line = text.lines().position(names).map(|at| format!(":{}", at + 1));
        format!("`{key} = {value}` in `{}{}`", file.display(), line.unwrap_or_default())
    }

    fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or_default()
    }
}

/// Whether a value can be that of a switch.
pub(super) fn is_bool(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off"
    )
}

/// The settings in a list of `git config --list --show-origin -z`.
pub(super) fn parsed(list: &[u8]) -> Vec<Setting> {
    let mut texts = list.split(|byte| *byte == 0).map(path_text);
    let mut settings = Vec::new();
    while let (Some(origin), Some(entry)) = (texts.next(), texts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, ""));
        settings.push(Setting {
            origin: origin.strip_prefix("file:").map(PathBuf::from),
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    settings
}

/// The characters between the words of a command.
const BETWEEN: &str = ";|&()<>\"'`=!{}:,\\";
/// What the `$` of a variable becomes, so that it begins a word.
const VARIABLE: &str = " \u{0}";

/// Maximum length of a path in bytes, and number of texts of one value.
const LONGEST: usize = 4096;
const MOST_TEXTS: usize = 1000;

/// The texts of a value that may be paths. A first word without `/` is a program in `PATH`, or a plain value.
pub(super) fn path_texts(value: &str) -> Vec<String> {
    let value = value.replace('$', VARIABLE);
    let words = value.split(|c: char| c.is_whitespace() || BETWEEN.contains(c));
    let words = words.filter(|word| !word.is_empty()).enumerate();
    let words = words.filter(|(at, word)| *at > 0 || word.contains('/')).map(|(_, word)| word);
    // A path in quotes can have spaces.
    let quoted = value.split(['"', '\'', '\\']).map(str::trim).filter(|text| text.contains('/'));
    let words = words.chain(quoted).filter(|word| word.len() <= LONGEST);
    let texts = words.flat_map(|word| {
        // An option can stand before it: `-Itools`.
        let operand = word.strip_prefix('-').and_then(|word| word.get(1..));
        let operand = operand.filter(|word| !word.is_empty());
        // A variable can stand before the first `/`, and a folder of it before each. The last part of a name such as
        // `refs/heads/main` or of an address is no path.
        let is_rooted = word.starts_with(VARIABLE.trim()) || word.starts_with('/');
        let is_rooted = is_rooted && !word.starts_with("//");
        let below = word.match_indices('/').map(|(at, _)| word[at..].trim_start_matches('/'));
        let below = below.filter(|below| !below.is_empty() && (is_rooted || below.contains('/')));
        [word].into_iter().chain(operand).chain(below).collect::<Vec<_>>()
    });
    texts.take(MOST_TEXTS).map(str::to_owned).collect()
}

/// A path that git lists, as text.
pub(super) fn path_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_git_is_read() {
        let list = b"file:/x/config\0core.hookspath\n.gh\0command line:\0alias.z\n!x\n y\0file:c\0core.bare\0";
        let shown: Vec<_> =
            parsed(list).into_iter().map(|one| (one.origin, one.key, one.value)).collect();
        let of = |origin: Option<&str>, key: &str, value: &str| {
            (origin.map(PathBuf::from), key.to_owned(), value.to_owned())
        };
        let expected = [
            of(Some("/x/config"), "core.hookspath", ".gh"),
            of(None, "alias.z", "!x\n y"),
            of(Some("c"), "core.bare", ""),
        ];
        assert_eq!(shown, expected);
    }
}
