//! Decodes `forEach:` and `matrix:`.

use super::{Decoder, Fields, Node, Secrets, Unread};
use crate::definition::check::{name_form, pattern};
use crate::definition::keys::KeyType::{
    self, Any, AnyMap, Integer, List, ListOrOne, MapOf, OneOf, Text,
};
use crate::definition::keys::{KeyRule, Named, keys};
use crate::definition::model::{ForEach, ItemSource, Matrix, OnItemError};
use crate::expression::{Template, ValueTemplate};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{Json, limits};
use std::collections::BTreeSet;

keys! {
    /// Items of a step, one instance each.
    struct ForEachKeys(): FOR_EACH = ("forEach", "`forEach`", rule KeyRule::ExactlyOne(SOURCES), also ItemKeys::KEYS) {
        /// The items: a list; a map, of which each item is `{key, value}`; or a number N, for 1 to N.
        values: Option<ItemSource> = "in" as OneOf(&[Text, List(&Any), Integer(0, MAX_ITEMS), AnyMap]) => in_value,
            example("\"{{plan.output.files}}\"");
        /// Globs of project files; one that starts with `!` excludes.
        files: Option<ItemSource> = "files" as ListOrOne(&KeyType::Template) => files,
            example("[\"src/**/*.rs\", \"!src/generated/**\"]"), names(Named::File);
        /// A project file; each line that is not blank is an item.
        lines: Option<Template> = "lines", example("hosts.txt"), names(Named::File);
        /// Name of the item in templates.
        _name: Unread = "as" as Text, default("item"), example("file");
    }

    /// One step instance per combination of the values of some axes.
    struct MatrixKeys(): MATRIX = ("matrix", "`matrix`", also ItemKeys::KEYS) {
        /// The axes with their values; the last axis varies fastest.
        axes: Vec<(String, ValueTemplate)> = "axes" as MapOf(const { &OneOf(&[Text, List(&Any)]) }) => axes, required,
            example("{os: [linux, mac], version: [1, 2]}");
        /// Maps that add values to the combinations that they match, or a combination if they match none.
        include: Option<ValueTemplate> = "include" as CELLS => cells, example("[{os: linux, fast: true}]");
        /// Maps of axis values; combinations that match one are left out.
        exclude: Option<ValueTemplate> = "exclude" as CELLS => cells, example("[{os: mac, version: 1}]");
        /// Name of the combination in templates.
        _name: Unread = "as" as Text, default("matrix"), example("target");
    }

    /// What `forEach` and `matrix` share. Its texts can read the item.
    struct ItemKeys() {
        /// Unique key of an item.
        key: Option<Template> = "key",
            default("the path of a file, the key of a map, the values of a combination; else the index"),
            example("\"{{item.path}}\"");
        /// Maximum parallel items.
        max_parallel: Option<u32> = "maxParallel" as Integer(1, 100_000), default("the limit of the run");
        /// After a failed item: `fail` starts no further item, `finish` runs all items and then fails the step, `continue` runs all items and the step succeeds.
        on_item_error: OnItemError = "onItemError", default("fail");
        /// Value of an item in the output of the step; it may read the step itself.
        collect: Option<ValueTemplate> = "collect", default("the output of the item"), example("\"{{build.output.size}}\"");
    }
}

/// The maximum number of items, as an integer key takes it.
const MAX_ITEMS: u32 = 100_000;

/// The short forms of `forEach`.
pub(crate) const ITEMS: KeyType = OneOf(&[Text, List(&Any), Integer(0, MAX_ITEMS)]);

const CELLS: KeyType = OneOf(&[Text, List(&AnyMap)]);

/// The keys of which `forEach` has exactly one.
const SOURCES: &[&str] = &["in", "files", "lines"];

/// Decodes `forEach:` or `matrix:` of a step, and declares the item name for its templates.
pub(crate) fn items(step: &Fields<'_>, decoder: &mut Decoder) -> Option<ForEach> {
    let (default_name, found) = match (step.entry("forEach"), step.entry("matrix")) {
        (Some((first, _)), Some((second, _))) => {
            let message = "a step has `forEach` or `matrix`, not both";
            decoder.push(
                Diagnostic::error(Code::MISPLACED_KEY, second.span, message)
                    .label(first.span, "`forEach` is here")
                    .help("keep one; the values of an axis can be a list of maps"),
            );
            ("item", None)
        }
        (Some(_), None) => ("item", step.get("forEach").and_then(|node| for_each(node, decoder))),
        (None, Some(_)) => ("matrix", step.get("matrix").and_then(|node| matrix(node, decoder))),
        (None, None) => return None,
    };
    let name = found.as_ref().map_or(default_name, |found| &found.name);
    decoder.names.item = Some(name.to_owned());
    found
}

