//! The definitions that a file becomes, while it is read, and names in them.

use super::around::Around;
use super::guard::{Guard, failing_script, with_todo};
use super::held::Failing;
pub(super) use super::names::{literal, name, playbook_id, reference, step_id};
use super::output::Out;
use super::report::{ImportNote, Report};
use kb_base::diagnostic::Diagnostic;
use kb_language::definition::Positioned;
use std::collections::{BTreeMap, BTreeSet};

/// The definitions that a file becomes.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// Playbooks by id, with their texts; the main one is first.
    pub playbooks: Vec<(String, String)>,
    /// Specialists by id, with their texts.
    pub specialists: Vec<(String, String)>,
    /// What was not mapped, and hints, in the order of lines.
    pub notes: Vec<ImportNote>,
    /// What makes the file unusable. There are no definitions then.
    pub problems: Vec<Diagnostic>,
    /// Playbooks by id that the definitions run and that must exist, with the problem if they do not.
    pub needs: Vec<(String, Diagnostic)>,
    /// Playbooks by id that the file runs and that do not exist. The steps that would run them fail.
    pub waits: BTreeSet<String>,
}

/// The definitions while a file is read.
pub(super) struct Draft {
    /// Id of the playbook.
    pub(super) id: String,
    /// Keys of the playbook before `steps`, in order.
    pub(super) head: Vec<(&'static str, Out)>,
    pub(super) params: Vec<Out>,
    pub(super) steps: Vec<Out>,
    pub(super) finally: Vec<Out>,
    others: Vec<(String, String)>,
    specialists: BTreeMap<String, String>,
    pub(super) report: Report,
    /// The keys that say when the steps of the scope run.
    place: Vec<(String, Out)>,
    /// The ids of the steps that stand for parts without a translation.
    failing: BTreeSet<String>,
    needs: Vec<(String, Diagnostic)>,
    /// The project.
    pub(super) around: Around,
    /// The playbooks that the file runs although they do not exist.
    waits: BTreeSet<String>,
}

impl Draft {
    pub(super) fn new(name: &str, around: &Around) -> Draft {
        let (head, params, steps, finally) = Default::default();
        let (others, specialists, report, place) = Default::default();
        let (failing, needs, waits) = Default::default();
        let (id, around) = (playbook_id(name), around.clone());
        Draft {
            id,
            head,
            params,
            steps,
            finally,
            others,
            specialists,
            report,
            place,
            failing,
            needs,
            around,
            waits,
        }
    }

    /// Reports a part without an exact translation: the steps of the scope fail.
    pub(super) fn fails(&self, line: u32, text: impl Into<String>) {
        self.report.fails(line, text);
    }

    /// Reports a part that is left out, so that the result does less.
    pub(super) fn left_out(&self, line: u32, text: impl Into<String>) {
        self.report.left_out(line, text);
    }

    pub(super) fn hint(&self, line: u32, text: impl Into<String>) {
        self.report.hint(line, text);
    }

    /// Reads steps in a scope of their own: if a part of them is not translated, they wait for a step that fails.
    pub(super) fn scope<T>(
        &mut self,
        name: &str,
        original: Option<&Positioned>,
        read: impl FnOnce(&mut Draft) -> T,
    ) -> T {
        let start = self.steps.len();
        let outside = self.report.open();
        let place = std::mem::take(&mut self.place);
        let found = read(self);
        let place = std::mem::replace(&mut self.place, place);
        let notes = self.report.close(outside);
        if Guard::fails(&notes) {
            let guard = Guard { id: self.free_id(name), notes: &notes, original, place };
            guard.hold(&mut self.steps[start..]);
            self.steps.insert(start, guard.step());
            self.failing.insert(guard.id);
        } else if start < self.steps.len() {
            let first = std::mem::replace(&mut self.steps[start], Out::List(Vec::new()));
            self.steps[start] = with_todo(&notes, first);
        } else {
            // There is no step to write it at.
            notes.into_iter().for_each(|note| self.report.put_back(note));
        }
        found
    }

