//! Looking for bytes in everything that lies below a folder.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Each file below a folder, with each of these texts that it holds; file names count too.
pub(super) fn files_with(folder: &Path, texts: &[Vec<u8>]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            found.extend(
                within(name, texts)
                    .iter()
                    .map(|text| format!("the name {}: {text}", path.display())),
            );
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
                continue;
            }
            // A socket or a pipe holds nothing.
            if !entry.file_type().unwrap().is_file() {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            found.extend(
                within(&bytes, texts).iter().map(|text| format!("{}: {text}", path.display())),
            );
        }
    }
    found
}

/// Those of the texts that are in these bytes; all have at least four bytes.
pub(super) fn within(bytes: &[u8], texts: &[Vec<u8>]) -> Vec<String> {
    let mut by_start: HashMap<[u8; 4], Vec<&[u8]>> = HashMap::new();
    for text in texts {
        let start = text[..4].try_into().unwrap();
        by_start.entry(start).or_default().push(text);
    }
    let mut found = BTreeSet::new();
    for (at, window) in bytes.windows(4).enumerate() {
        let start: [u8; 4] = window.try_into().unwrap();
        let texts = by_start.get(&start).into_iter().flatten();
        found.extend(texts.filter(|text| bytes[at..].starts_with(text)));
    }
    found.into_iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}
