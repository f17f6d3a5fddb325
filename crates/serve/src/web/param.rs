//! Parameters of queries.

/// A parameter of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryParam {
    /// Name in the query, such as `limit`.
    pub name: &'static str,
    /// What it selects.
    pub summary: &'static str,
    /// Which values it takes.
    pub values: QueryValues,
}

/// The values that a parameter takes. The handler checks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryValues {
    /// A text.
    Any,
    /// A whole number up to this one.
    Number(u64),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Several of these texts, as a parameter that is repeated.
    SomeOf(&'static [&'static str]),
}

/// Makes a [`QueryParam`] that takes a text.
pub(super) const fn param(name: &'static str, summary: &'static str) -> QueryParam {
    QueryParam { name, summary, values: QueryValues::Any }
}

/// Restricts an answer of several projects to one.
pub(super) const PROJECT: QueryParam = param("project", "Only this project.");

impl QueryParam {
    /// Declares which values it takes.
    pub(super) const fn values(mut self, values: QueryValues) -> QueryParam {
        self.values = values;
        self
    }
}
