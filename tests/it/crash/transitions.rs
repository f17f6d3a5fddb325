//! The names of all events and records, read from the sources.

use kb::evidence::{Note, Record};
use kb::run::{Event, InstanceIx};

/// The names of all that is stored in events, read from the source: a new variant is in the list
/// before anybody thinks of this test. Records are named `recorded modelCall`.
pub(super) fn all() -> Vec<String> {
    let events = variants("run/event.rs", "Event");
    let records =
        variants("evidence/record.rs", "Record").into_iter().map(|name| format!("recorded {name}"));
    events.into_iter().chain(records).collect()
}

fn variants(file: &str, name: &str) -> Vec<String> {
    let path = format!("{}/crates/core/src/{file}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).unwrap();
    let head = format!("pub enum {name} {{\n");
    let (_, body) = source.split_once(&head).unwrap_or_else(|| panic!("`{name}` is in `{file}`"));
    let (body, _) = body.split_once("\n}\n").expect("the enum ends");
    let variant = |line: &str| {
        let name = line.strip_prefix("    ")?;
        let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
        name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| stored_as(&name))
    };
    body.lines().filter_map(variant).collect()
}

fn stored_as(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// The names of a stored event: its own, and that of the record in it.
pub(super) fn names(event: &Event) -> Vec<String> {
    let json = serde_json::to_value(event).unwrap();
    let own = json["type"].as_str().unwrap();
    let record = json.pointer("/record/record").and_then(|name| name.as_str());
    let record = record.map(|record| format!("{own} {record}"));
    [own.to_owned()].into_iter().chain(record).collect()
}

#[test]
fn the_list_has_what_is_stored() {
    let all = all();
    assert!(all.len() > 20, "{all:?}");
    let record = Box::new(Record::Note(Note::info("")));
    let events = [
        Event::CancelRequested { by: String::new() },
        Event::Recorded { instance: InstanceIx(0), attempt: 1, record },
    ];
    for name in events.iter().flat_map(names) {
        assert!(all.contains(&name), "{name} in {all:?}");
    }
}
