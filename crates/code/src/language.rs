//! The languages: names of files, grammars, and which nodes are definitions.

use std::path::Path;

/// A language whose files have an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C, also in headers.
    C,
    /// Files that end in `.go`.
    Go,
    /// Files that end in `.java`.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// Markdown, whose headings are the definitions.
    Markdown,
    /// Python, with its type stubs (`.pyi`).
    Python,
    /// Files that end in `.rs`.
    Rust,
    /// TypeScript, also modules (`.mts`, `.cts`).
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

/// Nodes of one kind that are definitions.
pub(crate) struct Definition {
    /// Kind of the node in the grammar.
    pub(crate) node: &'static str,
    /// What it defines.
    pub(crate) kind: &'static str,
    /// The field with the name.
    pub(crate) name: &'static str,
    /// A condition beside the kind of the node.
    pub(crate) only: Only,
}

/// A condition for a node to be a definition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Only {
    /// None.
    Always,
    /// It lies in no definition and no block.
    TopLevel,
    /// It has a body, so that it is more than the use of a type.
    WithBody,
    /// Its value is a function or a class.
    OfCode,
}

const fn of(node: &'static str, kind: &'static str) -> Definition {
    Definition { node, kind, name: "name", only: Only::Always }
}

const fn only(only: Only, node: &'static str, kind: &'static str) -> Definition {
    Definition { node, kind, name: "name", only }
}

const fn named(name: &'static str, found: Definition) -> Definition {
    Definition { name, ..found }
}

const C: &[Definition] = &[
    named("declarator", of("function_definition", "function")),
    named("declarator", only(Only::TopLevel, "declaration", "declaration")),
    only(Only::WithBody, "struct_specifier", "struct"),
    only(Only::WithBody, "union_specifier", "union"),
    only(Only::WithBody, "enum_specifier", "enum"),
    named("declarator", of("type_definition", "type")),
    of("preproc_def", "macro"),
    of("preproc_function_def", "macro"),
];
const GO: &[Definition] = &[
    of("function_declaration", "function"),
    of("method_declaration", "method"),
    of("type_spec", "type"),
    of("type_alias", "type"),
    only(Only::TopLevel, "const_spec", "constant"),
    only(Only::TopLevel, "var_spec", "variable"),
];
const JAVA: &[Definition] = &[
    of("class_declaration", "class"),
    of("interface_declaration", "interface"),
    of("enum_declaration", "enum"),
    of("record_declaration", "record"),
    of("annotation_type_declaration", "annotation"),
    of("method_declaration", "method"),
    of("constructor_declaration", "constructor"),
    of("enum_constant", "constant"),
    named("declarator", of("field_declaration", "field")),
];
const PYTHON: &[Definition] = &[
    of("class_definition", "class"),
    of("function_definition", "function"),
    named("left", only(Only::TopLevel, "assignment", "variable")),
];
const RUST: &[Definition] = &[
    of("function_item", "function"),
    of("function_signature_item", "function"),
    of("struct_item", "struct"),
    of("enum_item", "enum"),
    of("union_item", "union"),
    of("trait_item", "trait"),
    named("type", of("impl_item", "impl")),
    of("type_item", "type"),
    of("associated_type", "type"),
    of("mod_item", "module"),
    of("const_item", "constant"),
    of("static_item", "static"),
    of("macro_definition", "macro"),
];
/// JavaScript and TypeScript: what one of them lacks does not occur in its trees.
const SCRIPT: &[Definition] = &[
    of("function_declaration", "function"),
    of("generator_function_declaration", "function"),
    of("function_signature", "function"),
    of("class_declaration", "class"),
    of("abstract_class_declaration", "class"),
    of("method_definition", "method"),
    of("method_signature", "method"),
    of("abstract_method_signature", "method"),
    of("interface_declaration", "interface"),
    of("type_alias_declaration", "type"),
    of("enum_declaration", "enum"),
    of("internal_module", "module"),
    only(Only::OfCode, "variable_declarator", "function"),
    only(Only::TopLevel, "variable_declarator", "variable"),
    only(Only::OfCode, "public_field_definition", "method"),
];

impl Language {
    /// The language of a file, by the ending of its name.
    pub fn of_path(path: &str) -> Option<Language> {
        let ending = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        let found = ENDINGS.iter().find(|(endings, _)| endings.contains(&ending.as_str()));
        found.map(|(_, language)| *language)
    }

    /// All endings of names of files with an outline.
    pub fn endings() -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().flat_map(|(endings, _)| endings.iter().copied())
    }

    /// Number of languages.
    pub(crate) const COUNT: usize = Language::Tsx as usize + 1;

    /// The grammar and the nodes that are definitions; `None` for Markdown, which is read by lines.
    pub(crate) fn grammar(self) -> Option<(tree_sitter::Language, &'static [Definition])> {
        Some(match self {
            Language::C => (tree_sitter_c::LANGUAGE.into(), C),
            Language::Go => (tree_sitter_go::LANGUAGE.into(), GO),
            Language::Java => (tree_sitter_java::LANGUAGE.into(), JAVA),
            Language::JavaScript => (tree_sitter_javascript::LANGUAGE.into(), SCRIPT),
            Language::Markdown => return None,
            Language::Python => (tree_sitter_python::LANGUAGE.into(), PYTHON),
            Language::Rust => (tree_sitter_rust::LANGUAGE.into(), RUST),
            Language::TypeScript => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), SCRIPT),
            Language::Tsx => (tree_sitter_typescript::LANGUAGE_TSX.into(), SCRIPT),
        })
    }
}

const ENDINGS: &[(&[&str], Language)] = &[
    (&["c", "h"], Language::C),
    (&["go"], Language::Go),
    (&["java"], Language::Java),
    (&["js", "jsx", "mjs", "cjs"], Language::JavaScript),
    (&["md", "markdown"], Language::Markdown),
    (&["py", "pyi"], Language::Python),
    (&["rs"], Language::Rust),
    (&["ts", "mts", "cts"], Language::TypeScript),
    (&["tsx"], Language::Tsx),
];
