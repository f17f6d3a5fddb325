use super::Reference;

/// A text with placeholders, parsed and resolved.
#[derive(Debug, Clone)]
pub struct Template {
    references: Vec<Reference>,
}

/// A YAML value whose strings are templates.
#[derive(Debug, Clone)]
pub enum ValueTemplate {
    /// No placeholder anywhere below.
    Literal(crate::value::Json),
}
