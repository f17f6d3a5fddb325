//! Texts of other tools as ids, names, references and literals of definitions.

use kb_language::expression::RESERVED_ROOTS;

/// A text as the id of a playbook.
pub(super) fn playbook_id(text: &str) -> String {
    let id: String = slug(&text.to_lowercase(), '-').chars().take(60).collect();
    match id.chars().next() {
        Some(first) if first.is_ascii_lowercase() => id,
        _ => format!("imported-{id}").trim_end_matches('-').to_owned(),
    }
}

/// A text as the id of a step.
pub(super) fn step_id(text: &str) -> String {
    let id = slug(text, '-');
    match id.chars().next() {
        Some(_) if RESERVED_ROOTS.contains(&id.as_str()) => format!("{id}-1"),
        Some(first) if first.is_ascii_alphabetic() => id,
        _ => format!("step-{id}").trim_end_matches('-').to_owned(),
    }
}

/// A text as the name of a parameter or variable.
pub(super) fn name(text: &str) -> String {
    let name = slug(text, '_');
    match name.chars().next() {
        Some(_) if RESERVED_ROOTS.contains(&name.as_str()) => format!("{name}_1"),
        Some(first) if first.is_ascii_alphabetic() => name,
        _ => format!("p_{name}").trim_end_matches('_').to_owned(),
    }
}

fn slug(text: &str, gap: char) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            '_' => slug.push('_'),
            _ if slug.ends_with(gap) || slug.is_empty() => {}
            _ => slug.push(gap),
        }
    }
    slug.trim_end_matches(gap).to_owned()
}

/// A reference to a step in an expression.
pub(super) fn reference(id: &str) -> String {
    format!("steps['{id}']")
}

/// Text that must not be read as placeholders.
pub(super) fn literal(text: &str) -> String {
    text.replace("{{", "\\{{")
}
