//! The project of the crash tests: a DAG of 31 steps that uses every feature of a run.

use super::server::Server;
use crate::scratch::Scratch;
use std::collections::BTreeMap;
use std::path::Path;

/// Where work leaves its lines; no definition and no journal names it.
pub(super) const LEDGER: &str = ".ledger";

/// One step's work. It first writes down that it began, and last that it ended.
const STEP: &str = r#"
verb=$1; shift
tag=$verb:${1-}
note() { printf '%s %s %s %s %s\n' "$1" "$$" "$KB_IDEMPOTENCY_KEY" "$KB_ATTEMPT" "${tag// /_}" >> .ledger; }
keep() { printf '%s\n' "$2" > "$1.part"; mv "$1.part" "$1"; }
note S
code=0; text=
case $verb in
  say) text=$1 ;;
  keep) keep "$1" "$2"; text=$2 ;;
  put) printf '%s\n' "$2" > "$1" ;;
  big) text=x; for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do text=$text$text; done ;;
  second) if [ "$KB_ATTEMPT" -ge 2 ]; then keep "$1" late; text=late; else code=7; fi ;;
  unless-b) if [ "$1" = b ]; then code=4; else text="not b: $1"; fi ;;
  fail) code=$1 ;;
esac
note E
printf '%s' "$text"
exit "$code"
"#;

/// The files of a project; `port` is where the counting server listens, `place` its number there.
fn files(port: u16, place: usize) -> Vec<(&'static str, String)> {
    let playbook = PLAYBOOK.replace("{port}", &port.to_string());
    let playbook = playbook.replace("{place}", &place.to_string());
    let settings = format!("tools: {{http: {{allowPrivate: ['127.0.0.1:{port}']}}}}\n");
    vec![
        ("playbooks/p.yml", playbook),
        ("playbooks/next.yml", NEXT.to_owned()),
        ("script.yml", script()),
        ("step.sh", STEP.to_owned()),
        (".kb/kb.config.yml", settings),
        (".kb/specialists/author.yml", AUTHOR.to_owned()),
        (".kb/specialists/reader.yml", READER.to_owned()),
        (".gitignore", format!("{LEDGER}\n")),
        ("long.txt", "A line that is long enough to fill a context soon.\n".repeat(150)),
        ("out/.keep", String::new()),
        ("notes/.keep", String::new()),
    ]
}

/// The project in a scratch folder, its requests counted in its own ledger.
pub(super) fn scratch() -> Scratch {
    let scratch = Scratch::new(&[]);
    let server = Server::shared();
    let place = server.enlist(scratch.root().join(LEDGER));
    files(server.port, place).iter().for_each(|(path, text)| scratch.write(path, text));
    scratch
}

