//! What the engine knows about a tool: names, level, schemas and effects.

use kb_base::value::Json;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The risk level of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolLevel {
    /// Needs no permission.
    Safe,
    /// Reads files inside the allowed paths.
    Moderate,
    /// Needs an explicit permission, such as an entry in the allow-list of a specialist.
    Restricted,
    /// Runs code: needs the kernel sandbox or the approval of a person.
    Critical,
}

impl ToolLevel {
    /// The name in documents and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolLevel::Safe => "safe",
            ToolLevel::Moderate => "moderate",
            ToolLevel::Restricted => "restricted",
            ToolLevel::Critical => "critical",
        }
    }
}

/// An additional static check of the `input` of a `tool` step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputCheck {
    /// Only the names of the arguments are checked.
    #[default]
    Arguments,
    /// `command` and `argv` are checked like those of a `run` step.
    Command,
    /// `url` is checked like that of an `http` step.
    Url,
}

/// Which part of a long result a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultPart {
    /// The start, where most results say what matters.
    #[default]
    Start,
    /// The start of a file. The limit is larger, because a file is read to be worked on.
    File,
    /// The start and the end, which is where a command reports what failed.
    Ends,
    /// The rest of an earlier result. The limit is larger, so that the rest takes few calls.
    Rest,
}

/// How far the effect of a call can be proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceTier {
    /// The runtime recorded the effect, and checks compare it with the disk.
    Recorded,
    /// A receipt, an output that satisfies its schema, and evidence, such as that of a probe.
    Receipt,
    /// Nothing on this machine proves the effect.
    Remote,
}

/// A text of the table, or one that came with a definition or from a server.
pub type Text = Cow<'static, str>;

/// Everything that the engine knows about a tool. Allow-lists, policy, the workspace lock, the
/// warning about unordered writers, the checks of `tool` steps and the reference page derive from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The name, `namespace:verb`.
    pub name: Text,
    /// The start of the names of all tools with this origin; empty for built-in tools. A glob in an allow-list
    /// stands for such a tool only if it names the origin.
    pub namespace: Text,
    /// Names of the tool in other formats. In an allow-list and in `tools.security`, each stands for
    /// every tool that lists it.
    pub aliases: Vec<Text>,
    /// Further names of the tool in claims; they allow nothing.
    pub claimed_as: Vec<Text>,
    /// Names in `tools.security` that stand for a group of tools.
    pub groups: Vec<Text>,
    /// Further names whose restrictions in `tools.security` apply to this tool, although they do not
    /// allow it: the tool can do what they name.
    pub restricted_by: Vec<Text>,
    /// How dangerous it is; decides about approvals.
    pub level: ToolLevel,
    /// The description for models and people.
    pub description: Text,
    /// JSON Schema of the arguments.
    pub input: Json,
    /// JSON Schema of the result.
    pub output: Json,
    /// Whether the tool reads the contents or names of workspace files.
    pub reads_files: bool,
    /// Whether the tool can change workspace files.
    pub writes: bool,
    /// Whether the tool sends requests over the network.
    pub network: bool,
    /// Whether the tool starts processes.
    pub runs_processes: bool,
    /// Whether its effects reach beyond the sandbox, which then replaces no approval.
    pub leaves_sandbox: bool,
    /// Whether a call changes nothing, so that a call with an unknown outcome can be repeated.
    pub only_reads: bool,
    /// Whether a call that is repeated with its id takes effect once, so that one with an unknown outcome can be
    /// repeated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_effect_once: bool,
    /// Whether the tool needs no entry in an allow-list: it shows nothing new.
    pub always_allowed: bool,
    /// How far the effect of a call can be proven.
    pub tier: EvidenceTier,
    /// Whether the output of a successful call is recorded and compared with claims.
    pub records_output: bool,
    /// How the `input` of a `tool` step is checked.
    pub input_check: InputCheck,
    /// Which part of a long result a model is shown.
    pub result_part: ResultPart,
    /// What a call did, for prose, such as "Read file".
    pub done: Text,
    /// The arguments that name what a call works on; the first one that a call has counts.
    pub subject: Vec<Text>,
}

