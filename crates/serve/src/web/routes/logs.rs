//! The log of a step: some lines, or all as a file with ranges.

use crate::web::answers::LogLines;
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use axum::body::Bytes;
use axum::http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, RANGE};
use axum::http::{HeaderValue, StatusCode};
use kb_engine::inspect::{Attempts, Reader, StepLog};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of lines of one answer.
pub(super) const MOST_LINES: u64 = 2000;
/// The largest log that is read, in bytes.
const LARGEST: usize = 256 << 20;

pub(super) fn log(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    let journal = &project.shared.journal;
    let reader = Reader::open(journal.clone(), row.run.as_str())?;
    let step = call.path("step");
    reader.require_step(step)?;
    let head = journal.last_seq(&row.run)?;
    let number = |name: &str| -> Result<Option<u32>, Problem> {
        let number = call.query.number(name, 0, u64::from(u32::MAX))? as u32;
        Ok(Some(number).filter(|number| *number > 0))
    };
    let of = Attempts { iteration: number("iteration")?, attempt: number("attempt")? };
    let key = (call.index_of(&project), row.run.clone(), (step.to_owned(), of), head);
    let log = match call.state.views().log(&key) {
        Some(log) => log,
        None => {
            let (log, _) = StepLog::read(reader, step, of, LARGEST)?;
            let log = Arc::new(log);
            call.state.views().keep_log(key, &log);
            log
        }
    };
    let format = call.query.parsed("format", "`json` or `text`", |text| match text {
        "json" => Some(false),
        "text" => Some(true),
        _ => None,
    })?;
    if format.unwrap_or(false) {
        return file(call, &log);
    }
    let from = call.query.number("from", 1, u64::from(u32::MAX))?.max(1);
    let count = call.query.number("count", 200, MOST_LINES)?;
    let lines: Vec<_> = log.lines(from as usize, count as usize).collect();
    reply::json(&LogLines {
        run: row.run.to_string(),
        step: step.to_owned(),
        from,
        total: log.len(),
        lines,
    })
}

/// The whole log, or a range of it, to be saved: its content is of processes and models.
fn file(call: &Call, log: &StepLog) -> Answer {
    let all = log.text().as_bytes();
    let range = call.headers.get(RANGE).and_then(|range| range.to_str().ok());
    let part = match range.map(|range| wanted(range, all.len())) {
        None | Some(Wanted::All) => None,
        Some(Wanted::Part(part)) => Some(part),
        Some(Wanted::Nothing) => {
            let detail = format!("the log has {} bytes", all.len());
            return Err(Problem::plain(StatusCode::RANGE_NOT_SATISFIABLE, detail));
        }
    };
    let status = if part.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let bytes = all.get(part.clone().unwrap_or(0..all.len())).unwrap_or_default();
    let mut response =
        reply::bytes(status, "text/plain; charset=utf-8", Bytes::copy_from_slice(bytes));
    let headers = response.headers_mut();
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers
        .insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"log.txt\""));
    if let Some(part) = part {
        let text = format!("bytes {}-{}/{}", part.start, part.end - 1, all.len());
        headers.extend(HeaderValue::from_str(&text).ok().map(|value| (CONTENT_RANGE, value)));
    }
    Ok(response)
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Part(Range<usize>),
    Nothing,
}

/// The part that a header asks for. Several parts, and what is no range, give the whole.
fn wanted(range: &str, len: usize) -> Wanted {
    let Some((from, to)) = range.strip_prefix("bytes=").and_then(|range| range.split_once('-'))
    else {
        return Wanted::All;
    };
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let part = match (from.trim(), to.trim()) {
        ("", last) => match number(last) {
            Some(last) => len.saturating_sub(last)..len,
            None => return Wanted::All,
        },
        (first, "") => match number(first) {
            Some(first) => first..len,
            None => return Wanted::All,
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(len),
            _ => return Wanted::All,
        },
    };
    if part.start >= part.end { Wanted::Nothing } else { Wanted::Part(part) }
}

#[cfg(test)]
mod tests {
    use super::{Wanted, wanted};

    #[test]
    fn ranges() {
        let part = |from, to| Wanted::Part(from..to);
        for (text, expected) in [
            ("bytes=0-9", part(0, 10)),
            ("bytes=90-", part(90, 100)),
            ("bytes=-5", part(95, 100)),
            ("bytes=90-99999999999", part(90, 100)),
            ("bytes=-500", part(0, 100)),
            ("bytes=100-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=200-300", Wanted::Nothing),
            ("bytes=9-3", Wanted::All),
            ("bytes=0-1,5-6", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("lines=0-9", Wanted::All),
            ("bytes=18446744073709551616-", Wanted::All),
        ] {
            assert_eq!(wanted(text, 100), expected, "{text}");
        }
    }
}
