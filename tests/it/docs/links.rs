//! Links of the documentation lead to pages and headings that exist, and the book has every page.

use super::{Page, book, pages, root};
use std::collections::BTreeSet;

/// The targets of the links of a page, without those in code blocks.
fn links(page: &Page) -> Vec<String> {
    let mut prose = String::new();
    let mut in_block = false;
    for line in page.text.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    let after = prose.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned())).collect()
}

/// The anchors of a page, as GitHub and mdBook form them from headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_page_and_a_heading() {
    let mut broken = Vec::new();
    for page in pages() {
        let folder = root().join(&page.path).parent().unwrap().to_owned();
        for link in links(&page).iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root().join(&page.path) } else { folder.join(path) };
            let text = std::fs::read_to_string(&target);
            let found = match (&text, anchor) {
                (Ok(_), "") => true,
                (Ok(text), anchor) => anchors(text).contains(anchor),
                // A folder, or a picture.
                (Err(_), _) => target.exists(),
            };
            if !found {
                broken.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn the_summary_lists_every_page() {
    let summary = Page::read("docs/SUMMARY.md");
    let listed: BTreeSet<String> =
        links(&summary).iter().map(|link| format!("docs/{link}")).collect();
    let is_page = |path: &&String| {
        !path.ends_with("SUMMARY.md") && !path.starts_with("docs/reference/generated/")
    };
    let missing: Vec<String> =
        book().iter().filter(is_page).filter(|path| !listed.contains(*path)).cloned().collect();
    assert_eq!(missing, Vec::<String>::new(), "pages that docs/SUMMARY.md does not list");
}
