//! [`Events`]: the data of server-sent events, from the parts of a body.

/// Takes parts of a body as they arrive, and gives the data of each event that is complete.
#[derive(Default)]
pub(crate) struct Events {
    /// Bytes of a line that is not complete.
    line: Vec<u8>,
    /// Lines of data of the event that is not complete.
    data: Vec<String>,
    /// Whether the last byte was a carriage return, whose line feed may follow.
    after_return: bool,
}

impl Events {
    /// The data of the events that end in this part. Fields other than `data` are not used.
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
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then(|| data.join("\n"));
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field == "data" {
            self.data.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Events;

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
