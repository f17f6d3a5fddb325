//! The cost of a validation, estimated before it takes place.
//!
//! A schema that refers to itself inside `anyOf` can take exponential time for a value of a few hundred
//! bytes, and a list of violations can take as much memory. Values come from models and programs, so
//! [`SchemaCost::of`] counts the pairs of schema and value that a validator would visit, without its
//! short cuts, and stops at a limit. The count depends on the schema and the value alone: a resumed run
//! gives the same answer. [`SchemaCost::new`] refuses schemas for which no value can be validated.

use super::subschemas::{
    Anchors, ITEM_LISTS, ITEMS, SAME, SAME_LISTS, SAME_MAPS, VALUES, anchors, each_schema,
    is_meta_schema, resolve,
};
use kb_base::value::{Json, JsonMap};
use std::collections::BTreeMap;

/// Maximum cost of a validation. Larger values are refused.
pub(super) const MOST: u64 = 2_000_000;
/// Maximum cost up to which all violations are listed.
pub(super) const LISTED: u64 = 50_000;
/// Maximum number of schemas that one value can be validated against at the same location.
const MOST_IN_PLACE: u64 = 10_000;
/// Maximum depth of schema locations; the nesting of JSON is limited to 128.
const DEEPEST: u32 = 1_000;

/// The parts of a schema that decide the cost of a validation.
#[derive(Debug)]
pub(super) struct SchemaCost {
    /// The schemas in it; the first is the root.
    nodes: Vec<Node>,
    /// Whether a list of violations can be exponentially longer than the schema and the value.
    pub(super) has_alternatives: bool,
}

/// Index of a schema in [`SchemaCost::nodes`].
type NodeIx = usize;

#[derive(Debug, Default)]
struct Node {
    /// The cost of the keywords themselves.
    keywords: u64,
    /// Schemas for the same value.
    same: Vec<NodeIx>,
    /// Number of values in `enum` and `const`.
    options: u64,
    /// Size of `pattern`.
    pattern: u64,
    properties: BTreeMap<String, NodeIx>,
    /// `patternProperties`, with the sizes of the patterns.
    by_pattern: Vec<(u64, NodeIx)>,
    /// Schemas for values of undeclared keys.
    others: Vec<NodeIx>,
    names: Option<NodeIx>,
    /// Schemas of the first items.
    first_items: Vec<NodeIx>,
    /// Schemas for every item.
    items: Vec<NodeIx>,
    has_unique_items: bool,
    has_unevaluated: bool,
}

impl SchemaCost {
    /// Reads a schema. The error says why no value can be validated against it within the limits.
    pub(super) fn new(root: &Json) -> Result<SchemaCost, Vec<String>> {
        let anchors = anchors(root);
        let mut maps = Vec::new();
        each_schema(root, &mut |map| maps.push(map));
        let mut reader =
            Reader { root, anchors, known: BTreeMap::new(), nodes: Vec::new(), faults: Vec::new() };
        let nested = maps.iter().skip(1).any(|map| map.get("$id").is_some_and(Json::is_string));
        let dynamic = maps
            .iter()
            .any(|map| map.contains_key("$dynamicRef") || map.contains_key("$recursiveRef"));
        if nested || dynamic {
            reader.fault("`$dynamicRef`, `$recursiveRef` and a nested `$id` are not supported; refer to `#/$defs/NAME`");
        }
        reader.node(root, 0);
        let Reader { nodes, mut faults, .. } = reader;
        let mut totals = vec![None; nodes.len()];
        for ix in 0..nodes.len() {
            match in_place(&nodes, ix, &mut totals) {
                Ok(total) if total > MOST_IN_PLACE => {
                    faults.push(format!("the schema is too complex: through its references, more than {MOST_IN_PLACE} schemas apply to one value"));
                }
                Ok(_) => continue,
                Err(Cycle) => faults.push("the schema refers to itself for the same value; a `$ref` to an enclosing schema belongs below `properties` or `items`".to_owned()),
            }
            break;
        }
        let has_alternatives =
            maps.iter().any(|map| map.contains_key("anyOf") || map.contains_key("oneOf"));
        if faults.is_empty() { Ok(SchemaCost { nodes, has_alternatives }) } else { Err(faults) }
    }

    /// The cost of a validation, up to `limit`; `None` above it.
    pub(super) fn of(&self, value: &Json, limit: u64) -> Option<u64> {
        let mut count = Count { nodes: &self.nodes, left: limit };
        count.visit(0, value, 0).then(|| limit - count.left)
    }
}

/// A schema applies to the same value as itself.
struct Cycle;

/// Number of schemas that apply to the same value as a schema, with itself. `totals` has the known
/// numbers, and 0 for those that are being computed.
fn in_place(nodes: &[Node], ix: NodeIx, totals: &mut Vec<Option<u64>>) -> Result<u64, Cycle> {
    match totals[ix] {
        Some(0) => return Err(Cycle),
        Some(known) => return Ok(known),
        None => totals[ix] = Some(0),
    }
    let mut total = 1u64;
    for inner in &nodes[ix].same {
        total = total.saturating_add(in_place(nodes, *inner, totals)?);
    }
    totals[ix] = Some(total);
    Ok(total)
}

