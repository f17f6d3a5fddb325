//! [`Events`]: the data of server-sent events, from the parts of a body.

use std::time::Duration;

/// Maximum length of the id of an event that is named when the stream is continued.
const ID_BYTES: usize = 1 << 10;
/// The longest time that a server can ask to be left alone before its stream is continued.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Takes parts of a body as they arrive, and gives the data of each event that is complete.
#[derive(Default)]
pub(crate) struct Events {
    /// Bytes of a line that is not complete.
    line: Vec<u8>,
    /// Lines of data of the event that is not complete.
    data: Vec<String>,
    /// Whether the last byte was a carriage return, whose line feed may follow.
    after_return: bool,
    /// The id of the event that is not complete.
    id: Option<String>,
    /// The id of the last complete event that had one, if it can be sent in a header.
    pub(crate) last_id: Option<String>,
    /// How long to wait before the stream is continued, if the server says so.
    pub(crate) retry: Option<Duration>,
}

impl Events {
    /// The data of the events that end in this part. Its `id` and `retry` are kept; other fields are not used.
    pub(crate) fn take(&mut self, part: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for byte in part {
            let follows_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => found.extend(self.end_line()),
                other => self.line.push(*other),
            }
        }
        found
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if let Some(id) = self.id.take() {
                let is_usable = (1..=ID_BYTES).contains(&id.len());
                let is_usable = is_usable && id.bytes().all(|byte| byte.is_ascii_graphic());
                self.last_id = is_usable.then_some(id);
            }
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then(|| data.join("\n"));
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.data.push(value.to_owned()),
            "id" => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                let wait = value.parse().map(Duration::from_millis).unwrap_or(LONGEST_RETRY);
                self.retry = (!value.is_empty()).then_some(wait.min(LONGEST_RETRY));
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Events, LONGEST_RETRY};
    use std::time::Duration;

    #[test]
    fn the_last_id_and_the_wait_are_kept() {
        let mut events = Events::default();
        events.take(b"id: a\nretry: 250\ndata:\n\nid: open\n");
        assert_eq!(events.last_id.as_deref(), Some("a"), "the second event is not complete");
        assert_eq!(events.retry, Some(Duration::from_millis(250)));
        events.take(b"\nretry: soon\nretry:\n\n");
        assert_eq!(events.last_id.as_deref(), Some("open"));
        assert_eq!(events.retry, None);
        for id in ["", "a b", "a\u{e9}", &"x".repeat(2_000)] {
            events.take(format!("id: {id}\nretry: 99999999999999999999999\n\n").as_bytes());
            assert_eq!((events.last_id.as_deref(), events.retry), (None, Some(LONGEST_RETRY)));
        }
    }

    #[test]
    fn events_are_the_same_however_the_body_is_cut() {
        let body = ": hello\r\nid: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: x\n\ndata:\u{e9}\n\ndata: open\n";
        let whole = Events::default().take(body.as_bytes());
        assert_eq!(whole, ["{\"a\":\n1}", "\u{e9}"]);
        for size in 1..8 {
            let mut events = Events::default();
            let parts = body.as_bytes().chunks(size);
            let cut: Vec<String> = parts.flat_map(|part| events.take(part)).collect();
            assert_eq!(cut, whole, "{size}");
        }
    }
}