impl ToolSpec {
    /// A tool without effects, as the base of the table's entries.
    pub(super) fn base() -> ToolSpec {
        ToolSpec {
            name: Cow::Borrowed(""),
            namespace: Cow::Borrowed(""),
            aliases: Vec::new(),
            claimed_as: Vec::new(),
            groups: Vec::new(),
            restricted_by: Vec::new(),
            level: ToolLevel::Safe,
            description: Cow::Borrowed(""),
            input: Json::Null,
            output: Json::Null,
            reads_files: false,
            writes: false,
            network: false,
            runs_processes: false,
            leaves_sandbox: false,
            only_reads: false,
            takes_effect_once: false,
            always_allowed: false,
            tier: EvidenceTier::Recorded,
            records_output: false,
            input_check: InputCheck::default(),
            result_part: ResultPart::default(),
            done: Cow::Borrowed(""),
            subject: Vec::new(),
        }
    }

    /// Whether a call by a specialist needs the kernel sandbox or an approval.
    pub fn needs_approval(&self) -> bool {
        self.level == ToolLevel::Critical
    }

    /// Whether a call with an unknown outcome can be repeated.
    pub fn can_be_repeated(&self) -> bool {
        self.only_reads || self.takes_effect_once
    }

    /// Whether a probe of a plugin can call the tool: it reads files, or requests a URL.
    pub fn may_probe(&self) -> bool {
        (self.only_reads && self.reads_files) || self.input_check == InputCheck::Url
    }

    /// Whether the result comes from neither the files nor the processes of the run: from a server, or from what earlier
    /// runs left.
    pub fn reads_others(&self) -> bool {
        self.network || !(self.reads_files || self.writes || self.runs_processes)
    }

    /// Whether a call with these arguments can change something outside this machine. Only requests whose
    /// method reads cannot.
    pub fn sends(&self, args: &Json) -> bool {
        let method = args.get("method").map_or(Some("GET"), Json::as_str).unwrap_or_default();
        let reads = ["GET", "HEAD", "OPTIONS"].iter().any(|own| method.eq_ignore_ascii_case(own));
        self.network && !(self.input_check == InputCheck::Url && reads)
    }

    /// The key of the result with what the tool found, if that is a list or a text: the first required one.
    pub fn found_values(&self) -> Option<&str> {
        let first = self.output.get("required")?.get(0)?.as_str()?;
        let kind = self.output.get("properties")?.get(first)?.get("type")?.as_str()?;
        ["array", "string"].contains(&kind).then_some(first)
    }

    /// Whether the schema forbids arguments that it does not name.
    pub fn is_closed(&self) -> bool {
        self.input.get("additionalProperties") == Some(&Json::Bool(false))
    }

    /// Whether the tool returns the contents of a file.
    pub fn reads_a_file(&self) -> bool {
        self.result_part == ResultPart::File
    }

    /// Whether a result can show what a file contains, and not only its name or that it exists.
    pub fn shows_contents(&self) -> bool {
        !(self.only_reads && self.reads_files) || self.result_part != ResultPart::Start
    }

    /// The names of the arguments, in order.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let properties = self.input.get("properties").and_then(Json::as_object);
        properties.into_iter().flat_map(|map| map.keys().map(String::as_str))
    }

    /// Whether a call needs this argument.
    pub fn requires(&self, argument: &str) -> bool {
        let required = self.input.get("required").and_then(Json::as_array);
        required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(argument)))
    }
}

impl std::fmt::Display for ToolSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Texts of the table.
pub(super) fn texts<const N: usize>(all: [&'static str; N]) -> Vec<Text> {
    all.into_iter().map(Cow::Borrowed).collect()
}
