//! Steps of jobs of GitHub Actions.

use super::actions_condition::{Condition, When};
use super::actions_defaults::{bash, environment, minutes};
use super::actions_job::{Job, Last};
use super::actions_machine::is_exact;
use super::actions_scope::KnownStep;
use super::actions_text::{template, without_placeholders};
use super::draft::{Draft, literal, reference};
use super::fields::{Fields, flag, words};
use super::output::Out;
use super::shell::look_at;
use kb_language::definition::Positioned;

/// The start of a script that writes to `$GITHUB_OUTPUT`: the lines of that file are the output of the step.
const WRITES_OUTPUTS: &str =
    "# The lines of $GITHUB_OUTPUT are the output of this step; all that it prints is its stderr.
exec 3>&1 >&2; export GITHUB_OUTPUT=\"$(mktemp)\"
trap 'cat \"$GITHUB_OUTPUT\" >&3; rm \"$GITHUB_OUTPUT\"' EXIT
";

/// The same for a step with `continue-on-error`: a step that fails has no output, so it succeeds, and says that it failed.
const KEEPS_OUTPUTS: &str =
    "# The lines of $GITHUB_OUTPUT are the output of this step; all that it prints is its stderr. If it fails, the
# last line is `kb:failed`, and the run continues with these lines.
exec 3>&1 >&2; export GITHUB_OUTPUT=\"$(mktemp)\"
trap 'code=$?; cat \"$GITHUB_OUTPUT\" >&3; rm \"$GITHUB_OUTPUT\"; test $code = 0 || { printf \"\\nkb:failed\\n\" >&3; exit 0; }' EXIT
";

