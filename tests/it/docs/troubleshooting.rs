//! The messages on `docs/troubleshooting.md` are what `kb` prints.

use crate::generated;
use crate::scratch::Scratch;

/// A symptom: the name of its block, a playbook, the command, and the lines to show.
struct Symptom {
    name: &'static str,
    /// The text after `schema` and `id: example`.
    playbook: &'static str,
    args: &'static [&'static str],
    /// The first line to show starts with this text.
    from: &'static str,
    /// The number of lines.
    lines: usize,
}

const RUN: &[&str] = &["playbook", "run", "playbooks/example.yml"];
const VALIDATE: &[&str] = &["playbook", "validate", "example"];

const SYMPTOMS: [Symptom; 13] = [
    Symptom {
        name: "no-project",
        playbook: "",
        args: &["-C", "/", "playbook", "list"],
        from: "error",
        lines: 2,
    },
    Symptom {
        name: "unknown-key",
        playbook: "steps:\n  - {id: a, run: make, dependOn: [b]}",
        args: VALIDATE,
        from: "error",
        lines: 6,
    },
    Symptom {
        name: "placeholder-in-script",
        playbook: "params: [{name: topic, default: x}]\nsteps:\n  - {id: a, run: \"echo {{topic}}\"}",
        args: VALIDATE,
        from: "error",
        lines: 6,
    },
    Symptom {
        name: "cycle",
        playbook: "steps:\n  - {id: a, run: [\"echo\", \"{{b.output}}\"]}\n  - {id: b, dependsOn: [a], run: \"true\"}",
        args: VALIDATE,
        from: "error",
        lines: 8,
    },
    Symptom {
        name: "parameter",
        playbook: "params: [{name: topic, required: true}]\nsteps:\n  - {id: a, run: \"true\"}",
        args: RUN,
        from: "error",
        lines: 2,
    },
    Symptom {
        name: "no-model",
        playbook: "steps:\n  - {id: a, specialist: researcher, task: \"Find the tests\"}",
        args: RUN,
        from: "error",
        lines: 2,
    },
    Symptom {
        name: "not-built",
        playbook: "steps:\n  - {id: a, tool: \"memory:recall\"}",
        args: VALIDATE,
        from: "warning",
        lines: 6,
    },
    Symptom {
        name: "exit-code",
        playbook: "steps:\n  - {id: a, run: \"echo oops >&2; exit 3\"}\n  - {id: b, dependsOn: [a], run: \"true\"}",
        args: RUN,
        from: "failed a",
        lines: 1,
    },
    Symptom {
        name: "timeout",
        playbook: "steps:\n  - {id: a, run: \"sleep 100\", timeout: 300ms}",
        args: RUN,
        from: "failed a",
        lines: 2,
    },
    Symptom {
        name: "undefined",
        playbook: "steps:\n  - {id: a, run: \"echo '{}'\", parse: json}\n  - {id: b, run: [\"echo\", \"{{a.output.key}}\"]}",
        args: RUN,
        from: "failed b",
        lines: 2,
    },
    Symptom {
        name: "gate",
        playbook: "steps:\n  - {id: a, gate: [{file: out.txt}]}",
        args: RUN,
        from: "failed a",
        lines: 1,
    },
    Symptom {
        name: "private-address",
        playbook: "steps:\n  - {id: a, http: {url: \"http://localhost:8080/\"}}",
        args: RUN,
        from: "failed a",
        lines: 2,
    },
    Symptom {
        name: "no-run",
        playbook: "steps:\n  - {id: a, run: \"true\"}",
        args: &["run", "resume", "@last"],
        from: "error",
        lines: 2,
    },
];

#[test]
fn the_messages_of_the_page_are_those_of_kb() {
    for symptom in SYMPTOMS {
        let scratch = Scratch::bare();
        scratch.kb(&["init"]).code(0);
        let text = format!("schema: kb.playbook/1\nid: example\n{}\n", symptom.playbook);
        if !symptom.playbook.is_empty() {
            scratch.write("playbooks/example.yml", &text);
        }
        let result = scratch.kb(symptom.args);
        let root = scratch.root().display().to_string();
        let all = format!("{}{}", result.out, result.err).replace(&root, "/home/ada/shop");
        let mut lines = all.lines().skip_while(|line| !line.starts_with(symptom.from));
        let shown: Vec<&str> = lines.by_ref().take(symptom.lines).collect();
        assert!(!shown.is_empty(), "{}: no line `{}` in:\n{all}", symptom.name, symptom.from);
        let block = format!("```text\n{}\n```\n", shown.join("\n"));
        generated::block("docs/troubleshooting.md", symptom.name, &block);
    }
}
