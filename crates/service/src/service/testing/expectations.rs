//! Compares the result of a run with what its test expects.

use super::compare::{differences, short};
use super::messages::{different_content, missing_reply, unused_fault};
use super::questions::{OpenQuestion, open_questions};
use super::report::PlaybookTest;
use super::snapshot;
use crate::service::runs::ProjectContext;
use crate::service::{ServiceError, read_run, run_output, show_run};
use kb_attempt::replace_file;
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};
use kb_base::value::{Json, json_text};
use kb_core::evidence::{Change, Verdict};
use kb_core::run::RunStatus;
use kb_core::wire::{InstanceView, RunView, change_kind_name};
use kb_host::workspace::PathGlob;
use kb_language::definition::{Expectations, Located, TestScript};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// A run that has ended or waits.
pub(super) struct Finished<'a> {
    /// The test whose expectations are checked.
    pub(super) test: &'a PlaybookTest,
    /// The project of the run.
    pub(super) context: &'a ProjectContext,
    /// Id of the run.
    pub(super) run: &'a str,
    /// Status of the run.
    pub(super) status: RunStatus,
    /// The files that the run changed.
    pub(super) changes: &'a [Change],
}

/// What differs from the expected result, and the snapshot that was written below `root`.
pub(super) fn problems(
    finished: &Finished<'_>,
    root: &Path,
    update: bool,
) -> Result<(Vec<Diagnostic>, Option<String>), ServiceError> {
    let view = show_run(finished.context, finished.run)?;
    let outputs = match run_output(finished.context, finished.run, None) {
        Ok((outputs, _)) => outputs.as_ref().clone(),
        Err(ServiceError::Refused(_)) => Json::Null,
        Err(error) => return Err(error),
    };
    let mut check = Check { finished, view: &view, found: Vec::new() };
    let expect = &finished.test.case.expect;
    let waiting = open_questions(finished.context, finished.run)?;
    check.status(expect, &waiting);
    check.steps(expect);
    check.outputs(expect, &outputs)?;
    check.files(expect);
    check.changes(expect);
    check.events(expect)?;
    check.cost(expect);
    check.faults();
    check.recording();
    let updated = match expect.snapshot {
        Some(span) => check.snapshot(span, &outputs, root, update),
        None => None,
    };
    Ok((check.found, updated))
}

struct Check<'a> {
    finished: &'a Finished<'a>,
    view: &'a RunView,
    found: Vec<Diagnostic>,
}

