//! The words that statements are read by, in English, Russian and German: one table.

/// What a word means in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) enum Meaning {
    /// What the step did.
    Act(Act),
    /// A denial, a wish, a plan or a condition: the sentence states nothing.
    Unreal,
    /// A denial alone: `the tests do not pass`.
    Denial,
    /// Another actor: the sentence is not about the step.
    Others,
    /// Another time: the sentence can be about something else.
    Otherwise,
    /// A part of the project, a time or a duty beside "nothing else".
    Limited,
    /// A change, beside "only" and "other".
    Change,
    /// An act and its effect: that something was `fixed` is more than that it was changed, `reviewed` more than read.
    Effect,
    /// What a statement about all else leaves out.
    Except,
    /// Nothing was to be done.
    Nothing,
    /// What was not needed, beside `no` and `nothing`.
    Needed,
    /// A word before the verb or between the verb and the path.
    Filler,
    Tests,
    /// The tests passed.
    Success,
    Failure,
    /// `no` before a failure.
    Without,
    /// Only a part of the tests.
    Partly,
    /// `Added a test that passes a list`: the tests are not the subject.
    Wrote,
    Lines,
    Files,
    /// A part of a file that has a name.
    Part,
    /// A name of code or of a package, as a word of a key.
    Symbol,
    /// What is not there.
    Absent,
    /// What does not exist yet: a plan, or the order to make something.
    ToCome,
    /// Asks for something new.
    ToMake,
    /// Asks for a change.
    ToChange,
    /// A task was finished.
    Finished,
    /// A verb behind it is no order: `how to add`.
    Infinitive,
    /// An order that holds in some cases only.
    Condition,
    /// A file was left as it was, or what was asked for is gone.
    Left,
    /// Joins two statements in one sentence.
    Joint,
    /// Plans and texts of others, as words of a key.
    OtherKey,
}

use super::act::Act;
use Meaning as M;
use std::sync::LazyLock;