fn for_each(node: &Node, decoder: &mut Decoder) -> Option<ForEach> {
    if node.as_map().is_none() {
        let items = ItemSource::Value(values(node, "forEach", decoder)?);
        return Some(ForEach { items, ..bare("item") });
    }
    let fields = decoder.fields(node, &FOR_EACH)?;
    let source = source(&fields, decoder);
    let options = options(&fields, "item", decoder);
    Some(ForEach { items: source?, ..options })
}

/// Exactly one of `in`, `files` and `lines`.
fn source(fields: &Fields<'_>, decoder: &mut Decoder) -> Option<ItemSource> {
    let mut given = SOURCES.iter().filter_map(|name| Some((*name, fields.entry(name)?)));
    let Some((name, (first, _))) = given.next() else {
        if !fields.was_meant(SOURCES) {
            decoder.required(fields, "in");
        }
        return None;
    };
    if let Some((other, (second, _))) = given.next() {
        let message = format!("`forEach` has `{name}` and `{other}`");
        decoder.push(
            Diagnostic::error(Code::MISPLACED_KEY, second.span, message)
                .label(first.span, format!("`{name}` is here"))
                .help("keep one of them"),
        );
        return None;
    }
    decoder.required(fields, name)?;
    let found = ForEachKeys::of(fields, decoder)?;
    found.values.or(found.files).or(found.lines.map(ItemSource::Lines))
}

fn in_value(node: &Node, key: &str, decoder: &mut Decoder) -> Option<ItemSource> {
    values(node, key, decoder).map(ItemSource::Value)
}

fn files(node: &Node, key: &str, decoder: &mut Decoder) -> Option<ItemSource> {
    pattern::project_globs(node, key, decoder).map(|globs| ItemSource::Files(globs.into()))
}

/// A list, map, number, or a text with a placeholder of one.
fn values(node: &Node, key: &str, decoder: &mut Decoder) -> Option<ValueTemplate> {
    let value = decoder.value_template(node, Secrets::Refused)?;
    let ValueTemplate::Literal(literal) = &value else { return Some(value) };
    match &**literal {
        Json::Array(_) | Json::Object(_) => Some(value),
        Json::Number(count) => {
            let fits = count.as_u64().is_some_and(|count| count <= limits::FOR_EACH_ITEMS as u64);
            if !fits {
                let message = format!("`{count}` cannot be the number of items");
                let help = format!("use a whole number from 0 to {}", limits::FOR_EACH_ITEMS);
                decoder.bad_value(node.span, message, help);
            }
            fits.then_some(value)
        }
        Json::String(text) => {
            let message = format!("`{key}` takes a list, found a text without a placeholder");
            let help = if text.contains(['*', '?', '[']) {
                format!("for the files that match, write `forEach: {{files: \"{text}\"}}`")
            } else {
                let is_name = |c: char| c.is_ascii_alphanumeric() || ['_', '.', '-'].contains(&c);
                let items: Vec<&str> =
                    text.split([',', ' ']).filter(|item| !item.is_empty()).collect();
                match items.as_slice() {
                    [one] if one.chars().all(is_name) => {
                        format!("for a value, write `\"{{{{{one}}}}}\"`; for one item, `[{one}]`")
                    }
                    items => format!("write a list: `{key}: [{}]`", items.join(", ")),
                }
            };
            decoder.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
            None
        }
        Json::Null | Json::Bool(_) => {
            decoder.wrong_type(node, key, "a list, a map, a number or a placeholder of one");
            None
        }
    }
}

fn matrix(node: &Node, decoder: &mut Decoder) -> Option<ForEach> {
    // Other tools write the axes beside `include` and `exclude`.
    let entries = node.as_map().unwrap_or_default();
    let known = |name: &str| MATRIX.keys().any(|spec| spec.name == name);
    let beside = entries.iter().find(|(name, list)| !known(&name.text) && list.as_seq().is_some());
    if let Some((name, _)) = beside.filter(|_| node.get("axes").is_none()) {
        let message = format!("the axis `{}` is not below `axes`", name.text);
        let help = format!("write `matrix: {{axes: {{{}: […]}}}}`", name.text);
        decoder.push(Diagnostic::error(Code::MISSING_KEY, name.span, message).help(help));
        return None;
    }
    let fields = decoder.fields(node, &MATRIX)?;
    let found = MatrixKeys::of(&fields, decoder);
    let options = options(&fields, "matrix", decoder);
    let MatrixKeys { axes, include, exclude, .. } = found?;
    if let Some(node) = fields.get("exclude") {
        only_axes(node, &axes, decoder);
    }
    Some(ForEach { items: ItemSource::Matrix(Matrix { axes, include, exclude }), ..options })
}

