use divan::Bencher;
use divan::counter::ItemsCount;
use kb::tool::Workspace;

const FOLDERS: usize = 40;
const FILES: usize = 50;

/// Goal: two of these, which are a step's evidence, in 3 ms.
#[divan::bench]
fn manifest_of_2000_files(bencher: Bencher) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for outer in 0..FOLDERS {
        let below = folder.path().join(format!("folder{outer}"));
        std::fs::create_dir(&below).expect("a folder");
        for inner in 0..FILES {
            std::fs::write(below.join(format!("file{inner}.rs")), "text\n").expect("a file");
        }
    }
    let workspace = Workspace::open(folder.path(), &[], &[]).expect("a workspace");
    bencher.counter(ItemsCount::new(FOLDERS * FILES)).bench(|| workspace.manifest());
}
