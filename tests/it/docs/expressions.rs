//! The tables of `docs/reference/expressions.md`: every operator, filter and test, with an example
//! that is evaluated here.

use super::{Page, files, root};
use crate::generated;
use kb::diagnostic::{SourceId, Span};
use kb::expression::{Expression, Names, Origin, Root, Scope, Style};
use kb::value::{Json, StepId};
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;

/// Operators: the form, its meaning, an example.
const OPERATORS: [(&str, &str, &str); 18] = [
    ("`or`", "true if one side is true", "n > 5 or n < 4"),
    ("`and`", "true if both sides are true", "n > 1 and n < 3"),
    ("`not`", "negation", "not n > 5"),
    ("`==` `!=`", "typed equality, at every depth; any two values", "n == '3'"),
    ("`<` `<=` `>` `>=`", "order of two numbers, texts, booleans or lists", "1 < n < 5"),
    ("`in`", "text in a text, key in an object, item in a list", "'a.rs' in files"),
    ("`not in`", "the opposite", "'x' not in name"),
    ("`is` `is not`", "a [test](#tests)", "missing is not defined"),
    ("`a if c else b`", "`a` if `c` is true, otherwise `b`", "'big' if n > 2 else 'small'"),
    ("`~`", "joins two values as text", "name ~ '-' ~ n"),
    ("`+` `-` `*`", "arithmetic; `+` also joins texts and lists", "n * 2 - 1"),
    ("`/`", "division", "n / 2"),
    ("`//` `%`", "quotient rounded down, and remainder", "[n // 2, n % 2]"),
    ("`**`", "power", "n ** 2"),
    ("`a.key` `a['key']`", "a value of an object", "test.output['testResult']"),
    ("`a[0]` `a[-1]`", "an item of a list, counted from the end if negative", "files[-1]"),
    ("`a[from:to:step]`", "a part of a list or text", "name[0:5]"),
    ("`[…]` `{…}`", "a list, an object", "{'n': n, 'two': [1, 2]}"),
];

/// Filters, by name: the meaning and an example.
const FILTERS: [(&str, &str, &str); 44] = [
    ("abs", "absolute value", "-4 | abs"),
    ("attr", "a key of an object", "test.output | attr('count')"),
    ("batch", "lists of at most `n` items", "[1, 2, 3] | batch(2)"),
    ("bool", "truth of a value", "'' | bool"),
    (
        "capitalize",
        "first letter in upper case, the others in lower case",
        "'hello KB' | capitalize",
    ),
    ("chain", "several lists as one, or several objects as one", "[1] | chain([2]) | list"),
    ("count", "the same as `length`", "files | count"),
    ("d", "the same as `default`", "missing | d(0)"),
    (
        "default",
        "another value if undefined; with `true` also if empty or false",
        "'' | default('none', true)",
    ),
    ("dictsort", "key and value pairs, sorted by key", "{'b': 1, 'a': 2} | dictsort"),
    ("first", "the first item", "files | first"),
    ("float", "a number from a text", "'2.5' | float"),
    ("fromjson", "the value of a JSON text", "'[1, 2]' | fromjson"),
    ("groupby", "items grouped by an attribute", "items | groupby('kind') | map('first') | list"),
    ("indent", "indents all lines but the first", "'a\\nb' | indent(2)"),
    ("int", "an integer from a text or number", "'7' | int"),
    ("items", "key and value pairs", "{'a': 1} | items | list"),
    ("join", "one text, with a separator", "files | join(', ')"),
    ("last", "the last item", "files | last"),
    ("length", "number of items, keys or characters", "files | length"),
    ("lines", "the lines of a text", "'a\\nb' | lines"),
    ("list", "a list of items, keys or characters", "'abc' | list"),
    ("lower", "lower case", "'KB' | lower"),
    (
        "map",
        "an attribute of each item, or a filter applied to each",
        "items | map(attribute='path') | list",
    ),
    ("max", "the largest item", "[1, 3, 2] | max"),
    ("min", "the smallest item", "[1, 3, 2] | min"),
    ("reject", "items that fail a test", "[1, 2, 3] | reject('odd') | list"),
    (
        "rejectattr",
        "items whose attribute fails a test",
        "items | rejectattr('changed') | map(attribute='path') | list",
    ),
    ("replace", "replaces a text by another", "name | replace('e', 'a')"),
    ("reverse", "in reverse order", "files | reverse | list"),
    ("round", "rounds to a number of digits", "2.567 | round(1)"),
    ("select", "items that pass a test", "[1, 2, 3] | select('odd') | list"),
    (
        "selectattr",
        "items whose attribute passes a test",
        "items | selectattr('changed') | map(attribute='path') | list",
    ),
    ("slice", "a number of lists of about the same length", "[1, 2, 3] | slice(2)"),
    ("sort", "sorted; `reverse=true`, `attribute='key'`", "[3, 1, 2] | sort(reverse=true)"),
    ("split", "parts of a text", "'a,b' | split(',')"),
    ("string", "text of a value", "[1, 2] | string"),
    ("sum", "sum of numbers", "[1, 2] | sum"),
    ("title", "each word with an upper-case first letter", "'hello world' | title"),
    ("tojson", "compact JSON", "{'a': [1]} | tojson"),
    ("trim", "without white space at both ends", "'  x ' | trim"),
    ("unique", "without duplicates", "[1, 2, 1] | unique | list"),
    ("upper", "upper case", "name | upper"),
    ("urlencode", "percent-encoded", "'a b&c' | urlencode"),
];

/// The last filter, apart because it takes several lists.
const ZIP: (&str, &str, &str) =
    ("zip", "items of two lists in pairs", "[1, 2] | zip(['a', 'b']) | list");

