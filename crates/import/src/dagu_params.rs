//! Parameters of Dagu: how workflows declare them and how calls pass them.

use super::dagu_environment::computed;
use super::dagu_pattern::word;
use super::dagu_version::Dagu;
use super::draft::{Draft, literal, name, reference, step_id};
use super::output::Out;
use kb_base::value::{Json, json_text};
use kb_language::definition::Positioned;

/// One value that a call passes, or that a declaration gives as the default.
pub(super) struct Given {
    /// The name; `None` if the position decides.
    pub(super) name: Option<String>,
    /// The value as Dagu has it, a text; `None` for a list or map.
    pub(super) value: Option<String>,
    /// The line of the value, from 1.
    pub(super) line: u32,
    /// Whether Dagu 2 executes the commands in it.
    pub(super) is_evaluated: bool,
}

impl Given {
    /// A value as it is written.
    pub(super) fn new(name: Option<String>, value: Option<String>, line: u32) -> Given {
        Given { name, value, line, is_evaluated: false }
    }
}

/// The parts of `params`: a text `A=1 B="two words" third`, JSON in a text, a map, or a list of these.
pub(super) fn parts(params: &Positioned) -> Vec<Given> {
    let mut found = Vec::new();
    for item in params.items() {
        let line = item.line;
        match item.words() {
            Some(words) => match serde_json::from_str::<Json>(words.trim()) {
                Ok(Json::Object(map)) => found.extend(
                    map.into_iter()
                        .map(|(name, value)| Given::new(Some(name), scalar(&value), line)),
                ),
                _ => found.extend(
                    tokens(&words)
                        .into_iter()
                        .map(|(name, value)| Given::new(name, Some(value), line)),
                ),
            },
            None => match described(item) {
                Some(given) => found.push(given),
                None => found.extend(item.entries().iter().map(|(name, line, value)| {
                    Given::new(Some(name.clone()), scalar(&value.json()), *line)
                })),
            },
        }
    }
    found
}

/// The name and default of a declaration with `name`, `default` and more.
fn described(item: &Positioned) -> Option<Given> {
    let known = ["name", "default", "eval", "type", "description", "required", "enum"];
    let entries = item.entries();
    let of = |key: &str| entries.iter().find(|(own, _, _)| own == key).map(|(_, _, value)| value);
    if !entries.iter().all(|(key, _, _)| known.contains(&key.as_str())) {
        return None;
    }
    // With both, Dagu takes the default where the command fails.
    if of("eval").is_some() && of("default").is_some() {
        return Some(Given::new(Some(of("name")?.words()?), None, item.line));
    }
    let default = of("eval").or_else(|| of("default")).map(|value| scalar(&value.json()));
    let default = default.unwrap_or(Some(String::new()));
    let given = Given::new(Some(of("name")?.words()?), default, item.line);
    Some(Given { is_evaluated: of("eval").is_some(), ..given })
}

/// A scalar as the text that Dagu passes.
pub(super) fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::Null => Some(String::new()),
        Json::Array(_) | Json::Object(_) => None,
        scalar => Some(json_text(scalar)),
    }
}

/// The names that `params` declares, in order; those without a name are left out.
pub(super) fn declared(params: &Positioned) -> Vec<String> {
    parts(params).into_iter().filter_map(|part| part.name).collect()
}

/// Declares the parameters of a workflow; returns them as pairs of the variable in shell texts and its value.
pub(super) fn declare(params: &Positioned, dagu: Dagu, draft: &mut Draft) -> Vec<(String, String)> {
    let mut known = Vec::new();
    for part in parts(params) {
        let is_computed = |value: &String| match dagu {
            Dagu::One => value.contains(['$', '`']),
            Dagu::Two => part.is_evaluated,
        };
        match (part.name, part.value) {
            (Some(written), Some(default)) if is_computed(&default) => {
                match computed_default(&written, &default, part.is_evaluated, draft) {
                    Some(parameter) => known.push(parameter),
                    None => draft.fails(
                        part.line,
                        format!(
                            "the default of the parameter `{written}` is computed and is not mapped"
                        ),
                    ),
                }
            }
            (Some(written), Some(default)) => {
                known.push(add(&written, default.into(), draft));
            }
            (Some(written), None) => draft.fails(
                part.line,
                format!("the default of the parameter `{written}` is not mapped"),
            ),
            (None, value) => draft.fails(
                part.line,
                format!("the positional parameter `{}` is not mapped", value.unwrap_or_default()),
            ),
        }
    }
    known
}

/// Declares a parameter whose default a command prints: a step executes it unless another value is given.
fn computed_default(
    written: &str,
    default: &str,
    is_evaluated: bool,
    draft: &mut Draft,
) -> Option<(String, String)> {
    let of_dollar = || default.strip_prefix("$(").and_then(|text| text.strip_suffix(')'));
    let of_ticks = default.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    let command =
        of_ticks.or_else(|| of_dollar().filter(|text| is_evaluated && !text.contains(')')))?;
    if command.contains(['`', '\\', '$']) {
        return None;
    }
    let (_, value) = add(written, literal(default).into(), draft);
    let id = step_id(&format!("param-{written}"));
    let command = format!(
        "if test \"$GIVEN\" = {}; then\n{command}\nelse printf '%s' \"$GIVEN\"; fi",
        word(default)
    );
    computed(&id, &command, &[("GIVEN".to_owned(), value)], draft);
    Some((written.to_owned(), format!("{{{{{}.output | trim}}}}", reference(&id))))
}

/// Declares one parameter.
pub(super) fn add(written: &str, default: Json, draft: &mut Draft) -> (String, String) {
    let own = name(written);
    draft.params.push(Out::map(vec![("name", own.clone().into()), ("default", default.into())]));
    (written.to_owned(), format!("{{{{{own}}}}}"))
}

/// The words of a text of parameters: names before `=`, and values without their quotes.
fn tokens(text: &str) -> Vec<(Option<String>, String)> {
    let mut found = Vec::new();
    let mut letters = text.chars().peekable();
    while letters.peek().is_some() {
        let (mut name, mut word, mut quote, mut any) = (None, String::new(), None, false);
        while let Some(&c) = letters.peek() {
            if quote.is_none() && c.is_whitespace() {
                break;
            }
            letters.next();
            any = true;
            match (quote, c) {
                (Some('"') | None, '\\') if letters.peek() == Some(&'"') => {
                    word.extend(letters.next());
                }
                (None, '"' | '\'' | '`') => {
                    quote = Some(c);
                    // A command stays as one, so that it is reported.
                    word.extend((c == '`').then_some(c));
                }
                (Some(open), c) if c == open => {
                    quote = None;
                    word.extend((c == '`').then_some(c));
                }
                (None, '=') if name.is_none() && !word.is_empty() => {
                    name = Some(std::mem::take(&mut word));
                }
                (_, c) => word.push(c),
            }
        }
        letters.next_if(|c| c.is_whitespace());
        if any {
            found.push((name, word));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_parameters_are_split_at_spaces_outside_of_quotes() {
        let words = |text: &str| {
            let joined = |(name, value): (Option<String>, String)| match name {
                Some(name) => format!("{name}:{value}"),
                None => value,
            };
            tokens(text).into_iter().map(joined).collect::<Vec<_>>().join("|")
        };
        assert_eq!(words(r#"A=1 B="two words" C='x=y' third"#), "A:1|B:two words|C:x=y|third");
        assert_eq!(words("A=\"say \\\"hi\\\"\"\n  B=\n"), "A:say \"hi\"|B:");
        assert_eq!(words("D=`date +%F` \"open"), "D:`date +%F`|open");
    }
}
