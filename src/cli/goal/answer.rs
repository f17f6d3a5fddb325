//! What a run found, sentence by sentence, with the steps and files that it rests on.

use crate::cli::render::table::plain;
use crate::cli::terminal::{DIM, GOOD, WARNING, paint};
use kb_base::value::{Json, one_line};
use kb_service::service::planning::{GoalAnswer, Statement};

/// Characters of a digest that are shown.
const DIGEST: usize = 12;
/// Maximum number of characters of a sentence.
const SENTENCE: usize = 400;

/// Why the run stopped early, if it did, and its sentences: those that a check has read apart from the others.
pub(super) fn answered(found: &GoalAnswer) -> String {
    let mut text = String::new();
    if let Some(stopped) = &found.stopped {
        let reason = stopped["reason"].as_str().unwrap_or_default();
        let skipped = stopped["skipped"].as_array().map_or(&[][..], Vec::as_slice);
        let skipped: Vec<String> = skipped.iter().filter_map(Json::as_str).map(plain).collect();
        let stopped = paint(GOOD, "stopped early");
        text.push_str(&format!("{stopped}: {}; not run: {}\n", plain(reason), skipped.join(", ")));
    }
    for said in &found.answer.reliable {
        text.push_str(&line(&paint(GOOD, "reliable "), said));
    }
    for said in &found.answer.uncertain {
        text.push_str(&line(&paint(WARNING, "uncertain"), said));
    }
    for gap in &found.answer.gaps {
        let reason = plain(&one_line(&gap.reason, SENTENCE));
        text.push_str(&format!("{} {reason} {}\n", paint(DIM, "gap      "), cited(&gap.step, "")));
    }
    text
}

fn line(mark: &str, said: &Statement) -> String {
    let files = said.files.iter().map(|file| {
        let digest: String = file.sha256.chars().take(DIGEST).collect();
        format!(", {} sha256:{digest}", plain(&file.path))
    });
    let files: String = files.collect();
    format!("{mark} {} {}\n", plain(&one_line(&said.text, SENTENCE)), cited(&said.step, &files))
}

fn cited(step: &str, files: &str) -> String {
    paint(DIM, &format!("[{}{files}]", plain(step)))
}
