//! Words with which texts state the result of tests, in English, Russian and German.

/// A statement of an output about the result of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TestClaim {
    pub(super) passed: bool,
    /// Claimed numbers of passed and failed tests.
    pub(super) counts: (Option<u64>, Option<u64>),
    /// Whether a sentence says so and no key.
    pub(super) in_prose: bool,
}

impl TestClaim {
    /// A claim without numbers.
    pub(super) fn of_result(passed: bool) -> TestClaim {
        TestClaim { passed, counts: (None, None), in_prose: false }
    }

    /// The name of the claim.
    pub(super) fn name(self) -> &'static str {
        if self.passed { "passed" } else { "failed" }
    }
}

/// Beginnings of words that say that tests passed.
const PASSED: [&str; 12] = [
    "pass",
    "green",
    "succe",
    "ok",
    "пройд",
    "прошл",
    "проход",
    "успеш",
    "зелен",
    "bestanden",
    "grün",
    "fehlerfrei",
];
/// Words for tests.
const TESTS: [&str; 9] =
    ["test", "tests", "testsuite", "suite", "тест", "тесты", "тестов", "testlauf", "pytest"];
/// Words with which a sentence says something else: a denial, a wish, a condition, the past, or a failure.
const DOUBTS: [&str; 66] = [
    "not",
    "never",
    "no",
    "none",
    "cannot",
    "can't",
    "couldn't",
    "didn't",
    "don't",
    "doesn't",
    "haven't",
    "isn't",
    "aren't",
    "without",
    "could",
    "should",
    "would",
    "will",
    "must",
    "may",
    "might",
    "can",
    "if",
    "when",
    "once",
    "until",
    "unless",
    "before",
    "previously",
    "earlier",
    "already",
    "expect",
    "expected",
    "need",
    "needs",
    "to",
    "that",
    "which",
    "ensure",
    "skipped",
    "except",
    "only",
    "some",
    "most",
    "few",
    "fail",
    "fails",
    "failing",
    "failed",
    "не",
    "нет",
    "без",
    "если",
    "должны",
    "должен",
    "будут",
    "чтобы",
    "нужно",
    "раньше",
    "кроме",
    "упал",
    "упали",
    "nicht",
    "sollte",
    "sollten",
    "wenn",
];

/// The claim of a value that is about tests alone, such as `passed` and `5 passed, 0 failed`.
pub(super) fn of_text(text: &str) -> Option<TestClaim> {
    let text = text.trim().to_lowercase();
    let starts = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let counts = counts(&text);
    let none_failed = counts.1 == Some(0) || any(&["no fail", "without fail", "не упал"]);
    let failed = starts(&["fail", "red", "error", "не ", "nicht"])
        || any(&["fail", "упал", "не пройд", "не прош"]) && !none_failed
        || counts.1.is_some_and(|failed| failed > 0);
    let passed = starts(&["pass", "ok", "success", "green", "succeeded", "true", "✅", "✓"])
        || any(&["passed", "tests pass", "succeeded", "all green", "all pass"])
        || any(&["пройден", "прошли", "успешно", "bestanden", "grün", "fehlerfrei"])
        || counts.0.is_some();
    let skipped = starts(&["skip", "not ", "none", "n/a"]);
    (!skipped && (failed || passed)).then_some(TestClaim {
        passed: !failed,
        counts,
        in_prose: false,
    })
}

/// The claims of sentences that say that the tests passed. Quoted texts are those of others.
pub(super) fn of_sentences(text: &str) -> Vec<TestClaim> {
    let own = without_quotes(text).to_lowercase().replace('\u{2019}', "'").replace('ё', "е");
    let sentences = own.split(['.', '!', '?', ';', '\n']);
    sentences.filter_map(of_sentence).collect()
}

fn of_sentence(sentence: &str) -> Option<TestClaim> {
    let counts = counts(sentence);
    let is_word = |c: char| c.is_alphanumeric() || c == '\'';
    let words: Vec<&str> =
        sentence.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let about = words.iter().any(|word| TESTS.contains(word));
    let none_failed = counts.1 == Some(0);
    let denied = words.iter().any(|word| {
        let failure = word.starts_with("fail");
        DOUBTS.contains(word) && !(failure && none_failed)
    });
    let ran = words.iter().any(|word| ["ran", "executed", "запустил", "запустила"].contains(word));
    let is_passed = |word: &str| PASSED.iter().any(|start| word.starts_with(start));
    let passed = words.iter().any(|word| is_passed(word)) || counts.0.is_some() || none_failed;
    // `Added a test that passes a list`: the tests must be the subject.
    let added =
        ["added", "add", "adds", "wrote", "write", "creates", "created", "добавил", "написал"];
    let definite = ran || counts.0.is_some() || !words.iter().any(|word| added.contains(word));
    (about && passed && definite && !denied).then_some(TestClaim {
        passed: true,
        counts,
        in_prose: true,
    })
}

/// The numbers of passed and failed tests in a text: `5/5`, `5 из 5`, `5 passed, 0 failed`, `all 5 tests`.
fn counts(text: &str) -> (Option<u64>, Option<u64>) {
    let separated = text.replace('/', " / ");
    let is_part = |c: char| c.is_alphanumeric() || c == '/';
    let words: Vec<&str> =
        separated.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    for (at, word) in words.iter().enumerate().skip(1) {
        let (Some(passed), Some(all)) = (number(at - 1), number(at + 1)) else { continue };
        if ["/", "of", "из", "von"].contains(word) && passed <= all {
            return (Some(passed), Some(all - passed));
        }
    }
    let before = |starts: &[&str]| {
        let at = (1..words.len()).find(|at| {
            number(at - 1).is_some() && starts.iter().any(|start| words[*at].starts_with(start))
        });
        at.and_then(|at| number(at - 1))
    };
    let all = (2..words.len())
        .find(|at| ["all", "все", "alle"].contains(&words[at - 2]) && TESTS.contains(&words[*at]));
    let passed = before(&["pass", "пройд", "bestand"]).or(all.and_then(|at| number(at - 1)));
    (passed, before(&["fail", "упал"]))
}

/// A text without what is in quotation marks, and without quoted lines.
pub(super) fn without_quotes(text: &str) -> String {
    let mut own = String::with_capacity(text.len());
    let mut end: Option<char> = None;
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('>'));
    for c in lines.flat_map(|line| line.chars().chain(['\n'])) {
        match (end, c) {
            (Some(closing), c) if c == closing => end = None,
            (Some(_), _) => {}
            (None, '"') => end = Some('"'),
            (None, '«') => end = Some('»'),
            (None, '“' | '„') => end = Some('”'),
            (None, c) => own.push(c),
        }
    }
    own
}
