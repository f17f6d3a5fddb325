//! The walk over a syntax tree.

use crate::language::{Definition, Language, Only};
use crate::markdown;
use crate::symbol::{Symbol, Usage};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

/// The definitions of a file, in the order of the file; `None` if `stop` ended it. `stop` is asked often: a text can be
/// made so that it takes minutes.
pub fn symbols(
    text: &str,
    language: Language,
    stop: &mut dyn FnMut() -> bool,
) -> Option<Vec<Symbol>> {
    let Some((grammar, definitions)) = language.grammar() else {
        return Some(markdown::headings(text));
    };
    let tree = parse(text, &grammar, stop)?;
    let notable = notable(language, &grammar, definitions);
    let mut found = Vec::new();
    // The definitions around the node of the walk, with their depth in the tree.
    let mut around: Vec<(u32, String, &'static str)> = Vec::new();
    // Depth of the outermost block of statements around it.
    let mut block: Option<u32> = None;
    walk(&tree, |node, depth| {
        block = block.filter(|outer| *outer < depth);
        while around.last().is_some_and(|(outer, _, _)| *outer >= depth) {
            around.pop();
        }
        if !notable.get(usize::from(node.kind_id())).copied().unwrap_or_default() {
            return;
        }
        block = block.or(BLOCKS.contains(&node.kind()).then_some(depth));
        let Some((name, kind)) =
            defined(node, definitions, text, around.is_empty() && block.is_none())
        else {
            return;
        };
        let owns_methods = |(_, _, kind): &(u32, String, &str)| METHOD_OWNERS.contains(kind);
        let is_method = kind == "function" && around.last().is_some_and(owns_methods);
        let inner = &around[around.len().saturating_sub(CONTAINERS)..];
        let names: Vec<&str> = inner.iter().map(|(_, name, _)| name.as_str()).collect();
        found.push(Symbol {
            name: name.clone(),
            kind: if is_method { "method" } else { kind },
            line: node.start_position().row as u32 + 1,
            end_line: node.end_position().row as u32 + 1,
            depth: around.len() as u32,
            container: names.join("."),
            text: line_of(text, node),
        });
        around.push((depth, name, kind));
    });
    Some(found)
}

/// The places where a name stands in the code of a file, one for each line, and nowhere in Markdown; `None` if `stop` ended
/// it, as in [`symbols`].
pub fn usages(
    text: &str,
    language: Language,
    name: &str,
    stop: &mut dyn FnMut() -> bool,
) -> Option<Vec<Usage>> {
    let Some((grammar, definitions)) = language.grammar() else { return Some(Vec::new()) };
    let tree = parse(text, &grammar, stop)?;
    let mut found: Vec<Usage> = Vec::new();
    let mut defined_at = BTreeSet::new();
    walk(&tree, |node, _| {
        if let Some(place) = name_of(node, definitions) {
            defined_at.insert(place.start_byte());
        }
        let is_name = node.child_count() == 0 && node.kind().ends_with("identifier");
        if !is_name || text.get(node.byte_range()) != Some(name) {
            return;
        }
        let line = node.start_position().row as u32 + 1;
        let defines = defined_at.contains(&node.start_byte());
        match found.last_mut().filter(|last| last.line == line) {
            Some(last) => last.defines |= defines,
            None => found.push(Usage { line, defines, text: line_of(text, node) }),
        }
    });
    Some(found)
}

/// Which kinds of nodes, by their numbers in the grammar, are a block or can be a definition. The names of all nodes would be
/// compared as texts otherwise.
fn notable(
    language: Language,
    grammar: &tree_sitter::Language,
    definitions: &[Definition],
) -> &'static [bool] {
    static KINDS: [OnceLock<Vec<bool>>; Language::COUNT] =
        [const { OnceLock::new() }; Language::COUNT];
    KINDS[language as usize].get_or_init(|| {
        let mut found = vec![false; grammar.node_kind_count()];
        let names =
            definitions.iter().map(|definition| definition.node).chain(BLOCKS.iter().copied());
        for name in names {
            let id = usize::from(grammar.id_for_node_kind(name, true));
            // 0 stands for a name that the grammar does not have.
            found.get_mut(id).filter(|_| id > 0).into_iter().for_each(|is| *is = true);
        }
        found
    })
}

