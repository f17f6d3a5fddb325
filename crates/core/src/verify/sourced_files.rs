//! Files that set up an environment, such as `bin/activate` of Python: did the step change one before a
//! script executed it?

use super::normalized_path::normalized;
use super::observation::{Observation, ObservationQuery, Observations};
use super::shell::{ENVIRONMENT_FILES, Script, SourcedFile};
use crate::evidence::{Invocation, Purpose};

/// The files that the scripts of a step sourced, with what is known about them.
pub(super) struct SourcedFiles<'a> {
    trace: &'a [Invocation],
    observations: &'a Observations,
    root: &'a str,
}

/// Where a sourced file is.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// In the home directory.
    Home,
    /// At this path, relative to the workspace, or absolute outside of it.
    Path(String),
    Unknown,
}

impl<'a> SourcedFiles<'a> {
    pub(super) fn new(
        trace: &'a [Invocation],
        observations: &'a Observations,
        root: &'a str,
    ) -> SourcedFiles<'a> {
        SourcedFiles { trace, observations, root }
    }

    /// The queries about all sourced files.
    pub(super) fn queries(trace: &[Invocation], root: &str) -> Vec<ObservationQuery> {
        let executed = trace.iter().filter(|call| call.purpose == Purpose::Execution);
        let scripts = executed.filter_map(|call| Some((call, Script::of_call(call)?)));
        let files = scripts.flat_map(|(call, script)| {
            script.sourced.into_iter().map(|file| query(call, &file, root)).collect::<Vec<_>>()
        });
        files.collect()
    }

    /// Whether the step may have changed the file before this call. Verdicts of versions that did not
    /// observe such files trust all of them.
    pub(super) fn may_be_changed(&self, call: &Invocation, at: usize, file: &SourcedFile) -> bool {
        let Some(seen) = self.observations.get(&query(call, file, self.root)) else { return false };
        let recorded = self.trace[..=at].iter().flat_map(|call| &call.changes);
        let name = ENVIRONMENT_FILES.iter().find(|name| file.file.ends_with(*name));
        if recorded.into_iter().any(|change| name.is_some_and(|name| change.path.ends_with(name))) {
            return true;
        }
        match (place(call, file, self.root), seen) {
            (Place::Home, _) => sets_home(call),
            // The path guard refuses a path outside, which scans do not cover either.
            (Place::Path(path), Observation::Location(Err(error))) => {
                !error.denied || !(path.starts_with('/') || path.starts_with(".."))
            }
            (Place::Path(_), Observation::Location(Ok(found))) if !found.ignored => {
                found.state.is_none()
            }
            // Scans do not record changes of an ignored file, but the kernel dates them.
            (Place::Path(_), Observation::Location(Ok(found))) => {
                let began = self.trace.first().map_or(0, |call| call.at.0);
                let states = [found.state.as_ref(), found.target.as_ref().map(|(_, state)| state)];
                let is_old = |changed: i64| changed > 0 && changed / 1_000_000 < began;
                let mut states = states.into_iter().flatten().peekable();
                states.peek().is_none() || !states.all(|state| is_old(state.ctime_ns))
            }
            _ => true,
        }
    }
}

fn query(call: &Invocation, file: &SourcedFile, root: &str) -> ObservationQuery {
    ObservationQuery::Location(match place(call, file, root) {
        Place::Path(path) => path,
        Place::Home | Place::Unknown => file.file.clone(),
    })
}

fn place(call: &Invocation, file: &SourcedFile, root: &str) -> Place {
    let text = file.file.as_str();
    if ["~/", "$HOME/", "${HOME}/"].iter().any(|home| text.starts_with(home)) {
        return Place::Home;
    }
    if text.starts_with('~') || text.contains('$') {
        return Place::Unknown;
    }
    let own = call.process.as_ref().map(|process| process.cwd.as_str());
    let (Some(own), Some(cwd)) = (own, &file.cwd) else { return Place::Unknown };
    let below = [cwd.as_str(), text].into_iter().fold(own.to_owned(), |path, part| {
        if part.starts_with('/') { part.to_owned() } else { format!("{path}/{part}") }
    });
    Place::Path(normalized(&below, root))
}

/// Whether a call sets `HOME`, so that `~` is another folder.
fn sets_home(call: &Invocation) -> bool {
    let words = call.process.iter().flat_map(|process| process.argv.iter().flatten());
    let names = call.process.iter().flat_map(|process| process.env.iter());
    let mut words =
        words.map(String::as_str).chain(call.args.get("command").and_then(|c| c.as_str()));
    words.any(|word| word.contains("HOME=")) || names.into_iter().any(|name| name == "HOME")
}
