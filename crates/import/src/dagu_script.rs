//! What Dagu does around the command of a step: its folder, its repetitions, files for its output, and failures that
//! count as successes. It becomes part of the script.

use super::dagu_continue::ContinueOn;
use super::dagu_pattern::word;
use super::draft::Draft;
use super::fields::Fields;
use kb_language::definition::Positioned;

/// What a script has around it.
#[derive(Default)]
pub(super) struct Surroundings {
    /// The folder of the workflow, in which files for the output are.
    folder: Option<String>,
    /// The folder of the step, in which the command runs.
    own_folder: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    repeat: Option<Repeat>,
    pub(super) on: ContinueOn,
}

/// `repeatPolicy` with exit codes.
struct Repeat {
    /// Whether these end the repetitions; else they continue them.
    until: bool,
    codes: Vec<String>,
    limit: Option<String>,
    seconds: String,
}

/// A folder or file that is not computed, as a word of a shell.
pub(super) fn path(text: &str) -> Option<String> {
    if text.contains(['$', '`', '\n']) || text.is_empty() {
        return None;
    }
    match text.strip_prefix('~') {
        Some("") => Some("\"$HOME\"".to_owned()),
        Some(rest) => Some(format!("\"$HOME\"{}", word(rest.strip_prefix('/').map(|_| rest)?))),
        None => Some(word(text)),
    }
}

impl Surroundings {
    /// Those of a script in the folder of the workflow.
    pub(super) fn in_folder(folder: Option<&str>) -> Surroundings {
        Surroundings { folder: folder.map(str::to_owned), ..Surroundings::default() }
    }

    /// Takes the keys of a step. `folder` is that of the workflow.
    pub(super) fn of(fields: &Fields<'_>, folder: Option<&str>, draft: &mut Draft) -> Surroundings {
        let line = |key: &str| fields.peek(key).map_or(1, |value| value.line);
        let file = |key: &str| {
            let (line, text) = (line(key), fields.text(key)?);
            let found = path(&text);
            if found.is_none() {
                draft
                    .fails(line, format!("the file `{key}: {text}` is computed and is not mapped"));
            }
            found
        };
        let (stdout, stderr) = (file("stdout"), file("stderr"));
        let repeat =
            fields.peek("repeatPolicy").and_then(|policy| Repeat::of(fields, policy, draft));
        let on = ContinueOn::of(fields, draft);
        let folder = folder.map(str::to_owned);
        Surroundings { folder, own_folder: None, stdout, stderr, repeat, on }
    }

    /// Reports what has no counterpart around a child run.
    pub(super) fn of_call(&mut self, line: u32, draft: &Draft) {
        let on = std::mem::take(&mut self.on);
        let is_limited = on.is_limited() || on.ends().is_some();
        if is_limited || self.stdout.is_some() || self.stderr.is_some() || self.repeat.is_some() {
            let text = "`continueOn` with more than `failure` or `skipped`, `stdout`, `stderr` and `repeatPolicy` of a \
                        child or request are not mapped";
            draft.fails(line, text);
        }
        self.on = on;
    }

    /// Takes the folder of a step; returns it if it can be the key `cwd`.
    pub(super) fn cwd(&mut self, folder: &str) -> Option<String> {
        let is_plain = !folder.starts_with(['/', '~']);
        if is_plain && self.folder.is_none() && self.stdout.is_none() && self.stderr.is_none() {
            return Some(folder.to_owned());
        }
        self.own_folder = path(folder);
        None
    }

    /// The script of a step.
    pub(super) fn script(&self, text: &str) -> String {
        let mut text = match &self.own_folder {
            Some(folder) => format!("{}{text}", entered(folder)),
            None => text.to_owned(),
        };
        let (ends, reads) = (self.on.ends(), self.on.reads_output());
        let is_written = self.stdout.is_some() || self.stderr.is_some() || reads;
        if self.repeat.is_some() || is_written || ends.is_some() {
            text = self.surrounded(&text, ends.as_deref().unwrap_or_default(), reads);
        }
        match &self.folder {
            Some(folder) => format!("{}{text}", entered(folder)),
            None => text,
        }
    }

    fn surrounded(&self, text: &str, ends: &str, reads: bool) -> String {
        let mut run = format!("(\nset -e\n{}\n)\n", text.trim_end_matches('\n'));
        run = match &self.repeat {
            Some(repeat) => repeat.script(&run),
            None => run,
        };
        let mut before = String::from("set +e\n");
        if reads {
            before.push_str("_printed=\"$(mktemp)\"\n");
        }
        for file in [&self.stdout, &self.stderr].into_iter().flatten() {
            before.push_str(&format!(": >> {file} || exit 1\n"));
        }
        let run = run.trim_end_matches('\n').to_owned();
        let run = match &self.stderr {
            // The file gets a copy of stderr only: stdout passes by it.
            Some(file) => format!(
                "(\n(\n{run}\n) 2>&1 >&3 3>&- | tee -a -- {file} >&2\nexit \"${{PIPESTATUS[0]}}\"\n) 3>&1"
            ),
            None if self.repeat.is_some() => format!("(\n{run}\n)"),
            None => run,
        };
        let copies: Vec<&str> = self
            .stdout
            .iter()
            .map(String::as_str)
            .chain(reads.then_some("\"$_printed\""))
            .collect();
        let (run, code) = match copies.as_slice() {
            [] => (run, "$?".to_owned()),
            copies => {
                let run = format!("{run} | tee -a -- {}", copies.join(" "));
                (run, "${PIPESTATUS[0]}".to_owned())
            }
        };
        let after = if reads { "rm -f -- \"$_printed\"\n" } else { "" };
        format!("{before}{run}\n_code=\"{code}\"\n{ends}{after}exit \"$_code\"\n")
    }
}

/// Dagu makes a folder that does not exist.
fn entered(folder: &str) -> String {
    format!("mkdir -p -- {folder} && cd -- {folder}\n")
}

impl Repeat {
    /// Takes the key if exit codes decide.
    fn of(fields: &Fields<'_>, policy: &Positioned, draft: &mut Draft) -> Option<Repeat> {
        let ahead = Fields::ahead(policy);
        let codes = ahead.take("exitCode")?.items().iter().filter_map(Positioned::words).collect();
        let until = match ahead.text("repeat").as_deref() {
            Some("until") => true,
            Some("while" | "true") => false,
            _ => return None,
        };
        ahead.peek("intervalSec")?;
        // The output of a step is that of its last repetition.
        if fields.peek("output").is_some() || ahead.peek("condition").is_some() {
            return None;
        }
        fields.take("repeatPolicy");
        let own = Fields::of(policy, "repeatPolicy.", draft);
        own.take("exitCode");
        own.take("repeat");
        let (limit, seconds) = (own.text("limit"), own.text("intervalSec")?);
        Some(Repeat { until, codes, limit, seconds })
    }

    fn script(&self, run: &str) -> String {
        let codes = self.codes.join("|");
        let ends = match self.until {
            true => format!("case \"$_code\" in {codes}) break;; esac\n"),
            false => format!("case \"$_code\" in {codes}) ;; *) break;; esac\n"),
        };
        let limit = match &self.limit {
            Some(limit) => {
                format!("_turns=$((_turns + 1)); test \"$_turns\" -lt {limit} || break\n")
            }
            None => String::new(),
        };
        let seconds = &self.seconds;
        format!(
            "_turns=0\nwhile :; do\n{run}_code=$?\n{ends}{limit}sleep {seconds}\ndone\nexit \"$_code\"\n"
        )
    }
}
