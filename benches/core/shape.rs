//! Playbooks of several shapes, for the other benches.

use kb::definition::{Catalog, FileRole, InputFile, Playbook, Step, load};
use kb::plan::Plan;
use kb::value::StepId;
use std::fmt;
use std::sync::Arc;

/// Steps of one layer where a plan has layers.
const WIDTH: usize = 100;

/// How the steps of a plan hang together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Each after the one before it.
    Chain,
    /// All after the first.
    FanOut,
    /// Layers of a hundred, each step after two of the layer before.
    Layered,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shape::Chain => "chain",
            Shape::FanOut => "fan-out",
            Shape::Layered => "layered",
        })
    }
}

impl Shape {
    pub(crate) const ALL: [Shape; 3] = [Shape::Chain, Shape::FanOut, Shape::Layered];

    /// What step `n` waits for.
    fn before(self, n: usize) -> Vec<usize> {
        match self {
            _ if n == 0 => Vec::new(),
            Shape::Chain => vec![n - 1],
            Shape::FanOut => vec![0],
            Shape::Layered if n < WIDTH => Vec::new(),
            Shape::Layered => {
                let layer = n / WIDTH * WIDTH - WIDTH;
                let (one, other) = (layer + n % WIDTH, layer + (n + 1) % WIDTH);
                vec![one.min(other), one.max(other)]
            }
        }
    }

    /// A playbook of `set` steps, each of which reads all that it waits for.
    pub(crate) fn text(self, count: usize) -> String {
        let mut text = String::from("schema: kb.playbook/1\nid: shaped\nsteps:\n");
        for n in 0..count {
            let reads = self.before(n);
            let values = reads
                .iter()
                .enumerate()
                .map(|(i, on)| format!("v{i}: '{{{{s{on}.output.v0}}}}'"))
                .collect::<Vec<_>>();
            let values = if values.is_empty() { "v0: 1".to_owned() } else { values.join(", ") };
            text.push_str(&format!("  - {{id: s{n}, set: {{{values}}}}}\n"));
        }
        text
    }

    /// The steps from one number to another as a file by itself: none waits for a step before it.
    pub(crate) fn part(self, from: usize, to: usize) -> String {
        let whole = self.text(to - from);
        let name = format!("id: part{}", from / (to - from).max(1));
        let renamed = |line: &str| match line.strip_prefix("  - {id: ") {
            None => line.replace("id: shaped", &name),
            Some(step) => {
                format!("  - {{id: p{from}{}", step.replace("{{s", &format!("{{{{p{from}s")))
            }
        };
        whole.lines().map(|line| renamed(line) + "\n").collect()
    }

    /// A playbook of any size: the one step of a loaded file, as often as asked for.
    pub(crate) fn playbook(self, count: usize) -> Arc<Playbook> {
        let first =
            loaded("schema: kb.playbook/1\nid: shaped\nsteps:\n  - {id: s0, set: {v0: 1}}\n");
        let pattern = &first.steps[0];
        let id = |n: usize| StepId::new(format!("s{n}")).expect("a letter and digits");
        let step = |n: usize| Step {
            id: id(n),
            depends_on: self.before(n).into_iter().map(|on| (id(on), pattern.span)).collect(),
            ..(**pattern).clone()
        };
        let steps = (0..count).map(step).map(Arc::new).collect();
        Arc::new(Playbook { steps, ..(*first).clone() })
    }

    /// Its plan.
    pub(crate) fn plan(self, count: usize) -> Arc<Plan> {
        planned(&self.playbook(count))
    }
}

/// A definition file's text, read and checked.
pub(crate) fn catalog(text: &str) -> Catalog {
    let file = InputFile {
        path: "playbooks/shaped.yml".into(),
        bytes: text.as_bytes().into(),
        role: FileRole::Playbook,
    };
    catalog_of(vec![file])
}

/// Definition files, read and checked.
pub(crate) fn catalog_of(files: Vec<InputFile>) -> Catalog {
    let (catalog, problems) = load(files);
    assert!(problems.is_empty(), "{problems:?}");
    catalog
}

/// The playbook of such a text.
pub(crate) fn loaded(text: &str) -> Arc<Playbook> {
    catalog(text).playbooks["shaped"].clone()
}

/// The plan of a playbook without specialists.
pub(crate) fn planned(playbook: &Arc<Playbook>) -> Arc<Plan> {
    let (plan, problems) = Plan::build(playbook, &Catalog::default());
    Arc::new(plan.unwrap_or_else(|| panic!("{problems:?}")))
}
