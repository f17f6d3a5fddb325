use std::collections::BTreeMap;

/// The longest tool name that providers take.
const LONGEST: usize = 64;

/// Tool names of one request, ours (`fs:read`) and the provider's (`fs_read`).
///
/// Providers take `[a-zA-Z0-9_-]{1,64}` alone. No two of our names share one of theirs.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    theirs: BTreeMap<String, String>,
    ours: BTreeMap<String, String>,
}

impl ToolNames {
    /// The provider's name for one of ours, the same each time.
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

    /// Our name for one that came back; a name that nobody gave out comes back as it is.
    pub(super) fn inward(&self, name: &str) -> String {
        self.ours.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

/// The name in the letters that providers take; all of them are one byte long.
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
