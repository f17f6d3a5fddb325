//! `continueOn` of Dagu: which failures of a step let the run continue.

use super::dagu_pattern::extended;
use super::draft::{Draft, reference};
use super::fields::{Fields, flag, texts};
use super::output::Out;
use kb_language::definition::Positioned;

/// The exit code that a script gets where its output lets the run continue.
const BY_OUTPUT: u8 = 250;

/// What a step tolerates.
#[derive(Default, Clone)]
pub(super) struct ContinueOn {
    /// Every failure.
    failure: bool,
    /// What follows runs also if the step was skipped.
    pub(super) skipped: bool,
    /// Failures with these exit codes.
    codes: Vec<u8>,
    /// Failures whose output has one of these, as options of `grep`.
    outputs: Vec<(&'static str, String)>,
    /// Whether what is tolerated counts as a success.
    success: bool,
}

impl ContinueOn {
    /// Reads the key, which is taken later.
    pub(super) fn ahead(fields: &Fields<'_>) -> ContinueOn {
        fields
            .peek("continueOn")
            .map(|on| ContinueOn::read(on, &Fields::ahead(on)).0)
            .unwrap_or_default()
    }

    /// Takes the key and reports what has no counterpart.
    pub(super) fn of(fields: &Fields<'_>, draft: &mut Draft) -> ContinueOn {
        let Some(on) = fields.take("continueOn") else { return ContinueOn::default() };
        let own = match on.words() {
            Some(_) => Fields::ahead(on),
            None => Fields::of(on, "continueOn.", draft),
        };
        for key in ["failure", "skipped", "markSuccess"] {
            flag(&own, key, draft);
        }
        for key in ["exitCode", "output"] {
            own.take(key).map(|value| texts(value, &format!("continueOn.{key}"), draft));
        }
        let (found, unknown) = ContinueOn::read(on, &own);
        for unknown in unknown {
            draft.fails(on.line, format!("`continueOn: {unknown}` is not mapped"));
        }
        found
    }

    fn read(on: &Positioned, own: &Fields<'_>) -> (ContinueOn, Vec<String>) {
        let (mut found, mut unknown) = (ContinueOn::default(), Vec::new());
        match on.words().as_deref() {
            Some("failed") => found.failure = true,
            Some("skipped") => found.skipped = true,
            Some(other) => unknown.push(other.to_owned()),
            None => {}
        }
        let is = |key: &str| own.peek(key).and_then(Positioned::words).as_deref() == Some("true");
        found.failure |= is("failure");
        found.skipped |= is("skipped");
        found.success = is("markSuccess");
        let all = |key: &str| -> Vec<String> {
            let items = own.peek(key).map(Positioned::items).unwrap_or_default();
            items.iter().filter_map(Positioned::words).collect()
        };
        for code in all("exitCode") {
            match code.parse() {
                Ok(code) if code != BY_OUTPUT => found.codes.push(code),
                _ => unknown.push(code),
            }
        }
        for text in all("output") {
            match text.strip_prefix("re:") {
                Some(pattern) => match extended(pattern) {
                    Some(pattern) => found.outputs.push(("E", pattern)),
                    None => unknown.push(text),
                },
                None if text.is_empty() || text.contains('\n') => unknown.push(text),
                None => found.outputs.push(("F", text)),
            }
        }
        (found, unknown)
    }

    /// Whether only some failures are tolerated.
    pub(super) fn is_limited(&self) -> bool {
        !(self.failure || self.codes.is_empty() && self.outputs.is_empty())
    }

    /// Whether a failure is tolerated and stays one.
    pub(super) fn is_tolerated(&self) -> bool {
        (self.failure || self.is_limited()) && !self.success
    }

    /// The id of the step that fails after other failures of a step; what follows waits for it.
    pub(super) fn end(&self, id: &str) -> Option<String> {
        (self.is_limited() && !self.success).then(|| format!("{id}-continues"))
    }

    /// That step.
    pub(super) fn ending(&self, id: &str) -> Option<Out> {
        let mut codes: Vec<String> = self.codes.iter().map(u8::to_string).collect();
        codes.extend((!self.outputs.is_empty()).then(|| BY_OUTPUT.to_string()));
        let step = reference(id);
        let text = format!(
            "# `continueOn` of `{id}`: after other failures the run does not continue.\ntest \"$STATUS\" != failed || case \
             \"$CODE\" in {}) ;; *) exit 1;; esac\n",
            codes.join("|")
        );
        let env = [("STATUS", "status"), ("CODE", "exitCode | default('')")];
        let env = env.map(|(name, key)| (name, Out::from(format!("{{{{{step}.{key}}}}}"))));
        let mut map =
            vec![("id", self.end(id)?.into()), ("dependsOn", Out::texts(&[id.to_owned()]))];
        map.extend(self.skipped.then(|| ("runIf", "noneFailed".into())));
        map.extend([("run", text.into()), ("env", Out::map(env.into()))]);
        Some(Out::map(map))
    }

    /// Whether the output of the script decides.
    pub(super) fn reads_output(&self) -> bool {
        !self.failure && !self.outputs.is_empty()
    }

    /// The end of a script whose exit code is in `_code`, and what it printed in the file `$_printed`. None if the
    /// exit code stays as it is.
    pub(super) fn ends(&self) -> Option<String> {
        if self.success && self.failure {
            return Some("_code=0\n".to_owned());
        }
        let mut text = String::new();
        if self.success && !self.codes.is_empty() {
            let codes: Vec<String> = self.codes.iter().map(u8::to_string).collect();
            text.push_str(&format!("case \"$_code\" in {}) _code=0;; esac\n", codes.join("|")));
        }
        if self.reads_output() {
            let becomes = if self.success { 0 } else { BY_OUTPUT };
            text.push_str(&format!("test \"$_code\" != {BY_OUTPUT} || _code=251\n"));
            for (kind, pattern) in &self.outputs {
                text.push_str(&format!(
                    "test \"$_code\" = 0 || ! grep -q{kind} -e {} -- \"$_printed\" || _code={becomes}\n",
                    super::dagu_pattern::word(pattern)
                ));
            }
        }
        (!text.is_empty()).then_some(text)
    }
}
