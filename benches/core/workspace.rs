//! Time of manifests and evidence.

use divan::Bencher;
use divan::counter::ItemsCount;
use kb::workspace::Workspace;

const FOLDERS: usize = 40;
const FILES: usize = 50;

/// A workspace in a temporary folder that lives as long as the first of the two.
fn workspace() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for outer in 0..FOLDERS {
        let below = folder.path().join(format!("folder{outer}"));
        std::fs::create_dir(&below).expect("a folder");
        for inner in 0..FILES {
            std::fs::write(below.join(format!("file{inner}.rs")), "text\n").expect("a file");
        }
    }
    let workspace = Workspace::open(folder.path(), &[], &[]).expect("a workspace");
    (folder, workspace)
}

#[divan::bench]
fn manifest_of_2000_files(bencher: Bencher) {
    let (_folder, workspace) = workspace();
    bencher.counter(ItemsCount::new(FOLDERS * FILES)).bench(|| workspace.manifest());
}

/// A step's evidence: before, after, and what differs. Goal: 3 ms.
#[divan::bench]
fn evidence_among_2000_files(bencher: Bencher) {
    let (_folder, workspace) = workspace();
    bencher.counter(ItemsCount::new(FOLDERS * FILES)).bench(|| {
        let before = workspace.manifest();
        workspace.changes(&before, &workspace.manifest())
    });
}
