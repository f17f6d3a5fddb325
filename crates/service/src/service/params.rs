//! Parameter values: read by their declared type and checked; missing ones can be asked for.
//!
//! Start at [`resolve`]. It has no side effects except the calls of `ask`.

mod asking;
mod schema;
mod secret_sources;
mod value;

pub use schema::params_schema;

use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};
use kb_base::value::{Json, JsonMap, json_text, kind_of};
use kb_language::definition::{EntrySpans, LoadedValue, Param, ParamType};
use secret_sources::variable_name;
use value::{check, fits_type, read, read_many};

pub use asking::{Ask, ParamQuestion};
pub use secret_sources::SecretSources;

/// Values that are given for parameters, beside those of a file.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Name and text of each `--param`.
    pub texts: &'a [(String, String)],
    /// Values of an earlier run, which apply where nothing else is given. Names that are not declared
    /// have no effect.
    pub before: &'a JsonMap,
    /// Where the values of secrets come from.
    pub secrets: SecretSources<'a>,
}

/// The values of a run's parameters in the order of their declaration, or all problems. Values of the
/// command line take precedence over the file, and the file over defaults.
pub fn resolve(
    params: &[Param],
    given: &Given<'_>,
    file: Option<&LoadedValue>,
    mut ask: Option<&mut Ask<'_>>,
) -> Result<JsonMap, Vec<Diagnostic>> {
    let Given { texts: given, before, secrets } = *given;
    let mut problems = unknown_names(params, given);
    let from_file = file.and_then(|file| file_values(params, file, &mut problems));
    let mut values = JsonMap::new();
    let has_value = |param: &Param| {
        given.iter().any(|(name, _)| *name == param.name)
            || from_file.is_some_and(|map| map.contains_key(&param.name))
            || before.contains_key(&param.name)
    };
    // Defaults are asked for only if something must be asked anyway.
    let asks =
        params.iter().any(|param| param.required && param.default.is_none() && !has_value(param));
    for param in params {
        let texts: Vec<&str> =
            given.iter().filter(|(name, _)| *name == param.name).map(|(_, t)| t.as_str()).collect();
        let of_file = from_file.and_then(|map| map.get(&param.name));
        let of_file = of_file.or_else(|| before.get(&param.name));
        let found = match (texts.as_slice(), of_file) {
            ([], Some(value)) => fits_type(param, value.clone()),
            ([], None) => {
                let asked = ask.as_mut().filter(|_| asks && is_asked(param)).and_then(|ask| {
                    asking::ask(param, *ask, |value| secrets.check(param, value, true))
                });
                match asked.map_or_else(|| missing(param), Ok) {
                    Ok(Some(value)) => Ok(value),
                    Ok(None) => continue,
                    Err(problem) => Err(problem),
                }
            }
            ([text], _) => read(param, text),
            (many, _) => read_many(param, many),
        };
        let entry =
            file.and_then(|file| file.entries.get(&param.name)).filter(|_| texts.is_empty());
        // A default that no step reads may stay without a source.
        let is_given = !texts.is_empty() || of_file.is_some();
        match found.and_then(|value| secrets.check(param, value, is_given)) {
            Ok(value) => drop(values.insert(param.name.clone(), value)),
            Err(problem) => problems.push(Diagnostic { span: place(param, entry), ..*problem }),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

/// The values of a child run's parameters in the order of their declaration, or all problems. A null
/// stands for a parameter without a value.
pub fn of_child(params: &[Param], mut given: JsonMap) -> Result<JsonMap, Vec<Diagnostic>> {
    let names = given.keys().map(|name| (name.clone(), String::new())).collect::<Vec<_>>();
    let mut problems = unknown_names(params, &names);
    let mut values = JsonMap::new();
    for param in params {
        let found = match given.remove(&param.name).filter(|value| !value.is_null()) {
            Some(value) => fits_type(param, value),
            None => match missing(param) {
                Ok(Some(value)) => Ok(value),
                Ok(None) => continue,
                Err(problem) => Err(Box::new(Diagnostic {
                    help: Some(format!("add it to `with` of the step: `{}: ...`", param.name)),
                    ..*problem
                })),
            },
        };
        match found.and_then(|value| check(param, value)) {
            Ok(value) => drop(values.insert(param.name.clone(), value)),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

/// Position of a value in the file; `None` for secrets, because the line must not be shown.
fn place(param: &Param, entry: Option<&EntrySpans>) -> Option<Span> {
    entry.filter(|_| param.kind != ParamType::Secret).map(|entry| entry.value)
}

fn unknown(params: &[Param], name: &str, span: Option<Span>) -> Diagnostic {
    let known: Vec<&str> = params.iter().map(|p| p.name.as_str()).collect();
    let near = nearest(name, known.iter().copied());
    let mut help = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    if known.is_empty() {
        help.push_str("this definition takes no parameters")
    } else {
        help.push_str(&format!("it takes: {}", known.join(", ")))
    }
    let message = format!("there is no parameter `{name}`");
    Diagnostic::error(Code::PARAMETER_UNKNOWN, span, message).help(help)
}

fn unknown_names(params: &[Param], given: &[(String, String)]) -> Vec<Diagnostic> {
    let mut strange: Vec<&str> = Vec::new();
    for (name, _) in given {
        if params.iter().all(|p| p.name != *name) && !strange.contains(&name.as_str()) {
            strange.push(name);
        }
    }
    strange.into_iter().map(|name| unknown(params, name, None)).collect()
}

fn file_values<'f>(
    params: &[Param],
    file: &'f LoadedValue,
    problems: &mut Vec<Diagnostic>,
) -> Option<&'f JsonMap> {
    match &file.value {
        Json::Null => None,
        Json::Object(map) => {
            let strange = file.entries.iter();
            let strange = strange.filter(|(name, _)| params.iter().all(|p| p.name != **name));
            problems.extend(strange.map(|(name, entry)| unknown(params, name, Some(entry.key))));
            Some(map)
        }
        other => {
            let message =
                format!("the parameter file contains a {}, not a map of names", kind_of(other));
            let problem = Diagnostic::error(Code::PARAMETER_FILE, file.span, message);
            problems.push(problem.help("write `name: value` lines"));
            None
        }
    }
}

/// Whether a person is asked for a parameter without a value: if it is required, or has a `prompt`.
fn is_asked(param: &Param) -> bool {
    param.prompt.is_some() || (param.required && param.default.is_none())
}

/// The value of a parameter that nothing is given for.
fn missing(param: &Param) -> Result<Option<Json>, Box<Diagnostic>> {
    if let Some(default) = &param.default {
        return Ok(Some(default.clone()));
    }
    if !param.required {
        return Ok(None);
    }
    let asked = param.prompt.as_ref().or(param.description.as_ref());
    let what = asked.map(|text| format!(" ({text})")).unwrap_or_default();
    let message = format!("the required parameter `{}` has no value{what}", param.name);
    let problem = Diagnostic::error(Code::PARAMETER_MISSING, None, message);
    let value = match (param.one_of.as_slice(), param.kind) {
        ([], ParamType::Secret) => format!("env:{}", variable_name(&param.name)),
        _ => "…".to_owned(),
    };
    let allowed: Vec<String> = param.one_of.iter().map(json_text).collect();
    let allowed = if allowed.is_empty() {
        String::new()
    } else {
        format!("; one of: {}", allowed.join(", "))
    };
    Err(Box::new(problem.help(format!("add `--param {}={value}`{allowed}", param.name))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_base::diagnostic::{SourceId, Sources};
    use serde_json::json;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn resolve(
        params: &[Param],
        texts: &[(String, String)],
        file: Option<&LoadedValue>,
        ask: Option<&mut Ask<'_>>,
    ) -> Result<JsonMap, Vec<Diagnostic>> {
        let variables = BTreeMap::from([("TOKEN".to_owned(), "x".to_owned())]);
        let secrets = SecretSources { variables: &variables, root: Path::new("/nowhere") };
        super::resolve(params, &Given { texts, before: &JsonMap::new(), secrets }, file, ask)
    }

    fn param(name: &str, kind: ParamType) -> Param {
        Param {
            name: name.to_owned(),
            kind,
            required: true,
            default: None,
            prompt: None,
            description: None,
            one_of: Vec::new(),
            pattern: None,
            min: None,
            max: None,
            schema: None,
            inferred: false,
            span: Span::new(SourceId(0), 0, 0),
        }
    }

    fn file(text: &str) -> (LoadedValue, Sources) {
        let (value, sources, _) = kb_language::definition::load_value("p.yml", text.as_bytes());
        (value.expect("a value"), sources)
    }

    fn reads(kind: ParamType, text: &str) -> Result<Json, String> {
        let given = [("p".to_owned(), text.to_owned())];
        resolve(&[param("p", kind)], &given, None, None)
            .map(|mut map| map.remove("p").expect("a value that was given is there"))
            .map_err(|p| format!("{}; {}", p[0].message, p[0].help.clone().unwrap_or_default()))
    }

    #[test]
    fn a_text_is_read_by_its_declaration() {
        assert_eq!(reads(ParamType::String, "5"), Ok(json!("5")));
        assert_eq!(reads(ParamType::Integer, "-5"), Ok(json!(-5)));
        assert_eq!(reads(ParamType::Number, "1.5"), Ok(json!(1.5)));
        assert_eq!(reads(ParamType::Number, "2"), Ok(json!(2)));
        assert_eq!(reads(ParamType::Boolean, "true"), Ok(json!(true)));
        assert_eq!(reads(ParamType::List, "a, b"), Ok(json!(["a", "b"])));
        assert_eq!(reads(ParamType::List, "[1, \"b\"]"), Ok(json!([1, "b"])));
        assert_eq!(reads(ParamType::List, ""), Ok(json!([])));
        assert_eq!(reads(ParamType::Object, r#"{"a": 1}"#), Ok(json!({"a": 1})));
        assert_eq!(reads(ParamType::Path, "src"), Ok(json!("src")));
        assert_eq!(reads(ParamType::Secret, "env:TOKEN"), Ok(json!("env:TOKEN")));
    }

    #[test]
    fn a_text_that_is_no_such_value_is_named_with_what_is_taken() {
        let cases = [
            (ParamType::Integer, "1.5", "`p` is given `1.5`; `p` takes a whole number"),
            (ParamType::Boolean, "yes", "`p` is given `yes`; `p` takes `true` or `false`"),
            (ParamType::Number, "NaN", "`p` is given `NaN`; `p` takes a number"),
        ];
        for (kind, text, message) in cases {
            assert_eq!(reads(kind, text), Err(message.to_owned()));
        }
        assert!(reads(ParamType::Object, "[1]").is_err());
        assert!(reads(ParamType::List, "[1").is_err());
        assert!(reads(ParamType::Path, "").is_err());
    }

    #[test]
    fn a_literal_secret_is_refused_and_never_repeated() {
        let message = reads(ParamType::Secret, "hunter2").expect_err("a literal");
        assert!(!message.contains("hunter2"), "{message}");
        let (file, sources) = file("a: 1\np: hunter2\n");
        let params = [param("p", ParamType::Secret)];
        for problem in resolve(&params, &[], Some(&file), None).expect_err("two") {
            let shown = kb_base::diagnostic::render(&problem, &sources, false, None);
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn all_problems_come_at_once() {
        let params = [param("featureName", ParamType::String), param("count", ParamType::Integer)];
        let given = [("featurName", "x"), ("count", "many")].map(|(a, b)| (a.into(), b.into()));
        let problems = resolve(&params, &given, None, None).expect_err("three problems");
        let lines: Vec<String> = problems
            .iter()
            .map(|p| format!("{}: {}", p.message, p.help.clone().unwrap_or_default()))
            .collect();
        assert_eq!(
            lines,
            [
                "there is no parameter `featurName`: did you mean `featureName`? it takes: \
                 featureName, count",
                "the required parameter `featureName` has no value: add `--param featureName=…`",
                "`count` is given `many`: `count` takes a whole number",
            ]
        );
    }

    #[test]
    fn the_command_line_holds_over_the_file_and_the_file_over_defaults() {
        let mut scope = param("scope", ParamType::String);
        scope.required = false;
        scope.default = Some(json!("."));
        let mut note = param("note", ParamType::String);
        note.required = false;
        let params = [scope, note, param("n", ParamType::Integer)];
        let (file, _) = file("{scope: src, n: 1}");
        let given = [("n".to_owned(), "2".to_owned())];
        let values = resolve(&params, &given, Some(&file), None).expect("all fit");
        assert_eq!(Json::Object(values), json!({"scope": "src", "n": 2}));
    }

    #[test]
    fn a_file_is_typed_too() {
        let params = [param("n", ParamType::Integer)];
        let problems = |text: &str| {
            let (file, sources) = file(text);
            let problems = resolve(&params, &[], Some(&file), None).expect_err("problems");
            let placed = problems.into_iter().map(|problem| {
                let at = problem.span.map(|span| sources.position(span.source, span.start));
                let at = at.map_or("nowhere".to_owned(), |at| format!("{}:{}", at.line, at.column));
                format!("{at} {}", problem.message)
            });
            placed.collect::<Vec<_>>()
        };
        assert_eq!(
            problems("n: \"2\"\nm: 1\n"),
            ["2:1 there is no parameter `m`", "1:4 `n` is given `2`"]
        );
        assert_eq!(
            problems("[1]"),
            [
                "1:1 the parameter file contains a list, not a map of names",
                "nowhere the required parameter `n` has no value"
            ]
        );
    }

    #[test]
    fn what_the_command_line_says_is_not_looked_for_in_the_file() {
        let (file, _) = file("n: 1");
        let given = [("n".to_owned(), "x".to_owned())];
        let params = [param("n", ParamType::Integer)];
        let problems = resolve(&params, &given, Some(&file), None).expect_err("one");
        assert_eq!((problems.len(), problems[0].span), (1, None));
    }

    #[test]
    fn a_terminal_is_asked_for_what_is_missing_alone() {
        let mut asked = Vec::new();
        let mut ask = |question: &ParamQuestion| {
            asked.push(question.name.clone());
            Some("7".to_owned())
        };
        let params = [param("a", ParamType::Integer), param("b", ParamType::String)];
        let given = [("b".to_owned(), "x".to_owned())];
        let values = resolve(&params, &given, None, Some(&mut ask)).expect("asked");
        assert_eq!(Json::Object(values), json!({"a": 7, "b": "x"}));
        assert_eq!(asked, ["a"]);
    }

    #[test]
    fn values_stay_within_their_bounds() {
        let fails = |change: fn(&mut Param), kind, text: &str| {
            let mut p = param("p", kind);
            change(&mut p);
            let given = [("p".to_owned(), text.to_owned())];
            resolve(&[p], &given, None, None).err().map(|mut p| p.remove(0).help)
        };
        let colours: fn(&mut Param) = |p| p.one_of = vec![json!("red"), json!("green")];
        assert_eq!(fails(colours, ParamType::String, "red"), None);
        assert_eq!(
            fails(colours, ParamType::String, "gren"),
            Some(Some("did you mean `green`? one of: red, green".to_owned()))
        );
        let word: fn(&mut Param) = |p| p.pattern = Some("[a-z]+|x".to_owned());
        assert_eq!(fails(word, ParamType::String, "abc"), None);
        assert!(fails(word, ParamType::String, "abc1").is_some());
        let small: fn(&mut Param) = |p| (p.min, p.max) = (Some(2.0), Some(3.0));
        assert_eq!(fails(small, ParamType::Integer, "2"), None);
        assert_eq!(fails(small, ParamType::Integer, "4"), Some(Some("at most 3".to_owned())));
        assert_eq!(fails(small, ParamType::List, "a"), Some(Some("at least 2 items".to_owned())));
        assert_eq!(
            fails(small, ParamType::String, "äöüß"),
            Some(Some("at most 3 characters".to_owned()))
        );
    }

    #[test]
    fn only_a_list_can_be_given_more_than_once() {
        let twice = [("p", "a,b"), ("p", "c")].map(|(n, t)| (n.to_owned(), t.to_owned()));
        let list = resolve(&[param("p", ParamType::List)], &twice, None, None).expect("a list");
        assert_eq!(list["p"], json!(["a", "b", "c"]));
        assert!(resolve(&[param("p", ParamType::String)], &twice, None, None).is_err());
    }
}
