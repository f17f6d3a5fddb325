//! Keys of `forEach` and `matrix`.

use super::choice;
use super::table::KeyType::{Any, AnyMap, Integer, List, ListOrOne, MapOf, OneOf, Template, Text};
use super::table::{KeyRule, KeySpec, KeyTable, key, table};
use crate::definition::model::OnItemError;

/// The maximum number of items, as an integer key takes it.
const MAX_ITEMS: u32 = 100_000;

/// The short forms of `forEach`.
pub(super) const ITEMS: super::KeyType = OneOf(&[Text, List(&Any), Integer(0, MAX_ITEMS)]);

pub(crate) static FOR_EACH: KeyTable = table(
    "forEach",
    "`forEach`",
    "Items of a step, one instance each.",
    &[FOR_EACH_KEYS, ITEM_KEYS],
)
.rule(KeyRule::ExactlyOne(&["in", "files", "lines"]));

const FOR_EACH_KEYS: &[KeySpec] = &[
    key(
        "in",
        OneOf(&[Text, List(&Any), Integer(0, MAX_ITEMS), AnyMap]),
        "The items: a list; a map, of which each item is `{key, value}`; or a number N, for 1 to N.",
    )
    .example("\"{{plan.output.files}}\""),
    key("files", ListOrOne(&Template), "Globs of project files; one that starts with `!` excludes.")
        .example("[\"src/**/*.rs\", \"!src/generated/**\"]"),
    key("lines", Template, "A project file; each line that is not blank is an item.")
        .example("hosts.txt"),
    key("as", Text, "Name of the item in templates.").default("item").example("file"),
];

const ITEM_KEYS: &[KeySpec] = &[
    key("key", Template, "Unique key of an item.")
        .default(
            "the path of a file, the key of a map, the values of a combination; else the index",
        )
        .example("\"{{item.path}}\""),
    key("maxParallel", Integer(1, 100_000), "Maximum parallel items.")
        .default("the limit of the run"),
    key(
        "onItemError",
        choice::<OnItemError>(),
        "After a failed item: `fail` starts no further item, `finish` runs all items and then fails the step, \
         `continue` runs all items and the step succeeds.",
    )
        .default("fail"),
    key("collect", Any, "Value of an item in the output of the step; it may read the step itself.")
        .default("the output of the item")
        .example("\"{{build.output.size}}\""),
];

pub(crate) static MATRIX: KeyTable = table(
    "matrix",
    "`matrix`",
    "One step instance per combination of the values of some axes.",
    &[MATRIX_KEYS, ITEM_KEYS],
);

const MATRIX_KEYS: &[KeySpec] = &[
    key(
        "axes",
        MapOf(const { &OneOf(&[Text, List(&Any)]) }),
        "The axes with their values; the last axis varies fastest.",
    )
    .required()
    .example("{os: [linux, mac], version: [1, 2]}"),
    key(
        "include",
        OneOf(&[Text, List(&AnyMap)]),
        "Maps that add values to the combinations that they match, or a combination if they match none.",
    )
    .example("[{os: linux, fast: true}]"),
    key("exclude", OneOf(&[Text, List(&AnyMap)]), "Maps of axis values; combinations that match one are left out.")
        .example("[{os: mac, version: 1}]"),
    key("as", Text, "Name of the combination in templates.").default("matrix").example("target"),
];
