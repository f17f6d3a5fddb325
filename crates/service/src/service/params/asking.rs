//! Asking a person for the values of parameters.

use super::secret_sources::variable_name;
use super::value::{read, type_name};
use kb_base::diagnostic::Diagnostic;
use kb_base::value::{Json, json_text};
use kb_language::definition::{Param, ParamType};

/// A question for the value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamQuestion {
    /// Name of the parameter.
    pub name: String,
    /// The question of the definition, its description, or the name.
    pub text: String,
    /// The values to choose from; empty where any value of the type can be given.
    pub choices: Vec<String>,
    /// The type and the bounds, such as `a whole number, at least 1`.
    pub expects: String,
    /// The value that an empty answer takes.
    pub default: Option<String>,
    /// Whether the parameter may stay without a value.
    pub is_optional: bool,
    /// Whether the answer is not shown while it is typed.
    pub is_secret: bool,
    /// Why the answer before was refused, with the fix.
    pub problem: Option<String>,
}

/// Asks a person for the value of a parameter; `None` if the input has ended.
pub type Ask<'a> = dyn FnMut(&ParamQuestion) -> Option<String> + 'a;

/// Number of empty answers in a row to a required parameter after which it counts as not answered.
const EMPTY_ANSWERS: u32 = 3;

/// Asks until an answer fits. The value, `None` for an empty answer to an optional parameter; the outer `None`
/// stands for the end of the input. `check` takes a value that fits the type.
pub(super) fn ask(
    param: &Param,
    ask: &mut Ask<'_>,
    check: impl Fn(Json) -> Result<Json, Box<Diagnostic>>,
) -> Option<Option<Json>> {
    let mut question = question(param);
    let mut empty = 0;
    loop {
        let typed = ask(&question)?;
        if typed.trim().is_empty() {
            if let Some(default) = &param.default {
                return Some(Some(default.clone()));
            }
            if !param.required {
                return Some(None);
            }
            if param.kind != ParamType::String || !param.one_of.is_empty() {
                empty += 1;
                if empty == EMPTY_ANSWERS {
                    return None;
                }
                question.problem = Some(format!("`{}` needs a value", param.name));
                continue;
            }
        }
        match chosen(param, &typed).map_or_else(|| read(param, &typed), Ok).and_then(&check) {
            Ok(value) => return Some(Some(value)),
            Err(problem) => question.problem = Some(described(&problem)),
        }
    }
}

/// The value with the number that was typed, unless the text itself is one of the values.
fn chosen(param: &Param, typed: &str) -> Option<Json> {
    if read(param, typed).is_ok_and(|value| param.one_of.contains(&value)) {
        return None;
    }
    let number = typed.trim().parse::<usize>().ok()?;
    param.one_of.get(number.checked_sub(1)?).cloned()
}

fn question(param: &Param) -> ParamQuestion {
    let text = param.prompt.as_ref().or(param.description.as_ref()).unwrap_or(&param.name);
    let mut expects = type_name(param.kind).to_owned();
    let unit = match param.kind {
        ParamType::String | ParamType::Path | ParamType::Secret => " characters",
        ParamType::List => " items",
        ParamType::Object => " keys",
        ParamType::Integer | ParamType::Number | ParamType::Boolean => "",
    };
    for (word, bound) in [("at least", param.min), ("at most", param.max)] {
        expects.extend(bound.map(|bound| format!(", {word} {bound}{unit}")));
    }
    expects.extend(param.pattern.as_ref().map(|pattern| format!(", as `{pattern}`")));
    let is_secret = param.kind == ParamType::Secret;
    if is_secret {
        let variable = variable_name(&param.name);
        expects = format!("a reference, such as env:{variable} or file:{}.txt", param.name);
    }
    ParamQuestion {
        name: param.name.clone(),
        text: text.clone(),
        choices: param.one_of.iter().map(json_text).collect(),
        expects,
        default: param.default.as_ref().map(json_text),
        is_optional: !param.required,
        is_secret,
        problem: None,
    }
}

fn described(problem: &Diagnostic) -> String {
    match &problem.help {
        Some(help) => format!("{}: {help}", problem.message),
        None => problem.message.clone(),
    }
}
