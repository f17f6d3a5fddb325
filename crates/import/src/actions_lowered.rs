//! Parts of expressions of playbooks, with the precedence of their operators.

// The precedence of operators in playbooks, from low to high.
pub(super) const CHOICE: u8 = 0;
pub(super) const OR: u8 = 1;
pub(super) const AND: u8 = 2;
pub(super) const NOT: u8 = 3;
pub(super) const COMPARISON: u8 = 4;
pub(super) const JOIN: u8 = 5;
pub(super) const OPERAND: u8 = 6;
pub(super) const FILTER: u8 = 7;
pub(super) const VALUE: u8 = 8;

/// An expression of a playbook, with the precedence of its outermost operator.
pub(super) struct Lowered {
    pub(super) text: String,
    level: u8,
}

impl Lowered {
    pub(super) fn new(text: impl Into<String>, level: u8) -> Lowered {
        Lowered { text: text.into(), level }
    }

    /// Its text as an operand that needs this precedence.
    pub(super) fn at(self, level: u8) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text }
    }
}

/// A text as a literal of an expression.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\\' | '\'' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}
