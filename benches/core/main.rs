//! How fast the rooms are by themselves: expressions, definitions, plans, the state_machine, the engine over
//! its real journal, and the manifest of a workspace. `docs/speed.md` has the goals and figures;
//! `scripts/speed` times the whole program beside its peers.

mod definitions;
mod driven;
mod expressions;
mod shape;
mod state_machine;
mod whole;
mod workspace;

fn main() {
    if !whole::asked() {
        divan::main();
    }
}