/// Each word is the beginning of a word; one that ends in `$` is the whole word. Of acts the first with a word counts.
const WORDS: [(Meaning, &str); 44] = [
    (
        M::Act(Act::Kept),
        "untouched unchanged unmodified intact$ unverändert unberührt нетронут неизмен",
    ),
    (
        M::Act(Act::Only),
        "only$ else$ other$ остальн больше$ только$ sonst$ nur$ nichts$ nothing$ rest$ все$ übrig",
    ),
    (
        M::Act(Act::Committed),
        "commit$ commits$ committed sha$ закоммич коммит committet clean$ branch ветк pull$ pullrequest$ zweig",
    ),
    (
        M::Act(Act::Outside),
        "installed sent$ notified deployed released published pushed merged running$ listening applied$ migrated \
         установил установлен отправ развер опубликов installiert gesendet veröffentlicht uploaded emailed posted tagged \
         tag$ opened restarted registered provisioned запушил слит влит gepusht ausgerollt",
    ),
    (M::Act(Act::Renamed), "renamed moved$ переимен перемещ перенес umbenannt verschoben"),
    (M::Act(Act::Deleted), "deleted removed удал стер gelöscht entfernt erased dropped cleaned"),
    (
        M::Act(Act::Failed),
        "fail$ fails$ failed$ failing$ failure упал падает падают ошибк ошибок fehl$ fehlgeschlagen schlagen$ schlägt$",
    ),
    (
        M::Act(Act::Passed),
        "pass$ passed passes passing green$ exited exits exit$ verified lint$ linter$ linted linting typecheck types$ \
         compiles compiled builds$ built$ build$ warnings$ прошл пройд проход завершил собира собран сборк линтер bestanden lief$ \
         läuft fehlerfrei grün tested$ coverage benchmark ci$ pipeline",
    ),
    (M::Act(Act::Ran), "ran$ executed запуст запущ выполн ausgeführt invoked"),
    (
        M::Act(Act::Created),
        "created saved wrote$ written$ generated new$ созда записа сохран сгенер новый$ новые$ angelegt erstellt \
         geschrieben erzeugt gespeichert scaffolded",
    ),
    (
        M::Act(Act::Changed),
        "added replaced updated modified changed edited rewrote rewritten fixed refactored extended corrected adjusted \
         changes$ insertions$ deletions$ implemented introduced patched добав обнов измен исправ перепис реализ geändert \
         angepasst aktualisiert hinzugefügt überarbeitet implementiert ergänzt korrigiert umgesetzt touched",
    ),
    (
        M::Effect,
        "replaced rewrote rewritten fixed refactored extended corrected adjusted implemented introduced patched исправ перепис \
         реализ überarbeitet implementiert ergänzt korrigiert umgesetzt reviewed reviewing analyzed analysed inspected examined \
         audited checked$ проверил изучил geprüft",
    ),
    (M::Act(Act::Digest), "hash$ digest$ checksum$ sha256$ contenthash$"),
    (
        M::Act(Act::Contains),
        "contains has$ defines includes$ содержит есть$ определ enthält hat$ definiert",
    ),
    (
        M::Act(Act::Read),
        "read$ worked$ gearbeitet работал reviewed reviewing analyzed analysed inspected examined audited checked$ прочит просмотр проверил изучил \
         gelesen geprüft",
    ),
    (
        M::Unreal,
        "not$ never$ neither$ cannot$ could$ should$ would$ will$ might$ may$ if$ please$ must$ need$ needs$ unless$ не$ нет$ если$ долж нужно$ чтобы$ будут$ nicht$ kein \
         sollte wenn$ würde",
    ),
    (M::Denial, "not$ не$ nicht$"),
    (
        M::Others,
        "someone$ they$ had$ according$ reportedly$ laut$ согласно$ upstream$ formerly$ кто-то$ jemand$ hatte$",
    ),
    (
        M::Otherwise,
        "already$ previously$ before$ earlier$ instead$ old$ ранее$ раньше$ уже$ früher$ bereits$ vorher$",
    ),
    (M::Except, "except besides apart beyond кроме außer bis$"),
    (
        M::Needed,
        "need necessary required change done$ todo$ do$ измен потреб требу нужн делать$ tun$ nötig erforderlich änderung",
    ),
    (
        M::Limited,
        "in$ inside$ within$ under$ since$ now$ by$ to$ needed$ в$ внутри$ сейчас$ теперь$ надо$ im$ unter$",
    ),
    (
        M::Change,
        "changed changes$ modified touched untouched unchanged edited created deleted written$ измен созда удал трога тронут \
         geändert verändert angefasst berührt",
    ),
    (
        M::Nothing,
        "nothing$ none$ no$ kept$ planned$ pending$ todo$ n/a$ not$ already$ unchanged$ without$ never$ unnecessary$ skipped$ ничего$ уже$ не$ nichts$ kein bereits$",
    ),
    (
        M::Filler,
        "i$ i've$ i'd$ we$ we've$ have$ and$ then$ also$ successfully$ just$ the$ a$ an$ new$ file$ files$ module$ script$ \
         both$ я$ и$ также$ успешно$ файл$ файлы$ новый$ die$ datei$ dateien$ neue$ habe$ ich$ wir$ done$ x$ was$ were$ has$ been$ is$ wurde$ wurden$ ist$ был$ была$ были$",
    ),
    (
        M::Tests,
        "test$ tests$ testsuite$ suite$ тест$ тесты$ тестов$ теста$ testlauf$ pytest$ specs$",
    ),
    (
        M::Success,
        "pass green succe ok$ okay$ пройд прошл проход успеш зелен bestanden grün fehlerfrei ✓ ✅ erfolg",
    ),
    (M::Failure, "fail error skip warning упал упавш падени ошиб fehl problem issue"),
    (M::Without, "no$ 0$ zero$ without$ none$ нет$ без$ keine$ ohne$ ни$"),
    (
        M::Partly,
        "when$ once$ until$ before$ previously$ earlier$ already$ expect ensure$ except$ only$ some$ most$ few$ none$ no$ \
         without$ can$ fail без$ раньше$ кроме$ упал red$ skipped$",
    ),
    (
        M::Wrote,
        "added$ add$ adds$ wrote$ write$ creates$ created$ добав написал hinzugefügt geschrieben ergänzt introduced",
    ),
    (M::Lines, "lines$ insertion deletion loc$ строк zeilen$"),
    (M::Files, "file$ files$ page$ pages$ module$ modules$ document файл страниц dateien$ seiten$"),
    (
        M::Part,
        "section heading chapter function method class$ classes$ constant struct enum field option paragraph endpoint \
         constructor раздел функци метод класс абзац abschnitt funktion methode klasse kapitel absatz",
    ),
    (
        M::Symbol,
        "symbol identifier dependenc package import$ imports$ librar component modul модул пакет",
    ),
    (
        M::Absent,
        "missing absent nonexistent lacks$ vain$ отсутств fehlt$ fehlen$ fehlend vergeb ✗ ❌",
    ),
    (
        M::ToCome,
        "plan propos design$ designs$ draft suggest recommend extract$ split$ move$ rename$ migrate refactor$ future todo$ спланир \
         предлож проект будущ entwirf entwurf vorschl vorschlag künftig proposer",
    ),
    (
        M::ToMake,
        "add$ create$ creates$ write$ implement$ introduce$ generate$ build$ make$ scaffold добав$ добавить добавьте созда$ создай \
         создать создайте напиш реализуй реализовать hinzufügen anlegen erstelle$ erstellen schreibe$ créer crear ajouter añadir",
    ),
    (
        M::ToChange,
        "fix$ update$ change$ remove$ rename$ delete$ edit$ modify$ replace$ refactor$ move$ rewrite$ correct$ extend$ improve$ \
         adjust$ add$ implement$ simplify$ bump$ repair$ patch$ append$ insert$ исправь исправить обнови$ обновить обновите измени$ \
         изменить измените удали$ удалить удалите переименуй переименовать замени$ заменить перепиши переписать добавь добавить \
         добавьте реализуй реализовать behebe beheben ändere ändern aktualisiere entferne entfernen lösche löschen korrigiere \
         ersetze ersetzen umbenennen ergänze ergänzen implementiere",
    ),
    (
        M::Finished,
        "complete$ completed finished resolved solved accomplished erledigt abgeschlossen gelöst behoben завершен выполнен \
         решен сделан устранен",
    ),
    (M::Infinitive, "to$ how$ what$ which$ whether$ why$ should$ would$ как$ что$ wie$ was$ zu$"),
    (
        M::Condition,
        "if$ unless$ needed$ necessary$ whether$ or$ wenn$ falls$ oder$ nötig$ если$ или$ нужно$ необходимо$",
    ),
    (M::Left, "left$ alone$ nichts$ keine$ kein$ нет$ false$ invalid$ skip absent$ first$"),
    (
        M::Joint,
        "but$ so$ however$ although$ though$ whereas$ но$ однако$ поэтому$ хотя$ aber$ daher$ obwohl$ doch$",
    ),
];

