//! Expressions of GitHub Actions in the language of playbooks.

use super::actions_lowered::{
    AND, CHOICE, COMPARISON, FILTER, JOIN, Lowered, NOT, OPERAND, OR, VALUE, quoted,
};
use super::actions_output::{kept_result, output, unless_failed};
use super::actions_scope::{Scope, all_are, any_failed};
use super::actions_syntax::{Node, parse};
use super::draft::{name, reference};

/// An expression in the language of playbooks, or the part of it that has no counterpart.
pub(super) fn expression(text: &str, scope: &Scope) -> Result<String, String> {
    Ok(lower(&parse(text)?, scope)?.text)
}

/// The same, as an operand of an operator for texts.
pub(super) fn operand(text: &str, scope: &Scope) -> Result<String, String> {
    Ok(lower(&parse(text)?, scope)?.at(OPERAND))
}

/// Whether an expression is true, as an operand of `and`. A text is true on GitHub unless it is empty, also `false`.
pub(super) fn operand_of_and(node: &Node, scope: &Scope) -> Result<String, String> {
    let found = lower(node, scope)?;
    Ok(match is_boolean(node) {
        true => found.at(NOT),
        false => format!("(true if {} else false)", found.at(OR)),
    })
}

/// Whether an expression is `true` or `false`, and no other value that counts as one of them.
fn is_boolean(node: &Node) -> bool {
    match node {
        Node::Bool(_) | Node::Not(_) | Node::Compare(..) => true,
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().all(is_boolean),
        Node::Call(function, _) => {
            ["contains", "startswith", "endswith"].contains(&function.as_str())
        }
        Node::Null | Node::Number(_) | Node::Text(_) | Node::Name(_) | Node::Key(..) => false,
    }
}

/// Whether a shell reads the value of an expression as plain words, wherever it stands.
pub(super) fn is_plain_words(text: &str, scope: &Scope) -> bool {
    let Ok(node) = parse(text) else { return true };
    let plain = |c: char| c.is_ascii_alphanumeric() || " _./:=,@%+-".contains(c);
    match node.path().as_deref() {
        Some(["matrix", axis]) => {
            scope.axes.get(*axis).is_none_or(|values| values.iter().all(|v| v.chars().all(plain)))
        }
        Some(["runner", _]) => true,
        _ => is_boolean(&node),
    }
}

fn lower(node: &Node, scope: &Scope) -> Result<Lowered, String> {
    let all = |nodes: &[Node], level: u8, word: &str| {
        let parts = nodes.iter().map(|node| Ok(lower(node, scope)?.at(level + 1)));
        let parts = parts.collect::<Result<Vec<String>, String>>()?;
        Ok::<_, String>(Lowered::new(parts.join(word), level))
    };
    Ok(match node {
        Node::Null => Lowered::new("none", VALUE),
        Node::Bool(value) => Lowered::new(value.to_string(), VALUE),
        Node::Number(number) if number.starts_with('-') => Lowered::new(number, OPERAND),
        Node::Number(number) => Lowered::new(number, VALUE),
        Node::Text(text) => Lowered::new(quoted(text), VALUE),
        Node::Not(inner) => {
            Lowered::new(format!("not {}", lower(inner, scope)?.at(COMPARISON)), NOT)
        }
        Node::And(nodes) => all(nodes, AND, " and ")?,
        Node::Or(nodes) => match nodes.as_slice() {
            [Node::And(both), other] if both.last().is_some_and(is_true) => {
                let (value, conditions) = both.split_last().ok_or("&&")?;
                let when = lower(&Node::And(conditions.to_vec()), scope)?.at(OR);
                let (value, other) = (lower(value, scope)?, lower(other, scope)?);
                let text = format!("{} if {when} else {}", value.at(OR), other.at(OR));
                Lowered::new(text, CHOICE)
            }
            nodes => all(nodes, OR, " or ")?,
        },
        Node::Compare(sign, left, right) => compare(sign, left, right, scope)?,
        Node::Call(function, arguments) => call(function, arguments, scope)?,
        Node::Name(_) | Node::Key(..) => match (node.path(), node) {
            (Some(path), _) => value(&path, scope)?,
            (None, Node::Key(base, key)) => {
                let (base, key) = (lower(base, scope)?.at(VALUE), lower(key, scope)?.text);
                Lowered::new(format!("{base}[{key}]"), VALUE)
            }
            (None, _) => return Err("[]".to_owned()),
        },
    })
}

