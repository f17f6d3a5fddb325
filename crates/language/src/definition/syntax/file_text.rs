//! Decodes the bytes of a file as UTF-8 text.

use crate::definition::FileBytes;
use kb_base::diagnostic::{Code, Diagnostic, SourceId, Sources, Span};
use kb_base::value::limits;

/// The text of a file that was added to the sources.
pub(crate) struct FileText {
    /// Id of the file in [`Sources`].
    pub(crate) source: SourceId,
    /// The whole file, front matter included.
    pub(crate) text: std::sync::Arc<str>,
    /// Byte offset of the content, after a byte order mark.
    pub(crate) start: usize,
}

/// Decodes a file as UTF-8. The file is added to the sources in any case, so that the diagnostic can
/// refer to it.
pub(crate) fn read_text(
    path: &str,
    bytes: &FileBytes,
    sources: &mut Sources,
) -> Result<FileText, Box<Diagnostic>> {
    let fail =
        |sources: &mut Sources, text: String, code, at: usize, message: String, help: &str| {
            let source = sources.add(path, text);
            let length = sources.get(source).text[at..].chars().next().map_or(0, char::len_utf8);
            let span = Span::new(source, at, at + length);
            Err(Box::new(Diagnostic::error(code, span, message).help(help)))
        };
    if bytes.len() > limits::DEFINITION_BYTES {
        let message =
            format!("the file has {} bytes; the limit for definitions is 1 MiB", bytes.len());
        let help = "split it, or move long texts into separate files (`taskFile:`)";
        return fail(sources, String::new(), Code::TOO_LARGE, 0, message, help);
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "the file is UTF-16".to_owned();
        return fail(sources, String::new(), Code::NOT_UTF8, 0, message, "save it as UTF-8");
    }
    if bytes.contains(&0) {
        let message = "the file is binary, not text".to_owned();
        let help = "move it out of the definitions folder";
        return fail(sources, String::new(), Code::NOT_UTF8, 0, message, help);
    }
    if let Some(text) = bytes.text() {
        let source = sources.add(path, text.clone());
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        return Ok(FileText { source, text: text.clone(), start });
    }
    let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| 0);
    let message = format!("the file is not UTF-8: byte {} is 0x{:02x}", at + 1, bytes[at]);
    let text = String::from_utf8_lossy(bytes).into_owned();
    fail(sources, text, Code::NOT_UTF8, at, message, "save it as UTF-8")
}
