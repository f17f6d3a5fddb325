//! Asks which playbook to run, on a terminal: a number, or a part of an id or name that narrows the list.

use crate::cli::exit::CliError;
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::Terminal;
use kb_core::wire::DefinitionView;

/// The most playbooks that are listed at once.
const LISTED: usize = 20;

/// The id of the playbook that a person chooses.
pub(super) fn choose(
    all: &[DefinitionView],
    can_ask: bool,
    terminal: &mut Terminal,
) -> Result<String, CliError> {
    let missing = |message: &str| CliError::Usage {
        message: message.to_owned(),
        help: Some(
            "`kb playbook list` lists all playbooks; run one with `kb playbook run ID`".into(),
        ),
    };
    if !can_ask || all.is_empty() {
        return Err(missing("the id of the playbook is missing"));
    }
    let mut fitting: Vec<&DefinitionView> = all.iter().collect();
    loop {
        terminal.err(&list(&fitting))?;
        let typed = terminal.ask("Number, or a part of the id or name:").unwrap_or_default();
        let typed = typed.trim();
        let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(chosen) = number.and_then(|number| fitting.get(number)) {
            return Ok(chosen.id.clone());
        }
        if typed.is_empty() {
            return Err(missing("no playbook was chosen"));
        }
        let found = narrowed(all, typed);
        match found.as_slice() {
            [] => terminal.err(&format!("no playbook contains `{}`\n", plain(typed)))?,
            [one] => return Ok(one.id.clone()),
            _ => fitting = found,
        }
    }
}

/// The playbooks whose id or name contains all words, each as a whole or with other characters between its own. An
/// id that was typed as it is stands for itself.
fn narrowed<'a>(all: &'a [DefinitionView], typed: &str) -> Vec<&'a DefinitionView> {
    if let Some(exact) = all.iter().find(|one| one.id == typed) {
        return vec![exact];
    }
    let words: Vec<String> = typed.split_whitespace().map(str::to_lowercase).collect();
    let fits = |text: &str, fit: fn(&str, &str) -> bool| {
        let text = text.to_lowercase();
        words.iter().all(|word| fit(&text, word))
    };
    let by = |fit: fn(&str, &str) -> bool| -> Vec<&DefinitionView> {
        all.iter().filter(|one| fits(&format!("{} {}", one.id, one.name), fit)).collect()
    };
    let whole = by(|text, word| text.contains(word));
    if whole.is_empty() { by(in_order) } else { whole }
}

/// Whether a text has the characters of a word in their order.
fn in_order(text: &str, word: &str) -> bool {
    let mut rest = text.chars();
    word.chars().all(|wanted| rest.any(|c| c == wanted))
}

fn list(fitting: &[&DefinitionView]) -> String {
    let mut table = Table::bare();
    for (index, one) in fitting.iter().take(LISTED).enumerate() {
        let name = if one.name == one.id { "" } else { &one.name };
        table.row([format!("{:>4}", index + 1), one.id.clone(), name.to_owned()]);
    }
    let more = match fitting.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("      and {more} more\n"),
    };
    table.text() + &more
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn a_word_fits_with_other_characters_between_its_own() {
        assert!(in_order("nightly-report", "nrep") && in_order("abc", ""));
        assert!(!in_order("nightly-report", "rn-x"));
    }
}