/// Tests, by name: the meaning and an example.
const TESTS: [(&str, &str, &str); 30] = [
    ("boolean", "a boolean", "true is boolean"),
    ("defined", "not undefined", "missing is defined"),
    ("divisibleby", "divisible without remainder", "n is divisibleby(3)"),
    ("endingwith", "a text that ends with another", "name is endingwith('ing')"),
    ("eq", "`==`", "n is eq(3)"),
    ("equalto", "`==`", "n is equalto(4)"),
    ("even", "an even number", "n is even"),
    ("false", "exactly `false`", "false is false"),
    ("float", "a number with a fraction", "2.5 is float"),
    ("ge", "`>=`", "n is ge(3)"),
    ("greaterthan", "`>`", "n is greaterthan(3)"),
    ("gt", "`>`", "n is gt(2)"),
    ("in", "`in`", "n is in([1, 3])"),
    ("int", "an integer", "n is int"),
    ("integer", "an integer", "2.5 is integer"),
    ("iterable", "can be iterated: a list, object or text", "files is iterable"),
    ("le", "`<=`", "n is le(3)"),
    ("lessthan", "`<`", "n is lessthan(3)"),
    ("lower", "a text in lower case", "name is lower"),
    ("lt", "`<`", "n is lt(4)"),
    ("mapping", "an object", "test.output is mapping"),
    ("ne", "`!=`", "n is ne(4)"),
    ("none", "the empty value `none`", "test.output.nothing is none"),
    ("number", "a number", "n is number"),
    ("odd", "an odd number", "n is odd"),
    ("sequence", "a list", "files is sequence"),
    ("startingwith", "a text that starts with another", "name is startingwith('x')"),
    ("string", "a text", "name is string"),
    ("true", "exactly `true`", "1 is true"),
    ("undefined", "undefined", "missing is undefined"),
];

/// The last test, apart so that the table above is the alphabet of the others.
const UPPER: (&str, &str, &str) = ("upper", "a text in upper case", "'KB' is upper");

/// The values that the page names.
struct Values;

impl Scope for Values {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let value = match root {
            Root::Param(name) => match &**name {
                "n" => json!(3),
                "name" => json!("greeting"),
                "files" => json!(["a.rs", "b.rs"]),
                "items" => json!([
                    {"path": "a.rs", "kind": "code", "changed": true},
                    {"path": "b.md", "kind": "text", "changed": false},
                ]),
                _ => return None,
            },
            Root::Step(_) => json!({
                "status": "succeeded",
                "output": {"testResult": "failed", "count": 4, "nothing": null},
            }),
            _ => return None,
        };
        match field {
            Some(field) => value.get(field).cloned().map(Arc::new),
            None => Some(Arc::new(value)),
        }
    }
}

fn evaluate(source: &str) -> String {
    let params = ["n", "name", "files", "items", "missing"].map(str::to_owned);
    let names = Names {
        steps: [StepId::new("test").unwrap()].into(),
        params: params.into_iter().collect(),
        ..Names::default()
    };
    let origin = Origin { span: Span::new(SourceId(0), 0, 1), verbatim: Some(0) };
    let expression = Expression::parse(source, origin, &names, Style::Playbook)
        .unwrap_or_else(|problems| panic!("{source}: {problems:#?}"));
    let value = expression.evaluate(&Values).unwrap_or_else(|e| panic!("{source}: {e:?}"));
    value.to_string()
}

/// A table of names, meanings, examples and their values.
fn table(head: &str, rows: &[(&str, &str, &str)]) -> String {
    let mut text = format!("| {head} | meaning | example | value |\n|---|---|---|---|\n");
    for (name, meaning, example) in rows {
        let shown = if name.contains('`') { (*name).to_owned() } else { format!("`{name}`") };
        let (example, value) = (example.replace('|', "\\|"), evaluate(example).replace('|', "\\|"));
        let _ = writeln!(text, "| {shown} | {meaning} | `{example}` | `{value}` |");
    }
    text
}

const PAGE: &str = "docs/reference/expressions.md";

#[test]
fn the_tables_of_operators_filters_and_tests_are_fresh() {
    generated::block(PAGE, "operators", &table("operator", &OPERATORS));
    generated::block(PAGE, "filters", &table("filter", &[&FILTERS[..], &[ZIP]].concat()));
    generated::block(PAGE, "tests", &table("test", &[&TESTS[..], &[UPPER]].concat()));
}

/// The names of a list of texts in `src/expression`.
fn listed(name: &str) -> Vec<String> {
    let start = format!("const {name}: &[&str] = &[");
    for path in files(&root().join("crates/language/src/expression"), "rs") {
        let text = std::fs::read_to_string(path).unwrap();
        if let Some((_, rest)) = text.split_once(&start) {
            let list = rest.split_once("];").unwrap().0;
            return list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        }
    }
    panic!("no list `{name}` in src/expression");
}

#[test]
fn the_page_has_every_filter_and_test_of_the_engine() {
    let page = Page::read(PAGE);
    let (_, rest) = page.text.split_once("<!-- generated: filters -->").unwrap();
    let (filters, tests) = rest.split_once("<!-- generated: tests -->").unwrap();
    let missing = |names: Vec<String>, text: &str| -> Vec<String> {
        names.into_iter().filter(|name| !text.contains(&format!("\n| `{name}` |"))).collect()
    };
    assert_eq!(missing(listed("FILTERS"), filters), Vec::<String>::new());
    assert_eq!(missing(listed("TESTS"), tests), Vec::<String>::new());
}
