//! The `minijinja` environment: the filters, tests and functions of the language, each with limits.
//!
//! It has no templates, no loader and no global except `range`, so expressions cannot access the time,
//! random numbers, files or the environment.

use super::convert::{from_value, measure, text_of, to_value};
use super::fault::Fault;
use super::operators::{check_repeat, check_size, compare, concat};
use minijinja::value::{Rest, Value, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, Expression, State, UndefinedBehavior, filters, tests};
use std::sync::LazyLock;

/// Maximum number of minijinja instructions of one evaluation.
const FUEL: u64 = 100_000;
/// Maximum number of bytes that the operations of one evaluation read and write.
const MAX_WORK: usize = 64 << 20;

/// The filters of the language.
pub const FILTERS: &[&str] = &[
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "float",
    "fromjson",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
    "urlencode",
    "zip",
];

/// The tests of the language, as in `x is even`.
pub const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "equalto",
    "even",
    "false",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "int",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
    "upper",
];

/// Compiles the source that [`super::lower`] generated.
pub(super) fn compile(source: String) -> Result<Expression<'static, 'static>, Error> {
    ENGINE.compile_expression_owned(source)
}

static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::empty();
    engine.set_undefined_behavior(UndefinedBehavior::Chainable);
    engine.set_fuel(Some(FUEL));
    add_raw_filters(&mut engine);
    add_own_filters(&mut engine);
    for name in FILTERS {
        engine.add_filter(*name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            guarded(name, state, args.into_values())
        });
    }
    add_tests(&mut engine);
    add_operators(&mut engine);
    engine
});

/// The filters of minijinja, under names that an expression cannot contain.
fn add_raw_filters(engine: &mut Environment<'static>) {
    macro_rules! raw {
        ($($name:ident)*) => {
            $(engine.add_filter(concat!("raw:", stringify!($name)), filters::$name);)*
        };
    }
    raw! {
        abs attr batch bool capitalize chain default dictsort first float groupby indent int items
        last length lines list lower map max min reject rejectattr replace reverse round select
        selectattr slice sort split sum title trim unique upper zip
    }
    engine.add_filter("raw:count", filters::length);
    engine.add_filter("raw:d", filters::default);
}

/// Filters that use JSON where those of minijinja use Python notation, and filters that it lacks.
fn add_own_filters(engine: &mut Environment<'static>) {
    engine.add_filter("raw:string", |value: &Value| Ok::<_, Error>(text_of(value)?));
    engine.add_filter("raw:tojson", |value: &Value| Ok::<_, Error>(from_value(value)?.to_string()));
    engine.add_filter("raw:fromjson", |text: &str| {
        serde_json::from_str(text)
            .map(|json| to_value(&json))
            .map_err(|error| Error::from(Fault::failed(format!("the text is not JSON: {error}"))))
    });
    engine.add_filter("raw:urlencode", |value: &Value| {
        let text = text_of(value)?;
        let encoded =
            percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC);
        Ok::<_, Error>(encoded.to_string())
    });
    engine.add_filter("raw:join", |list: &Value, separator: Option<&str>| {
        let mut out = String::new();
        for (i, item) in list.try_iter()?.enumerate() {
            if i > 0 {
                out.push_str(separator.unwrap_or_default());
            }
            out.push_str(&text_of(&item)?);
            check_size(out.len())?;
        }
        Ok::<_, Error>(out)
    });
}

/// One filter call. Undefined arguments give undefined; input and output count as work.
fn guarded(name: &str, state: &mut State, args: Vec<Value>) -> Result<Value, Error> {
    let has_default = matches!(name, "default" | "d");
    if !has_default && args.iter().any(Value::is_undefined) {
        return Ok(Value::UNDEFINED);
    }
    for arg in args.iter().filter(|arg| !arg.is_undefined()) {
        charge(state, measure(arg)?)?;
    }
    check_growth(name, &args)?;
    let result = state.apply_filter(&format!("raw:{name}"), &args)?;
    if let Some(text) = result.as_str() {
        charge(state, text.len())?;
    }
    Ok(result)
}

/// The work of one evaluation so far, in bytes.
#[derive(Default, Debug)]
struct WorkUsed(usize);

fn charge(state: &mut State, bytes: usize) -> Result<(), Fault> {
    let work = state.get_or_insert_extension(WorkUsed::default());
    work.0 = work.0.saturating_add(bytes).saturating_add(16);
    if work.0 > MAX_WORK { Err(Fault::exhausted()) } else { Ok(()) }
}

/// Checks the size of the result before filters that can produce much more than their input.
fn check_growth(name: &str, args: &[Value]) -> Result<(), Fault> {
    let text = |at: usize| args.get(at).and_then(Value::as_str).unwrap_or_default();
    let count = |at: usize| args.get(at).and_then(Value::as_usize).unwrap_or_default();
    match name {
        "replace" => {
            let found = text(0).matches(text(1)).count();
            check_size(text(0).len().saturating_add(found.saturating_mul(text(2).len())))
        }
        "indent" => {
            let (_, named) = from_args::<(&[Value], minijinja::value::Kwargs)>(args)
                .map_err(Fault::of_engine)?;
            let width = named.get::<Option<usize>>("width").ok().flatten().unwrap_or(count(1));
            check_size(
                text(0).len().saturating_add((text(0).lines().count() + 1).saturating_mul(width)),
            )
        }
        "batch" | "slice" if count(1) > 100_000 => Err(Fault::too_large()),
        _ => Ok(()),
    }
}