/// What the project holds in the end, without what the test itself put there and the ledger.
pub(super) fn result(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let own = if path.is_dir() {
                &[".kb", "playbooks"][..]
            } else {
                &[LEDGER, "step.sh", "script.yml", "long.txt", ".gitignore"]
            };
            if own.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

const AUTHOR: &str = "schema: kb.specialist/1
id: author
role: You write.
tools: [fs:read, fs:write, shell:exec]
output: {schema: {summary: string}}
";

const READER: &str = "schema: kb.specialist/1
id: reader
role: You read.
tools: [fs:read, fs:list]
output: {schema: {summary: string}}
";

const PLAYBOOK: &str = r#"schema: kb.playbook/1
id: p
limits: {maxParallel: 3}
steps:
  - {id: seed, run: [bash, step.sh, say, '["a","b","c","d"]'], parse: json}
  - {id: words, set: {greeting: hello, count: '{{seed.output | length}}'}}
  - {id: fan1, dependsOn: [seed], run: [bash, step.sh, keep, out/fan1, one]}
  - {id: fan2, dependsOn: [seed], run: [bash, step.sh, keep, out/fan2, two]}
  - {id: fan3, dependsOn: [seed], run: [bash, step.sh, keep, out/fan3, three]}
  - {id: fan4, dependsOn: [seed], run: [bash, step.sh, keep, out/fan4, four]}
  - {id: fan5, dependsOn: [seed], run: [bash, step.sh, keep, out/fan5, five]}
  - {id: shell, dependsOn: [seed], run: bash step.sh keep out/shell text}
  - id: joined
    dependsOn: [fan2, fan3, fan4, shell]
    run: [bash, step.sh, keep, out/joined, '{{fan1.output}}-{{fan5.output}}']
  - id: each
    forEach: {in: '{{seed.output}}', key: '{{item}}', maxParallel: 2}
    run: [bash, step.sh, keep, 'out/each-{{item}}', 'item {{item}}']
  - id: some
    forEach: {in: '{{seed.output}}', onItemError: continue}
    run: [bash, step.sh, unless-b, '{{item}}']
  - id: flaky
    dependsOn: [seed]
    retry: {max: 3, on: [exit], initial: 5ms}
    run: [bash, step.sh, second, out/flaky]
  - {id: broken, dependsOn: [seed], onError: continue, run: [bash, step.sh, fail, '3']}
  - {id: fixed, condition: "{{broken.status}} == 'failed'", run: [bash, step.sh, keep, out/fixed, yes]}
  - {id: never, condition: '{{words.output.count}} > 100', run: [bash, step.sh, keep, out/never, never]}
  - {id: anyway, dependsOn: [never], runIf: noneFailed, set: {greeting: '{{words.output.greeting}}'}}
  - {id: big, dependsOn: [fan1], run: [bash, step.sh, big]}
  - {id: measured, set: {bytes: '{{big.output | length}}'}}
  - id: author
    dependsOn: [joined]
    specialist: author
    task: Write the notes.
    verify:
      checks: [{file: {path: notes/final.md}}, {file: {path: notes/draft.md}}, {file: {path: notes/shell.md}}]
      maxReworks: 4
  - {id: reader, dependsOn: [seed], specialist: reader, task: Read., verify: {expectChanges: false}}
  - {id: put, tool: 'fs:write', input: {path: out/put.txt, content: '{{joined.output}}'}}
  - {id: look, dependsOn: [put], tool: 'fs:read', input: {path: out/put.txt}}
  - id: fetch
    dependsOn: [seed]
    http: {method: GET, url: 'http://127.0.0.1:{port}/{place}/fetch', headers: {x-key: '{{run.id}}/fetch/1'}}
  - id: send
    dependsOn: [fetch]
    http: {method: POST, url: 'http://127.0.0.1:{port}/{place}/send', headers: {x-key: '{{run.id}}/send/1'}, body: {a: 1}}
  - {id: pay, dependsOn: [joined], retrySafe: false, run: [bash, step.sh, keep, out/pay, paid]}
  - id: gate
    dependsOn: [put, shell]
    gate: [{file: {path: out/put.txt}}, {expr: "{{each.byKey.a}} == 'item a'"}]
  - id: built
    dependsOn: [joined]
    run: [bash, step.sh, keep, out/built, built]
    verify: {checks: [{file: {path: out/built, changed: true}}, {command: [test, -s, out/built]}]}
  - {id: summed, set: {all: '{{some.output}}', late: '{{flaky.output}}', bytes: '{{measured.output.bytes}}'}}
  - id: last
    dependsOn: [author, reader, look, send, pay, gate, built, fixed, anyway, each]
    runIf: noneFailed
    run: [bash, step.sh, keep, out/last, 'the {{words.output.greeting}}']
finally:
  - {id: tidy, run: [bash, step.sh, keep, out/tidy, tidied]}
  - {id: said, set: {status: '{{run.status}}'}}
outputs:
  summed: '{{summed.output}}'
  each: '{{each.byKey}}'
  author: '{{author.output.summary}}'
  reader: '{{reader.output.summary}}'
  look: '{{look.output.content}}'
  send: '{{send.output.status}}'
  gate: '{{gate.output.verdict}}'
  last: '{{last.output}}'
"#;

/// Another run, which finds what an earlier one has left.
const NEXT: &str = "schema: kb.playbook/1\nid: next\nsteps: [{id: a, run: ['true']}]\n";

/// The first attempt leaves out what its gate asks for; later ones do every work twice, because a
/// call that was under way at a kill is not made again for them.
fn script() -> String {
    let write = |path: &str, text: &str| {
        format!("{{tool: 'fs:write', args: {{path: {path}, content: \"{text}\"}}}}")
    };
    let shell = "{tool: 'shell:exec', args: {command: bash step.sh put notes/shell.md shelled}}";
    let (draft, last) = (write("notes/draft.md", "draft"), write("notes/final.md", "final"));
    let again = write("notes/shell.md", "shelled\\n");
    let [read1, read2, read3, read4, read5, read6, read7] = [1, 2, 3, 4, 5, 6, 7]
        .map(|line| format!("{{tool: 'fs:read', args: {{path: long.txt, startLine: {line}}}}}"));
    let mut text = format!(
        "schema: kb.script/1
steps:
  reader:
    - say: Let me see.
    - calls: [{{tool: 'fs:list', args: {{path: playbooks}}}}]
    - calls: [{read1}, {{tool: 'fs:read', args: {{path: nothing}}}}]
    - calls: [{read2}, {read3}, {read4}]
    - calls: [{read5}, {read6}, {read7}]
    - output: {{summary: read}}
  author:
    - calls: [{draft}]
    - calls: [{shell}]
    - output: {{summary: claimed}}
"
    );
    for attempt in 2..=6 {
        text += &format!(
            "  \"author#{attempt}\":
    - calls: [{last}, {{tool: 'fs:read', args: {{path: notes/draft.md}}}}]
    - {{say: Once more., calls: [{draft}, {last}, {again}]}}
    - output: {{summary: written}}
"
        );
    }
    text
}
