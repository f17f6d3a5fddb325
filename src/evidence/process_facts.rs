//! Facts about processes in recorded evidence. The keys of the stored JSON are read here only.

use super::TestCounts;
use crate::value::Json;

/// Facts about a process, from the evidence of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessFacts {
    /// Bytes of stdout over the size limit, which were not stored.
    pub stdout_cut: u64,
    /// Whether the changes of the process were observed.
    pub watched: bool,
    /// Whether the manifest of the workspace was incomplete, so that changes may be missing.
    pub manifest_truncated: bool,
    /// Exit code; `None` if the process ended otherwise.
    pub exit_code: Option<i64>,
    /// Numbers of tests in the output, if it has a summary in a known form.
    pub tests: Option<TestCounts>,
}

impl ProcessFacts {
    /// The facts in the recorded form.
    pub fn of(process: &Json) -> ProcessFacts {
        let flag = |key: &str| process.get(key) == Some(&Json::Bool(true));
        ProcessFacts {
            stdout_cut: process.get("stdoutCut").and_then(Json::as_u64).unwrap_or_default(),
            watched: flag("watched"),
            manifest_truncated: flag("manifestTruncated"),
            exit_code: process.get("exitCode").and_then(Json::as_i64),
            tests: process.get("tests").and_then(TestCounts::of_json),
        }
    }

    /// Program and arguments, unless they were so long that only their digest was recorded.
    pub fn argv(process: &Json) -> Option<Vec<String>> {
        let words = process.get("argv")?.as_array()?.iter();
        words.map(|word| word.as_str().map(str::to_owned)).collect()
    }

    /// How the process ended, if not with an exit code: `signal`, `timeout` and others.
    pub fn end(process: &Json) -> Option<&str> {
        process.get("end").and_then(Json::as_str)
    }
}

/// The output of a step's process, as the end of an attempt records it.
#[derive(Debug, Clone, Copy)]
pub struct AttemptStreams<'a>(&'a Json);

impl<'a> AttemptStreams<'a> {
    /// The streams in the recorded form.
    pub fn of(streams: &'a Json) -> Self {
        AttemptStreams(streams)
    }

    /// Text of stdout, as far as it was stored.
    pub fn stdout(self) -> &'a str {
        self.0["stdout"].as_str().unwrap_or_default()
    }

    /// Text of stderr, as far as it was stored.
    pub fn stderr(self) -> &'a str {
        self.0["stderr"].as_str().unwrap_or_default()
    }

    /// Bytes of stdout over the size limit, if any.
    pub fn stdout_cut(self) -> Option<u64> {
        self.0.get("stdoutCut").and_then(Json::as_u64)
    }

    /// Bytes of stderr over the size limit, if any.
    pub fn stderr_cut(self) -> Option<u64> {
        self.0.get("stderrCut").and_then(Json::as_u64)
    }

    /// The evidence of the process.
    pub fn process(self) -> Option<&'a Json> {
        self.0.get("process")
    }

    /// The same streams without their texts.
    pub fn without_text(self) -> Json {
        let kept = ["stdoutCut", "stderrCut", "process"].into_iter();
        let kept = kept.filter_map(|key| Some((key.to_owned(), self.0.get(key)?.clone())));
        Json::Object(kept.collect())
    }
}
