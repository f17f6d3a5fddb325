//! What the daemon removes once a day.

use super::{at, daemon, enable, fires, store, until};
use crate::scratch::Scratch;
use kb::trigger::{FireState, NewFire, Recorded};
use kb::value::JsonMap;

const YEARLY: &str = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 0 1 1 *\"}\nsteps: [{id: a, run: \"true\"}]\n";

/// Old fires are removed, except for the newest 200 of a trigger. Runs are removed only if the settings say so.
#[test]
fn old_fires_are_removed_and_old_runs_if_the_settings_say_so() {
    let scratch = Scratch::new(&[("playbooks/p.yml", YEARLY)]);
    let runtime = super::runtime();
    let _context = runtime.enter();
    let then = at("2026-01-10T00:00:00Z");
    enable(&scratch, "p.schedule", then);
    let store = store(&scratch);
    let one = |n: u32| NewFire {
        state: FireState::Skipped,
        ..NewFire::queued("p.schedule", format!("k{n}"), "p", JsonMap::new())
    };
    let fires_of = (0..250).map(one).collect();
    let trigger = "p.schedule".to_owned();
    store.record(&[Recorded { trigger, cursor: then, fires: fires_of }], then).unwrap();
    for _ in 0..22 {
        scratch.kb(&["playbook", "run", "p"]).code(0);
    }
    let runs =
        || scratch.json(&["run", "list", "--limit", "100", "--json"]).as_array().unwrap().len();
    let mut first = daemon(&scratch);
    first.tick(at("2026-02-08T00:00:00Z"));
    assert_eq!(fires(&store).len(), 250, "they are 29 days old");
    first.tick(at("2026-02-08T23:00:00Z"));
    first.tick(at("2026-02-10T00:00:01Z"));
    let left = fires(&store);
    assert_eq!((left.len(), left[0].key.as_str()), (200, "k50"));
    assert_eq!(runs(), 22);
    drop(first);
    scratch.write(".kb/kb.config.yml", "journal: {retention: 1s}\n");
    // The daemon removes runs once a day: all of them have to be older than a second then.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let mut second = daemon(&scratch);
    until(&mut second, at("2026-02-10T01:00:00Z"), "the removal of runs", || runs() == 20);
}
