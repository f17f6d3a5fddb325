//! Parameters of queries.

/// A parameter of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryParam {
    /// Name in the query, such as `limit`.
    pub name: &'static str,
    /// What it selects.
    pub summary: &'static str,
}

/// Makes a [`QueryParam`].
pub(super) const fn param(name: &'static str, summary: &'static str) -> QueryParam {
    QueryParam { name, summary }
}