struct Reader<'s> {
    root: &'s Json,
    anchors: Anchors<'s>,
    /// Nodes by schema; a boolean schema has none of its own.
    known: BTreeMap<*const JsonMap, NodeIx>,
    nodes: Vec<Node>,
    faults: Vec<String>,
}

impl<'s> Reader<'s> {
    fn fault(&mut self, text: &str) {
        if !self.faults.iter().any(|fault| fault == text) {
            self.faults.push(text.to_owned());
        }
    }

    /// The node of a schema and of all that it contains.
    fn node(&mut self, schema: &'s Json, depth: u32) -> NodeIx {
        let Some(map) = schema.as_object().filter(|_| depth < DEEPEST) else {
            self.nodes.push(Node { keywords: 1, ..Node::default() });
            return self.nodes.len() - 1;
        };
        let key: *const JsonMap = map;
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let ix = self.nodes.len();
        self.known.insert(key, ix);
        self.nodes.push(Node::default());
        let node = self.read(map, depth + 1);
        self.nodes[ix] = node;
        ix
    }

    fn read(&mut self, map: &'s JsonMap, depth: u32) -> Node {
        let list = |words: &[&str]| -> Vec<&'s Json> {
            words.iter().filter_map(|word| map.get(*word)?.as_array()).flatten().collect()
        };
        let single = |words: &[&str]| -> Vec<&'s Json> {
            words
                .iter()
                .filter_map(|word| map.get(*word))
                .filter(|inner| !inner.is_array())
                .collect()
        };
        let entries = |word: &str| map.get(word).and_then(Json::as_object).into_iter().flatten();
        let mut same = [single(&SAME), list(&SAME_LISTS)].concat();
        same.extend(SAME_MAPS.iter().flat_map(|word| entries(word)).map(|(_, inner)| inner));
        same.extend(self.target(map));
        let pattern = map.get("pattern").and_then(Json::as_str);
        let options = map.get("enum").and_then(Json::as_array).map_or(0, Vec::len);
        let mut nodes = |all: Vec<&'s Json>| -> Vec<NodeIx> {
            all.into_iter().map(|inner| self.node(inner, depth)).collect()
        };
        Node {
            keywords: 1 + map.len() as u64 / 4,
            same: nodes(same),
            first_items: nodes(list(&ITEM_LISTS)),
            items: nodes(single(&ITEMS)),
            others: nodes(single(&VALUES)),
            names: nodes(single(&["propertyNames"])).pop(),
            properties: entries("properties")
                .map(|(name, inner)| (name.clone(), nodes(vec![inner])[0]))
                .collect(),
            by_pattern: entries("patternProperties")
                .map(|(pattern, inner)| (states(pattern), nodes(vec![inner])[0]))
                .collect(),
            options: options as u64 + u64::from(map.contains_key("const")),
            pattern: pattern.map_or(0, states),
            has_unique_items: map.contains_key("uniqueItems"),
            has_unevaluated: map.contains_key("unevaluatedProperties")
                || map.contains_key("unevaluatedItems"),
        }
    }

    /// The schema of `$ref`.
    fn target(&mut self, map: &'s JsonMap) -> Option<&'s Json> {
        let name = map.get("$ref")?.as_str()?;
        let target = resolve(self.root, &self.anchors, name);
        if target.is_none() && !is_meta_schema(name) {
            self.fault(&format!(
                "`$ref: {name}` names no part of this schema; refer to `#/$defs/NAME`"
            ));
        }
        target
    }
}

struct Count<'s> {
    nodes: &'s [Node],
    left: u64,
}

impl Count<'_> {
    fn pay(&mut self, cost: u64) -> bool {
        let enough = cost <= self.left;
        self.left = self.left.saturating_sub(cost);
        enough
    }

    /// Counts the validation of a value against a schema; `false` once the limit is reached.
    fn visit(&mut self, ix: NodeIx, value: &Json, depth: u32) -> bool {
        let node = &self.nodes[ix];
        if depth > DEEPEST || !self.pay(node.keywords + node.compared(value)) {
            return false;
        }
        let before = self.left;
        for inner in &node.same {
            if !self.visit(*inner, value, depth + 1) {
                return false;
            }
        }
        // A validator asks the schemas of the same value again for each key or item that no keyword
        // has evaluated.
        if node.has_unevaluated && !self.pay((before - self.left).saturating_mul(size(value))) {
            return false;
        }
        match value {
            Json::Object(entries) => self.object(node, entries, depth + 1),
            Json::Array(items) => self.list(node, items, depth + 1),
            Json::String(text) => self.pay(text.len() as u64 / 1024 + search(node.pattern, text)),
            _ => true,
        }
    }

    fn object(&mut self, node: &Node, entries: &JsonMap, depth: u32) -> bool {
        for (key, value) in entries {
            let own = node.properties.get(key);
            let others = node.others.iter().filter(|_| own.is_none());
            for ix in own.into_iter().chain(others) {
                if !self.visit(*ix, value, depth) {
                    return false;
                }
            }
            for (states, ix) in &node.by_pattern {
                if !self.pay(1 + search(*states, key)) || !self.visit(*ix, value, depth) {
                    return false;
                }
            }
            if let Some(ix) = node.names
                && !self.visit(ix, &Json::String(key.clone()), depth)
            {
                return false;
            }
        }
        true
    }

    fn list(&mut self, node: &Node, items: &[Json], depth: u32) -> bool {
        if node.has_unique_items && !self.pay(items.iter().map(whole).sum()) {
            return false;
        }
        items.iter().enumerate().all(|(index, item)| {
            let own = node.first_items.get(index).into_iter();
            own.chain(&node.items).all(|ix| self.visit(*ix, item, depth))
        })
    }
}

