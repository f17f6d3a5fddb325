//! Looking for bytes in everything that lies below a folder.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// What is looked for; each text has at least four bytes.
pub(super) struct Texts {
    by_start: HashMap<[u8; 4], Vec<Vec<u8>>>,
    /// Whether any begins with these two bytes.
    begins: Vec<bool>,
}

impl Texts {
    pub(super) fn of<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Texts {
        let mut by_start: HashMap<[u8; 4], Vec<Vec<u8>>> = HashMap::new();
        let mut begins = vec![false; 1 << 16];
        for text in texts {
            let text = text.as_ref();
            begins[usize::from(u16::from_le_bytes([text[0], text[1]]))] = true;
            by_start.entry(text[..4].try_into().unwrap()).or_default().push(text.to_vec());
        }
        Texts { by_start, begins }
    }

    /// Those that are in these bytes.
    pub(super) fn within(&self, bytes: &[u8]) -> Vec<String> {
        let mut found = BTreeSet::new();
        for at in 0..bytes.len().saturating_sub(3) {
            if !self.begins[bytes[at] as usize | (bytes[at + 1] as usize) << 8] {
                continue;
            }
            let so = self.by_start.get(&bytes[at..at + 4]).into_iter().flatten();
            found.extend(so.filter(|text| bytes[at..].starts_with(text)));
        }
        found.into_iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }
}

/// Each file below a folder, with each of these texts that it holds; file names count too.
pub(super) fn files_with(folder: &Path, texts: &Texts) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let named = texts.within(entry.file_name().as_encoded_bytes());
            found.extend(named.iter().map(|text| format!("the name {}: {text}", path.display())));
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let held = texts.within(&std::fs::read(&path).unwrap());
                found.extend(held.iter().map(|text| format!("{}: {text}", path.display())));
            }
        }
    }
    found
}
