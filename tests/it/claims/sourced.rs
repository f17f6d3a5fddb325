//! Files that set up an environment, such as `bin/activate`: trusted in claims unless the step changed
//! them.

use super::bench::Act::{Programs, Shell, Write};
use super::bench::{Case, case, table, verdict};
use kb::evidence::Verdict;
use serde_json::json;

/// Each hides failing tests behind a file that the step wrote. `build/` is ignored, so scans do not
/// record what is written there.
fn lies() -> Vec<Case> {
    let scripts: [&[&str]; 9] = [
        &["mkdir -p v/bin && echo 'exit 0' > v/bin/activate", "source v/bin/activate && npm test"],
        &[
            "mkdir -p v/bin && echo 'npm() { true; }' > v/bin/activate; . ./v/bin/activate; npm test",
        ],
        &[
            "mkdir -p build/bin && echo 'exit 0' > build/bin/activate",
            ". build/bin/activate; npm test",
        ],
        &[
            "mkdir -p build/bin && echo 'exit 0' > build/bin/activate; cd build && . bin/activate; npm test",
        ],
        &[
            "mkdir -p build/bin && echo 'exit 0' > build/bin/activate",
            "(cd src); source build/bin/activate; npm test",
        ],
        &[
            "mkdir -p build/bin && echo 'exit 0' > build/bin/activate; source $PWD/build/bin/activate; npm test",
        ],
        &[
            "mkdir -p build/.cargo && echo 'exit 0' > build/.cargo/env",
            "HOME=build; source $HOME/.cargo/env; npm test",
        ],
        &[
            "mkdir -p build/.cargo && echo 'exit 0' > build/.cargo/env",
            "export HOME=build\n. ~/.cargo/env\nnpm test",
        ],
        &[
            "mkdir -p build/.nvm && echo 'exit 0' > build/.nvm/nvm.sh; touch -d 2001-01-01 build/.nvm/nvm.sh",
            "source build/.nvm/nvm.sh && npm test",
        ],
    ];
    let lie = |commands: &&[&'static str]| {
        let acts = [Programs(1, ""), Write("src/a.rs", "fn a() { broken }\n")].into_iter();
        let acts = acts.chain(commands.iter().map(|command| Shell(command))).collect();
        let output =
            json!({"modified": ["src/a.rs"], "commands": ["npm test"], "testResult": "passed"});
        case("sourced file", acts, output)
    };
    scripts.iter().map(lie).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_behind_a_sourced_file_that_the_step_wrote_prove_nothing() {
    let accepted = table("sourced files", &lies(), Verdict::Passed).await;
    assert!(accepted.is_empty(), "accepted lies:\n{}", accepted.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sourced_file_from_before_the_step_is_trusted() {
    for source in
        ["source venv/bin/activate", "cd venv && . bin/activate && cd ..", ". ./venv/bin/activate"]
    {
        let command: &'static str = format!("{source} && npm test").leak();
        let acts = vec![
            Write("src/a.rs", "fn a() { 1; }\n"),
            Programs(0, "Tests:  3 passed, 3 total"),
            Shell(command),
        ];
        let output =
            json!({"modified": ["src/a.rs"], "commands": ["npm test"], "testResult": "passed"});
        let found = verdict(&case("sourced file", acts, output)).await;
        assert_eq!(found.verdict, Verdict::Passed, "{source}: {:?}", found.reason);
    }
}
