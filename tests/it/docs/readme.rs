//! The README shows what `kb demo` prints, and its example does what its text says.

use super::Page;
use crate::generated;
use crate::scratch::Scratch;

#[test]
fn the_picture_of_a_run_is_what_the_demo_prints() {
    let output = Scratch::bare().kb(&["demo", "--dir", "demo"]).code(0);
    let of_step = |line: &&str| line.split("  ").any(|part| part == "implement");
    let events: Vec<&str> = output.err.lines().filter(of_step).collect();
    let summary: Vec<&str> = output.out.lines().take(5).collect();
    assert!(events.len() > 8 && summary.len() == 5, "{}\n{}", output.err, output.out);
    let picture = format!(
        "```text\n$ kb demo\n   …\n{}\n   …\n{}\n```\n",
        events.join("\n"),
        summary.join("\n")
    );
    let readme = Page::read("README.md");
    let (_, rest) = readme.text.split_once("<!-- generated: demo -->\n").expect("the marker");
    let (stored, _) = rest.split_once("<!-- end: demo -->").expect("the marker");
    if generated::is_update() && timeless(stored) != timeless(&picture) {
        generated::block("README.md", "demo", &picture);
        return;
    }
    assert_eq!(timeless(stored), timeless(&picture), "run the test with KB_UPDATE_DOCS=1");
}

/// The text without times and run ids, which differ between runs.
fn timeless(text: &str) -> String {
    let differs = |word: &&str| {
        let word = word.trim_end_matches([':', ',']);
        let has_digit = word.contains(|c: char| c.is_ascii_digit());
        let is_time = word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with('s');
        has_digit && (is_time || word.starts_with('r') && word.len() == 8)
    };
    let line = |line: &str| {
        line.split_whitespace().filter(|word| !differs(word)).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_writes_its_report() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let readme = Page::read("README.md");
    let example = readme.blocks().into_iter().find(|block| block.info == "yaml").unwrap();
    scratch.write("playbooks/measure.yml", &example.text);
    scratch.kb(&["playbook", "validate", "--strict"]).code(0);
    scratch.kb(&["playbook", "run", "measure"]).code(0).says(&["host: Linux"]);
    let report = scratch.read("lengths.md");
    assert!(report.contains("\"coffee\":\"6\""), "{report}");
}

#[test]
fn the_examples_of_the_playbooks_page_do_what_their_text_says() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let page = Page::read("docs/playbooks.md");
    for block in page.blocks().iter().filter(|block| block.info == "yaml") {
        let id = block.text.lines().find_map(|line| line.strip_prefix("id: "));
        let folder = match block.text.lines().next() {
            Some("schema: kb.playbook/1") => "playbooks/",
            Some("schema: kb.specialist/1") => ".kb/specialists/",
            _ => "",
        };
        scratch.write(&format!("{folder}{}.yml", id.unwrap_or("script")), &block.text);
    }
    scratch.write(".kb/kb.config.yml", "secrets: {API_TOKEN: env:API_TOKEN}\n");
    scratch.kb(&["playbook", "validate", "--strict"]).code(0);
    let output = scratch.kb(&["playbook", "run", "release"]).code(0);
    assert!(output.out.contains("4 succeeded, 1 failed, 1 skipped"), "{}", output.out);
    let args = ["playbook", "run", "document", "--param", "topic=tea", "--script", "script.yml"];
    scratch.kb(&args).code(0).says(&["created docs/tea.md"]);
}