/// Words of keys whose values are plans or texts of others.
const OTHER_KEYS: &str = "recommendations recommendation nextsteps suggestions suggestion plan todo todos quotes quote \
    excerpt aftersnippet beforesnippet snippet context input args arguments diff patch limitations risks notdone remaining";

/// Whether a word in small letters has a meaning.
pub(in crate::verify) fn means(word: &str, meaning: Meaning) -> bool {
    if meaning == Meaning::OtherKey {
        return OTHER_KEYS.split_whitespace().any(|key| key == word);
    }
    // `won't` and the like deny, whatever the verb.
    if [Meaning::Denial, Meaning::Unreal].contains(&meaning) && word.ends_with("n't") {
        return true;
    }
    let rows = TABLE.iter().filter(|(known, _)| *known == meaning);
    let mut starts = rows.flat_map(|(_, starts)| starts);
    starts.any(|(start, whole)| if *whole { word == *start } else { word.starts_with(start) })
}

/// A meaning with its words, each with whether it is a whole one.
type Row = (Meaning, Vec<(&'static str, bool)>);

/// The rows of [`WORDS`], split once.
static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let split = |start: &'static str| match start.strip_suffix('$') {
        Some(whole) => (whole, true),
        None => (start, false),
    };
    let row = |(meaning, starts): &(Meaning, &'static str)| {
        (*meaning, starts.split_whitespace().map(split).collect())
    };
    WORDS.iter().map(row).collect()
});

/// All acts, in the order in which they count.
pub(super) fn acts() -> impl Iterator<Item = Act> {
    WORDS.iter().filter_map(|(meaning, _)| match meaning {
        Meaning::Act(act) => Some(*act),
        _ => None,
    })
}

/// A plain number, or one that is written as a word: no sign, no leading zero, no fraction.
pub(in crate::verify) fn number(word: &str) -> Option<u64> {
    const NUMBERS: [&[&str]; 13] = [
        &["zero", "ноль", "null"],
        &["one", "один", "одна", "eins", "einer"],
        &["two", "both", "два", "две", "zwei", "beide"],
        &["three", "три", "drei"],
        &["four", "четыре", "vier"],
        &["five", "пять", "fünf"],
        &["six", "шесть", "sechs"],
        &["seven", "семь", "sieben"],
        &["eight", "восемь", "acht"],
        &["nine", "девять", "neun"],
        &["ten", "десять", "zehn"],
        &["eleven", "одиннадцать", "elf"],
        &["twelve", "двенадцать", "zwölf"],
    ];
    let known = NUMBERS.iter().position(|names| names.contains(&word));
    let plain = || word.parse().ok().filter(|number: &u64| number.to_string() == word);
    known.map(|number| number as u64).or_else(plain)
}

/// A part of a text without the marks before it. One that stands at a number belongs to it: `-2` and `>2` are not `2`.
pub(in crate::verify) fn without_marks(part: &str, is_mark: impl Fn(char) -> bool) -> &str {
    let bare = part.trim_start_matches(&is_mark);
    let marks = &part[..part.len() - bare.len()];
    let is_number = bare.starts_with(|c: char| c.is_ascii_digit());
    match marks.char_indices().next_back().filter(|(_, mark)| "-−<>≤≥~≈±+".contains(*mark))
    {
        Some((at, _)) if is_number => &part[at..],
        _ => bare,
    }
}
