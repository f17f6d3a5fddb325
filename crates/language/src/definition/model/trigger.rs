//! `on:` of a playbook: what starts a run without a person.

use crate::definition::keys::KeyType::Pattern;
use crate::definition::keys::{choices, keys};
use crate::definition::syntax::{Decoder, Node};
use crate::expression::Expression;
use crate::schedule::{Overlap, Policy, Schedule};
use kb_base::diagnostic::Span;
use kb_base::value::{DefinitionId, Json, JsonMap};

/// One trigger of a playbook.
#[derive(Debug, Clone)]
pub struct Trigger {
    /// Name, unique in the playbook. Default: the kind.
    pub name: String,
    /// What it reacts to.
    pub source: TriggerSource,
    /// What happens while other runs that it started are active.
    pub overlap: Overlap,
    /// Which events start a run: an expression over [`WHEN_NAMES`]. `None`: all.
    pub when: Option<Expression>,
    /// Number of failed runs in a row after which it pauses itself.
    pub pause_after: Option<u32>,
    /// Parameters with constant values.
    pub params: JsonMap,
    /// Parameters whose value is a part of the payload.
    pub payload: Vec<(String, PayloadPath)>,
    /// Position of the trigger.
    pub span: Span,
}

/// The names that `when` of a trigger reads: the payload, and for a webhook the headers by their names in
/// lower case.
pub const WHEN_NAMES: [&str; 2] = ["payload", "headers"];

/// What a trigger reacts to.
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerSource {
    /// `on.schedule`: nominal times of a cron expression.
    Schedule(Box<Schedule>, Policy),
    /// HTTP requests to `/hooks/PATH`.
    Webhook(Webhook),
    /// New and changed files.
    File(FileTrigger),
    /// Messages of other runs.
    Message {
        /// The topic of `kb trigger publish`.
        topic: String,
    },
    /// `on.run`: the ends of other runs.
    Run(RunTrigger),
}

impl TriggerSource {
    /// The name of the kind: the key below `on`.
    pub fn kind(&self) -> &'static str {
        match self {
            TriggerSource::Schedule(..) => "schedule",
            TriggerSource::Webhook(_) => "webhook",
            TriggerSource::File(_) => "file",
            TriggerSource::Message { .. } => "message",
            TriggerSource::Run(_) => "run",
        }
    }

    /// What happens to a start while a run has not ended, if `overlap` is not given. The next time of a
    /// schedule replaces the one before; an event that starts no run is lost.
    pub fn default_overlap(&self) -> Overlap {
        match self {
            TriggerSource::Schedule(..) => Overlap::Skip,
            TriggerSource::Webhook(_)
            | TriggerSource::File(_)
            | TriggerSource::Message { .. }
            | TriggerSource::Run(_) => Overlap::QueueAll,
        }
    }

    /// The keys of the payload; none where the sender decides.
    pub fn payload_keys(&self) -> &'static [&'static str] {
        match self {
            TriggerSource::Schedule(..) => &["nominal", "local", "date"],
            TriggerSource::Webhook(_) => &[],
            TriggerSource::File(_) => &["path", "digest"],
            TriggerSource::Message { .. } => &["topic", "id", "message"],
            TriggerSource::Run(_) => &["run", "playbook", "status", "outputs"],
        }
    }
}

/// `on.webhook`: an HTTP request to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Last part of the address `/hooks/PATH`.
    pub path: String,
    /// How requests are signed.
    pub form: WebhookForm,
    /// Names of the secrets that sign requests; two while one replaces the other.
    pub secrets: Vec<String>,
}

/// How the requests of a webhook are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookForm {
    /// A form with a name.
    Named(NamedForm),
    /// `form: {header: …}`: an HMAC with SHA-256 in one header.
    Header(HeaderSignature),
}

impl WebhookForm {
    /// The name in definitions; for a form of its own, that of its header.
    pub fn name(&self) -> &str {
        match self {
            WebhookForm::Named(NamedForm::Standard) => "standard",
            WebhookForm::Named(NamedForm::Svix) => "svix",
            WebhookForm::Named(NamedForm::Github) => "github",
            WebhookForm::Named(NamedForm::Gitlab) => "gitlab",
            WebhookForm::Named(NamedForm::Slack) => "slack",
            WebhookForm::Named(NamedForm::Stripe) => "stripe",
            WebhookForm::Named(NamedForm::Bearer) => "bearer",
            WebhookForm::Header(own) => &own.header,
        }
    }
}

