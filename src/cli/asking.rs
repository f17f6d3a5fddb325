//! Questions for the parameters of a run, on the terminal that starts it.

use super::render::table::plain;
use super::terminal::{DIM, TITLE, Terminal, WARNING, paint};
use kb_service::service::ParamQuestion;

/// Asks for the value of a parameter. An answer that does not fit is asked for again by the caller. `None` at the
/// end of the input.
pub(super) fn ask_param(question: &ParamQuestion, terminal: &mut Terminal) -> Option<String> {
    let lines = match &question.problem {
        Some(problem) => format!("{}\n", paint(WARNING, &plain(problem))),
        None => introduction(question),
    };
    terminal.err(&lines).ok()?;
    let default = match (&question.default, question.is_optional) {
        (Some(default), _) => format!(" [{}]", plain(default)),
        (None, true) => " [none]".to_owned(),
        (None, false) => String::new(),
    };
    let prompt = format!("{}{default}:", plain(&question.name));
    if question.is_secret { terminal.ask_hidden(&prompt) } else { terminal.ask(&prompt) }
}

/// The question, what it takes, and the values to choose from.
fn introduction(question: &ParamQuestion) -> String {
    let text = paint(TITLE, &plain(&question.text));
    if question.choices.is_empty() {
        return format!("{text}  {}\n", paint(DIM, &plain(&question.expects)));
    }
    let mut out = format!("{text}  {}\n", paint(DIM, "a number or a value"));
    for (number, choice) in question.choices.iter().enumerate() {
        out.push_str(&format!("  {}  {}\n", number + 1, plain(choice)));
    }
    out
}
