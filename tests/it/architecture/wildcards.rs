//! Matches over the sums of the domain have no wildcard arm, so the compiler lists every place that a new
//! kind, check, status or action needs. In `run` a lint of clippy holds this for all enums.

use super::source::{Token, end_of_block, sources};
use regex::Regex;

/// The enums whose matches name every variant.
const SUMS: &[&str] = &[
    "StepKind",
    "StepWork",
    "Execution",
    "Check",
    "Criterion",
    "RecordedCriterion",
    "StepStatus",
    "RunStatus",
    "OutcomeKind",
    "RecoveryAction",
    "RecoveryKind",
    "Verdict",
    "InvocationStatus",
    "HookEvent",
    "Effect",
    "Input",
];

#[test]
fn matches_over_kinds_checks_and_statuses_name_every_variant() {
    let mut wrong = Vec::new();
    let keyword = word("match");
    for file in sources() {
        for i in 0..file.tokens.len() {
            if file.tokens[i] != keyword {
                continue;
            }
            let patterns = patterns(&file.tokens, i);
            let named = SUMS.iter().find(|sum| {
                let path = [word(sum), Token::Colons];
                patterns.iter().any(|pattern| matched(pattern).windows(2).any(|part| part == path))
            });
            if let Some(sum) = named.filter(|_| patterns.iter().any(|pattern| is_wildcard(pattern)))
            {
                wrong.push(format!("{}: a match over `{sum}`", file.path));
            }
        }
    }
    let help = "name the other variants; to take one variant out, use `let … else`";
    assert!(wrong.is_empty(), "{help}:\n{}", wrong.join("\n"));
}

/// Names of statuses are compared nowhere: a status is a value of its enum up to the text that is shown.
#[test]
fn statuses_are_compared_as_types() {
    let name = "pending|ready|running|verifying|waiting|succeeded|failed|skipped|blocked|cancelled|\
                interrupted|passed|inconclusive|success|denied|timeout|unknown|same|changed|error|warning|info";
    let compared = Regex::new(&format!(r#"(?:[!=]=\s*&?|Some\()"(?:{name})""#)).unwrap();
    let mut wrong = Vec::new();
    for file in sources().iter().filter(|file| OUTER.contains(&&*file.module)) {
        let text = std::fs::read_to_string(&file.file).expect("it was read");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate().filter(|(_, line)| compared.is_match(line)) {
            wrong.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
        }
    }
    assert!(wrong.is_empty(), "compare with the variant:\n{}", wrong.join("\n"));
}

/// The modules that show what the others decided.
const OUTER: [&str; 8] = ["wire", "inspect", "service", "serve", "web", "lsp", "cli", "trigger"];

fn word(text: &str) -> Token {
    Token::Word(text.to_owned())
}

/// A pattern without its guard and without the fields of its variants.
fn matched(pattern: &[Token]) -> Vec<Token> {
    let mut depth = 0;
    let mut kept = Vec::new();
    for token in pattern.iter().take_while(|token| **token != word("if")) {
        match token {
            Token::Mark('{') => depth += 1,
            Token::Mark('}') => depth -= 1,
            Token::Word(_) | Token::Colons | Token::Mark(_) if depth == 0 => {
                kept.push(token.clone())
            }
            Token::Word(_) | Token::Colons | Token::Mark(_) => {}
        }
    }
    kept
}

/// Whether a pattern without a guard matches everything: `_` or the name of a variable.
fn is_wildcard(pattern: &[Token]) -> bool {
    let [Token::Word(name)] = pattern else { return false };
    let is_name = name.starts_with(|first: char| first == '_' || first.is_ascii_lowercase());
    is_name && !["true", "false"].contains(&name.as_str())
}

/// The patterns of the arms of a match, with their guards.
fn patterns(tokens: &[Token], start: usize) -> Vec<Vec<Token>> {
    let Some(open) = at_top(tokens, start + 1, |i| tokens[i] == Token::Mark('{')) else {
        return Vec::new();
    };
    let end = end_of_block(tokens, open) - 1;
    let arrow = |i: usize| tokens[i] == Token::Mark('=') && tokens[i + 1] == Token::Mark('>');
    let (mut patterns, mut i) = (Vec::new(), open + 1);
    while let Some(at) = at_top(&tokens[..end], i, arrow) {
        patterns.push(tokens[i..at].to_vec());
        i = match tokens[at + 2] {
            Token::Mark('{') => end_of_block(tokens, at + 2),
            _ => at_top(&tokens[..end], at + 2, |i| tokens[i] == Token::Mark(',')).unwrap_or(end),
        };
        i += usize::from(tokens[i] == Token::Mark(','));
    }
    patterns
}

/// The first place outside parentheses, brackets and blocks for which a rule holds.
fn at_top(tokens: &[Token], start: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().skip(start) {
        if depth == 0 && holds(i) {
            return Some(i);
        }
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.checked_sub(1)?,
            Token::Word(_) | Token::Colons | Token::Mark(_) => {}
        }
    }
    None
}
