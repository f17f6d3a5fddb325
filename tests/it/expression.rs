//! LANGUAGE §4: placeholders, references, typed values, and what is refused.

use kb::diagnostic::{Diagnostic, SourceId, Span};
use kb::expression::{
    Expression, Names, Origin, Reference, Root, Scope, ScriptName, Strength, Style, Template,
    ValueTemplate, bare_names, placeholders_in,
};
use kb::value::{Json, StepId};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A definition with parameters `name`, `topic`, `n`, `x`, `files`; steps `test`, `debug`,
/// `research`, `add-test`; and values for some of them.
struct World(BTreeMap<String, Json>);

impl Scope for World {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let key = match root {
            Root::Step(id) => id.to_string(),
            Root::Param(name) => format!("params.{name}"),
            Root::Params => "params".to_owned(),
            Root::Run => "run".to_owned(),
            Root::Env(name) => format!("env.{name}"),
            Root::Secret(name) => format!("secrets.{name}"),
            Root::Item => "item".to_owned(),
            Root::Index => "index".to_owned(),
            Root::Loop => "loop".to_owned(),
        };
        let value = self.0.get(&key)?;
        let found = match field {
            Some(field) => value.get(field)?,
            None => value,
        };
        Some(Arc::new(found.clone()))
    }
}

fn names() -> Names {
    let set = |list: &[&str]| list.iter().map(|name| name.to_string()).collect();
    Names {
        steps: ["test", "debug", "research", "add-test"].map(|id| StepId::new(id).unwrap()).into(),
        params: set(&["name", "topic", "n", "x", "files"]),
        env: set(&["HOME_DIR"]),
        secrets: set(&["TOKEN"]),
        item: None,
        outputs: [("research".to_owned(), vec!["findings".to_owned(), "status".to_owned()])]
            .into_iter()
            .collect(),
        lists: Default::default(),
        suggestions: Default::default(),
    }
}

fn world() -> World {
    let values = json!({
        "params": {"name": "greeting", "n": 3},
        "params.name": "greeting",
        "params.n": 3,
        "params.x": "' or true or '",
        "params.files": ["a.rs", "b.rs"],
        "test": {
            "status": "succeeded",
            "exitCode": 0,
            "output": {
                "testResult": "failed", "count": 4, "ratio": 2.0, "big": 9007199254740993i64,
                "huge": u64::MAX, "list": [1, 2, 3], "empty": [], "nothing": null, "no": false,
                "deep": {"z": 1, "a": [{"k": "v"}]}, "html": "<b>&\"'</b>", "text": "3"
            }
        },
        "add-test": {"output": "added", "status": "succeeded"},
        "research": {"output": {"findings": ["one"], "status": "done"}, "status": "succeeded"},
        "debug": {"status": "skipped"},
        "run": {"id": "r1", "startedAt": "2026-11-21T00:00:00Z", "status": "running"},
        "env.HOME_DIR": "/home/me",
        "secrets.TOKEN": "«TOKEN»",
        "item": {"path": "src/a.rs"},
        "index": 1,
        "loop": {"iteration": 2, "previous": {"output": {"score": 7}}},
    });
    World(values.as_object().expect("an object").clone().into_iter().collect())
}

fn origin() -> Origin {
    Origin { span: Span::new(SourceId(0), 0, 1), verbatim: Some(0) }
}

fn expression(source: &str) -> Result<Expression, Vec<Diagnostic>> {
    Expression::parse(source, origin(), &names(), Style::Playbook)
}

fn template(text: &str) -> Result<Template, Vec<Diagnostic>> {
    Template::parse(text, origin(), &names(), Style::Playbook)
}

fn workflow(text: &str) -> Result<Template, Vec<Diagnostic>> {
    Template::parse(text, origin(), &names(), Style::Workflow)
}

