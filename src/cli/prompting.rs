//! Questions of a run, asked on the terminal that drives it.

use super::answer_form::{Field, fields};
use super::difference;
use super::render::table::plain;
use super::terminal::{DIM, HINT, TITLE, Terminal, paint};
use kb_base::value::{Json, json_text, one_line};
use kb_core::wire::{InstanceView, Question, QuestionKind};
use kb_service::service::Difference;
use kb_service::service::runs::Decision;
use rustix::termios::{QueueSelector, tcflush};
use std::io::BufRead;
use tokio::sync::Mutex;
use tokio::sync::oneshot::{Receiver, channel};

/// Asks for a decision or an answer. `None` where the person leaves it open: an empty reply without
/// a default, the end of the input, or Ctrl-C. `given` keeps the fields of an answer, so that one that does not fit
/// can be corrected.
pub(super) async fn ask(
    step: &InstanceView,
    question: &Question,
    changes: Option<&Difference>,
    given: &mut serde_json::Map<String, Json>,
    terminal: &mut Terminal,
) -> std::io::Result<Option<(Decision, Option<String>)>> {
    let title = paint(TITLE, &plain(&step.instance));
    terminal.err(&format!("\n{title}  {}\n", plain(&question.text)))?;
    if let Some(text) = what_follows(step) {
        terminal.err(&format!("{text}\n"))?;
    }
    let mut has_more = match changes {
        Some(changes) => difference::show(changes, terminal)?,
        None => false,
    };
    let schema = question.schema.as_ref().filter(|_| question.options.is_empty());
    if let Some(fields) = schema.and_then(|schema| fields(schema, question.default.as_deref())) {
        let answer = form(&fields, given, terminal).await?;
        return Ok(answer.map(|answer| (Decision::Answer(answer), None)));
    }
    let choices = match question.kind {
        QuestionKind::Approve => {
            let all = if has_more { ", d for all changes" } else { "" };
            format!("y to approve, n to reject, n REASON to reject with a reason{all}")
        }
        QuestionKind::Ask => hints(question),
    };
    terminal.err(&format!("{}\n", paint(DIM, &choices)))?;
    loop {
        terminal.err(&format!("{} ", paint(HINT, ">")))?;
        let Some(line) = read_line().await else { return Ok(None) };
        let line = line.trim();
        match question.kind {
            // An approval follows all changes.
            QuestionKind::Approve
                if line == "d"
                    || has_more && matches!(decision(line), Some(Some((Decision::Approve, _)))) =>
            {
                changes.map_or(Ok(()), |changes| difference::show_all(changes, terminal))?;
                has_more = false;
            }
            QuestionKind::Approve => match decision(line) {
                Some(decision) => return Ok(decision),
                None => terminal.err("write y, n, or n with a reason; empty leaves it open\n")?,
            },
            QuestionKind::Ask if line.is_empty() && question.default.is_none() => return Ok(None),
            QuestionKind::Ask => {
                let answer = chosen(&question.options, line).to_owned();
                return Ok(Some((Decision::Answer(answer), None)));
            }
        }
    }
}

/// Asks for the fields of an answer; a line that begins with `{` is the whole answer. `None` leaves the question
/// open.
async fn form(
    fields: &[Field],
    given: &mut serde_json::Map<String, Json>,
    terminal: &mut Terminal,
) -> std::io::Result<Option<String>> {
    let mut answer = serde_json::Map::new();
    for (number, field) in fields.iter().enumerate() {
        let earlier = given.get(&field.name).cloned();
        let mut hint = field.hint(earlier.as_ref());
        if number == 0 && field.is_required && field.default.is_none() && earlier.is_none() {
            hint += "  empty leaves the question open";
        }
        terminal.err(&format!("{}\n", paint(DIM, &hint)))?;
        loop {
            terminal.err(&format!("{} ", paint(HINT, &format!("{} >", plain(&field.name)))))?;
            let Some(line) = read_line().await else { return Ok(None) };
            let line = line.trim();
            let read = match (line, earlier.as_ref().or(field.default.as_ref())) {
                (line, _) if number == 0 && line.starts_with('{') => {
                    return Ok(Some(line.to_owned()));
                }
                ("", Some(default)) => Ok(default.clone()),
                ("", None) if !field.is_required => break,
                ("", None) if number == 0 => return Ok(None),
                ("", None) => Err(format!("`{}` needs a value", plain(&field.name))),
                (line, _) => field.read(line),
            };
            match read {
                Ok(value) => {
                    given.insert(field.name.clone(), value.clone());
                    answer.insert(field.name.clone(), value);
                    break;
                }
                Err(problem) => terminal.err(&format!("{problem}\n"))?,
            }
        }
    }
    Ok(Some(json_text(&Json::Object(answer))))
}