impl Node {
    /// The cost of `enum` and `const`.
    fn compared(&self, value: &Json) -> u64 {
        match (self.options, value) {
            (0, _) => 0,
            (options, Json::Object(_) | Json::Array(_)) => options.saturating_mul(whole(value)),
            (options, _) => options / 8,
        }
    }
}

/// Size of a pattern with its counted repetitions written out.
fn states(pattern: &str) -> u64 {
    let counts = pattern.split('{').skip(1).filter_map(|rest| {
        let (range, _) = rest.split_once('}')?;
        range.split(',').filter_map(|number| number.trim().parse::<u64>().ok()).max()
    });
    counts.fold(pattern.len() as u64, |states, most| states.saturating_mul(most.max(1)))
}

/// The cost of a search: linear in the text and in the size of the pattern.
fn search(states: u64, text: &str) -> u64 {
    states.saturating_mul(text.len() as u64) / 64
}

/// Number of keys or items of a value.
fn size(value: &Json) -> u64 {
    match value {
        Json::Object(entries) => entries.len() as u64,
        Json::Array(items) => items.len() as u64,
        _ => 0,
    }
}

/// Number of values in a value, with itself; a long text counts as several.
fn whole(value: &Json) -> u64 {
    match value {
        Json::Object(entries) => 1 + entries.values().map(whole).sum::<u64>(),
        Json::Array(items) => 1 + items.iter().map(whole).sum::<u64>(),
        Json::String(text) => 1 + text.len() as u64 / 256,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(schema: &Json) -> Vec<String> {
        SchemaCost::new(schema).err().unwrap_or_default()
    }

    fn chain(depth: u32) -> Json {
        (0..depth).fold(json!({}), |inner, _| json!({ "n": inner }))
    }

    #[test]
    fn a_recursive_choice_over_a_chain_is_over_the_limit() {
        let again = json!({"properties": {"n": {"$ref": "#"}}, "required": ["z"]});
        let schema = json!({"anyOf": [again, again]});
        let schema = SchemaCost::new(&schema).unwrap();
        assert!(schema.of(&chain(8), MOST).is_some());
        assert_eq!(schema.of(&chain(100), MOST), None);
    }

    #[test]
    fn large_flat_values_are_within_the_limit() {
        let flat = Json::Array(vec![json!(0); 1 << 19]);
        assert!(
            SchemaCost::new(&json!({"type": "array", "items": {"type": "integer"}}))
                .unwrap()
                .of(&flat, MOST)
                .is_some()
        );
        let text = json!("a".repeat(1 << 20));
        assert!(
            SchemaCost::new(&json!({"type": "string", "pattern": "^[a-z]+$"}))
                .unwrap()
                .of(&text, MOST)
                .is_some()
        );
        assert_eq!(
            SchemaCost::new(&json!({"pattern": "(a{0,1000}){0,50}$"})).unwrap().of(&text, MOST),
            None
        );
    }

    #[test]
    fn schemas_that_no_value_can_be_validated_against_are_found() {
        let mut defs = JsonMap::new();
        for n in 0..30 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            defs.insert(format!("d{n}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d30".to_owned(), json!({"type": "object"}));
        let fan = json!({"$defs": defs, "$ref": "#/$defs/d0"});
        assert!(faults(&fan)[0].contains("too complex"), "{:?}", faults(&fan));
        assert!(faults(&json!({"$ref": "#"}))[0].contains("refers to itself"));
        assert!(faults(&json!({"anyOf": [{"$ref": "#"}]}))[0].contains("refers to itself"));
        let tree = json!({"properties": {"not": {"$ref": "#"}}, "items": {"$ref": "#"}});
        assert_eq!(faults(&tree), Vec::<String>::new());
        let named = json!({"$id": "https://x.example/a", "$defs": {"a b": {"$anchor": "n"}},
            "items": {"$ref": "#/$defs/a%20b"}, "contains": {"$ref": "https://x.example/a#n"}});
        assert_eq!(faults(&named), Vec::<String>::new());
    }
}
