//! What was last known about the steps of a document, also while its text cannot be read.

use kb_base::value::Json;
use kb_language::definition::{Playbook, Step};
use kb_language::plan::{known_output, steps_before};
use kb_service::service::Project;
use std::collections::{BTreeMap, BTreeSet};

/// What was last known about the steps of a document.
#[derive(Debug, Default)]
pub(super) struct Known {
    steps: BTreeMap<String, KnownStep>,
    /// Names of the environment variables of the playbook and its steps.
    pub(super) env: BTreeSet<String>,
}

#[derive(Debug)]
struct KnownStep {
    /// The schema of its output, or of the output of one of its items.
    output: Json,
    has_items: bool,
    /// The steps after which it starts.
    before: BTreeSet<String>,
}

impl Known {
    /// Takes what could be read of the file at a path, also if it has errors.
    pub(super) fn update(&mut self, project: &Project, shown: &str) {
        let catalog = &project.catalog;
        let all = catalog.playbooks.values().chain(&catalog.drafts);
        let Some(playbook) = all.into_iter().find(|playbook| playbook.path == shown) else {
            return;
        };
        self.env.extend(playbook.env.iter().map(|(name, _)| name.clone()));
        for step in playbook.steps.iter().chain(&playbook.finally) {
            self.env.extend(step.details().env.iter().map(|(name, _)| name.clone()));
            self.steps.insert(step.id.to_string(), known(project, step));
        }
    }

    /// The keys of the value at a path below a step, such as `output.size`. An index is `[]`.
    pub(super) fn keys(&self, step: &str, path: &[&str]) -> Vec<String> {
        let properties = self.schema(step, path).and_then(|found| found["properties"].as_object());
        properties.into_iter().flat_map(|map| map.keys().cloned()).collect()
    }

    /// What the schema says about the value at a path below a step, as markdown.
    pub(super) fn described(&self, step: &str, path: &[&str]) -> Option<String> {
        let schema = self.schema(step, path).filter(|schema| !schema.is_null())?;
        let kind = schema["type"].as_str().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let text = schema["description"].as_str().map(|text| format!(": {text}"));
        let (key, text) = (path.last()?, text.unwrap_or_default());
        Some(format!("**{key}** of the output of `{step}`{kind}{text}"))
    }

    /// The schema of the value at a path below a step.
    fn schema(&self, step: &str, path: &[&str]) -> Option<&Json> {
        let alike = |id: &&String| id.replace('-', "_") == step.replace('-', "_");
        let found = self.steps.keys().find(alike).and_then(|id| self.steps.get(id))?;
        let below = match path {
            ["output", "[]", rest @ ..] | ["byKey", _, rest @ ..] if found.has_items => rest,
            ["output", rest @ ..] if !found.has_items => rest,
            _ => return None,
        };
        Some(below.iter().fold(&found.output, |schema, key| match *key {
            "[]" => &schema["items"],
            key => &schema["properties"][key],
        }))
    }

    /// Whether a step starts after another one, however many steps are between them, or is that step.
    pub(super) fn is_after(&self, step: &str, other: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![step];
        while let Some(next) = open.pop() {
            if next == other {
                return true;
            }
            if seen.insert(next) {
                let before = self.steps.get(next).into_iter().flat_map(|step| &step.before);
                open.extend(before.map(String::as_str));
            }
        }
        false
    }
}

fn known(project: &Project, step: &Step) -> KnownStep {
    let catalog = &project.catalog;
    let specialist = step.kind.specialist().and_then(|id| catalog.specialists.get(id));
    let child = step.kind.child().and_then(|id| catalog.playbooks.get(id));
    KnownStep {
        output: known_output(step, specialist, child.map(|child| &**child as &Playbook)),
        has_items: step.for_each.is_some(),
        before: steps_before(step).map(ToString::to_string).collect(),
    }
}
