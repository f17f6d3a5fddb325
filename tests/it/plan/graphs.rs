//! The drawings of a plan as text, DOT, Mermaid and JSON.

use super::draft::draft;
use kb::plan::graph;

const SAMPLE: &str = "research: agent reader
test: json; read {{research.output.files}}
lint: run; needs research; tolerated
debug: agent reader; if {{test.output.result}} == 'failed'
review: agent reader; each {{research.output.files}}; join noneFailed
report: tool fs:write; if {{lint.status}} != \"failed\"; needs test; verify {{report.output}}
clean: run; finally
outputs {{test.output}}";

#[test]
fn as_text() {
    insta::assert_snapshot!(graph::text(&draft(SAMPLE).sound()), @r#"
    simulated · 7 steps, at most 4 one after the other

      ─ research  specialist reader
      ┌ test      run                ← research  sandbox: it reads the output of research
      │ lint      run                ← research  failure tolerated  sandbox: once test has started
      └ review    specialist reader  ← research  for each of research.output.files  runIf noneFailed
      ┌ debug     specialist reader  ← test (may-skip)  if {{test.output.result}} == 'failed'
      └ report    tool fs:write      ← test, lint (watch)  if {{lint.status}} != "failed"  1 check

    finally, however the others end
      ─ clean     run                sandbox: once test has started

    outputs  result
    "#);
}

#[test]
fn as_dot() {
    insta::assert_snapshot!(graph::dot(&draft(SAMPLE).sound()), @r#"
    digraph "simulated" {
      rankdir=TB;
      node [shape=box, style=rounded];
      "research" [label="research\nspecialist reader"];
      "test" [label="test\nrun"];
      "lint" [label="lint\nrun"];
      "debug" [label="debug\nspecialist reader\nif {{test.output.result}} == 'failed'"];
      "review" [label="review\nspecialist reader"];
      "report" [label="report\ntool fs:write\nif {{lint.status}} != \"failed\""];
      subgraph cluster_finally {
        label="finally";
        "clean" [label="clean\nrun"];
      }
      "research" -> "test";
      "research" -> "lint";
      "test" -> "debug" [style=dashed, label="may-skip"];
      "research" -> "review";
      "test" -> "report";
      "lint" -> "report" [style=dotted, label="watch"];
    }
    "#);
}

#[test]
fn as_mermaid() {
    insta::assert_snapshot!(graph::mermaid(&draft(SAMPLE).sound()), @r#"
    flowchart TD
      s0["research<br/>specialist reader"]
      s1["test<br/>run"]
      s2["lint<br/>run"]
      s3["debug<br/>specialist reader<br/>if {{test.output.result}} == 'failed'"]
      s4["review<br/>specialist reader"]
      s5["report<br/>tool fs:write<br/>if {{lint.status}} != #quot;failed#quot;"]
      subgraph finally
        s6["clean<br/>run"]
      end
      s0 --> s1
      s0 --> s2
      s1 -.->|may-skip| s3
      s0 --> s4
      s1 --> s5
      s2 -.->|watch| s5
    "#);
}

#[test]
fn as_json() {
    let json =
        graph::json(&draft("a: set\nb: run; if {{a.output}}\nc: set; read {{b.status}}").sound());
    let expected = serde_json::json!({
        "nodes": [
            {"id": "a", "kind": "set", "label": "a", "finally": false, "sandbox": []},
            {"id": "b", "kind": "run", "label": "b", "finally": false, "sandbox": []},
            {"id": "c", "kind": "set", "label": "c", "finally": false, "sandbox": []},
        ],
        "edges": [
            {"from": "a", "to": "b", "strength": "may-skip"},
            {"from": "b", "to": "c", "strength": "watch"},
        ],
    });
    assert_eq!(json, expected);
}

#[test]
fn no_form_lets_a_quote_or_a_control_character_out() {
    let plan = draft("a: set; if 'x\" ] evil\u{1b}[31m <b>' == \"#1\"").sound();
    let (dot, mermaid, text) = (graph::dot(&plan), graph::mermaid(&plan), graph::text(&plan));
    assert!(dot.contains(r#"if 'x\" ]"#), "{dot}");
    assert!(
        mermaid.contains("if 'x#quot; ] evil [31m #lt;b#gt;' == #quot;#35;1#quot;"),
        "{mermaid}"
    );
    for drawn in [dot, mermaid, text] {
        assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
    }
}
