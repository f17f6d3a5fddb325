//! The templates of pages, compiled into the program.
//!
//! Every value is escaped for HTML, whatever the name of the template. Control characters and characters
//! that change the direction of text are shown as their code, so that a text from a model, a tool or a file
//! cannot look like another one. No template marks a value as safe; a test checks this.

use crate::web::problem::Problem;
use kb_base::value::{Json, is_hidden};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, HtmlEscape, Output, State, UndefinedBehavior, Value};
use std::fmt::Write;
use std::sync::OnceLock;

macro_rules! templates {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../assets/pages/", $name)))),+]
    };
}

const TEMPLATES: &[(&str, &str)] = templates![
    "base.html",
    "parts.html",
    "runs.html",
    "queued.html",
    "run.html",
    "step.html",
    "goals.html",
    "goal.html",
    "inbox.html",
    "triggers.html",
    "playbooks.html",
    "playbook.html",
    "memory.html",
    "system.html",
    "problem.html",
];

/// Renders a template.
pub(super) fn render(name: &str, context: &Json) -> Result<String, Problem> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    let environment = ENVIRONMENT.get_or_init(environment);
    let template = environment.get_template(name);
    template
        .and_then(|template| template.render(value(context)))
        .map_err(|error| Problem::internal(format!("the page cannot be rendered: {error:#}")))
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(value).collect::<Vec<Value>>()),
        Json::Object(map) => {
            Value::from_pairs(map.iter().map(|(name, one)| (name.as_str(), value(one))))
        }
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters are valid"));
    environment.set_formatter(format);
    for (name, text) in TEMPLATES {
        // Templates are part of the program; a test renders each.
        environment.add_template(name, text).expect("the templates are valid");
    }
    environment
}

/// Writes a value: escaped, and without invisible characters that change how text looks.
fn format(output: &mut Output, _: &mut State, value: &Value) -> Result<(), minijinja::Error> {
    // What a macro returns was escaped when the macro wrote it.
    if value.is_safe() {
        return Ok(output.write_str(value.as_str().unwrap_or_default())?);
    }
    if value.is_none() || value.is_undefined() {
        return Ok(());
    }
    let text = value.to_string();
    Ok(write!(output, "{}", HtmlEscape(&inert(&text)))?)
}

/// A text in which the characters that people do not see are replaced by their code.
pub(super) fn inert(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.char_indices().any(|(at, c)| is_hidden(text, at, c)) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        if is_hidden(text, at, c) {
            let _ = write!(shown, "⟨{:04X}⟩", c as u32);
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_inert_and_no_template_marks_one_as_safe() {
        assert_eq!(inert("a\u{202e}b\u{1b}[31mc\n"), "a⟨202E⟩b⟨001B⟩[31mc\n");
        for (name, text) in TEMPLATES {
            assert!(!text.contains("safe") && !text.contains("autoescape"), "{name}");
            for inline in ["<script>", "style=", "onclick=", "javascript:", "http://", "//cdn"] {
                assert!(!text.contains(inline), "{name} has `{inline}`");
            }
        }
    }
}