/// Whether a node is a literal that counts as true.
fn is_true(node: &Node) -> bool {
    match node {
        Node::Text(text) => !text.is_empty(),
        Node::Bool(value) => *value,
        Node::Number(number) => number.parse::<f64>().is_ok_and(|number| number != 0.0),
        _ => false,
    }
}

fn compare(
    sign: &'static str,
    left: &Node,
    right: &Node,
    scope: &Scope,
) -> Result<Lowered, String> {
    for (value, other) in [(left, right), (right, left)] {
        let (Some(path), Node::Text(result)) = (value.path(), other) else { continue };
        if let Some(held) = has_result(&path, result, scope)? {
            return match sign {
                "==" => Ok(held),
                "!=" => Ok(Lowered::new(format!("not {}", held.at(COMPARISON)), NOT)),
                sign => Err(sign.to_owned()),
            };
        }
    }
    if ["==", "!="].contains(&sign) && has_case(left) && has_case(right) {
        let (left, right) = (folded(left, scope)?.at(JOIN), folded(right, scope)?.at(JOIN));
        return Ok(Lowered::new(format!("{left} {sign} {right}"), COMPARISON));
    }
    // An output is a text, which GitHub converts.
    let is_output = |node: &Node| node.path().is_some_and(|path| path.contains(&"outputs"));
    let side = |node: &Node, other: &Node| match node {
        Node::Number(number) if is_output(other) && matches!(sign, "==" | "!=") => {
            Ok(quoted(number))
        }
        node => Ok::<_, String>(lower(node, scope)?.at(JOIN)),
    };
    let text = format!("{} {sign} {}", side(left, right)?, side(right, left)?);
    Ok(Lowered::new(text, COMPARISON))
}

/// Whether small and capital letters, which GitHub does not distinguish, can differ in a value.
fn has_case(node: &Node) -> bool {
    match node {
        Node::Text(text) => text.to_lowercase() != text.to_uppercase(),
        Node::Number(_) | Node::Bool(_) | Node::Null => false,
        _ => true,
    }
}

/// A text in small letters.
fn folded(node: &Node, scope: &Scope) -> Result<Lowered, String> {
    Ok(match node {
        Node::Text(text) => Lowered::new(quoted(&text.to_lowercase()), VALUE),
        node => {
            let value = lower(node, scope)?.at(FILTER);
            Lowered::new(format!("{value} | string | lower"), FILTER)
        }
    })
}

/// What `contains` searches, in small letters; nothing for a list that is computed.
fn folded_list(node: &Node, scope: &Scope) -> Result<Lowered, String> {
    match node {
        Node::Call(function, arguments) => match (function.as_str(), arguments.as_slice()) {
            ("fromjson", [Node::Text(text)]) if is_plain_list(text) => {
                Ok(Lowered::new(text.trim().to_lowercase(), VALUE))
            }
            _ => Err("contains()".to_owned()),
        },
        node => folded(node, scope),
    }
}

