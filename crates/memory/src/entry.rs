//! [`Entry`]: one remembered sentence with its origin and state.

use kb_base::value::{Digest, Json, RunId, Timestamp};
use serde::{Deserialize, Serialize, Serializer};

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something that is so.
    Fact,
    /// How something is done.
    Procedure,
    /// A mistake to avoid.
    Pitfall,
    /// What was decided, and why.
    Decision,
    /// What people want. Only people record it.
    Preference,
}

impl Kind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Kind; 5] =
        [Kind::Fact, Kind::Procedure, Kind::Pitfall, Kind::Decision, Kind::Preference];

    /// The name in files, answers and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Fact => "fact",
            Kind::Procedure => "procedure",
            Kind::Pitfall => "pitfall",
            Kind::Decision => "decision",
            Kind::Preference => "preference",
        }
    }

    /// The kind with this name. The further names of agent files are taken too: `skill` is a procedure, `observation` a
    /// fact, `mistake` a pitfall.
    pub fn parse(name: &str) -> Option<Kind> {
        let own = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
        own.or(match name {
            "skill" => Some(Kind::Procedure),
            "observation" => Some(Kind::Fact),
            "mistake" => Some(Kind::Pitfall),
            _ => None,
        })
    }
}

/// How far an entry may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Proposed; nothing has confirmed it.
    Candidate,
    /// Its checks passed in the runtime.
    Verified,
    /// A person approved it: it is a file of the project.
    Shared,
    /// A check failed, or a file that it rests on changed.
    Stale,
    /// Another entry says something else about the same subject.
    Conflicted,
    /// Not confirmed for too long, or its file was removed.
    Archived,
    /// A person rejected or forgot it. It is not proposed again.
    Forgotten,
}

impl State {
    /// All states, in the order of the documentation.
    pub const ALL: [State; 7] = [
        State::Candidate,
        State::Verified,
        State::Shared,
        State::Stale,
        State::Conflicted,
        State::Archived,
        State::Forgotten,
    ];

    /// The name in answers and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Candidate => "candidate",
            State::Verified => "verified",
            State::Shared => "shared",
            State::Stale => "stale",
            State::Conflicted => "conflicted",
            State::Archived => "archived",
            State::Forgotten => "forgotten",
        }
    }

    /// The state with this name.
    pub fn parse(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Whether the entry is neither archived nor forgotten.
    pub fn is_live(self) -> bool {
        !matches!(self, State::Archived | State::Forgotten)
    }

    /// Whether specialists of other runs are shown the entry.
    pub fn is_usable(self) -> bool {
        matches!(self, State::Verified | State::Shared)
    }
}

/// Where an entry comes from: the least trusted source of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// A tool result, the value of another step, or any other text from outside of the conversation.
    External,
    /// A model that had seen no such text.
    Model,
    /// The runtime observed it.
    Runtime,
    /// A person wrote or approved it.
    Person,
}

impl Trust {
    /// All levels, the lowest first.
    pub const ALL: [Trust; 4] = [Trust::External, Trust::Model, Trust::Runtime, Trust::Person];

    /// The name in answers and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Trust::External => "external",
            Trust::Model => "model",
            Trust::Runtime => "runtime",
            Trust::Person => "person",
        }
    }

    /// The level with this name.
    pub fn parse(name: &str) -> Option<Trust> {
        Trust::ALL.into_iter().find(|trust| trust.as_str() == name)
    }

    /// Whether passed checks alone make an entry verified. Text from outside can bring its own checks, which pass.
    pub fn may_be_verified(self) -> bool {
        self > Trust::External
    }
}

/// Where an entry counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In every run of the project.
    Project,
    /// In one run: what is absent now can come later.
    Run(RunId),
}

/// A file that an entry rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Path in the project.
    pub path: String,
    /// Digest of the file when the entry was made or last checked; `None` until the file is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// A text of the file that must stay. Without it, every change of the file counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// A remembered sentence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Unique in the project; the name of its file, if it is shared.
    pub id: String,
    /// What it is about.
    pub kind: Kind,
    /// What it says something about. Two entries with one subject contradict each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The sentence, on one line.
    pub text: String,
    /// Words to find it by, in lower case.
    pub tags: Vec<String>,
    /// Where it counts.
    pub scope: Scope,
    /// How far it may be used.
    pub state: State,
    /// Its least trusted source.
    pub trust: Trust,
    /// The specialist that proposed it, or the person.
    pub author: String,
    /// The run in which it was proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The step instance that proposed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The person who approved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When it was proposed.
    #[serde(serialize_with = "rfc3339")]
    pub created: Timestamp,
    /// When it was changed last.
    #[serde(serialize_with = "rfc3339")]
    pub updated: Timestamp,
    /// When its checks passed last. Reads do not change it.
    #[serde(serialize_with = "rfc3339_or_null")]
    pub last_verified: Option<Timestamp>,
    /// When it was last shown to a specialist.
    #[serde(serialize_with = "rfc3339_or_null")]
    pub last_accessed: Option<Timestamp>,
    /// How often it was shown to a specialist.
    pub access_count: u64,
    /// Files that it rests on.
    pub anchors: Vec<Anchor>,
    /// Checks in the form of a gate.
    pub checks: Vec<Json>,
}

/// Writes a time as the other public forms of `kb` do.
pub(crate) fn rfc3339<S: Serializer>(at: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&at.rfc3339())
}

pub(crate) fn rfc3339_or_null<S: Serializer>(
    at: &Option<Timestamp>,
    out: S,
) -> Result<S::Ok, S::Error> {
    at.map(Timestamp::rfc3339).serialize(out)
}

impl Entry {
    /// The state that runs of this lineage see: what one of them proposed is no more than a candidate for them, so that
    /// a specialist cannot confirm itself.
    pub fn state_in(&self, lineage: &[RunId]) -> State {
        let is_own = self.run.as_ref().is_some_and(|run| lineage.contains(run));
        if is_own && self.state == State::Verified { State::Candidate } else { self.state }
    }

    /// Whether a specialist of this lineage finds the entry when it searches: what is verified or shared, and what its
    /// own runs proposed.
    pub fn is_found_in(&self, lineage: &[RunId]) -> bool {
        let of_lineage = |run: &RunId| lineage.contains(run);
        let in_scope = match &self.scope {
            Scope::Project => true,
            Scope::Run(run) => of_lineage(run),
        };
        let is_own = self.run.as_ref().is_some_and(of_lineage);
        in_scope && (self.state.is_usable() || is_own && self.state == State::Candidate)
    }
}
