//! What pages say, read without a browser.

use super::site::Site;
use kb::trigger::Role;

const WORK: &str = "schema: kb.playbook/1\nid: work\nsteps:\n  - {id: w, specialist: s, task: Write.}\n  - {id: r, run: \"true\"}\n";
const SPECIALIST: &str = "schema: kb.specialist/1\nid: s\nrole: You write.\nllm: {tier: medium}\ntools: [fs:list]\noutput: {schema: {summary: string}}\n";

/// The page of a playbook has the models of its steps and the estimate of `kb playbook plan`.
#[test]
fn the_page_of_a_playbook_has_models_and_their_cost() {
    let tier = |price: &str| {
        format!(
            "llm: {{tiers: {{medium: {{model: some-model, endpoint: \"https://models.example.org/v1\"{price}}}}}}}\n"
        )
    };
    let priced = tier(", price: {input: 1000, output: 2000}");
    let site = Site::new(&[
        ("playbooks/work.yml", WORK),
        (
            "playbooks/plain.yml",
            "schema: kb.playbook/1\nid: plain\nsteps: [{id: r, run: \"true\"}]\n",
        ),
        (".kb/specialists/s.yml", SPECIALIST),
        (".kb/kb.config.yml", &priced),
    ]);
    let token = site.token(Role::Read);
    let page = |id: &str| site.get(&format!("/playbooks/{id}"), &token).text();
    let cost = site.scratch.json(&["playbook", "plan", "work", "--json"])["cost"].clone();
    let (min, max) = (cost["minUsd"].as_f64().unwrap(), cost["maxUsd"].as_f64().unwrap());
    assert!(0.0 < min && min < max, "{cost}");
    let text = page("work");
    let range = format!("Models of one run: ${min:.4} to ${max:.2}");
    assert!(text.contains(&range), "{range}: {text}");
    assert!(text.contains("model some-model"), "{text}");
    assert!(!page("plain").contains("Models of one run"), "it calls no model");
    // Without a price there is no number. A model on this machine costs nothing.
    site.scratch.write(".kb/kb.config.yml", &tier(""));
    site.until("the new settings", || {
        page("work").contains("unknown: a model or its price is missing").then_some(())
    });
}