impl Job<'_> {
    /// Adds a step with `run`; reports one with `uses`.
    pub(super) fn step(&mut self, step: &Positioned, own: String, draft: &mut Draft) {
        let fields = Fields::of(step, format!("jobs.{}.steps.", self.id), draft);
        let name = fields.text("name").or_else(|| self.label.clone());
        let uses = fields.take("uses").map(|uses| words(uses, "uses", draft).unwrap_or_default());
        if uses.as_deref().is_some_and(|uses| is_exact(uses, step)) {
            fields.take_rest();
            let text =
                "`actions/checkout` and `actions/cache`: a playbook runs in the project folder";
            return draft.hint(step.line, text);
        }
        let run = fields.take("run");
        let mut condition = match fields.take("if") {
            Some(text) => {
                let follows_failure = self.follows_failure(&Condition::default());
                Condition::of(text, self.scope, follows_failure, draft)
            }
            None => Condition::default(),
        };
        let never =
            condition.when == When::Never || (condition.when == When::Failure && self.is_first());
        if never {
            fields.take_rest();
            return draft.left_out(
                step.line,
                format!("the step of `{}` with this `if` is left out", self.id),
            );
        }
        let mut map: Vec<(&'static str, Out)> = vec![("id", own.clone().into())];
        map.extend(name.map(|name| ("name", literal(&name).into())));
        // A condition is evaluated once for all combinations of a matrix.
        let of_item = condition.expression.take_if(|text| text.contains("matrix."));
        self.place(&condition, &mut map);
        draft.place(&map);
        let Some(run) = run else {
            fields.take_rest();
            let why = match uses {
                Some(uses) => {
                    format!("`uses: {uses}` is not mapped: replace it by a command or a tool")
                }
                None => format!("a step of the job `{}` has neither `run` nor `uses`", self.id),
            };
            draft.without_work(step.line, why, step, &mut map);
            draft.steps.push(Out::map(map));
            return self.ran(own, &condition, false);
        };
        let outer = self.scope.env.clone();
        self.scope.after_failure = self.follows_failure(&condition);
        self.script(run, (&fields, &own), of_item, &mut map, draft);
        self.policies(&fields, step.line, &mut map, draft);
        self.scope.env = outer;
        self.scope.after_failure = false;
        let tolerated = map.iter().any(|(key, _)| *key == "onError");
        draft.steps.push(Out::map(map));
        self.ran(own.clone(), &condition, tolerated);
        if self.finishes && !tolerated {
            self.all_passed(&own, draft);
        }
    }

    /// Notes that a step was added.
    fn ran(&mut self, own: String, condition: &Condition, is_tolerated: bool) {
        self.used.push(own.clone());
        let may_skip = condition.may_skip();
        if condition.when == When::Success {
            self.last.clear();
        }
        self.last.push(Last { id: own, may_skip, is_tolerated });
    }

    /// Adds the script of a step and its variables.
    fn script(
        &mut self,
        run: &Positioned,
        (fields, own): (&Fields<'_>, &str),
        of_item: Option<String>,
        map: &mut Vec<(&'static str, Out)>,
        draft: &mut Draft,
    ) {
        let mut variables = self.env.clone();
        if let Some(text) = &of_item {
            variables.set("IF", format!("{{{{{text}}}}}"));
        }
        if let Some(env) = fields.take("env") {
            for (name, value) in environment(env, self.scope, draft).0 {
                self.scope.env.insert(name.clone());
                variables.set(&name, value);
            }
        }
        let text = words(run, "run", draft).unwrap_or_default();
        look_at(&text, run.line, draft);
        if text.contains("GITHUB_STEP_SUMMARY") {
            draft.left_out(run.line, "`$GITHUB_STEP_SUMMARY` is a file that no step reads");
            variables.set("GITHUB_STEP_SUMMARY", "/dev/null");
        }
        let mut text = without_placeholders(&text, run.line, self.scope, &mut variables, draft);
        map.extend(self.common.clone());
        let writes = text.contains("GITHUB_OUTPUT");
        let keeps = writes && self.tolerates(fields);
        if writes {
            if let Some(word) = text.lines().find_map(ends_otherwise) {
                let why = format!(
                    "a script with `{word}` whose `$GITHUB_OUTPUT` is read has no counterpart"
                );
                draft.fails(run.line, why);
            }
            text.insert_str(0, if keeps { KEEPS_OUTPUTS } else { WRITES_OUTPUTS });
        }
        if of_item.is_some() {
            text.insert_str(0, "[ \"$IF\" = true ] || exit 0\n");
        }
        if let Some(written) = fields.text("id") {
            let writes = (writes && !self.is_matrix).then(|| text.clone());
            self.scope.steps.insert(written, KnownStep { id: own.to_owned(), writes, keeps });
        }
        map.push(("run", text.into()));
        if writes {
            map.push(("parse", "lines".into()));
        }
        map.extend(variables.out().map(|env| ("env", env)));
    }

    /// Whether the failure of a step counts as a success.
    fn tolerates(&self, fields: &Fields<'_>) -> bool {
        match fields.peek("continue-on-error") {
            Some(own) => own.words().is_some_and(|text| text == "true"),
            None => self.common.iter().any(|(key, _)| *key == "onError"),
        }
    }

    /// Adds where and how long a step runs, and what its failure means.
    fn policies(
        &self,
        fields: &Fields<'_>,
        line: u32,
        map: &mut Vec<(&'static str, Out)>,
        draft: &mut Draft,
    ) {
        if let Some(cwd) = fields.text("working-directory").or_else(|| self.cwd.clone()) {
            match template(&cwd, self.scope) {
                Ok(cwd) => map.push(("cwd", cwd.into())),
                Err(unknown) => draft
                    .fails(line, format!("`working-directory: {cwd}` is not mapped (`{unknown}`)")),
            }
        }
        if let Some(limit) = minutes(fields, draft) {
            map.retain(|(key, _)| *key != "timeout");
            map.push(("timeout", limit.into()));
        }
        if let Some(tolerated) = flag(fields, "continue-on-error", draft) {
            map.retain(|(key, _)| *key != "onError");
            map.extend(tolerated.then(|| ("onError", "continue".into())));
        }
        bash(fields, draft);
    }

    /// Adds a step that fails if a combination failed, after the others have run too.
    fn all_passed(&mut self, of: &str, draft: &mut Draft) {
        let own = format!("{of}-all");
        let failed = format!("{{{{{}.errors | length}}}}", reference(of));
        draft.steps.push(Out::map(vec![
            ("id", own.clone().into()),
            ("dependsOn", Out::texts(&[of.to_owned()])),
            ("run", "test \"$FAILED\" = 0\n".into()),
            ("env", Out::map(vec![("FAILED", failed.into())])),
        ]));
        self.last.retain(|last| last.id != of);
        self.last.push(Last { id: own, may_skip: false, is_tolerated: false });
    }
}

/// The word with which a line of a script replaces what `kb` does when the script ends.
fn ends_otherwise(line: &str) -> Option<&'static str> {
    let first = line.split_whitespace().next()?;
    ["trap", "exec"].into_iter().find(|word| *word == first)
}
