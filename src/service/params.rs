//! Values of parameters: typed by their declaration, checked, asked for where a terminal allows it.
//!
//! Pure: what was given, a file's content and a way to ask come in; a map or all problems come out.

use crate::definition::{Param, ParamType};
use crate::diagnostic::nearest;
use crate::value::{Json, JsonMap, json_text, kind_of};

/// What is wrong with one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which.
    pub param: String,
    /// A fragment for people.
    pub message: String,
    /// The mend.
    pub help: Option<String>,
}

impl Problem {
    fn new(param: &str, message: impl Into<String>) -> Self {
        Problem { param: param.to_owned(), message: message.into(), help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Asks a person for a parameter; `None` where there is no answer.
pub type Ask<'a> = dyn FnMut(&Param) -> Option<String> + 'a;

/// The values of a run's parameters, in the order of their declaration: what was given on the command
/// line holds over the file's, and that over the defaults. All problems at once.
pub fn resolve(
    params: &[Param],
    given: &[(String, String)],
    file: Option<Json>,
    mut ask: Option<&mut Ask<'_>>,
) -> Result<JsonMap, Vec<Problem>> {
    let mut problems = unknown_names(params, given);
    let mut from_file = file_values(params, file, &mut problems);
    let mut values = JsonMap::new();
    for param in params {
        let texts: Vec<&str> =
            given.iter().filter(|(name, _)| *name == param.name).map(|(_, t)| t.as_str()).collect();
        let found = match (texts.as_slice(), from_file.remove(&param.name)) {
            ([], Some(value)) => fits_type(param, value),
            ([], None) => match missing(param, &mut ask) {
                Ok(Some(value)) => Ok(value),
                Ok(None) => continue,
                Err(problem) => Err(problem),
            },
            ([text], _) => read(param, text),
            (many, _) => read_many(param, many),
        };
        match found.and_then(|value| check(param, value)) {
            Ok(value) => drop(values.insert(param.name.clone(), value)),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

fn unknown(params: &[Param], name: &str) -> Problem {
    let known: Vec<&str> = params.iter().map(|p| p.name.as_str()).collect();
    let near = nearest(name, known.iter().copied());
    let mut help = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    match known.is_empty() {
        true => help.push_str("this definition takes no parameters"),
        false => help.push_str(&format!("it takes: {}", known.join(", "))),
    }
    Problem::new(name, format!("there is no parameter `{name}`")).help(help)
}

fn unknown_names(params: &[Param], given: &[(String, String)]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for (name, _) in given {
        let known = params.iter().any(|p| p.name == *name);
        if !known && problems.iter().all(|p| p.param != *name) {
            problems.push(unknown(params, name));
        }
    }
    problems
}

fn file_values(params: &[Param], file: Option<Json>, problems: &mut Vec<Problem>) -> JsonMap {
    match file {
        None | Some(Json::Null) => JsonMap::new(),
        Some(Json::Object(map)) => {
            let strange = map.keys().filter(|key| params.iter().all(|p| p.name != **key));
            problems.extend(strange.map(|key| unknown(params, key)));
            map
        }
        Some(other) => {
            let message = format!("the parameter file holds a {}, not names", kind_of(&other));
            problems.push(Problem::new("--params", message).help("write `name: value` lines"));
            JsonMap::new()
        }
    }
}

fn missing(param: &Param, ask: &mut Option<&mut Ask<'_>>) -> Result<Option<Json>, Problem> {
    if let Some(default) = &param.default {
        return Ok(Some(default.clone()));
    }
    if !param.required {
        return Ok(None);
    }
    if let Some(text) = ask.as_mut().and_then(|ask| ask(param)) {
        return read(param, &text).map(Some);
    }
    let asked = param.prompt.as_ref().or(param.description.as_ref());
    let what = asked.map(|text| format!(" ({text})")).unwrap_or_default();
    let message = format!("the required parameter `{}` has no value{what}", param.name);
    Err(Problem::new(&param.name, message).help(format!("add `--param {}=…`", param.name)))
}

fn type_name(kind: ParamType) -> &'static str {
    match kind {
        ParamType::String => "text",
        ParamType::Integer => "a whole number",
        ParamType::Number => "a number",
        ParamType::Boolean => "`true` or `false`",
        ParamType::List => "a list: JSON, or values with commas between them",
        ParamType::Object => "an object in JSON, such as '{\"a\": 1}'",
        ParamType::Path => "a path",
        ParamType::Secret => "a reference to a secret: `env:NAME` or `file:PATH`",
    }
}

fn wrong(param: &Param, shown: &str) -> Problem {
    let name = &param.name;
    let message = match param.kind {
        // A literal secret must not be repeated on a terminal or in a log.
        ParamType::Secret => format!("`{name}` is given a literal secret"),
        _ => format!("`{name}` is given `{shown}`"),
    };
    Problem::new(name, message).help(format!("`{name}` takes {}", type_name(param.kind)))
}

fn read_many(param: &Param, texts: &[&str]) -> Result<Json, Problem> {
    if param.kind == ParamType::List {
        let values: Result<Vec<Json>, Problem> = texts.iter().map(|t| read(param, t)).collect();
        let items = values?.into_iter().flat_map(|value| match value {
            Json::Array(items) => items,
            other => vec![other],
        });
        return Ok(items.collect());
    }
    let message = format!("`{}` is given {} times", param.name, texts.len());
    Err(Problem::new(&param.name, message).help("only a list can be given more than once"))
}

/// Reads a text as the declared type.
fn read(param: &Param, text: &str) -> Result<Json, Problem> {
    let fail = || wrong(param, text);
    match param.kind {
        ParamType::String => Ok(Json::from(text)),
        ParamType::Integer => text.trim().parse::<i64>().map(Json::from).map_err(|_| fail()),
        ParamType::Number => number(text.trim()).ok_or_else(fail),
        ParamType::Boolean => match text.trim() {
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            _ => Err(fail()),
        },
        ParamType::List => list(text).ok_or_else(fail),
        ParamType::Object => match serde_json::from_str(text) {
            Ok(Json::Object(map)) => Ok(Json::Object(map)),
            _ => Err(fail()),
        },
        ParamType::Path if text.is_empty() || text.contains('\0') => Err(fail()),
        ParamType::Path => Ok(Json::from(text)),
        ParamType::Secret if is_secret_reference(text) => Ok(Json::from(text)),
        ParamType::Secret => Err(fail()),
    }
}

fn number(text: &str) -> Option<Json> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Json::from(whole));
    }
    let value: f64 = text.parse().ok()?;
    serde_json::Number::from_f64(value).map(Json::Number)
}

fn list(text: &str) -> Option<Json> {
    let text = text.trim();
    if text.starts_with('[') {
        return serde_json::from_str(text).ok().filter(Json::is_array);
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    Some(parts.map(Json::from).collect())
}

fn is_secret_reference(text: &str) -> bool {
    ["env:", "file:"].iter().any(|p| text.strip_prefix(p).is_some_and(|rest| !rest.is_empty()))
}

/// Whether a value from a file has the declared type; nothing is converted.
fn fits_type(param: &Param, value: Json) -> Result<Json, Problem> {
    let fits = match param.kind {
        ParamType::String => value.is_string(),
        ParamType::Path => value.as_str().is_some_and(|t| !t.is_empty() && !t.contains('\0')),
        ParamType::Integer => value.is_i64() || value.is_u64(),
        ParamType::Number => value.is_number(),
        ParamType::Boolean => value.is_boolean(),
        ParamType::List => value.is_array(),
        ParamType::Object => value.is_object(),
        ParamType::Secret => value.as_str().is_some_and(is_secret_reference),
    };
    if fits { Ok(value) } else { Err(wrong(param, &json_text(&value))) }
}

fn check(param: &Param, value: Json) -> Result<Json, Problem> {
    check_enum(param, &value)?;
    check_pattern(param, &value)?;
    check_bounds(param, &value)?;
    check_schema(param, &value)?;
    Ok(value)
}

fn check_enum(param: &Param, value: &Json) -> Result<(), Problem> {
    if param.one_of.is_empty() || param.one_of.contains(value) {
        return Ok(());
    }
    let known: Vec<String> = param.one_of.iter().map(json_text).collect();
    let given = json_text(value);
    let near = nearest(&given, known.iter().map(String::as_str));
    let hint = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    let message = format!("`{}` cannot be `{given}`", param.name);
    Err(Problem::new(&param.name, message).help(format!("{hint}one of: {}", known.join(", "))))
}

fn check_pattern(param: &Param, value: &Json) -> Result<(), Problem> {
    let (Some(pattern), Some(text)) = (&param.pattern, value.as_str()) else { return Ok(()) };
    // The pattern was checked when the definition was loaded; one that is no pattern fits nothing.
    let fits = regex::Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|re| re.is_match(text));
    if fits {
        return Ok(());
    }
    let message = format!("`{}` is given `{text}`", param.name);
    Err(Problem::new(&param.name, message).help(format!("it must match `{pattern}`")))
}

fn check_bounds(param: &Param, value: &Json) -> Result<(), Problem> {
    let (size, unit) = match value {
        Json::Number(n) => (n.as_f64().unwrap_or(0.0), ""),
        Json::String(text) => (text.chars().count() as f64, " characters"),
        Json::Array(items) => (items.len() as f64, " items"),
        Json::Object(map) => (map.len() as f64, " keys"),
        Json::Null | Json::Bool(_) => return Ok(()),
    };
    let bound = match (param.min, param.max) {
        (Some(min), _) if size < min => format!("at least {min}{unit}"),
        (_, Some(max)) if size > max => format!("at most {max}{unit}"),
        _ => return Ok(()),
    };
    let message = format!("`{}` has {size}{unit}", param.name);
    Err(Problem::new(&param.name, message).help(bound))
}

fn check_schema(param: &Param, value: &Json) -> Result<(), Problem> {
    let Some(schema) = &param.schema else { return Ok(()) };
    let violations = schema.violations(value);
    let Some(first) = violations.first() else { return Ok(()) };
    let place = match first.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    };
    let message = format!("`{}` does not fit its schema{place}: {}", param.name, first.message);
    Err(Problem::new(&param.name, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{SourceId, Span};
    use serde_json::json;

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
        let file = Some(json!({"p": "hunter2"}));
        let problems = resolve(&[param("p", ParamType::Secret)], &[], file, None).expect_err("too");
        assert!(!format!("{problems:?}").contains("hunter2"));
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
        let file = Some(json!({"scope": "src", "n": 1}));
        let given = [("n".to_owned(), "2".to_owned())];
        let values = resolve(&params, &given, file, None).expect("all fit");
        assert_eq!(Json::Object(values), json!({"scope": "src", "n": 2}));
    }

    #[test]
    fn a_file_is_typed_too() {
        let params = [param("n", ParamType::Integer)];
        let problems = resolve(&params, &[], Some(json!({"n": "2", "m": 1})), None);
        let names: Vec<String> = problems.expect_err("two").into_iter().map(|p| p.param).collect();
        assert_eq!(names, ["m", "n"]);
        assert!(resolve(&params, &[], Some(json!([1])), None).is_err());
    }

    #[test]
    fn a_terminal_is_asked_for_what_is_missing_alone() {
        let mut asked = Vec::new();
        let mut ask = |p: &Param| {
            asked.push(p.name.clone());
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