fn add_tests(engine: &mut Environment<'static>) {
    macro_rules! raw {
        ($($name:literal $test:ident)*) => { $(engine.add_test($name, tests::$test);)* };
    }
    raw! {
        "undefined" is_undefined "defined" is_defined "none" is_none "boolean" is_boolean
        "odd" is_odd "even" is_even "divisibleby" is_divisibleby "number" is_number
        "integer" is_integer "int" is_integer "float" is_float "string" is_string
        "sequence" is_sequence "iterable" is_iterable "mapping" is_mapping
        "startingwith" is_startingwith "endingwith" is_endingwith "lower" is_lower
        "upper" is_upper "true" is_true "false" is_false
    }
    const COMPARING: [(&str, &str); 17] = [
        ("eq", "=="),
        ("equalto", "=="),
        ("==", "=="),
        ("ne", "!="),
        ("!=", "!="),
        ("lt", "<"),
        ("lessthan", "<"),
        ("<", "<"),
        ("le", "<="),
        ("<=", "<="),
        ("gt", ">"),
        ("greaterthan", ">"),
        (">", ">"),
        ("ge", ">="),
        (">=", ">="),
        ("in", "in"),
        ("not in", "not in"),
    ];
    for (name, operator) in COMPARING {
        engine.add_test(name, move |left: &Value, right: &Value| {
            compare(left, operator, right).map_err(Error::from)
        });
    }
}

/// The functions that generated source calls instead of the operators of minijinja.
fn add_operators(engine: &mut Environment<'static>) {
    engine.add_function("range", minijinja::functions::range);
    engine.add_function("compare", |args: Rest<Value>| {
        let mut holds = true;
        for part in args.windows(3).step_by(2) {
            let operator = part[1].as_str().unwrap_or_default();
            holds = holds && compare(&part[0], operator, &part[2])?;
        }
        Ok::<_, Error>(holds)
    });
    engine.add_function("concat", |state: &mut State, a: Value, b: Value| {
        operation(state, &[&a, &b], |_| Ok(concat(&a, &b)?))
    });
    engine.add_function("slice_of", |state: &mut State, a: Value, b: Value, c: Value, d: Value| {
        static SLICE: LazyLock<Native> = LazyLock::new(|| native("a[b:c:d]"));
        operation(state, &[&a, &b, &c, &d], |operands| SLICE.eval(operands))
    });
    engine.add_function("negate", |state: &mut State, a: Value| {
        static NEGATE: LazyLock<Native> = LazyLock::new(|| native("-a"));
        operation(state, &[&a], |operands| NEGATE.eval(operands))
    });
    macro_rules! arithmetic {
        ($($name:literal $source:literal)*) => { $(
            engine.add_function($name, |state: &mut State, a: Value, b: Value| {
                static NATIVE: LazyLock<Native> = LazyLock::new(|| native($source));
                operation(state, &[&a, &b], |operands| {
                    check_operands($source, &a, &b)?;
                    NATIVE.eval(operands)
                })
            });
        )* };
    }
    arithmetic! {
        "add" "a + b"  "subtract" "a - b"  "multiply" "a * b"  "divide" "a / b"
        "floor_divide" "a // b"  "remainder" "a % b"  "power" "a ** b"
    }
}

/// Refuses operands for which minijinja has an unclear error or takes too long.
fn check_operands(source: &str, a: &Value, b: &Value) -> Result<(), Fault> {
    let divides = matches!(source, "a / b" | "a // b" | "a % b");
    match source {
        "a * b" => check_repeat(a, b),
        _ if divides && b.is_number() && *b == Value::from(0) => {
            Err(Fault::failed("a division by zero"))
        }
        _ => Ok(()),
    }
}

/// An operation on values. Undefined operands give undefined; operands count as work. They are the
/// variables `a`, `b`, `c`, `d` of `work`.
fn operation(
    state: &mut State,
    operands: &[&Value],
    work: impl FnOnce(Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    if operands.iter().any(|value| value.is_undefined()) {
        return Ok(Value::UNDEFINED);
    }
    for value in operands {
        charge(state, measure(value)?)?;
    }
    let named = ["a", "b", "c", "d"].into_iter().zip(operands);
    work(Value::from_pairs(named.map(|(name, value)| (name, (*value).clone()))))
}

type Native = Expression<'static, 'static>;

/// An operator of minijinja itself, compiled in an empty environment. The sources are constants, and a
/// test evaluates each of them.
fn native(source: &'static str) -> Native {
    static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(Environment::empty);
    PLAIN.compile_expression(source).expect("a constant source of this file is a valid expression")
}