fn axes(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Vec<(String, ValueTemplate)>> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, key, "a map of lists");
        return None;
    };
    if entries.is_empty() {
        let help = "write at least one axis, such as `axes: {os: [linux, mac]}`".to_owned();
        decoder.bad_value(node.span, "`axes` is empty".to_owned(), help);
        return None;
    }
    let mut axes = Vec::with_capacity(entries.len());
    let mut cells = 1usize;
    for (name, values) in entries {
        if values.as_seq().is_none() && values.as_text().is_none() {
            decoder.wrong_type(values, &name.text, "a list");
            continue;
        }
        let Some(value) = self::values(values, &name.text, decoder) else { continue };
        if let ValueTemplate::Literal(list) = &value {
            cells = cells.saturating_mul(list.as_array().map_or(1, Vec::len));
        }
        axes.push((name.text.to_string(), value));
    }
    if cells > limits::FOR_EACH_ITEMS {
        let message = format!(
            "the matrix has {cells} combinations; at most {} are allowed",
            limits::FOR_EACH_ITEMS
        );
        let help =
            "shorten the axes; `exclude` applies after the combinations are counted".to_owned();
        decoder.bad_value(node.span, message, help);
        return None;
    }
    (axes.len() == entries.len()).then_some(axes)
}

/// `include` or `exclude`: a list of maps, or a placeholder of one.
fn cells(node: &Node, key: &str, decoder: &mut Decoder) -> Option<ValueTemplate> {
    if node.as_seq().is_none() && node.as_text().is_none() {
        decoder.wrong_type(node, key, "a list of maps");
        return None;
    }
    for item in node.as_seq().into_iter().flatten().filter(|item| item.as_map().is_none()) {
        decoder.wrong_type(item, key, "a list of maps");
    }
    decoder.value_template(node, Secrets::Refused)
}

/// Literal maps of `exclude` can have only the keys of the axes.
fn only_axes(node: &Node, axes: &[(String, ValueTemplate)], decoder: &mut Decoder) {
    let axes = || axes.iter().map(|(name, _)| name.as_str());
    let known: BTreeSet<&str> = axes().collect();
    let entries = node.as_seq().into_iter().flatten().filter_map(Node::as_map).flatten();
    for (name, _) in entries.filter(|(name, _)| !known.contains(name.text.as_str())) {
        let help = match decoder.nearest(&name.text, axes()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the axes are {}", axes().take(12).collect::<Vec<_>>().join(", ")),
        };
        let message = format!("the matrix has no axis `{}`", name.text);
        decoder.bad_value(name.span, message, help);
    }
}

fn bare(name: &str) -> ForEach {
    ForEach {
        items: ItemSource::Value(ValueTemplate::literal(Json::Null)),
        name: name.to_owned(),
        key: None,
        max_parallel: None,
        on_item_error: Default::default(),
        collect: None,
    }
}

/// The keys that `forEach` and `matrix` share. The source of the items is added by the caller.
fn options(fields: &Fields<'_>, default_name: &str, decoder: &mut Decoder) -> ForEach {
    let name = fields.get("as").and_then(|node| item_name(node, decoder));
    let name = name.unwrap_or_else(|| default_name.to_owned());
    let taken = decoder.names.params.contains(&name) || decoder.names.steps.contains(name.as_str());
    if taken {
        let at = fields.get("as").map_or(fields.span, |node| node.span);
        let message = format!("`{name}` is also the name of a parameter or step");
        let help = match fields.get("as") {
            Some(_) => "choose another name",
            None => "choose another name for the item with `as`",
        };
        decoder.push(Diagnostic::error(Code::NAME_CLASH, at, message).help(help));
    }
    decoder.names.item = Some(name.clone());
    match ItemKeys::part(fields, decoder) {
        Some(ItemKeys { key, max_parallel, on_item_error, collect }) => {
            ForEach { key, max_parallel, on_item_error, collect, ..bare(&name) }
        }
        None => bare(&name),
    }
}

/// Decodes `as:`: a name that is not used for anything else.
fn item_name(node: &Node, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, "as")?;
    if !name_form::is_word(text) {
        let message = format!("`{text}` cannot be the name of an item");
        let help = "use a letter or `_`, then letters, digits and `_`";
        decoder.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
        return None;
    }
    if text != "item" {
        name_form::reserved(text, node.span, "an item", decoder);
    }
    Some(text.to_owned())
}