/// Maximum number of steps that are named.
const MOST_NAMED: usize = 5;

/// The steps that an approval lets run, in one line.
pub(super) fn what_follows(step: &InstanceView) -> Option<String> {
    let named = step.then.iter().take(MOST_NAMED);
    let named: Vec<String> =
        named.map(|next| format!("{} ({})", plain(&next.step), plain(&next.does))).collect();
    let more = match step.then.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("approval starts {}{more}", named.join(", ")))
}

/// The decision that a line stands for: `Some(None)` leaves it open, `None` is not understood.
fn decision(line: &str) -> Option<Option<(Decision, Option<String>)>> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let comment = Some(rest.trim().to_owned()).filter(|text| !text.is_empty());
    match word.to_ascii_lowercase().as_str() {
        "" => Some(None),
        "y" | "yes" | "approve" => Some(Some((Decision::Approve, comment))),
        "n" | "no" | "reject" => Some(Some((Decision::Reject, comment))),
        _ => None,
    }
}

/// The answer that a line stands for: an option, the number of one, or the line itself. An option that is a number
/// stands for itself.
fn chosen<'a>(options: &'a [String], line: &'a str) -> &'a str {
    if options.iter().any(|option| option == line) {
        return line;
    }
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|number| options.get(number)).map_or(line, String::as_str)
}

/// What a question accepts as an answer, in one line; `None` if any text.
pub(super) fn accepted(question: &Question) -> Option<String> {
    let default = question.default.as_deref();
    let own_default = || default.map(|default| format!("; default {}", plain(&json_text(default))));
    if !question.options.is_empty() {
        let options = question.options.iter().map(|option| plain(option)).collect::<Vec<_>>();
        return Some(format!(
            "answers: {}{}",
            options.join(", "),
            own_default().unwrap_or_default()
        ));
    }
    let schema = question.schema.as_ref();
    if let Some(fields) = schema.and_then(|schema| fields(schema, default)) {
        let fields: Vec<String> = fields.iter().map(Field::summary).collect();
        return Some(format!("answer: JSON with {}", fields.join(", ")));
    }
    match schema {
        Some(schema) => {
            let schema = one_line(&json_text(schema), 200);
            Some(format!("answer: JSON of {}{}", plain(&schema), own_default().unwrap_or_default()))
        }
        None => default.map(|default| format!("default: {}", plain(&json_text(default)))),
    }
}

/// The accepted answers and the default, in one line.
fn hints(question: &Question) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (number, option) in question.options.iter().enumerate() {
        parts.push(format!("{}) {}", number + 1, plain(option)));
    }
    if let Some(schema) = &question.schema {
        parts.push(format!("schema {}", plain(&schema.to_string())));
    }
    match &question.default {
        Some(default) => parts.push(format!("empty takes {}", plain(&default.to_string()))),
        None => parts.push("empty leaves it open".to_owned()),
    }
    parts.join("  ")
}

/// The read that no question has taken yet.
static READ: Mutex<Option<Receiver<Option<String>>>> = Mutex::const_new(None);

/// A line of standard input; `None` at its end and on Ctrl-C. A thread reads it, because a read of a terminal cannot
/// be cancelled; the next question takes the line of a read whose question went away.
async fn read_line() -> Option<String> {
    let mut read = READ.lock().await;
    let line = read.get_or_insert_with(|| {
        let (sender, line) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            let _ = sender.send(read.is_ok_and(|bytes| bytes > 0).then_some(line));
        });
        line
    });
    let line = tokio::select! {
        line = &mut *line => line.ok().flatten(),
        _ = tokio::signal::ctrl_c() => return None,
    };
    *read = None;
    line
}

/// Drops what was typed for a question that went away, so that it answers no other question.
pub(super) fn forget_typed() {
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_a_number_stands_for_itself() {
        let options = ["2".to_owned(), "1".to_owned(), "ten".to_owned()];
        assert_eq!(chosen(&options, "1"), "1");
        assert_eq!(chosen(&options, "3"), "ten");
        assert_eq!(chosen(&options, "4"), "4");
    }

    #[test]
    fn a_line_is_a_decision_with_a_comment() {
        let comment = |text: &str| Some(text.to_owned());
        assert_eq!(decision("y"), Some(Some((Decision::Approve, None))));
        assert_eq!(
            decision("Yes looks good"),
            Some(Some((Decision::Approve, comment("looks good"))))
        );
        assert_eq!(decision("n too early"), Some(Some((Decision::Reject, comment("too early")))));
        assert_eq!(decision(""), Some(None));
        assert_eq!(decision("maybe"), None);
    }
}
