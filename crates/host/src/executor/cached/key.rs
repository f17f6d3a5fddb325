//! The key of an attempt: everything that its result depends on, part by part.

use super::step_cache::StepCache;
use crate::cache::{CacheKey, KeyBuilder};
use crate::executor::host_access::HostAccess;
use kb_attempt::{CacheRequest, FileUse, Request, StepWork};
use kb_base::value::{Digest, json_text};
use kb_core::redaction::Redactor;
use kb_language::definition::CacheScope;
use std::sync::Arc;

/// Version of the form of results. A new form makes all stored results unused.
const FORM: u32 = 1;

/// More files than this are one part of the key; then a miss does not name the changed file.
const NAMED_FILES: usize = 2_000;

/// The key of an attempt. The error says why it has none.
pub(super) async fn of(
    cache: &Arc<StepCache>,
    host: &HostAccess,
    request: &Request,
    asked: &CacheRequest,
) -> Result<CacheKey, String> {
    let (cache, host) = (cache.clone(), host.clone());
    let (request, asked) = (request.clone(), asked.clone());
    let work = move || {
        let builder =
            cache.results.key().map_err(|error| format!("the cache cannot be used: {error}"))?;
        let mut parts = Parts { builder, redactor: &host.redactor };
        parts.add("version of kb", &format!("{} {FORM}", env!("CARGO_PKG_VERSION")));
        parts.work(&cache, &request.work);
        parts.environment(&cache, &request);
        parts.scope(&request, &asked);
        parts.files(&host, &request.work, &asked)?;
        Ok(parts.builder.finish())
    };
    let stopped = || Err("the key could not be computed".to_owned());
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| stopped())
}

struct Parts<'r> {
    builder: KeyBuilder,
    redactor: &'r Redactor,
}

impl Parts<'_> {
    fn add(&mut self, name: &str, value: &str) {
        let shown = self.redactor.mask_text(value).into_owned();
        self.builder.add(name, value, Some(&shown));
    }

    fn work(&mut self, cache: &StepCache, work: &StepWork) {
        for (name, value) in work.parts() {
            let shown = self.redactor.mask_text(&json_text(&value)).into_owned();
            // The order of keys does not matter.
            self.builder.add(name, Digest::of_json(&value).as_bytes(), Some(&shown));
        }
        if work.specialist().is_some() {
            self.add("model", &cache.options.models);
        }
    }

    /// Declared variables; the identity of an attempt is none of them.
    fn environment(&mut self, cache: &StepCache, request: &Request) {
        let passed = match request.work.file_use() {
            FileUse::Nothing => &[],
            FileUse::Everything { .. } | FileUse::Tool(_) => cache.options.passed.as_slice(),
        };
        for (name, value) in passed.iter().chain(&request.env) {
            self.add(&format!("env.{name}"), value);
        }
        if !request.cwd.is_empty() {
            self.add("working directory", &request.cwd);
        }
        // A free command takes no result of one in the sandbox, and one that executes the files of the author takes none of
        // the files of others.
        if let Some(confined) = request.confined.now() {
            let opening = serde_json::to_string(&*confined.opening()).unwrap_or_default();
            self.add("sandbox", &opening);
            if confined.is_foreign() {
                self.add("files or values of others", "yes");
            }
        }
    }

    fn scope(&mut self, request: &Request, asked: &CacheRequest) {
        match asked.scope {
            CacheScope::Project => {}
            CacheScope::Step => {
                self.add("step", &format!("{} {}", asked.definition, request.instance.step));
            }
            CacheScope::Run => self.add("run", request.run.as_str()),
        }
        if let Some(key) = &asked.key {
            self.add("`key`", key);
        }
        // The passes of a loop have different results although they do the same.
        if request.pass > 1 {
            self.add("pass", &request.pass.to_string());
        }
    }

    /// The files that the step reads: the declared ones, or all.
    fn files(
        &mut self,
        host: &HostAccess,
        work: &StepWork,
        asked: &CacheRequest,
    ) -> Result<(), String> {
        let all = asked.inputs.is_none() && asked.key.is_none() && reads_files(work);
        if asked.inputs.is_none() && !all {
            return Ok(());
        }
        let found = host.workspace.file_digests(asked.inputs.as_deref(), host.clock.system());
        let found = found.map_err(|error| error.to_string())?;
        let mut digests = Vec::with_capacity(found.len());
        for (path, digest) in found {
            let Some(digest) = digest else {
                return Err(format!(
                    "`{path}` is too large to be compared; declare other `inputs`"
                ));
            };
            digests.push((path, digest));
        }
        if digests.len() > NAMED_FILES {
            let text: String =
                digests.iter().map(|(path, digest)| format!("{digest} {path}\n")).collect();
            let shown = format!("{} files, {}", digests.len(), Digest::of(&text).short(12));
            self.builder.add("input files", &text, Some(&shown));
            return Ok(());
        }
        for (path, digest) in digests {
            self.builder.add(format!("file {path}"), digest.as_bytes(), None);
        }
        Ok(())
    }
}

/// Whether the work can read files of the project.
fn reads_files(work: &StepWork) -> bool {
    match work.file_use() {
        FileUse::Nothing => false,
        FileUse::Everything { .. } => true,
        FileUse::Tool(tool) => tool.reads_files || tool.writes || tool.runs_processes,
    }
}