/// Nodes that hold statements, such as the branch of an `if`.
const BLOCKS: &[&str] = &["block", "statement_block", "compound_statement"];
/// Maximum number of names in the container of a symbol.
const CONTAINERS: usize = 8;
/// Maximum number of characters of a line that are returned.
const LINE_CHARS: usize = 300;
/// Kinds of definitions whose functions are methods.
const METHOD_OWNERS: &[&str] = &["class", "impl", "trait", "interface"];

fn parse(
    text: &str,
    grammar: &tree_sitter::Language,
    stop: &mut dyn FnMut() -> bool,
) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(grammar).ok()?;
    let mut go_on =
        |_: &ParseState| if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    parser.parse_with_options(&mut |at, _| &text.as_bytes()[at..], None, Some(options))
}

/// Visits all nodes in the order of the file, with their depth. It needs no stack of its own, so no file is nested too
/// deeply for it.
fn walk<'t>(tree: &'t Tree, mut visit: impl FnMut(Node<'t>, u32)) {
    let mut cursor = tree.walk();
    // Counted here: the cursor itself counts its parents at each call.
    let mut depth = 0;
    loop {
        visit(cursor.node(), depth);
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        if cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return;
            }
            depth -= 1;
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

/// The name and kind that a node defines.
fn defined(
    node: Node<'_>,
    definitions: &[Definition],
    text: &str,
    at_top: bool,
) -> Option<(String, &'static str)> {
    let fits = |definition: &&Definition| {
        definition.node == node.kind()
            && match definition.only {
                Only::Always => true,
                Only::TopLevel => at_top,
                Only::WithBody => node.child_by_field_name("body").is_some(),
                Only::OfCode => node.child_by_field_name("value").is_some_and(is_code),
            }
    };
    let definition = definitions.iter().find(fits)?;
    let place = named_node(node, definition)?;
    let name = text.get(place.byte_range())?;
    let one_line = name.split_whitespace().collect::<Vec<_>>().join(" ");
    Some((one_line, definition.kind))
}

/// Where the name of a definition stands.
fn name_of<'t>(node: Node<'t>, definitions: &[Definition]) -> Option<Node<'t>> {
    let definition = definitions.iter().find(|definition| definition.node == node.kind())?;
    (definition.kind != "impl").then(|| named_node(node, definition)).flatten()
}

/// The field with the name. A declarator holds the name in further declarators, as in `char *name(void)`; what has
/// none, such as `a, b = f()`, is no single definition.
fn named_node<'t>(node: Node<'t>, definition: &Definition) -> Option<Node<'t>> {
    let mut found = node.child_by_field_name(definition.name)?;
    if definition.kind == "impl" {
        return Some(found);
    }
    while !is_name(found) {
        let inner = ["declarator", "name"].into_iter();
        found = inner.filter_map(|field| found.child_by_field_name(field)).next()?;
    }
    Some(found)
}

/// Whether a node is a name: an identifier of any kind, or a text that serves as one.
fn is_name(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.ends_with("identifier") || matches!(kind, "string" | "number" | "computed_property_name")
}

fn is_code(value: Node<'_>) -> bool {
    matches!(
        value.kind(),
        "arrow_function" | "function_expression" | "generator_function" | "class"
    )
}

