//! Statements about commands, tests, reads, commits and effects, compared with the record.

use super::committed::is_all_committed;
use super::recorded_runs::{CommandResult, RecordedRun};
use super::runner::canonical;
use super::shell::{CommandUse, Script};
use super::statement::{Act, Meaning, Sentence, is_quoted_path, means};
use super::support::Record;
use crate::evidence::{EvidenceKind, Invocation, InvocationStatus};
use kb_base::value::Json;
use kb_language::toolspec::EvidenceTier;

impl Record<'_> {
    fn commands(&self) -> impl Iterator<Item = (&RecordedRun<'_>, &CommandUse)> {
        self.runs.iter().flat_map(|run| run.script.commands.iter().map(move |used| (run, used)))
    }

    pub(super) fn is_recorded_command(&self, text: &str) -> bool {
        let script = Script::of_text(text);
        let known = |used: &CommandUse| {
            let wanted = canonical(&used.argv);
            self.commands().any(|(_, used)| canonical(&used.argv).starts_with(&wanted))
        };
        !script.commands.is_empty() && script.commands.iter().all(known)
    }

    /// Whether the commands in a sentence were recorded, and exited with 0 if it says so.
    pub(super) fn has_run(&self, sentence: &Sentence, needs_success: bool) -> bool {
        let scripts: Vec<Script> =
            sentence.code().map(Script::of_text).filter(|s| !s.commands.is_empty()).collect();
        let is_recorded = |argv: &[String]| {
            let wanted = canonical(argv);
            self.commands().any(|(run, used)| {
                let succeeded = run.result(used) == CommandResult::Succeeded;
                canonical(&used.argv) == wanted && (succeeded || !needs_success)
            })
        };
        let numbers: Vec<u64> = sentence.numbers().map(|(_, number)| number).collect();
        match scripts.is_empty() {
            false => scripts.iter().flat_map(|s| &s.commands).all(|used| is_recorded(&used.argv)),
            true if needs_success => self.has_passed(sentence),
            true => {
                let count = self.runs.iter().count() as u64;
                count > 0 && numbers.iter().all(|number| *number <= count)
            }
        }
    }

    /// Whether a check that a sentence calls successful is recorded as such: the tests, or the command that it names. What
    /// a build or a linter is, and which of its runs are whole, is not known.
    pub(super) fn has_passed(&self, sentence: &Sentence) -> bool {
        if sentence
            .code()
            .any(|text| !Script::of_text(text).commands.is_empty() && !is_quoted_path(text))
        {
            let runs = self.has_run_of_code(sentence);
            return runs || sentence.tests().is_some() && self.claims_tests;
        }
        self.claims_tests && sentence.has(Meaning::Tests)
    }

    fn has_run_of_code(&self, sentence: &Sentence) -> bool {
        let mut scripts = sentence.code().filter(|text| !is_quoted_path(text)).map(Script::of_text);
        scripts.all(|script| {
            script.commands.iter().all(|wanted| {
                let argv = canonical(&wanted.argv);
                self.commands().any(|(run, used)| {
                    canonical(&used.argv) == argv && run.result(used) == CommandResult::Succeeded
                })
            })
        })
    }

    /// Whether the failure of a sentence is recorded: of its command, of so many tests, or any.
    pub(super) fn has_failed(&self, sentence: &Sentence) -> bool {
        let failed = |(run, used): &(&RecordedRun<'_>, &CommandUse)| {
            let printed = run.tests.is_some_and(|tests| tests.failed > 0);
            let result = run.result(used);
            printed || !matches!(result, CommandResult::Succeeded | CommandResult::Masked(_))
        };
        let scripts: Vec<Script> =
            sentence.code().map(Script::of_text).filter(|s| !s.commands.is_empty()).collect();
        let wanted: Vec<&CommandUse> = scripts.iter().flat_map(|script| &script.commands).collect();
        if !wanted.is_empty() {
            return wanted.iter().all(|wanted| {
                let argv = canonical(&wanted.argv);
                self.commands().filter(failed).any(|(_, used)| canonical(&used.argv) == argv)
            });
        }
        if sentence.has(Meaning::Tests) {
            let count = sentence.failed_tests();
            let mut tests = self.commands().filter(|(_, used)| self.tests.contains(&used.argv));
            return tests.any(|found| {
                let printed = found.0.tests.map(|tests| tests.failed);
                let fits = count.is_none_or(|count| printed.is_none_or(|printed| printed == count));
                failed(&found) && fits || count == Some(0)
            });
        }
        self.commands().any(|found| failed(&found))
            || self.trace.iter().any(|call| call.status != InvocationStatus::Success)
    }

    pub(super) fn has_read(&self, sentence: &Sentence) -> bool {
        let reads: Vec<&Invocation> = self
            .trace
            .iter()
            .filter(|call| call.status == InvocationStatus::Success && call.changes.is_empty())
            .filter(|call| self.tools.entry(&call.tool).shows_contents())
            .collect();
        let names = |call: &Invocation, path: &str| {
            let named = ["path", "command", "script"].iter().filter_map(|key| call.args.get(*key));
            let is_named = named.filter_map(Json::as_str).any(|text| text.contains(path));
            // A path and a number are names.
            let printed = call.process.as_ref().map(|process| process.stdout_bytes);
            if printed.is_some_and(|bytes| bytes <= path.len() as u64 + NUMBER) {
                return false;
            }
            let script = Script::of_call(call);
            let used = script.iter().flat_map(|script| &script.commands);
            let mut used = used.filter(|used| used.argv.iter().any(|word| word.contains(path)));
            is_named
                && used
                    .next()
                    .is_none_or(|first| !names_only(first) || used.any(|used| !names_only(used)))
        };
        // What was there before an edit was read for it.
        let changed = |path: &str| {
            let mut own = self.changes.changed().filter(|changed| self.is_same(changed, path));
            own.any(|own| {
                let history = self.changes.history(own);
                history.before().is_some() && history.after().is_some()
            })
        };
        let paths = sentence.paths();
        let numbers = sentence.numbers().map(|(_, number)| number as usize);
        paths.iter().all(|path| changed(path) || reads.iter().any(|call| names(call, path)))
            && (!paths.is_empty() || !reads.is_empty())
            && numbers.max().is_none_or(|number| !paths.is_empty() || number <= reads.len())
    }

    /// Whether commits have every change of the step, and the branch and digest that the sentence names.
    pub(super) fn has_commit(&self, sentence: &Sentence) -> bool {
        let git = |word: &str| {
            let all = self.commands().filter(move |(run, used)| {
                let has = |word: &str| used.argv.iter().any(|argument| argument == word);
                has("git") && has(word) && run.result(used) == CommandResult::Succeeded
            });
            all.map(|(run, _)| run.call.id.as_str()).last()
        };
        let made =
            |call: &&Invocation| call.evidence.iter().any(|e| e.kind == EvidenceKind::Receipt);
        let by_tool: Vec<&Invocation> = self
            .trace
            .iter()
            .filter(|call| self.tools.entry(&call.tool).tier == EvidenceTier::Recorded)
            .filter(made)
            .collect();
        let says_branch = sentence
            .words
            .iter()
            .any(|word| word.starts_with("branch") || word.starts_with("ветк"));
        if says_branch && !sentence.words.iter().any(|word| word.starts_with("commit")) {
            let names: Vec<&str> =
                sentence.text.split([' ', '`']).filter(|word| !word.is_empty()).collect();
            let argument = |name: &&&str| {
                self.commands().any(|(_, used)| used.argv.iter().any(|a| a == **name))
            };
            return names.iter().any(|name| ["main", "master"].contains(name))
                || git("git").is_some() && names.iter().any(|name| argument(&name));
        }
        let is_digest = |word: &&String| {
            word.len() >= 7
                && word.chars().all(|c| c.is_ascii_hexdigit())
                && word.contains(|c: char| c.is_ascii_digit())
        };
        let has_digest = |digest: &String| {
            let mut known = by_tool.iter().flat_map(|call| &call.evidence);
            known.any(|evidence| evidence.reference.starts_with(digest.as_str()))
        };
        let is_made = git("commit").is_some() || !by_tool.is_empty();
        is_made
            && is_all_committed(self.changes, self.observations)
            && sentence.words.iter().filter(is_digest).all(has_digest)
            && !sentence.words.iter().any(|word| word.starts_with("pull"))
    }

    /// Whether a recorded command has the effect that a sentence names. Of a push git itself is the witness. What other
    /// commands do outside of the project is not known, whatever their words are.
    pub(super) fn has_effect(&self, sentence: &Sentence) -> bool {
        let mut acts = sentence.words.iter().filter(|word| means(word, Meaning::Act(Act::Outside)));
        let is_push = |argv: &[String]| {
            let (program, rest) = (argv.first().map(String::as_str), argv.get(1..).unwrap_or(&[]));
            let is_plain = |word: &String| {
                !word.starts_with('-') && !word.contains(':') || PUSH_OPTIONS.contains(&&**word)
            };
            program == Some("git")
                && rest.first().is_some_and(|verb| verb == "push")
                && rest.iter().all(is_plain)
        };
        let is_pushed = self
            .commands()
            .any(|(run, used)| is_push(&used.argv) && run.result(used) == CommandResult::Succeeded);
        is_pushed && acts.all(|word| PUSHED.contains(&word.as_str()))
    }
}

/// Bytes of a number with its separators.
const NUMBER: u64 = 8;
/// Options of `git push` with which it pushes what it would push without them.
const PUSH_OPTIONS: [&str; 6] = ["-q", "--quiet", "-v", "--verbose", "-u", "--set-upstream"];
/// Words for what `git push` does.
const PUSHED: [&str; 3] = ["pushed", "запушил", "gepusht"];

/// Whether a command shows names, sizes or nothing of the files that it names, and not what they contain.
fn names_only(used: &CommandUse) -> bool {
    const NAMES: &str = "echo printf ls stat touch find wc du file test [ basename dirname realpath readlink mkdir rm mv cp \
        ln chmod cd true : export set tree md5sum sha256sum";
    let argv = &used.argv;
    let git = ["log", "status", "add", "ls-files", "rm", "mv", "commit"];
    NAMES.split_whitespace().any(|name| argv[0].rsplit('/').next() == Some(name))
        || argv[0] == "git" && argv.get(1).is_some_and(|verb| git.contains(&verb.as_str()))
}
