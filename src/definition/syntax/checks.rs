//! Decodes `verify:` and lists of checks.

use super::templates::Secrets;
use super::{Decoder, Fields, Node};
use crate::definition::check::{argv, pattern};
use crate::definition::model::{
    Check, ClaimPolicy, FailurePolicy, FileCount, InconclusivePolicy, NotYet, Verify,
};
use crate::definition::schema::Schema;
use crate::diagnostic::{Code, Diagnostic};

const VERIFY_KEYS: [&str; 6] =
    ["claims", "expectChanges", "checks", "onFailed", "onInconclusive", "maxReworks"];

const CHECK_KINDS: [&str; 6] = ["schema", "file", "command", "expr", "diff", "judge"];

const CHECK_KEYS: [&str; 10] = [
    "schema",
    "file",
    "command",
    "expr",
    "diff",
    "judge",
    "inputs",
    "mustFailBefore",
    "tests",
    "timeout",
];

/// What `verify:` means where a step says nothing of it.
pub(crate) fn default_verify(specialist: bool) -> Verify {
    Verify {
        claims: if specialist { ClaimPolicy::Strict } else { ClaimPolicy::None },
        expect_changes: None,
        checks: Vec::new(),
        on_failed: if specialist { FailurePolicy::Rework } else { FailurePolicy::Fail },
        on_inconclusive: None,
        max_reworks: 2,
    }
}

/// Reads `verify:`.
pub(crate) fn verify(
    node: &Node,
    specialist: bool,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Verify {
    let mut verify = default_verify(specialist);
    if node.as_seq().is_some() {
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, "`verify` takes a map, found a list")
                .help("write `verify: {checks: [...]}`"),
        );
        return verify;
    }
    let Some(fields) = decoder.fields(node, "`verify`", &VERIFY_KEYS) else { return verify };
    if let Some(node) = fields.get("claims") {
        let choices = [
            ("strict", ClaimPolicy::Strict),
            ("warn", ClaimPolicy::Warn),
            ("none", ClaimPolicy::None),
        ];
        verify.claims = decoder.one_of(node, "claims", &choices).unwrap_or(verify.claims);
    }
    if let Some(node) = fields.get("expectChanges") {
        verify.expect_changes = decoder.boolean(node, "expectChanges");
    }
    if let Some(node) = fields.get("checks") {
        verify.checks = checks(node, "checks", decoder, not_yet);
    }
    if let Some(node) = fields.get("onFailed") {
        verify.on_failed =
            on_failed(node, specialist, decoder, not_yet).unwrap_or(verify.on_failed);
    }
    verify.on_inconclusive =
        fields.get("onInconclusive").and_then(|node| on_inconclusive(node, decoder, not_yet));
    if let Some(node) = fields.get("maxReworks") {
        verify.max_reworks = decoder.integer(node, "maxReworks", 0, 100).unwrap_or(2);
    }
    verify
}

fn on_failed(
    node: &Node,
    specialist: bool,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Option<FailurePolicy> {
    let choices = [
        ("rework", FailurePolicy::Rework),
        ("retry", FailurePolicy::Retry),
        ("escalateModel", FailurePolicy::EscalateModel),
        ("warn", FailurePolicy::Warn),
        ("fail", FailurePolicy::Fail),
    ];
    let policy = decoder.one_of(node, "onFailed", &choices)?;
    if !specialist && matches!(policy, FailurePolicy::Rework | FailurePolicy::EscalateModel) {
        let text = node.as_text().unwrap_or_default();
        decoder.push(
            Diagnostic::error(
                Code::MISPLACED_KEY,
                node.span,
                format!("`{text}` is only available for specialist steps"),
            )
            .help("use `retry`, `warn` or `fail`"),
        );
    } else if policy == FailurePolicy::EscalateModel {
        decoder.not_yet("escalateModel", node.span, Some(not_yet));
    }
    Some(policy)
}

fn on_inconclusive(
    node: &Node,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Option<InconclusivePolicy> {
    let choices = [
        ("warn", InconclusivePolicy::Warn),
        ("fail", InconclusivePolicy::Fail),
        ("askUser", InconclusivePolicy::AskUser),
    ];
    let policy = decoder.one_of(node, "onInconclusive", &choices)?;
    if policy == InconclusivePolicy::AskUser {
        decoder.not_yet("askUser", node.span, Some(not_yet));
    }
    Some(policy)
}

/// Reads a list of checks: `verify.checks` or `gate`.
pub(crate) fn checks(
    node: &Node,
    key: &str,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Vec<Check> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, key, "a list of checks");
        return Vec::new();
    };
    if items.is_empty() {
        decoder.push(
            Diagnostic::warning(Code::NO_EFFECT, node.span, format!("`{key}` is empty"))
                .help("add a check such as `{file: out.txt}`, or remove the key"),
        );
    }
    items.iter().filter_map(|item| check(item, decoder, not_yet)).collect()
}