/// Whether a step or job ended with a result: `steps.ID.outcome`, `needs.ID.result`.
fn has_result(path: &[&str], result: &str, scope: &Scope) -> Result<Option<Lowered>, String> {
    let unknown = || path.join(".");
    let (steps, first) = match path {
        ["steps", id, "outcome"] => {
            let step = scope.steps.get(*id).ok_or_else(unknown)?;
            if let Some(held) = kept_result(step, result) {
                return Ok(Some(held));
            }
            (vec![step.id.clone()], None)
        }
        ["needs", id, "result"] => {
            let job = scope.jobs.get(*id).ok_or_else(unknown)?;
            (job.ends.clone(), job.first.as_ref())
        }
        _ => return Ok(None),
    };
    let (all, any) = if steps.len() == 1 { (COMPARISON, COMPARISON) } else { (AND, OR) };
    let failed = Lowered::new(any_failed(&steps), any);
    Ok(Some(match (result, first.map(|first| reference(first))) {
        ("success", _) => Lowered::new(all_are(&steps, "succeeded"), all),
        ("failure", None) => failed,
        // A job that does not start because another one failed is skipped on GitHub.
        ("failure", Some(first)) => {
            Lowered::new(format!("{first}.status != 'blocked' and {}", failed.at(NOT)), AND)
        }
        ("skipped", None) => Lowered::new(all_are(&steps, "skipped"), all),
        ("skipped", Some(first)) => {
            Lowered::new(format!("{first}.status in ['skipped', 'blocked']"), COMPARISON)
        }
        ("cancelled", _) => Lowered::new(all_are(&steps, "cancelled"), all),
        (other, _) => return Err(other.to_owned()),
    }))
}

fn call(function: &str, arguments: &[Node], scope: &Scope) -> Result<Lowered, String> {
    let of = |node: &Node, level: u8| Ok::<_, String>(lower(node, scope)?.at(level));
    Ok(match (function, arguments) {
        ("contains", [list, item]) if has_case(item) => {
            let (item, list) = (folded(item, scope)?.at(JOIN), folded_list(list, scope)?.at(JOIN));
            Lowered::new(format!("{item} in {list}"), COMPARISON)
        }
        ("contains", [list, item]) => {
            let text = format!("{} in {}", of(item, JOIN)?, of(list, JOIN)?);
            Lowered::new(text, COMPARISON)
        }
        ("startswith", [text, start]) if has_case(start) => {
            let (text, start) = (folded(text, scope)?.at(FILTER), folded(start, scope)?.at(CHOICE));
            Lowered::new(format!("{text} is startingwith({start})"), FILTER)
        }
        ("endswith", [text, end]) if has_case(end) => {
            let (text, end) = (folded(text, scope)?.at(FILTER), folded(end, scope)?.at(CHOICE));
            Lowered::new(format!("{text} is endingwith({end})"), FILTER)
        }
        ("startswith", [text, start]) => {
            let test = format!("{} is startingwith({})", of(text, FILTER)?, of(start, CHOICE)?);
            Lowered::new(test, FILTER)
        }
        ("endswith", [text, end]) => {
            let test = format!("{} is endingwith({})", of(text, FILTER)?, of(end, CHOICE)?);
            Lowered::new(test, FILTER)
        }
        ("join", [list]) => Lowered::new(format!("{} | join(',')", of(list, FILTER)?), FILTER),
        ("join", [list, by]) => {
            let text = format!("{} | join({})", of(list, FILTER)?, of(by, CHOICE)?);
            Lowered::new(text, FILTER)
        }
        ("tojson", [value]) => Lowered::new(format!("{} | tojson", of(value, FILTER)?), FILTER),
        ("fromjson", [Node::Text(text)]) if is_plain_list(text) => Lowered::new(text.trim(), VALUE),
        ("fromjson", [text]) => Lowered::new(format!("{} | fromjson", of(text, FILTER)?), FILTER),
        ("format", [Node::Text(text), values @ ..]) => formatted(text, values, scope)?,
        (function, _) => return Err(format!("{function}()")),
    })
}

/// Whether a JSON text is a list of texts and numbers, which is written in the same way in playbooks.
fn is_plain_list(text: &str) -> bool {
    let plain = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => !text.contains(['\\', '{', '}']) && text.is_ascii(),
        value => value.is_number(),
    };
    serde_json::from_str::<Vec<serde_json::Value>>(text)
        .is_ok_and(|list| list.iter().all(plain) && !text.contains(['\n', '\r']))
}

