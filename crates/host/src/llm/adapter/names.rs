//! Tool names in the form that providers accept.

use std::collections::BTreeMap;

/// Maximum length of a tool name at providers.
const LONGEST: usize = 64;

/// The tool names of one request: `fs:read` here, `fs_read` at the provider.
///
/// Providers accept only `[a-zA-Z0-9_-]{1,64}`. Different names have different provider names.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    theirs: BTreeMap<String, String>,
    ours: BTreeMap<String, String>,
}

impl ToolNames {
    /// The provider name of a tool; the same for every call with that name.
    pub(super) fn outward(&mut self, name: &str) -> String {
        if let Some(known) = self.theirs.get(name) {
            return known.clone();
        }
        let plain = plain(name);
        let numbered = (2..).map(|n| {
            let end = format!("_{n}");
            format!("{}{end}", &plain[..plain.len().min(LONGEST - end.len())])
        });
        let theirs = std::iter::once(plain.clone())
            .chain(numbered)
            .find(|candidate| !self.ours.contains_key(candidate))
            .unwrap_or(plain);
        self.theirs.insert(name.to_owned(), theirs.clone());
        self.ours.insert(theirs.clone(), name.to_owned());
        theirs
    }

    /// The tool with that provider name; an unknown name is returned unchanged.
    pub(super) fn inward(&self, name: &str) -> String {
        self.ours.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

/// The name with every other character replaced by `_`; the result is ASCII.
fn plain(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let text: String =
        name.chars().map(|c| if allowed(c) { c } else { '_' }).take(LONGEST).collect();
    if text.is_empty() { "_".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_out_in_plain_letters_and_come_back_as_they_were() {
        let mut names = ToolNames::default();
        let long = format!("mcp:{}", "x".repeat(100));
        let ours = ["fs:read", "fs_read", "fs.read", "submit_output", "поиск", "", long.as_str()];
        let theirs: Vec<String> = ours.iter().map(|name| names.outward(name)).collect();
        assert_eq!(theirs[..4], ["fs_read", "fs_read_2", "fs_read_3", "submit_output"]);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(names.inward(theirs), *ours);
            assert_eq!(names.outward(ours), *theirs);
            assert!((1..=64).contains(&theirs.len()) && theirs.is_ascii(), "{theirs}");
        }
        assert_eq!(names.inward("fs:write"), "fs:write");
        assert_eq!(names.inward("made_up"), "made_up");
    }
}
