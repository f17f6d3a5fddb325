//! Comparisons of a status or a verdict with a word that is never its value: `build.status == 'sucess'`.

use super::keys::Key;
use super::path::{path_of, range_of};
use super::reference::Root;
use super::resolve::{Unresolved, unknown};
use super::source_text::SourceText;
use kb_base::value::{RunStatus, StepStatus, Verdict};
use minijinja::machinery::ast::Expr;

/// The words on one side of a comparison that the status or verdict on its other side never is.
pub(super) fn unknown_words(
    text: &SourceText<'_>,
    left: &Expr<'_>,
    right: &Expr<'_>,
) -> Vec<Unresolved> {
    [(left, right), (right, left)]
        .into_iter()
        .flat_map(|(read, word)| one(text, read, word))
        .collect()
}

fn one(text: &SourceText<'_>, read: &Expr<'_>, word: &Expr<'_>) -> Vec<Unresolved> {
    match word {
        Expr::Const(constant) => {
            let Some(found) = constant.value.as_str() else { return Vec::new() };
            let Some((what, known, list)) = words_of(text, read) else { return Vec::new() };
            if known.contains(&found) {
                Vec::new()
            } else {
                let meant = known.iter().find(|known| is_form_of(found, known)).copied();
                let (at, known) = (range_of(word), known.into_iter());
                let mut problem = unknown(text.names, what, found, at, known, list);
                problem.help = meant.map(|word| format!("did you mean `{word}`?")).or(problem.help);
                vec![problem]
            }
        }
        Expr::List(list) => list.items.iter().flat_map(|item| one(text, read, item)).collect(),
        _ => Vec::new(),
    }
}

/// Whether two words are forms of one, such as `success` and `succeeded`: they begin with the same five letters.
fn is_form_of(found: &str, known: &str) -> bool {
    let same = found.chars().zip(known.chars()).take_while(|(a, b)| a.eq_ignore_ascii_case(b));
    same.count() >= 5
}

/// What is read, and the words that it can be.
fn words_of(
    text: &SourceText<'_>,
    read: &Expr<'_>,
) -> Option<(&'static str, Vec<&'static str>, &'static str)> {
    let path = path_of(read)?;
    // Most comparisons read something else.
    path.last().filter(|last| match &last.key {
        Key::Name(name) => matches!(&**name, "status" | "verdict"),
        Key::Index(_) => false,
    })?;
    let found = text.read(&path, range_of(read), false).ok()?;
    match (&found.root, &*found.path()) {
        (Root::Step(_), ["status"]) => {
            let known = StepStatus::ALL.map(StepStatus::as_str).to_vec();
            Some(("status of a step", known, "a status is"))
        }
        (Root::Step(_), ["verdict"]) => {
            let known = Verdict::ALL.map(Verdict::as_str).to_vec();
            Some(("verdict", known, "a verdict is"))
        }
        (Root::Run, ["status"]) => {
            let known = RunStatus::ALL.map(RunStatus::as_str).to_vec();
            Some(("status of a run", known, "a status is"))
        }
        _ => None,
    }
}