    /// Says when the steps of the scope run: a step that fails in their place runs then too.
    pub(super) fn place(&mut self, step: &[(&'static str, Out)]) {
        let keys = step.iter().filter(|(key, _)| ["dependsOn", "runIf", "condition"].contains(key));
        self.place = keys.map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    }

    /// Reads steps that are not among those of the playbook.
    pub(super) fn apart(&mut self, read: impl FnOnce(&mut Draft)) -> Vec<Out> {
        let own = std::mem::take(&mut self.steps);
        read(self);
        std::mem::replace(&mut self.steps, own)
    }

    /// An id of a step that fails.
    fn free_id(&self, name: &str) -> String {
        let wanted = step_id(&format!("{name}-not-translated"));
        let known = |id: &str| {
            let is = |step: &Out| step.get("id").and_then(Out::words).as_deref() == Some(id);
            self.steps.iter().chain(&self.finally).any(is)
        };
        let more = (2..).map(|number| format!("{wanted}-{number}"));
        std::iter::once(wanted.clone()).chain(more).find(|id| !known(id)).unwrap_or(wanted)
    }

    /// Whether a playbook that the file runs exists, apart from those of the file.
    pub(super) fn has_playbook(&mut self, id: &str) -> bool {
        let has = self.around.playbooks.contains(id);
        if !has {
            self.waits.insert(id.to_owned());
        }
        has
    }

    /// Requires a playbook that the file does not have. The first 20 are kept.
    pub(super) fn need(&mut self, id: &str, problem: Diagnostic) {
        if !self.needs.iter().any(|(known, _)| known == id) && self.needs.len() < 20 {
            self.needs.push((id.to_owned(), problem));
        }
    }

    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Out>) {
        self.head.push((key, value.into()));
    }

    /// Reports a step whose work has no translation: it fails with its original text.
    pub(super) fn without_work(
        &mut self,
        line: u32,
        why: String,
        original: &Positioned,
        map: &mut Vec<(&'static str, Out)>,
    ) {
        let why_here = format!("line {line}: {why}");
        let script = failing_script(std::slice::from_ref(&why_here), Some(original));
        self.report.placed(line, why);
        let id = map.iter().find(|(key, _)| *key == "id").and_then(|(_, id)| id.words());
        self.failing.extend(id);
        map.push(("run", Out::Noted(vec![format!("TODO {why_here}")], Box::new(script.into()))));
    }

    /// Adds a specialist unless the same one exists. Returns its id: another one, if that is used for another
    /// specialist, whose tools may be more.
    pub(super) fn specialist(
        &mut self,
        id: &str,
        role: &str,
        tools: &[String],
        more: Vec<(&'static str, Out)>,
    ) -> String {
        let text = |id: &str| {
            let mut map = vec![
                ("schema", Out::from("kb.specialist/1")),
                ("id", Out::from(id)),
                ("role", Out::from(role)),
            ];
            map.extend(more.clone());
            let tools = tools.iter().map(|tool| Out::from(tool.as_str()));
            map.push(("tools", Out::List(tools.collect())));
            Out::map(map).file()
        };
        let others = (2..).map(|number| format!("{id}-{number}"));
        for id in std::iter::once(id.to_owned()).chain(others) {
            let text = text(&id);
            match (self.specialists.get(&id), self.around.specialists.get(&id)) {
                (Some(known), _) if *known == text => return id,
                (None, Some(Some(known))) if *known == text => return id,
                (None, None) => {
                    self.specialists.insert(id.clone(), text);
                    return id;
                }
                _ => {}
            }
        }
        id.to_owned()
    }

    pub(super) fn finish(mut self) -> Conversion {
        let notes = self.report.rest();
        let playbook = self.playbook(&notes);
        let mut playbooks = vec![(self.id, playbook.file())];
        playbooks.append(&mut self.others);
        let Draft { specialists, report, needs, waits, .. } = self;
        let (notes, problems) = (report.notes(), Vec::new());
        let specialists = specialists.into_iter().collect();
        Conversion { playbooks, specialists, notes, needs, waits, problems }
    }

    /// The playbook. What of it is not translated makes all of its steps wait for one that fails.
    fn playbook(&mut self, notes: &[ImportNote]) -> Out {
        let whole = Guard { id: self.free_id(""), notes, original: None, place: Vec::new() };
        let whole = Some(whole).filter(|_| Guard::fails(notes));
        let mut failing = Failing::among(&mut self.steps, &self.failing);
        failing.hold();
        let hooks = self.head.iter_mut().filter(|(key, _)| *key == "hooks");
        let handlers = hooks.flat_map(|(_, hooks)| hooks.lists()).chain([&mut self.finally]);
        for steps in handlers {
            failing.hold_after(steps);
            whole.iter().for_each(|guard| guard.hold_after(steps));
        }
        if let Some(guard) = &whole {
            guard.hold(&mut self.steps);
            self.steps.insert(0, guard.step());
        }
        let mut map =
            vec![("schema", Out::from("kb.playbook/1")), ("id", Out::from(self.id.as_str()))];
        map.append(&mut self.head);
        let lists = [("params", &mut self.params), ("steps", &mut self.steps)];
        for (key, list) in lists.into_iter().chain([("finally", &mut self.finally)]) {
            if !list.is_empty() || key == "steps" {
                map.push((key, Out::List(std::mem::take(list))));
            }
        }
        if Guard::fails(notes) { Out::map(map) } else { with_todo(notes, Out::map(map)) }
    }
}