#[track_caller]
fn clean<T>(parsed: Result<T, Vec<Diagnostic>>) -> T {
    parsed.unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// `code message | help` of the first problem.
fn problem<T>(parsed: Result<T, Vec<Diagnostic>>) -> String {
    match parsed {
        Ok(_) => "clean".to_owned(),
        Err(problems) => {
            let first = &problems[0];
            format!("{} {} | {}", first.code, first.message, first.help.as_deref().unwrap_or("-"))
        }
    }
}

/// What an expression gives, or the code and message of its failure.
#[track_caller]
fn value(source: &str) -> Json {
    match clean(expression(source)).evaluate(&world()) {
        Ok(value) => value,
        Err(failure) => json!(format!("{} {}", failure.code, failure.message)),
    }
}

#[track_caller]
fn truth(source: &str) -> bool {
    clean(expression(source)).truth(&world()).unwrap_or_else(|failure| panic!("{failure}"))
}

/// What a template gives, or the code and message of its failure.
#[track_caller]
fn typed(text: &str) -> Json {
    match clean(template(text)).evaluate(&world()) {
        Ok(value) => value,
        Err(failure) => json!(format!("{} {}", failure.code, failure.message)),
    }
}

#[track_caller]
fn text_in_workflow(text: &str) -> String {
    clean(workflow(text)).render(&world()).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn a_condition_is_one_expression_whatever_its_braces() {
    for source in [
        "{{test.output.testResult}} == 'failed'",
        "{{ test.output.testResult == 'failed' }}",
        "test.output.testResult == 'failed'",
        "test.output.testResult == \"failed\" and {{n}} == 3",
        "<< test.output.testResult >> == 'failed'",
        "({{n}} + 1) * 2 == 8",
        "{{params.n}} in [1, 2, 3] and not {{debug.output}}",
        "'{' in '{'",
        "{'a': {'b': 1}} == {'a': {'b': 1}}",
    ] {
        assert!(truth(source), "{source}");
    }
}

#[test]
fn values_are_never_pasted_into_source() {
    assert!(!truth("{{x}} == 'a'"));
    assert_eq!(typed("{{x}}"), json!("' or true or '"));
    assert_eq!(typed("[{{x}}]"), json!("[' or true or ']"));
}

#[test]
fn comparison_is_typed() {
    for (source, expected) in [
        ("n == 3", true),
        ("n == '3'", false),
        ("n != '3'", true),
        ("n == 3.0", true),
        ("true == 1", false),
        ("none == false", false),
        ("test.output.list == [1, 2, 3]", true),
        ("test.output.list == ['1', 2, 3]", false),
        ("[1] == [true]", false),
        ("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", true),
        ("1 in [true]", false),
        ("'1' in [1]", false),
        ("'ail' in test.output.testResult", true),
        ("'deep' in test.output", true),
        ("1 < 2 < 3", true),
        ("1 < 3 < 2", false),
        ("'a' < 'b'", true),
        ("9007199254740993 == test.output.big", true),
        ("9007199254740992 == test.output.big", false),
    ] {
        assert_eq!(truth(source), expected, "{source}");
    }
}

#[test]
fn undefined_is_false_and_compares_with_nothing() {
    for source in [
        "debug.output",
        "{{debug.output}}",
        "debug.output.reason.deeper",
        "debug.output == 1",
        "debug.output != 1",
        "debug.output == debug.output",
        "debug.output < 1",
        "1 >= debug.output",
        "debug.output in [1]",
        "1 in debug.output",
        "1 not in debug.output",
        "debug.output not in [1]",
        "debug.output + 1 == 1",
        "debug.output | length > 0",
        "debug.output | length != 0",
        "debug.output is defined",
        "debug.output is eq(1)",
        "1 < debug.output < 3",
    ] {
        assert!(!truth(source), "{source}");
    }
    for source in [
        "not debug.output",
        "not (debug.output == 1)",
        "not (1 in debug.output)",
        "debug.output is undefined",
        "debug.output is not defined",
        "debug.output | default('x') == 'x'",
        "(debug.output or 'x') == 'x'",
        "1 if debug.output else 2",
    ] {
        assert!(truth(source), "{source}");
    }
    assert_eq!(value("debug.output"), json!(false));
}

#[test]
fn what_counts_as_true() {
    for (source, expected) in [
        ("test.output.list", true),
        ("test.output.empty", false),
        ("test.output.nothing", false),
        ("test.output.no", false),
        ("test.exitCode", false),
        ("'false'", true),
        ("''", false),
        ("{}", false),
        ("test.output.deep", true),
        ("0.0", false),
        ("test.output.list | select('gt', 5) | list", false),
        ("test.output.list | select('gt', 2) | list", true),
    ] {
        assert_eq!(truth(source), expected, "{source}");
    }
}

#[test]
fn ordering_two_kinds_fails_with_a_code() {
    assert_eq!(
        value("test.output.text > 3"),
        json!("KB0321 `>` cannot order a string and a number in `test.output.text > 3`")
    );
    assert_eq!(
        value("test.output < test.output"),
        json!("KB0321 `<` cannot order two values of type object in `test.output < test.output`")
    );
    assert_eq!(
        value("none >= 1"),
        json!("KB0321 `>=` cannot order null and a number in `none >= 1`")
    );
    assert_eq!(
        value("1 in '123'"),
        json!("KB0321 `in` cannot look for a number in a string in `1 in '123'`")
    );
    assert_eq!(value("test.output.text | int > 2"), json!(true));
}

#[test]
fn numbers_stay_what_they_are() {
    for (source, expected) in [
        ("test.output.big", json!(9007199254740993i64)),
        ("test.output.big + 0", json!(9007199254740993i64)),
        ("test.output.huge", json!(u64::MAX)),
        ("[test.output.huge] | first", json!(u64::MAX)),
        ("test.output.ratio", json!(2.0)),
        ("n / 2", json!(1.5)),
        ("4 / 2", json!(2.0)),
        ("[test.output.ratio] | first", json!(2.0)),
        ("7 // 2", json!(3)),
        ("7 % 4", json!(3)),
        ("2 ** 10", json!(1024)),
        ("-n", json!(-3)),
        ("n * 2 - 1", json!(5)),
    ] {
        assert_eq!(value(source), expected, "{source}");
    }
    assert_eq!(value("1 / 0"), json!("KB0322 a division by zero in `1 / 0`"));
    assert!(value("9223372036854775807 ** 2").to_string().contains("KB0322"));
}

#[test]
fn a_lone_placeholder_keeps_its_type() {
    for (text, expected) in [
        ("{{test.output.list}}", json!([1, 2, 3])),
        ("{{ n }}", json!(3)),
        ("<< n >>", json!(3)),
        ("{{ test.output.deep }}", json!({"z": 1, "a": [{"k": "v"}]})),
        ("{{ test.output.nothing }}", json!(null)),
        ("{{ n + 1 }}", json!(4)),
        ("{{ test.output.list[0] }}", json!(1)),
        ("{{ test.output.list[-1] }}", json!(3)),
        ("{{ test.output.list[1:] }}", json!([2, 3])),
        ("{{ test.output.deep.a[0].k }}", json!("v")),
        ("{{ test['output']['count'] }}", json!(4)),
        ("{{ test.output.deep | items | list }}", json!([["z", 1], ["a", [{"k": "v"}]]])),
        (" {{n}}", json!(" 3")),
        ("{{n}}\n", json!("3\n")),
        ("plain", json!("plain")),
        ("", json!("")),
    ] {
        assert_eq!(typed(text), expected, "{text}");
    }
}

#[test]
fn keys_keep_their_order() {
    assert_eq!(typed("{{ test.output.deep }}!"), json!(r#"{"z":1,"a":[{"k":"v"}]}!"#));
    let mapped = typed("{{ {'z': 1, 'b': test.output.deep, 'a': n} }}!");
    assert_eq!(mapped, json!(r#"{"z":1,"b":{"z":1,"a":[{"k":"v"}]},"a":3}!"#));
}

#[test]
fn values_become_text_as_json_and_never_as_html_or_python() {
    for (text, expected) in [
        ("a {{n}} b", "a 3 b"),
        ("{{test.output.nothing}} {{test.output.no}} {{test.output.ratio}}", "null false 2.0"),
        ("{{test.output.html}}", "<b>&\"'</b>"),
        ("x{{test.output.html}}", "x<b>&\"'</b>"),
        ("x{{test.output.list}}", "x[1,2,3]"),
        ("{{ 'a' ~ true ~ none ~ [1, 'b'] }}", "atruenull[1,\"b\"]"),
        ("{{ [true, none, 'x', [1]] | join(' ') }}", "true null x [1]"),
        ("{{ true | string }}", "true"),
        ("{{ {'a': none} | tojson }}", "{\"a\":null}"),
        ("{{ ('[1, 2]' | fromjson)[1] }}", "2"),
        ("{{ 'a b/c' | urlencode }}", "a%20b%2Fc"),
        ("{{ files | map('upper') | join(', ') }}", "A.RS, B.RS"),
        ("{{ [{'p': 1}, {'p': 2}] | map(attribute='p') | join('+') }}", "1+2"),
        ("{{ name | replace('greet', 'meet') | title }}", "Meeting"),
        ("{{ 'yes' if n > 2 else 'no' }}", "yes"),
        ("{{ range(3) | join }}", "012"),
        ("trailing newline {{n}}\n", "trailing newline 3\n"),
    ] {
        let rendered = clean(template(text)).render(&world());
        assert_eq!(rendered.as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn undefined_in_a_template_fails_with_its_text_and_the_fix() {
    let failure = clean(template("Fix {{ debug.output.reason }} now")).render(&world());
    let failure = failure.expect_err("undefined");
    assert_eq!(failure.code.as_str(), "KB0320");
    assert_eq!(failure.message, "`{{ debug.output.reason }}` needs a value that is undefined");
    assert!(failure.help.as_deref().is_some_and(|help| help.contains("default(")));
    for text in [
        "{{ debug.output | upper }}",
        "{{ 'a' ~ debug.output }}",
        "{{ [debug.output] }}",
        "{{ {'a': debug.output} }}",
        "{{ debug.output + 1 }}",
        "{{ debug.output[0:1] }}",
        "{{ 1 if false }}",
        "{{ files | join(debug.output) }}",
    ] {
        assert!(typed(text).to_string().contains("KB0320"), "{text}: {}", typed(text));
    }
    assert_eq!(typed("{{ debug.output.a.b | default('none') }}"), json!("none"));
    assert_eq!(typed("{{ (debug.output | upper) | d('none') }}"), json!("none"));
    assert_eq!(typed("{{ debug.output or 'x' }}"), json!("x"));
}

#[test]
fn the_scope_has_what_the_language_says() {
    let mut inside = names();
    inside.item = Some("file".to_owned());
    for (text, expected) in [
        ("{{params.name}}", json!("greeting")),
        ("{{params['name']}}", json!("greeting")),
        ("{{params}}", json!({"name": "greeting", "n": 3})),
        ("{{name}}", json!("greeting")),
        ("{{steps['test'].output.count}}", json!(4)),
        ("{{steps['add-test'].output}}", json!("added")),
        ("{{add_test.output}}", json!("added")),
        ("{{steps.test.output.count}}", json!(4)),
        ("{{test.exitCode}}", json!(0)),
        ("{{run.id}}", json!("r1")),
        ("{{run.startedAt}}", json!("2026-11-21T00:00:00Z")),
        ("{{env.HOME_DIR}}", json!("/home/me")),
        ("{{secrets.TOKEN}}", json!("«TOKEN»")),
        ("{{file.path}}", json!("src/a.rs")),
        ("{{index}}", json!(1)),
        ("{{loop.iteration}}", json!(2)),
        ("{{loop.previous.output.score}}", json!(7)),
    ] {
        let parsed = clean(Template::parse(text, origin(), &inside, Style::Playbook));
        assert_eq!(parsed.evaluate(&world()), Ok(expected), "{text}");
    }
}

#[test]
fn unknown_names_are_load_errors_with_the_nearest_name() {
    for (source, expected) in [
        (
            "reserch.output",
            "KB0302 `reserch` is neither a parameter nor a step | did you mean `research`?",
        ),
        ("params.nmae", "KB0302 unknown parameter `nmae` | did you mean `name`?"),
        ("steps['tset'].output", "KB0302 unknown step `tset` | did you mean `test`?"),
        ("env.HOMEDIR", "KB0302 unknown environment name `HOMEDIR` | did you mean `HOME_DIR`?"),
        ("env.PATH == 'x'", "KB0302 unknown environment name `PATH` | declared are `HOME_DIR`"),
        ("secrets.TOKNE", "KB0302 unknown secret `TOKNE` | did you mean `TOKEN`?"),
        ("run.ID", "KB0303 `run` has no field `ID` | did you mean `id`?"),
        ("loop.iteratoin", "KB0303 `loop` has no field `iteratoin` | did you mean `iteration`?"),
        (
            "test.outptu",
            "KB0303 the step `test` has no field `outptu` | did you mean `test.output`?",
        ),
        (
            "test.testResult == 'failed'",
            "KB0303 the step `test` has no field `testResult` | a step has output, byKey, status, error, \
             errors, verdict, verdictDetails, handoff, exitCode, stdout, stderr, attempts, durationMs; its \
             result is below `test.output`, as in `test.output.testResult`",
        ),
        (
            "test[0]",
            "KB0303 the step `test` is not a list | a step has output, byKey, status, error, errors, \
             verdict, verdictDetails, handoff, exitCode, stdout, stderr, attempts, durationMs; its result is below `test.output`",
        ),
        (
            "output == 'x'",
            "KB0302 `output` is neither a parameter nor a step | name the step too, as in `STEP.output`",
        ),
        (
            "n == null",
            "KB0302 `null` is neither a parameter nor a step | the null value is `none`; test for it with `is none` or `is defined`",
        ),
        ("n == TRUE", "KB0302 `TRUE` is neither a parameter nor a step | write `true`"),
        (
            "item == 1",
            "KB0309 `item` exists only in a step that has a `forEach` | give the step a `forEach`, or name a parameter or a step",
        ),
        (
            "steps[name].output",
            "KB0308 `steps` must be followed by a step's id, written out | write `steps['build']`; the id must be literal, because references order the steps",
        ),
        ("env[name]", "KB0308 `env` must be followed by a name, written out | write `env.NAME`"),
        ("name | uper", "KB0304 unknown filter `uper` | did you mean `upper`?"),
        ("name is strng", "KB0304 unknown test `strng` | did you mean `string`?"),
        ("name.upper()", "KB0304 values have no method `upper` | use the filter: `value | upper`"),
        (
            "length(name)",
            "KB0304 unknown function `length` | it is a filter: write `value | length`",
        ),
        (
            "now()",
            "KB0304 unknown function `now` | the only function is `range`; use a filter to change a value, as in `name | upper`",
        ),
        (
            "add-test.output",
            "KB0307 `add-test` would be read as a subtraction | write `steps['add-test']` or `add_test`",
        ),
        (
            "n > 1 and {{add-test.output}}",
            "KB0307 `add-test` would be read as a subtraction | write `steps['add-test']` or `add_test`",
        ),
    ] {
        assert_eq!(problem(expression(source)), expected, "{source}");
    }
    for source in ["None == none and True", "n - 1 == 2", "'add-test' == 'add-test'", "n-1 == 2"] {
        assert!(truth(source), "{source}");
    }
}

#[test]
fn mistakes_of_other_languages_get_the_fix() {
    for (source, expected) in [
        ("n == 3 && x", "KB0301 `&&` is not an operator of expressions | write `and`"),
        // The engine's parser alone takes this for `name == 'a'`.
        ("name == 'a' && x", "KB0301 `&&` is not an operator of expressions | write `and`"),
        ("n == 3 || x", "KB0301 `||` is not an operator of expressions | write `or`"),
        ("n = 3", "KB0301 `=` is not an operator of expressions | compare with `==`"),
        (
            "n === 3",
            "KB0301 `===` is not an operator of expressions | compare with `==`; comparison is always typed",
        ),
        ("!n", "KB0301 `!` is not an operator of expressions | write `not`"),
        (
            "${n} == 3",
            "KB0301 `${` is not an operator of expressions | write the bare name, or `{{ name }}`",
        ),
        (
            "n ? 1 : 2",
            "KB0301 `?` is not an operator of expressions | write `a if condition else b`",
        ),
        (
            "name == 'it's'",
            "KB0301 the string is not closed | close the quote; to write an apostrophe, use the other kind of quotes",
        ),
        (
            "(n == 3",
            "KB0301 not a valid expression: unexpected end of input, expected `)` | a bracket is not closed",
        ),
        (
            "",
            "KB0301 the expression is empty | write a condition, as in `test.output.testResult == 'failed'`",
        ),
        (
            "{{ n == 3",
            "KB0305 the placeholder is not closed | close it with `}}`, or write `\\{{` for two literal braces",
        ),
        (
            "{{ }} == 3",
            "KB0305 the placeholder is empty | name a parameter or a step, as in `{{ params.name }}`, or write `\\{{` for literal text",
        ),
        (
            "'{{test.output.testResult}}' == 'failed'",
            "KB0305 a placeholder inside quotes is not evaluated | remove the quotes: `{{test.output.testResult}}`; in a condition, braces act as parentheses",
        ),
    ] {
        assert_eq!(problem(expression(source)), expected, "{source}");
    }
}

#[test]
fn all_problems_of_a_text_are_reported_at_once() {
    let problems =
        template("{{ reserch.output }} {{ test.outptu }} {{ n && x }}").expect_err("three");
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["KB0302", "KB0303", "KB0301"]);
    let problems = expression("reserch.output and tset.output").expect_err("two");
    assert_eq!(problems.len(), 2);
}

/// The text under the first problem's caret, in a file where the scalar stands at byte 10.
fn under_caret(text: &str, template: bool) -> String {
    let file = format!("condition {text}");
    let verbatim = Origin { span: Span::new(SourceId(0), 9, file.len()), verbatim: Some(10) };
    let problems = if template {
        Template::parse(text, verbatim, &names(), Style::Workflow).map(|_| ())
    } else {
        Expression::parse(text, verbatim, &names(), Style::Workflow).map(|_| ())
    };
    let span = problems.expect_err("a problem")[0].span.expect("a place");
    file[span.start as usize..span.end as usize].to_owned()
}

#[test]
fn problems_point_into_the_file() {
    for (text, expected) in [
        ("é {{ reserch.output.x }}", "reserch"),
        ("{{ test.output.x }} {{ test.outptu.x | upper }}", "outptu"),
        ("{{ name | uper }}", "name | uper"),
        ("a << fetch.x >> << nmae >>", "<< nmae >>"),
        ("{{ steps['tset'].output }}", "'tset'"),
        ("x {reserch.findings}", "{reserch.findings}"),
    ] {
        assert_eq!(under_caret(text, true), expected, "{text}");
    }
    for (text, expected) in [
        ("{{test.output.a}} == 'é' && n", "&&"),
        ("({{reserch.output.a}}) == 1", "reserch"),
        ("{{add-test.output}}", "add-test"),
    ] {
        assert_eq!(under_caret(text, false), expected, "{text}");
    }
    let somewhere = Origin { span: Span::new(SourceId(3), 7, 20), verbatim: None };
    let problems = Template::parse("{{ nmae }}", somewhere, &names(), Style::Playbook);
    assert_eq!(problems.expect_err("a problem")[0].span, Some(somewhere.span));
}

#[test]
fn angle_brackets_are_placeholders_only_around_known_names() {
    for (text, expected) in [
        ("Add << name >>!", "Add greeting!"),
        ("Add <<name>>!", "Add greeting!"),
        ("<< test.output.list | length >> left", "3 left"),
        ("<< params.name >>", "greeting"),
        ("<< run.id >>", "r1"),
        ("cat <<EOF\n$x >> y\nEOF", "cat <<EOF\n$x >> y\nEOF"),
        ("cat <<-'EOF' >> file", "cat <<-'EOF' >> file"),
        ("cat <<< word >> file", "cat <<< word >> file"),
        ("1 << 2 >> 3", "1 << 2 >> 3"),
        ("std::cout << value >> other", "std::cout << value >> other"),
        ("cout << f(name) >> y", "cout << f(name) >> y"),
        ("<< name\n>>", "<< name\n>>"),
        ("<< run >> is a word", "<< run >> is a word"),
        ("\\<< name >>", "<< name >>"),
    ] {
        let rendered = clean(template(text)).render(&world());
        assert_eq!(rendered.as_deref(), Ok(expected), "{text}");
    }
    for (text, expected) in [
        (
            "<< nmae >>",
            "KB0306 `nmae` is not a declared name | did you mean `name`? For literal text, write `\\<<`",
        ),
        (
            "<< reserch.output >>",
            "KB0306 `reserch` is not a declared name | did you mean `research`? For literal text, write `\\<<`",
        ),
        (
            "<< test.outptu >>",
            "KB0303 the step `test` has no field `outptu` | did you mean `test.output`?",
        ),
        (
            "<< add-test.output >>",
            "KB0307 `add-test` would be read as a subtraction | write `steps['add-test']` or `add_test`",
        ),
    ] {
        assert_eq!(problem(template(text)), expected, "{text}");
    }
}

#[test]
fn braces_of_other_languages_are_text() {
    for text in [
        "{% if x %}{# no #}",
        "fn main() { println!(\"{}\", x); }",
        "${HOME} $(x) {name} { name } {a,b}",
        "{\"a\": {\"b\": 1} }",
        "\\{name} stays as it is in a playbook",
    ] {
        assert_eq!(clean(template(text)).as_literal(), Some(text));
    }
    assert_eq!(
        clean(template("\\{{ name }} {{ '{{' }}")).render(&world()),
        Ok("{{ name }} {{".into())
    );
    assert_eq!(clean(template("\\{{ name }}")).as_literal(), Some("{{ name }}"));
    assert_eq!(Template::literal("{{ name }}").as_literal(), Some("{{ name }}"));
    assert_eq!(typed("{\"a\": {{n}}}"), json!("{\"a\": 3}"));
    assert_eq!(
        problem(template("a {{ b")),
        "KB0305 the placeholder is not closed | close it with `}}`, or write `\\{{` for two literal braces"
    );
    assert!(problem(template("a {{}} b")).starts_with("KB0305 the placeholder is empty"));
    assert_eq!(typed("{{ '}}' }}"), json!("}}"));
}

#[test]
fn workflows_have_single_braces_for_what_is_known() {
    for (text, expected) in [
        ("About {name}.", "About greeting."),
        ("{research.findings}", "[\"one\"]"),
        ("{research.status}", "done"),
        ("{research.output.findings} {{research.findings}}", "[\"one\"] [\"one\"]"),
        ("{{research.status}}", "succeeded"),
        ("{test.output.count}", "4"),
        ("{add-test.output}", "added"),
        ("{params.name}", "greeting"),
        (
            "\\{name} {nothing} \\{a.b} {} { name } {n,m} ${name}",
            "{name} {nothing} {a.b} {} { name } {n,m} ${name}",
        ),
        ("{\"name\": \"{name}\"}", "{\"name\": \"greeting\"}"),
        ("{{name}} << name >>", "greeting greeting"),
    ] {
        assert_eq!(text_in_workflow(text), expected, "{text}");
    }
    assert_eq!(
        problem(workflow("{reserch.findings}")),
        "KB0306 `{reserch.findings}` names no parameter, step or output | did you mean \
         `{research.findings}`? For literal text, write `\\{`"
    );
    assert!(problem(workflow("{research.finding}")).starts_with("KB0306"));
    assert_eq!(
        problem(workflow("{a.b}")),
        "KB0306 `{a.b}` names no parameter, step or output | name an output of an earlier step, as in `{STEP.KEY}`. \
         For literal text, write `\\{`"
    );
    assert_eq!(
        problem(workflow("{research.sources}")),
        "KB0306 `{research.sources}`: `outputs` of the step `research` has no `sources` | add `sources` to \
         `outputs` of `research`, or write `{research.output.sources}`. For literal text, write `\\{`"
    );
    assert_eq!(
        problem(workflow("Read { research.findings }.")),
        "KB0306 `{ research.findings }` has spaces, so it is text and no placeholder | write \
         `{research.findings}`. For literal text, write `\\{`"
    );
    let condition =
        Expression::parse("{research.status} == 'done'", origin(), &names(), Style::Workflow);
    assert_eq!(clean(condition).truth(&world()), Ok(true));
    let condition =
        Expression::parse("{add-test.output} == 'added'", origin(), &names(), Style::Workflow);
    assert_eq!(clean(condition).truth(&world()), Ok(true));
}

fn reference(source: &str) -> String {
    let show = |reference: &Reference| {
        let guard = if reference.guarded { "?" } else { "" };
        let strength: Strength = reference.strength();
        format!("{:?}.{}{guard}:{}", reference.root, reference.path().join("."), strength.as_str())
    };
    clean(expression(source)).references().iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn references_are_found_with_their_strength() {
    for (source, expected) in [
        ("test.output.a.b == 1", "Step(test).output.a.b:needs"),
        ("test.status == 'failed' or test.error", "Step(test).status:watch Step(test).error:watch"),
        ("debug.output | default('x')", "Step(debug).output?:may-skip"),
        ("debug.output.a is defined", "Step(debug).output.a?:may-skip"),
        ("debug.output.a is not undefined", "Step(debug).output.a?:may-skip"),
        ("(debug.output.a | upper) | d('x')", "Step(debug).output.a?:may-skip"),
        ("name | default(debug.output)", "Param(\"name\").?:may-skip Step(debug).output:needs"),
        ("debug.output or test.output", "Step(debug).output:needs Step(test).output:needs"),
        ("steps['add-test'].output[0].x", "Step(add-test).output:needs"),
        ("add_test.output['a b'].x", "Step(add-test).output.a b.x:needs"),
        ("test.output[name]", "Step(test).output:needs Param(\"name\").:needs"),
        ("1 if test.verdict else run.id", "Step(test).verdict:watch Run.id:needs"),
        ("[n, {'k': env.HOME_DIR}]", "Param(\"n\").:needs Env(\"HOME_DIR\").:needs"),
        ("files | map('replace', 'a', name)", "Param(\"files\").:needs Param(\"name\").:needs"),
    ] {
        let mut found = reference(source);
        if source.starts_with("1 if") {
            found = found.replace(
                "Run.id:needs Step(test).verdict:watch",
                "Step(test).verdict:watch Run.id:needs",
            );
        }
        assert_eq!(found, expected, "{source}");
    }
}

#[test]
fn references_point_at_their_whole_path() {
    let text = "é {{ 1 + test.output.a['b'].c[0] | default(steps['add-test'].output) }}";
    let parsed = clean(template(text));
    let written: Vec<&str> = parsed
        .references()
        .map(|found| &text[found.span.start as usize..found.span.end as usize])
        .collect();
    assert_eq!(written, ["test.output.a['b'].c[0]", "steps['add-test'].output"]);
}

#[test]
fn values_of_any_shape_are_templates() {
    let of = |text: &str| ValueTemplate::Text(clean(template(text)));
    let value = ValueTemplate::Map(Box::new([
        ("z".into(), of("{{test.output.list}}")),
        ("a".into(), ValueTemplate::List([of("<{{n}}>"), ValueTemplate::literal(json!(1))].into())),
    ]));
    assert_eq!(
        value.evaluate(&world()).map(|v| v.to_string()),
        Ok(r#"{"z":[1,2,3],"a":["<3>",1]}"#.into())
    );
    assert_eq!(value.references().len(), 2);
    let broken = ValueTemplate::List([of("{{debug.output}}")].into());
    assert_eq!(broken.evaluate(&world()).map_err(|f| f.code.as_str()), Err("KB0320"));
}

#[test]
fn a_shell_script_may_hold_any_brace_but_ours() {
    let found = |script: &str| -> Vec<String> {
        placeholders_in(script, &names(), Style::Playbook)
            .into_iter()
            .filter(|one| one.meaning == ScriptName::Known)
            .map(|one| one.inner)
            .collect()
    };
    assert_eq!(found("echo {{ params.name }} << test.output >>"), ["params.name", "test.output"]);
    assert_eq!(found("echo {{name|upper}} {{ (n + 1) }}"), ["name|upper", "(n + 1)"]);
    assert_eq!(found("echo {{ add-test.output }}"), ["add-test.output"]);
    for script in [
        "docker ps --format '{{.Names}} {{ .Image }}'",
        "gh api --template '{{range .}}{{.name}}{{end}}'",
        "cat <<EOF >> out\nname\nEOF",
        "awk '{print $1}' <<< \"$x\"; echo ${name} $((1 << 2))",
        "echo {{ unknown }} {{",
    ] {
        assert_eq!(found(script), Vec::<String>::new(), "{script}");
    }
}

#[test]
fn bare_names_of_a_workflow_are_found() {
    let found: Vec<String> = bare_names(
        "Write {topic} for {audience_x}, not {{ x }}, ${y}, \\{z}, {a.b}, {a-b}, { c }, {1}",
    )
    .into_iter()
    .map(|(_, name)| name)
    .collect();
    assert_eq!(found, ["topic", "audience_x"]);
}

#[test]
fn what_would_be_huge_is_refused_at_once() {
    let started = crate::processor_time::of_thread();
    for source in [
        "[1] * 100000000",
        "'x' * 2000000000",
        "'x' * 5000000",
        "([[1] * 100000] * 100000) | length",
        "([[1] * 100000] * 100000) | join",
        "('x' * 4000000) | replace('x', 'y' * 1000)",
        "range(100000) | map('replace', '', 'y' * 1000) | list",
        "('x' * 4000000) ~ ('x' * 4000000)",
        "'a\n' * 100000 | indent(100000)",
        "['a' * 1000000] * 1000",
        "range(99999) | batch(100000000, 'x') | list",
        "range(100000) | slice(100000000) | list",
        "2 ** 100000000",
        "range(100000000)",
        "range(90000) | map('string') | join('x' * 1000)",
    ] {
        let failure = clean(expression(source)).evaluate(&world());
        let code = failure.map(|value| value.to_string().len()).map_err(|failure| failure.code);
        assert!(
            matches!(code.as_ref().map_err(|code| code.as_str()), Err("KB0323" | "KB0322")),
            "{source}: {code:?}"
        );
    }
    let took = crate::processor_time::of_thread() - started;
    assert!(took.as_secs() < 20, "{took:?}");
    assert_eq!(value("('x' * 1000) | length"), json!(1000));
    assert_eq!(value("[0] * 3"), json!([0, 0, 0]));
    assert!(problem(expression(&format!("n == '{}'", "x".repeat(5000)))).starts_with("KB0311"));
}

#[test]
fn deep_nesting_ends_in_a_value_or_a_diagnostic() {
    for (open, close, times) in
        [("(", ")", 2000), ("[", "]", 2000), ("not ", "", 1000), ("-", "", 4000)]
    {
        let _ = expression(&format!("{}1{}", open.repeat(times), close.repeat(times)));
    }
    for (more, times) in
        [("+1", 2000), (" or 1", 800), ("|d", 2000), ("[0]", 1300), (".a", 2000), (" ~1", 1300)]
    {
        let source = format!("test.output{}", more.repeat(times));
        if let Ok(parsed) = expression(&source) {
            let _ = parsed.evaluate(&world());
        }
    }
}

#[test]
fn failed_operations_name_their_text() {
    assert!(value("n | join(',')").to_string().contains("KB0322"));
    assert!(value("'{' | fromjson").to_string().contains("the text is not JSON"));
    assert!(typed("a {{ n | join(',') }} b").to_string().contains("in `{{ n | join(',') }}`"));
}

#[test]
fn expressions_are_shared_freely() {
    fn check<T: Send + Sync + Clone + std::fmt::Debug>() {}
    check::<Expression>();
    check::<Template>();
    check::<ValueTemplate>();
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// Boolean and integer expressions that our language and `evalexpr` both read; `and`, `or` and
    /// `not` are written as there, and replaced for us. Division is left out: ours gives fractions.
    fn integers() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            (0i64..50).prop_map(|n| n.to_string()),
            prop_oneof![Just("a"), Just("b"), Just("c")].prop_map(str::to_owned),
        ];
        leaf.prop_recursive(4, 24, 2, |inner| {
            (inner.clone(), prop_oneof![Just("+"), Just("-"), Just("*")], inner)
                .prop_map(|(l, op, r)| format!("({l} {op} {r})"))
        })
    }

    fn booleans() -> impl Strategy<Value = String> {
        let comparing =
            prop_oneof![Just("=="), Just("!="), Just("<"), Just("<="), Just(">"), Just(">=")];
        let leaf = prop_oneof![
            (integers(), comparing, integers()).prop_map(|(l, op, r)| format!("{l} {op} {r}")),
            prop_oneof![Just("p"), Just("q"), Just("true"), Just("false")].prop_map(str::to_owned),
        ];
        leaf.prop_recursive(4, 24, 2, |inner| {
            prop_oneof![
                (inner.clone(), prop_oneof![Just("&&"), Just("||")], inner.clone())
                    .prop_map(|(l, op, r)| format!("({l} {op} {r})")),
                inner.prop_map(|e| format!("!({e})")),
            ]
        })
    }

    fn ours(source: &str) -> String {
        source.replace("!(", "not (").replace("&&", "and").replace("||", "or")
    }

    fn evaluate(source: &str, a: i64, b: i64, p: bool) -> Result<Json, String> {
        let known = Names {
            params: ["a", "b", "c", "p", "q"].iter().map(|n| n.to_string()).collect(),
            ..Names::default()
        };
        let values =
            json!({"params.a": a, "params.b": b, "params.c": 7, "params.p": p, "params.q": true});
        let scope = World(values.as_object().expect("an object").clone().into_iter().collect());
        let parsed = Expression::parse(source, origin(), &known, Style::Playbook)
            .map_err(|problems| format!("{problems:?}"))?;
        parsed.evaluate(&scope).map_err(|failure| failure.to_string())
    }

    fn oracle(source: &str, a: i64, b: i64, p: bool) -> Option<Json> {
        use evalexpr::{ContextWithMutableVariables, HashMapContext, Value};
        let mut context: HashMapContext = HashMapContext::new();
        for (name, value) in [
            ("a", Value::Int(a)),
            ("b", Value::Int(b)),
            ("c", Value::Int(7)),
            ("p", Value::Boolean(p)),
            ("q", Value::Boolean(true)),
        ] {
            context.set_value(name.to_owned(), value).expect("a fresh context takes any value");
        }
        match evalexpr::eval_with_context(source, &context) {
            Ok(Value::Int(n)) => Some(json!(n)),
            Ok(Value::Boolean(b)) => Some(json!(b)),
            _ => None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn agrees_with_evalexpr(
            source in prop_oneof![integers(), booleans()],
            a in -9i64..9, b in -9i64..9, p: bool,
        ) {
            if let Some(expected) = oracle(&source, a, b, p) {
                prop_assert_eq!(evaluate(&ours(&source), a, b, p), Ok(expected), "{}", source);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in r#"([{}<>|.'"\[\]()~*+=!&-]|name|test|output|steps|é| |\n|[0-9]){0,24}"#) {
            for style in [Style::Playbook, Style::Workflow] {
                if let Ok(parsed) = Template::parse(&text, origin(), &names(), style) {
                    let _ = parsed.evaluate(&world());
                }
                if let Ok(parsed) = Expression::parse(&text, origin(), &names(), style) {
                    let _ = parsed.truth(&world());
                }
                let _ = placeholders_in(&text, &names(), style);
                let _ = bare_names(&text);
            }
        }

        #[test]
        fn text_without_brackets_is_taken_as_it_is(text in r"[^{<\\]{0,40}") {
            let parsed = clean(template(&text));
            prop_assert_eq!(parsed.as_literal(), Some(text.as_str()));
        }
    }
}