impl Check<'_> {
    fn add(&mut self, span: Span, message: String) {
        self.found.push(Diagnostic::error(Code::TEST_FAILED, span, message));
    }

    fn add_with_help(&mut self, span: Span, message: String, help: String) {
        self.found.push(Diagnostic::error(Code::TEST_FAILED, span, message).help(help));
    }

    fn status(&mut self, expect: &Expectations, waiting: &[OpenQuestion]) {
        let expected = expect.status.as_ref().map_or(RunStatus::Succeeded, |status| status.value);
        let status = self.finished.status;
        if status == expected {
            return;
        }
        let span = expect.status.as_ref().map_or(self.finished.test.case.name.span, |s| s.span);
        let mut message = format!("expected the run to be {expected}, found {status}");
        for step in self.view.steps.iter().filter(|step| !step.tolerated) {
            if let Some(error) = &step.error {
                message.push_str(&format!(
                    "\n  {} {}: {}: {}",
                    step.instance, step.status, error.code, error.message
                ));
            }
        }
        if let Some(error) = &self.view.error {
            message.push_str(&format!("\n  {}: {}", error.code, error.message));
        }
        let waiting: Vec<&str> = waiting.iter().map(|question| &*question.name).collect();
        if !waiting.is_empty() {
            message.push_str(&format!("\n  waiting for a reply: {}", waiting.join(", ")));
        }
        let replies: Vec<&str> =
            self.finished.test.case.answers.iter().map(|(name, _)| &**name).collect();
        match missing_reply(&waiting, &replies) {
            Some(help) => self.add_with_help(span, message, help),
            None => self.add(span, message),
        }
    }

    /// The step or item with a name; reports a name that the run does not have.
    fn instance(&mut self, name: &str, span: Span) -> Option<InstanceView> {
        let found = self.view.steps.iter().find(|step| step.instance == name).cloned();
        if found.is_none() {
            let names: Vec<String> = self.view.steps.iter().map(|s| s.instance.clone()).collect();
            let message = format!("the run has no step or item `{name}`");
            match nearest(name, names.iter().map(String::as_str)) {
                Some(near) => self.add_with_help(span, message, format!("did you mean `{near}`?")),
                None => self.add(span, message),
            }
        }
        found
    }

    fn steps(&mut self, expect: &Expectations) {
        for (name, expected) in &expect.steps {
            let Some(step) = self.instance(name, expected.span) else { continue };
            if step.status != expected.value {
                let mut message =
                    format!("expected `{name}` to be {}, found {}", expected.value, step.status);
                let reason =
                    step.error.as_ref().map(|error| format!("{}: {}", error.code, error.message));
                if let Some(reason) = reason.or(step.reason) {
                    message.push_str(&format!("\n  {reason}"));
                }
                self.add(expected.span, message);
            }
        }
        for (name, expected) in &expect.attempts {
            let Some(step) = self.instance(name, expected.span) else { continue };
            if step.attempts != expected.value {
                let (wanted, found) = (expected.value, step.attempts);
                self.add(
                    expected.span,
                    format!("expected {wanted} attempts of `{name}`, found {found}"),
                );
            }
        }
        for (name, expected) in &expect.verdicts {
            let Some(step) = self.instance(name, expected.span) else { continue };
            if step.verdict != Some(expected.value) {
                let wanted = expected.value;
                let verdict = step.verdict.map_or("none", Verdict::as_str);
                let mut message =
                    format!("expected the verdict of `{name}` to be {wanted}, found {verdict}");
                for check in &step.checks {
                    message.push_str(&format!("\n  {}: {}", check.check, check.verdict));
                    let reason = check.reason.as_deref().map(|reason| format!(": {reason}"));
                    message.push_str(&reason.unwrap_or_default());
                }
                self.add(expected.span, message);
            }
        }
        for (name, expected) in &expect.errors {
            let error = match name.as_str() {
                "run" => self.view.error.clone(),
                name => match self.instance(name, expected.span) {
                    Some(step) => step.error,
                    None => continue,
                },
            };
            let text = error.map(|error| format!("{}: {}", error.code, error.message));
            let text = text.unwrap_or_else(|| "no error".to_owned());
            if !text.contains(&expected.value) {
                let wanted = &expected.value;
                self.add(
                    expected.span,
                    format!("expected the error of `{name}` to contain `{wanted}`, found `{text}`"),
                );
            }
        }
    }

    fn outputs(&mut self, expect: &Expectations, outputs: &Json) -> Result<(), ServiceError> {
        for (name, expected) in &expect.outputs {
            match outputs.get(name) {
                Some(found) => self.value(&format!("the output `{name}`"), expected, found),
                None => {
                    let found = short(outputs);
                    self.add(
                        expected.span,
                        format!("the run has no output `{name}`; its outputs are {found}"),
                    );
                }
            }
        }
        for (name, expected) in &expect.step_outputs {
            let (context, run) = (self.finished.context, self.finished.run);
            match run_output(context, run, Some(name)) {
                Ok((found, _)) => self.value(&format!("the output of `{name}`"), expected, &found),
                Err(ServiceError::Refused(failure)) => self.add(expected.span, failure.message),
                Err(error @ ServiceError::Unknown { .. }) => {
                    self.add(expected.span, error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn value(&mut self, what: &str, expected: &Located<Json>, found: &Json) {
        let differences = differences(&expected.value, found);
        if !differences.is_empty() {
            self.add(expected.span, format!("{what} differs: {}", differences.join("; ")));
        }
    }

    fn files(&mut self, expect: &Expectations) {
        for (path, expected) in &expect.files {
            let whole = self.finished.context.root.join(path);
            let content =
                std::fs::read(&whole).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let found = match content {
                Err(_) if expected.value.absent => continue,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    vec![format!("the file `{path}` does not exist")]
                }
                Err(error) => vec![format!("the file `{path}` cannot be read: {error}")],
                Ok(_) if expected.value.absent => vec![format!("the file `{path}` exists")],
                Ok(content) => different_content(path, &expected.value, &content),
            };
            for message in found {
                self.add(expected.span, message);
            }
        }
    }

    fn changes(&mut self, expect: &Expectations) {
        let Some(globs) = &expect.changes else { return };
        let changes: Vec<&Change> =
            self.finished.changes.iter().filter(|change| !change.same_content).collect();
        let mut compiled = Vec::new();
        for glob in globs {
            match PathGlob::new(&glob.value) {
                Ok(pattern) => compiled.push((glob, pattern)),
                Err(error) => self.add(glob.span, error.to_string()),
            }
        }
        for (glob, pattern) in &compiled {
            if !changes.iter().any(|change| pattern.matches(&change.path)) {
                self.add(
                    glob.span,
                    format!("the run changed no file that matches `{}`", glob.value),
                );
            }
        }
        let span = globs.first().map_or(self.finished.test.case.name.span, |glob| glob.span);
        for change in changes {
            if !compiled.iter().any(|(_, pattern)| pattern.matches(&change.path)) {
                let kind = change.kind().map_or("changed", change_kind_name);
                self.add(span, format!("unexpected change: `{}` was {kind}", change.path));
            }
        }
    }

    fn events(&mut self, expect: &Expectations) -> Result<(), ServiceError> {
        if expect.events.is_empty() {
            return Ok(());
        }
        let mut reader = read_run(self.finished.context, self.finished.run)?;
        let mut events = Vec::new();
        while let Some(page) = reader.next_events()? {
            events.extend(page.iter().map(|event| json!(event)));
        }
        let mut rest = events.as_slice();
        for expected in &expect.events {
            match rest.iter().position(|event| differences(&expected.value, event).is_empty()) {
                Some(at) => rest = &rest[at + 1..],
                None => {
                    let wanted = json_text(&expected.value);
                    let anywhere =
                        events.iter().any(|e| differences(&expected.value, e).is_empty());
                    let place = if anywhere { "after the events before it" } else { "in the run" };
                    let types: BTreeSet<&str> =
                        events.iter().filter_map(|event| event["type"].as_str()).collect();
                    let types = types.into_iter().collect::<Vec<_>>().join(", ");
                    let message = format!("no event {place} has `{wanted}`");
                    self.add_with_help(expected.span, message, format!("the run has: {types}"));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn cost(&mut self, expect: &Expectations) {
        let Some(limit) = &expect.max_cost else { return };
        match self.view.usage.cost_usd {
            Some(cost) if cost <= limit.value => {}
            Some(cost) => {
                let message = format!("the run cost ${cost:.4}, more than ${:.4}", limit.value);
                self.add(limit.span, message);
            }
            None => self.add(limit.span, "the cost of the run is not known".to_owned()),
        }
    }

    /// Faults that did not occur, because the run did not come to them.
    fn faults(&mut self) {
        let case = &self.finished.test.case;
        for index in self.finished.context.doubles.unused_faults() {
            let fault = &case.faults[index];
            self.add(fault.step.span, unused_fault(fault));
        }
        let writes = self.finished.context.doubles.writes.as_ref();
        for step in writes.map(|writes| writes.left()).unwrap_or_default() {
            let case = &self.finished.test.case;
            let faults = case.faults.iter().map(|fault| &fault.step);
            let span = faults.chain(&case.interrupt_after).find(|found| found.value == step);
            let span = span.map_or(case.name.span, |found| found.span);
            self.add(span, format!("the fault after `{step}` did not occur: the step did not end"));
        }
    }

    /// Where the recording of a failed test no longer fits.
    fn recording(&mut self) {
        let differences = self.finished.context.doubles.fit.differences();
        if self.found.is_empty() || differences.is_empty() {
            return;
        }
        let message = format!("the recording no longer fits:\n  {}", differences.join("\n  "));
        let span = match &self.finished.test.case.script {
            Some(TestScript::File(path)) => path.span,
            _ => self.finished.test.case.name.span,
        };
        let help = "record the run again with `--record`, or change the script".to_owned();
        self.add_with_help(span, message, help);
    }

    /// Compares the result with the stored one, or stores it; returns the path that was written.
    fn snapshot(
        &mut self,
        span: Span,
        outputs: &Json,
        root: &Path,
        update: bool,
    ) -> Option<String> {
        let found = snapshot::of_run(self.view, outputs, self.finished.changes);
        let path = snapshot::path_of(root, self.finished.test);
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let stored = std::fs::read_to_string(&path).ok();
        if stored.as_ref() == Some(&found) {
            return None;
        }
        if update {
            return match replace_file(&path, found.as_bytes()) {
                Ok(()) => Some(shown),
                Err(error) => {
                    self.add(span, format!("the snapshot `{shown}` cannot be written: {error}"));
                    None
                }
            };
        }
        let help = "`kb playbook test --update` stores the new result".to_owned();
        match stored {
            None => {
                self.add_with_help(span, format!("the snapshot `{shown}` does not exist"), help)
            }
            Some(stored) => {
                let diff = snapshot::diff(&stored, &found);
                self.add_with_help(
                    span,
                    format!("the result differs from `{shown}`:\n{diff}"),
                    help,
                );
            }
        }
        None
    }
}
