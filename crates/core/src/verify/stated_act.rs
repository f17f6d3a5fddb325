//! What a statement says that the step did, by the beginnings of its words in English, Russian and German.

/// What a statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing else was changed.
    Only,
    Committed,
    /// An effect outside the project.
    Outside,
    Renamed,
    Deleted,
    Failed,
    /// A check, build or run of tests succeeded.
    Passed,
    Ran,
    Created,
    Changed,
    Read,
}

/// The words of an act. Each is the beginning of a word; one that ends in `$` is the whole word. The first act with a
/// word in the statement counts.
const WORDS: [(Act, &str); 11] = [
    (
        Act::Only,
        "only$ untouched unchanged else$ other$ остальн больше$ только$ sonst$ nur$ nichts$",
    ),
    (Act::Committed, "commit$ commits$ committed sha$ закоммич committet clean$"),
    (
        Act::Outside,
        "installed sent$ notified deployed released published pushed merged running$ listening applied$ \
         migrated установил установлен отправ развер опубликов installiert gesendet veröffentlicht \
         uploaded emailed posted tagged",
    ),
    (Act::Renamed, "renamed moved$ переимен перемещ umbenannt verschoben"),
    (Act::Deleted, "deleted removed удал gelöscht entfernt"),
    (Act::Failed, "fail$ fails$ failed$ failing$ failure упал fehl$ fehlgeschlagen"),
    (
        Act::Passed,
        "pass$ passed passes passing green$ exited exits exit$ verified lint$ linted linting typecheck types$ compiles \
         compiled builds$ built$ build$ прошл пройд завершил собира собран bestanden lief$ läuft fehlerfrei grün \
         tested$ coverage проход сборк линтер",
    ),
    (Act::Ran, "ran$ executed запуст запущ выполн ausgeführt"),
    (
        Act::Created,
        "created saved wrote$ written$ generated созда записа angelegt erstellt geschrieben",
    ),
    (
        Act::Changed,
        "added replaced updated modified changed edited rewrote rewritten fixed refactored extended corrected adjusted changes$ \
         insertions$ deletions$ добав обнов измен исправ перепис geändert angepasst aktualisiert hinzugefügt \
         überarbeitet",
    ),
    (
        Act::Read,
        "read$ reviewed reviewing analyzed analysed inspected checked$ прочит просмотр проверил gelesen geprüft",
    ),
];
/// Words that make a statement a denial, a wish, a plan or a condition.
const DOUBTS: &str = "not$ never$ neither$ cannot$ can't$ couldn't$ didn't$ haven't$ wasn't$ isn't$ doesn't$ don't$ \
    could$ should$ would$ will$ might$ if$ please$ must$ needs$ не$ нет$ если$ должн нужно$ nicht$ kein \
    sollte wenn$ would$ unless$";

impl Act {
    /// The act that a statement states; `None` if it states none.
    pub(super) fn of(text: &str) -> Option<Act> {
        let lower = text.to_lowercase().replace('\u{2019}', "'").replace('ё', "е");
        let words: Vec<&str> = lower
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .filter(|word| !word.is_empty() && !word.contains(['/', '.']))
            .collect();
        let has = |starts: &str| {
            starts.split_whitespace().any(|start| match start.strip_suffix('$') {
                Some(whole) => words.contains(&whole),
                None => words.iter().any(|word| word.starts_with(start)),
            })
        };
        let digest = ["hash", "sha256", "digest", "checksum"];
        if words.iter().take(2).any(|word| digest.contains(word)) && words.len() < 4 {
            return Some(Act::Outside);
        }
        let found = WORDS.iter().find(|(_, starts)| has(starts)).map(|(act, _)| *act)?;
        let is_denied = has(DOUBTS) || words.first() == Some(&"nothing");
        let stands = found == Act::Only || !is_denied;
        (stands && !is_question(found, &has)).then_some(found)
    }
}

/// `only`, `other` and `clean` alone limit nothing: they need a change beside them.
fn is_question(act: Act, has: &impl Fn(&str) -> bool) -> bool {
    let changes = "changed changes$ modified touched untouched unchanged edited измен трога geändert verändert";
    act == Act::Only && !has(changes)
}