fn check(node: &Node, decoder: &mut Decoder, not_yet: &mut Vec<NotYet>) -> Option<Check> {
    let fields = decoder.fields(node, "a check", &CHECK_KEYS)?;
    let kinds: Vec<&str> =
        CHECK_KINDS.into_iter().filter(|kind| fields.entry(kind).is_some()).collect();
    let kind = match kinds.as_slice() {
        [kind] => *kind,
        [] if fields.was_meant(&CHECK_KINDS) => return None,
        [] => {
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, node.span, "a check has no kind")
                    .help(format!("add one of {}", CHECK_KINDS.join(", "))),
            );
            return None;
        }
        [first, second, ..] => {
            let message = format!("a check has both `{first}` and `{second}`");
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, node.span, message).help("write two checks"),
            );
            return None;
        }
    };
    for name in ["inputs", "mustFailBefore", "tests", "timeout"] {
        if let (Some((key, _)), false) = (fields.entry(name), kind == "command") {
            let message = format!("`{name}` belongs to a `command` check");
            decoder
                .push(Diagnostic::error(Code::MISPLACED_KEY, key.span, message).help("remove it"));
        }
    }
    let value = decoder.required(&fields, kind, "a check")?;
    match kind {
        "schema" => Schema::decode(value, decoder).map(Check::Schema),
        "file" => file(value, decoder),
        "command" => command(value, &fields, decoder, not_yet),
        "expr" => decoder.expression(value, "expr").map(Check::Expr),
        "diff" => Some(not_built("diff", value, decoder)),
        _ => Some(not_built("judge", value, decoder)),
    }
}

fn not_built(kind: &'static str, node: &Node, decoder: &mut Decoder) -> Check {
    decoder.push(
        Diagnostic::warning(
            Code::NOT_IMPLEMENTED,
            node.span,
            format!("`{kind}` is not supported yet"),
        )
        .help("the definition runs; a gate with this check is inconclusive"),
    );
    Check::NotYet(kind)
}

fn file(node: &Node, decoder: &mut Decoder) -> Option<Check> {
    const KEYS: [&str; 5] = ["path", "minCount", "count", "changed", "absent"];
    if node.as_text().is_some() {
        let path = path(node, decoder)?;
        return Some(Check::File { path, min_count: 1, count: None, changed: None, absent: false });
    }
    let fields = decoder.fields(node, "a `file` check", &KEYS)?;
    let path_node = decoder.required(&fields, "path", "a `file` check");
    let path = path_node.and_then(|node| path(node, decoder));
    let min_count =
        fields.get("minCount").and_then(|n| decoder.integer(n, "minCount", 0, u32::MAX));
    let count = fields.get("count").and_then(|node| file_count(node, decoder));
    let changed = fields.get("changed").and_then(|node| decoder.boolean(node, "changed"));
    let absent = fields.get("absent").and_then(|node| decoder.boolean(node, "absent"));
    Some(Check::File {
        path: path?,
        min_count: min_count.unwrap_or(1),
        count,
        changed,
        absent: absent.unwrap_or(false),
    })
}

fn path(node: &Node, decoder: &mut Decoder) -> Option<crate::expression::Template> {
    let template = decoder.template(node, "path", Secrets::Refused)?;
    if let Some(text) = template.as_literal() {
        pattern::glob(text, node.span, decoder);
    }
    Some(template)
}

fn file_count(node: &Node, decoder: &mut Decoder) -> Option<FileCount> {
    let fields = decoder.fields(node, "`count`", &["pattern", "min", "max"])?;
    let pattern_node = decoder.required(&fields, "pattern", "`count`")?;
    let text = decoder.text(pattern_node, "pattern")?;
    pattern::regex(text, pattern_node.span, decoder);
    let min = fields.get("min").and_then(|node| decoder.integer(node, "min", 0, u32::MAX));
    let max = fields.get("max").and_then(|node| decoder.integer(node, "max", 0, u32::MAX));
    let min = min.unwrap_or(u32::from(max.is_none()));
    if let Some(max) = max.filter(|max| *max < min) {
        let message = format!("`min` {min} is larger than `max` {max}");
        decoder.bad_value(fields.span, message, "swap them".to_owned());
    }
    Some(FileCount { pattern: text.to_owned(), min, max })
}

fn command(
    node: &Node,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Option<Check> {
    let argv = command_words(node, decoder);
    let inputs =
        fields.get("inputs").map(|node| globs(node, "inputs", decoder)).unwrap_or_default();
    let must_fail_before = fields
        .get("mustFailBefore")
        .and_then(|node| Some((node, decoder.boolean(node, "mustFailBefore")?)))
        .filter(|(_, wanted)| *wanted);
    if let Some((node, _)) = must_fail_before {
        decoder.not_yet("mustFailBefore", node.span, Some(not_yet));
    }
    if let Some((key, value)) = fields.entry("tests") {
        decoder.fields(value, "`tests`", &["minCount", "notFewer"]);
        decoder.not_yet("tests", key.span, Some(not_yet));
    }
    let timeout = fields.get("timeout").and_then(|node| decoder.duration(node, "timeout"));
    Some(Check::Command {
        argv: argv?,
        inputs,
        must_fail_before: must_fail_before.is_some(),
        timeout,
    })
}

fn command_words(node: &Node, decoder: &mut Decoder) -> Option<Vec<crate::expression::Template>> {
    let Some(items) = node.as_seq().filter(|items| !items.is_empty()) else {
        let message =
            format!("`command` takes a list (a program and its arguments), found {}", node.kind());
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                .help("write `[cargo, test]`; for a shell write `[bash, -c, \"...\"]`"),
        );
        return None;
    };
    let words: Vec<_> = items
        .iter()
        .filter_map(|item| decoder.scalar_template(item, "command", Secrets::Refused))
        .collect();
    if words.len() != items.len() {
        return None;
    }
    argv::check(&words, items, decoder);
    Some(words)
}

fn globs(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<String> {
    let mut found = Vec::new();
    for item in decoder.list(node, key) {
        if let Some(text) = decoder.text(item, key) {
            pattern::glob(text, item.span, decoder);
            found.push(text.to_owned());
        }
    }
    found
}
