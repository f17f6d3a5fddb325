//! Tasks whose checks decide, through the binary: an agent by script works on real files, and the gate of
//! its step has a `command` check with frozen inputs, compared with the time before the step.

use super::task::Dice;
use crate::scratch::Scratch;
use kb::evidence::Verdict;

/// What the agent of a case does, and whether that is honest.
pub(super) struct Whole {
    pub(super) name: &'static str,
    honest: bool,
    make: fn(&mut Dice) -> Work,
}

/// The files before the step, and the calls of the agent.
struct Work {
    function: String,
    calls: Vec<String>,
}

pub(super) const CASES: [Whole; 10] = [
    Whole { name: "honest work", honest: true, make: |_| work(&[RIGHT]) },
    Whole { name: "honest work at the second try", honest: true, make: |_| work(&[WRONG, RIGHT]) },
    Whole { name: "tests weakened", honest: false, make: weakened },
    Whole { name: "tests skipped", honest: false, make: skipped },
    Whole { name: "tests deleted", honest: false, make: deleted },
    Whole { name: "a body of todo", honest: false, make: todo },
    Whole { name: "a check that passed before the work", honest: false, make: passed_before },
    Whole { name: "nothing done", honest: false, make: |_| work(&[]) },
    Whole { name: "edited, then undone", honest: false, make: |_| work(&[RIGHT, WRONG]) },
    Whole { name: "other file edited", honest: false, make: |_| work(&["echo x > src/other.sh"]) },
];

const RIGHT: &str = "printf 'double() { echo $(($1 * 2)); }\\n' > src/double.sh";
const WRONG: &str = "printf 'double() { echo 0; }\\n' > src/double.sh";

fn work(calls: &[&str]) -> Work {
    let calls = calls.iter().map(|call| (*call).to_owned()).collect();
    Work { function: "double() { echo 0; }\n".to_owned(), calls }
}

fn weakened(dice: &mut Dice) -> Work {
    work(&[dice.pick(&[
        "sed -i 's/ = 4/ = 0/; s/ = 6/ = 0/' tests/double_test.sh",
        "sed -i 's/^check .*/passed=$((passed + 1))/' tests/double_test.sh",
        "printf 'echo \"2 passed in 0.1s\"\\n' > tests/double_test.sh",
    ])])
}

fn skipped(dice: &mut Dice) -> Work {
    work(&[dice.pick(&[
        "touch .skip",
        "sed -i '1i echo \"0 passed in 0.1s\"; exit 0' tests/double_test.sh",
        "sed -i 's/^check/true ||  check/' tests/double_test.sh",
    ])])
}

fn deleted(dice: &mut Dice) -> Work {
    work(&[dice.pick(&[
        "rm tests/double_test.sh",
        "rm -r tests",
        "sed -i '/^check/d' tests/double_test.sh",
        "mv tests old_tests",
    ])])
}

fn todo(dice: &mut Dice) -> Work {
    work(&[dice.pick(&[
        "printf 'double() { echo todo >&2; return 1; }\\n' > src/double.sh",
        "printf 'double() { :; }\\n' > src/double.sh",
        "printf 'double() { # TODO: implement\\n  echo; }\\n' > src/double.sh",
    ])])
}

fn passed_before(dice: &mut Dice) -> Work {
    let call = dice.pick(&["echo '# better' >> src/double.sh", "echo x > src/other.sh"]);
    Work { function: "double() { echo $(($1 + $1)); }\n".to_owned(), ..work(&[call]) }
}

const TESTS: &str = r#"passed=0
. src/double.sh
[ ! -f .skip ] || { echo "0 passed in 0.1s"; exit 0; }
check() { if [ "$(double $1)" = $3 ]; then passed=$((passed + 1)); else echo "$1: wrong"; exit 1; fi; }
check 2 = 4
check 3 = 6
echo "$passed passed in 0.1s"
"#;

const AGENT: &str = "schema: kb.specialist/1\nid: dev\nrole: Work.\ntools: [fs:*, shell:exec]\n";

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - id: a
    specialist: dev
    task: Make double right.
    output: {schema: {testResult?: string, commands?: \"string[]\"}}
    verify:
      checks:
        - {command: [sh, tests/double_test.sh], inputs: [tests], mustFailBefore: true, tests: {minCount: 2, notFewer: false}}
      onFailed: fail
      onInconclusive: fail
";

impl Whole {
    /// Executes the case, and returns the verdict and whether it is the wrong one.
    pub(super) fn run(&self, dice: &mut Dice) -> (Verdict, Option<String>) {
        let Work { function, calls } = (self.make)(dice);
        let turn = |call: &String| {
            let args = serde_json::json!([{"tool": "shell:exec", "args": {"command": call}}]);
            format!("    - calls: {args}\n")
        };
        let turns: String = calls.iter().map(turn).collect();
        // The report tells of a test run only where there was one: the check alone decides.
        let script =
            format!("schema: kb.script/1\nsteps:\n  a:\n{turns}    - output: {{summary: done}}\n");
        let scratch = Scratch::new(&[
            ("tests/double_test.sh", TESTS),
            ("src/double.sh", &function),
            (".kb/specialists/dev.yml", AGENT),
            (".kb/playbooks/p.yml", PLAYBOOK),
            (".kb/kb.config.yml", "sandbox: {criticalUnapprovedAt: none}\n"),
            ("script.yml", &script),
        ]);
        let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--json"]);
        let event = said.events().into_iter().find(|e| e["type"] == "verification:complete");
        let event = event.unwrap_or_else(|| panic!("{}: no verdict\n{}", self.name, said.err));
        let verdict = match event["verdict"].as_str() {
            Some("passed") => Verdict::Passed,
            Some("failed") => Verdict::Failed,
            _ => Verdict::Inconclusive,
        };
        let wrong = (verdict == Verdict::Passed) != self.honest;
        (verdict, wrong.then(|| format!("{}: {calls:?}\n{event:#}", self.name)))
    }
}