/// `format('{0} of {1}', a, b)`: the parts, joined as texts.
fn formatted(text: &str, values: &[Node], scope: &Scope) -> Result<Lowered, String> {
    let wrong = || format!("format('{text}')");
    let (mut parts, mut words) = (Vec::new(), String::new());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.as_str().starts_with(c) => {
                rest.next();
                words.push(c);
            }
            '{' => {
                let end = rest.as_str().find('}').ok_or_else(wrong)?;
                let number = rest.as_str()[..end].parse::<usize>().map_err(|_| wrong())?;
                let value = values.get(number).ok_or_else(wrong)?;
                if !words.is_empty() {
                    parts.push(quoted(&std::mem::take(&mut words)));
                }
                parts.push(lower(value, scope)?.at(OPERAND));
                rest = rest.as_str()[end + 1..].chars();
            }
            '}' => return Err(wrong()),
            c => words.push(c),
        }
    }
    if !words.is_empty() || parts.len() < 2 {
        parts.push(quoted(&words));
    }
    Ok(Lowered::new(parts.join(" ~ "), JOIN))
}

/// The value of a path of names.
fn value(path: &[&str], scope: &Scope) -> Result<Lowered, String> {
    let unknown = || path.join(".");
    let text = match path {
        ["inputs", input] | ["github", "event", "inputs", input] => name(input),
        ["matrix", axis, keys @ ..] if scope.axes.contains_key(*axis) => {
            let read = format!("matrix.{}{}", name(axis), keys_of(keys));
            if scope.optional_axes.contains(*axis) {
                return Ok(Lowered::new(format!("{read} | default('')"), FILTER));
            }
            read
        }
        ["env", own] if is_name(own) && scope.env.contains(*own) => format!("env.{own}"),
        ["secrets", own] if is_name(own) => {
            scope.secrets.borrow_mut().insert((*own).to_owned());
            name(own)
        }
        ["runner", "os"] => "'Linux'".to_owned(),
        ["steps", id, "outputs", key] => {
            let step = scope.steps.get(*id).ok_or_else(unknown)?;
            return output(step, key, scope.after_failure).ok_or_else(unknown);
        }
        ["needs" | "jobs", id, "outputs", key] => {
            let job = scope.jobs.get(*id).ok_or_else(unknown)?;
            return match (&job.child, job.outputs.get(*key)) {
                (Some(step), _) => {
                    let read =
                        format!("{}.output{} | default('')", reference(step), keys_of(&[key]));
                    Ok(match scope.after_failure {
                        true => Lowered::new(unless_failed(step, &read), CHOICE),
                        false => Lowered::new(read, FILTER),
                    })
                }
                (None, Some(Ok(output))) if scope.after_failure => {
                    Ok(Lowered::new(&output.after_failure, CHOICE))
                }
                (None, Some(Ok(output))) => Ok(Lowered::new(&output.usual, CHOICE)),
                (None, Some(Err(part))) => Err(format!("{}: {part}", unknown())),
                (None, None) => Err(unknown()),
            };
        }
        ["steps", _, "outcome"] | ["needs", _, "result"] => {
            let of = |result: &str| has_result(path, result, scope);
            let (Some(success), Some(failure)) = (of("success")?, of("failure")?) else {
                return Err(unknown());
            };
            let text = format!(
                "'success' if {} else 'failure' if {} else 'skipped'",
                success.at(OR),
                failure.at(OR)
            );
            return Ok(Lowered::new(text, CHOICE));
        }
        _ => return Err(unknown()),
    };
    Ok(Lowered::new(text, VALUE))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn keys_of(keys: &[&str]) -> String {
    let key =
        |key: &&str| if is_name(key) { format!(".{key}") } else { format!("[{}]", quoted(key)) };
    keys.iter().map(key).collect()
}