impl Default for WebhookForm {
    fn default() -> WebhookForm {
        WebhookForm::Named(NamedForm::Standard)
    }
}

choices! {
    /// The forms that have a name.
    pub enum NamedForm {
        /// Standard Webhooks: id, timestamp and body.
        Standard = "standard",
        /// Standard Webhooks with the header names of Svix.
        Svix = "svix",
        /// GitHub, Gitea, Forgejo: the body.
        Github = "github",
        /// GitLab: its secret token in a header, without a signature.
        Gitlab = "gitlab",
        /// Slack: timestamp and body.
        Slack = "slack",
        /// Stripe: timestamp and body.
        Stripe = "stripe",
        /// `Authorization: Bearer SECRET`, without a signature.
        Bearer = "bearer",
    }
}

keys! {
    /// An HMAC with SHA-256 of the body in a header of the request.
    pub struct HeaderSignature(Debug, Clone, PartialEq, Eq): SIGNATURE = ("webhookForm", "`form` of a webhook") {
        /// Name of the header with the signature.
        header: String = "header" as Pattern(HEADER_PATTERN) => header_name, required, example("X-Signature");
        /// What stands before the signature in the header.
        prefix: Option<String> = "prefix", default("nothing"), example("\"sha256=\"");
        /// How the signature is written.
        encoding: SignatureEncoding = "encoding", default("hex");
        /// Name of a header with the time in seconds. `TIME.BODY` is signed then, and a request is valid for 5 minutes.
        timestamp: Option<String> = "timestamp" as Pattern(HEADER_PATTERN) => header_name,
            default("the body alone is signed"), example("X-Timestamp");
    }
}

/// The form of the name of a header.
const HEADER_PATTERN: &str = "^[A-Za-z][A-Za-z0-9-]{0,63}$";

/// Decodes the name of a header, in lower case.
fn header_name(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, key)?;
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.len() <= 64
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !is_name {
        let help = "use letters, digits and `-`, such as `X-Signature`".to_owned();
        decoder.bad_value(node.span, format!("`{text}` cannot be the name of a header"), help);
    }
    is_name.then(|| text.to_ascii_lowercase())
}

choices! {
    /// How the bytes of a signature are written.
    #[derive(Default)]
    pub enum SignatureEncoding {
        /// Hexadecimal digits.
        #[default]
        Hex = "hex",
        /// Base64 with padding.
        Base64 = "base64",
    }
}

/// `on.file`: files that are created or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTrigger {
    /// Globs of paths relative to the project root.
    pub paths: Vec<String>,
}

/// `on.run`: runs of a definition that end with a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTrigger {
    /// The playbook whose runs count.
    pub playbook: DefinitionId,
    /// Which ends count.
    pub statuses: Vec<RunEnd>,
    /// Position of the name of the playbook.
    pub span: Span,
}

choices! {
    /// How a run can end.
    pub enum RunEnd {
        /// All steps succeeded or their failures were tolerated.
        Succeeded = "succeeded",
        /// It ended as `failed`, whatever the cause.
        Failed = "failed",
        /// A person stopped it.
        Cancelled = "cancelled",
    }
}

/// Whether a text is a topic of messages.
pub fn is_topic(text: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-');
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(rest)
}

/// A path into a payload: `issue.number`, `commits.0.id`, or a JSON Pointer such as `/a~1b/0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadPath {
    written: String,
    pointer: String,
}

impl PayloadPath {
    /// Parses a path; `None` if it is empty or has an empty part.
    pub fn parse(text: &str) -> Option<PayloadPath> {
        if text.starts_with('/') {
            return Some(PayloadPath { written: text.to_owned(), pointer: text.to_owned() });
        }
        let is_part = |part: &str| {
            !part.is_empty() && !part.contains(['/', '~', ' ', '{', '}', '[', ']', '$', '*'])
        };
        text.split('.').all(is_part).then(|| PayloadPath {
            written: text.to_owned(),
            pointer: format!("/{}", text.replace('.', "/")),
        })
    }

    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The first part of the path.
    pub fn first(&self) -> String {
        let first = self.pointer.split('/').nth(1).unwrap_or_default();
        first.replace("~1", "/").replace("~0", "~")
    }

    /// The value at this path.
    pub fn value<'j>(&self, payload: &'j Json) -> Option<&'j Json> {
        payload.pointer(&self.pointer)
    }
}