/// The line on which a node begins, without the indentation, or its beginning; of a very long line, from the node on.
fn line_of(text: &str, node: Node<'_>) -> String {
    let (at, column) = (node.start_byte(), node.start_position().column);
    let start = if column > LINE_CHARS { at } else { at - column };
    let line = text[start..].lines().next().unwrap_or_default().trim_start();
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &str, language: Language) -> Vec<Symbol> {
        super::symbols(text, language, &mut || false).unwrap()
    }

    #[test]
    fn a_text_that_takes_long_can_be_stopped() {
        let (hostile, mut asked) = ("a<".repeat(20_000), 0);
        let mut stop = || {
            asked += 1;
            asked > 100
        };
        assert_eq!(super::symbols(&hostile, Language::TypeScript, &mut stop), None);
        assert_eq!(asked, 101);
        assert_eq!(usages(&hostile, Language::TypeScript, "a", &mut || true), None);
    }

    /// The definitions as `kind container.name first-last`.
    fn outline(path: &str, text: &str) -> Vec<String> {
        let language = Language::of_path(path).expect("a known ending");
        let shown = |symbol: Symbol| {
            let dot = if symbol.container.is_empty() { "" } else { "." };
            let Symbol { name, kind, line, end_line, container, .. } = symbol;
            format!("{kind} {container}{dot}{name} {line}-{end_line}")
        };
        symbols(text, language).into_iter().map(shown).collect()
    }

    #[test]
    fn each_language_has_its_definitions() {
        let rust = "const A: u8 = 1;\nstruct S;\nimpl fmt::Display for S {\n    fn fmt(&self) {\n        let x = 1;\n    }\n}\nmacro_rules! m { () => {} }\n";
        assert_eq!(
            outline("a.rs", rust),
            ["constant A 1-1", "struct S 2-2", "impl S 3-7", "method S.fmt 4-6", "macro m 8-8"]
        );
        let python = "X = 1\nif X:\n    Y = 2\nclass C:\n    def m(self):\n        z = 1\n\nasync def f():\n    pass\n";
        assert_eq!(
            outline("a.py", python),
            ["variable X 1-1", "class C 4-6", "method C.m 5-6", "function f 8-9"]
        );
        let script = "export const a = () => 1;\nconst b = 2;\nclass K { m() { const c = 3; } }\nfunction f() {}\n";
        let expected =
            ["function a 1-1", "variable b 2-2", "class K 3-3", "method K.m 3-3", "function f 4-4"];
        assert_eq!(outline("a.js", script), expected);
        assert_eq!(outline("a.ts", script), expected);
        let typed = "interface I { m(): void }\ntype T = string;\nenum E { A }\nnamespace N { export function g() {} }\n";
        assert_eq!(
            outline("a.tsx", typed),
            [
                "interface I 1-1",
                "method I.m 1-1",
                "type T 2-2",
                "enum E 3-3",
                "module N 4-4",
                "function N.g 4-4"
            ]
        );
        let go = "package p\ntype T struct{}\nfunc (t T) M() { var x int }\nfunc F() {}\nconst C = 1\nvar (\n\tV = 2\n)\n";
        assert_eq!(
            outline("a.go", go),
            ["type T 2-2", "method M 3-3", "function F 4-4", "constant C 5-5", "variable V 7-7"]
        );
        let java = "class A {\n  int f = 1;\n  A() {}\n  void m() {}\n  enum E { X }\n}\nrecord R(int a) {}\n";
        assert_eq!(
            outline("A.java", java),
            [
                "class A 1-6",
                "field A.f 2-2",
                "constructor A.A 3-3",
                "method A.m 4-4",
                "enum A.E 5-5",
                "constant A.E.X 5-5",
                "record R 7-7"
            ]
        );
        let c = "#define N 1\nstruct s { int a; };\nstatic char *f(struct s *x) {\n  int y = 1;\n  return 0;\n}\nint g(void);\ntypedef int t;\n";
        assert_eq!(
            outline("a.h", c),
            ["macro N 1-2", "struct s 2-2", "function f 3-6", "declaration g 7-7", "type t 8-8"]
        );
        let text = "# A\n```\n# no\n```\n## B\ntext\n# C ##\n";
        assert_eq!(outline("a.md", text), ["heading A 1-6", "heading A.B 5-6", "heading C 7-7"]);
    }

    #[test]
    fn a_usage_is_code_and_neither_comment_nor_text() {
        let text = "fn go() {}\n// go\nfn main() { go(); go(); println!(\"go\"); s.go(); }\nfn gone() {}\n";
        let found = usages(text, Language::Rust, "go", &mut || false).unwrap();
        let lines: Vec<_> = found.iter().map(|usage| (usage.line, usage.defines)).collect();
        assert_eq!(lines, [(1, true), (3, false)]);
        assert_eq!(found[1].text, "fn main() { go(); go(); println!(\"go\"); s.go(); }");
    }

    #[test]
    fn broken_deep_and_long_files_are_read() {
        assert_eq!(
            outline("a.rs", "fn a( {\nfn b() {}\nstruct {{{ \n").last().unwrap(),
            "function b 2-2"
        );
        let deep = "fn f() {".repeat(3_000);
        assert!(symbols(&deep, Language::Rust).len() <= 3_000);
        let long = format!("var a = 1;{}function last() {{}}", "var b = 2;".repeat(3_000));
        let found = symbols(&long, Language::JavaScript);
        assert!(found.iter().all(|symbol| symbol.text.chars().count() <= LINE_CHARS + 1));
        assert_eq!(found.last().unwrap().name, "last");
        assert!(symbols("\u{0}\u{fffd}é# x", Language::Python).is_empty());
    }
}
