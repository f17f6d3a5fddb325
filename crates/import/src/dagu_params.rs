//! Parameters of Dagu: how workflows declare them and how calls pass them.

use super::draft::{Draft, name};
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
}

/// The parts of `params`: a text `A=1 B="two words" third`, JSON in a text, a map, or a list of these.
pub(super) fn parts(params: &Positioned) -> Vec<Given> {
    let mut found = Vec::new();
    for item in params.items() {
        let line = item.line;
        match item.words() {
            Some(words) => {
                match serde_json::from_str::<Json>(words.trim()) {
                    Ok(Json::Object(map)) => found.extend(map.into_iter().map(|(name, value)| {
                        Given { name: Some(name), value: scalar(&value), line }
                    })),
                    _ => found.extend(tokens(&words).into_iter().map(|(name, value)| Given {
                        name,
                        value: Some(value),
                        line,
                    })),
                }
            }
            None => match described(item) {
                Some((name, default)) => {
                    found.push(Given { name: Some(name), value: default, line })
                }
                None => found.extend(item.entries().iter().map(|(name, line, value)| Given {
                    name: Some(name.clone()),
                    value: scalar(&value.json()),
                    line: *line,
                })),
            },
        }
    }
    found
}

/// The name and default of a declaration with `name`, `default` and more.
fn described(item: &Positioned) -> Option<(String, Option<String>)> {
    let known = ["name", "default", "type", "description", "required", "enum"];
    let entries = item.entries();
    let of = |key: &str| entries.iter().find(|(own, _, _)| own == key).map(|(_, _, value)| value);
    if !entries.iter().all(|(key, _, _)| known.contains(&key.as_str())) {
        return None;
    }
    let default = of("default").map(|value| scalar(&value.json()));
    Some((of("name")?.words()?, default.unwrap_or(Some(String::new()))))
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
pub(super) fn declare(params: &Positioned, draft: &mut Draft) -> Vec<(String, String)> {
    let mut known = Vec::new();
    for part in parts(params) {
        match (part.name, part.value) {
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
