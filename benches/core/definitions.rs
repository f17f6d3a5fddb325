//! Time of loading definitions and of building plans.

use crate::shape::{Shape, catalog, loaded, planned};
use divan::{Bencher, black_box};
use kb::definition::Catalog;
use kb::plan::Plan;

/// Goal: 20 ms for all of `kb playbook validate`, of which this and the plan are most.
#[divan::bench(args = Shape::ALL)]
fn load_1000_steps(bencher: Bencher, shape: &Shape) {
    let text = shape.text(1_000);
    bencher.bench(|| catalog(black_box(&text)));
}

/// The plan of a loaded file, whose edges come from what its templates read.
#[divan::bench(args = Shape::ALL)]
fn plan_1000_loaded_steps(bencher: Bencher, shape: &Shape) {
    let playbook = loaded(&shape.text(1_000));
    bencher.bench(|| planned(black_box(&playbook)));
}

#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 10)]
fn plan_layered(bencher: Bencher, count: usize) {
    let playbook = Shape::Layered.playbook(count);
    bencher.bench(|| Plan::build(black_box(&playbook), &Catalog::default()));
}
