//! Masks the records and verdicts of an attempt.

use super::{Mask, Redactor};
use crate::evidence::{
    Artifact, CacheHit, CallRequest, Change, CheckDetail, EvidenceRef, Exchange, Handoff,
    Invocation, Merged, MergedTree, Note, Payload, ProcessEvidence, Prompt, PromptPart, Record,
    Verification,
};
use kb_base::value::Json;
use std::sync::Arc;

impl Mask for Payload {
    /// The text of a blob was masked before it was stored.
    fn masked_by(self, redactor: &Redactor) -> Payload {
        match self {
            Payload::Inline(value) => Payload::inline(redactor.mask_json(&value)),
            blob @ Payload::Blob { .. } => blob,
        }
    }
}

impl Mask for Record {
    /// Every field is named, so that a new field must be considered here.
    fn masked_by(self, redactor: &Redactor) -> Record {
        match self {
            Record::ModelCall {
                turn,
                model,
                tier,
                request,
                digests,
                prompt,
                usage,
                text,
                reasoning,
                calls,
                cut_short,
            } => Record::ModelCall {
                turn,
                model: model.masked_by(redactor),
                tier,
                request,
                digests,
                prompt: prompt.masked_by(redactor),
                usage,
                text: text.masked_by(redactor),
                reasoning: reasoning.and_then(|kept| unmasked(kept, redactor)),
                calls: calls.masked_by(redactor),
                cut_short,
            },
            Record::ToolCall { turn, id, tool, args, percent_done } => Record::ToolCall {
                turn,
                id,
                tool: tool.masked_by(redactor),
                args: args.masked_by(redactor),
                percent_done,
            },
            Record::ToolResult { turn, invocation, result } => Record::ToolResult {
                turn,
                invocation: invocation.masked_by(redactor),
                result: result.masked_by(redactor),
            },
            Record::Compression { turn, covers, keeps, summary, usage } => {
                let summary = summary.masked_by(redactor);
                Record::Compression { turn, covers, keeps, summary, usage }
            }
            Record::Approval { call, approved, by, comment, answer } => Record::Approval {
                call,
                approved,
                answer: answer.masked_by(redactor),
                by: by.masked_by(redactor),
                comment: comment.masked_by(redactor),
            },
            Record::Observed { basis: Payload::Inline(basis) } => {
                Record::Observed { basis: Payload::inline(masked_texts(&basis, redactor)) }
            }
            record @ (Record::Observed { .. }
            | Record::Reservation { .. }
            | Record::ChildRun { .. }
            | Record::ChildRunEnded { .. }
            | Record::DelegateEnded { .. }) => record,
            Record::Delegate { call, agent, task, run, depth, priority } => {
                let (agent, task) = (agent.masked_by(redactor), task.masked_by(redactor));
                Record::Delegate { call, agent, task, run, depth, priority }
            }
            Record::Output { parts, omitted } => {
                Record::Output { parts: parts.masked_by(redactor), omitted }
            }
            Record::BudgetWarning { text } => {
                Record::BudgetWarning { text: text.masked_by(redactor) }
            }
            Record::Phase { phase, round, previous } => {
                Record::Phase { phase, round, previous: previous.masked_by(redactor) }
            }
            Record::Recall { entries, text } => {
                Record::Recall { entries, text: text.masked_by(redactor) }
            }
            Record::CacheHit(hit) => Record::CacheHit(Box::new(CacheHit {
                restored: hit.restored.masked_by(redactor),
                trace: hit.trace.masked_by(redactor),
                ..*hit
            })),
            Record::Note(Note { level, text }) => {
                Record::Note(Note { level, text: text.masked_by(redactor) })
            }
        }
    }
}

impl Mask for Exchange {
    /// Names of channels and keys are masked as well: all steps see the same mask.
    fn masked_by(self, redactor: &Redactor) -> Exchange {
        match self {
            Exchange::Publish { channel, message } => Exchange::Publish {
                channel: channel.masked_by(redactor),
                message: message.masked_by(redactor),
            },
            Exchange::Subscribe { channel, check, ack } => {
                Exchange::Subscribe { channel: channel.masked_by(redactor), check, ack }
            }
            Exchange::Ack { channel, through } => {
                Exchange::Ack { channel: channel.masked_by(redactor), through }
            }
            Exchange::Unsubscribe { channel } => {
                Exchange::Unsubscribe { channel: channel.masked_by(redactor) }
            }
            Exchange::Write { key, value } => {
                Exchange::Write { key: key.masked_by(redactor), value: value.masked_by(redactor) }
            }
            Exchange::Read { key } => Exchange::Read { key: key.masked_by(redactor) },
        }
    }
}

/// A basis with masked texts. Names of fields and variants stay, so that it can be read back even if a secret
/// has the same text; where such a text is no name, it was masked when the basis was made.
fn masked_texts(value: &Json, redactor: &Redactor) -> Json {
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    let text = |text: &str| {
        if is_name(text) { text.to_owned() } else { redactor.mask_text(text).into_owned() }
    };
    match value {
        Json::String(own) => Json::String(text(own)),
        Json::Array(items) => items.iter().map(|item| masked_texts(item, redactor)).collect(),
        Json::Object(map) => {
            let masked = map.iter().map(|(key, own)| (text(key), masked_texts(own, redactor)));
            Json::Object(masked.collect())
        }
        other => other.clone(),
    }
}

/// Reasoning without secrets; it may be signed, so that masked reasoning would be refused.
fn unmasked(reasoning: Payload, redactor: &Redactor) -> Option<Payload> {
    let masked = reasoning.clone().masked_by(redactor);
    (masked == reasoning).then_some(reasoning)
}

impl Mask for Merged {
    fn masked_by(self, redactor: &Redactor) -> Merged {
        Merged { trees: self.trees.masked_by(redactor), failure: self.failure.masked_by(redactor) }
    }
}

impl Mask for MergedTree {
    fn masked_by(self, redactor: &Redactor) -> MergedTree {
        MergedTree {
            instance: self.instance.masked_by(redactor),
            files: self.files.masked_by(redactor),
            commits: self.commits,
            conflicts: self.conflicts.masked_by(redactor),
            kept: self.kept.masked_by(redactor),
        }
    }
}

impl Mask for CallRequest {
    fn masked_by(self, redactor: &Redactor) -> CallRequest {
        CallRequest {
            id: self.id.masked_by(redactor),
            tool: self.tool.masked_by(redactor),
            args: self.args.masked_by(redactor),
        }
    }
}

impl Mask for Handoff {
    fn masked_by(self, redactor: &Redactor) -> Handoff {
        Handoff {
            summary: self.summary.masked_by(redactor),
            goal: self.goal.masked_by(redactor),
            decisions: self.decisions.masked_by(redactor),
            constraints: self.constraints.masked_by(redactor),
            blockers: self.blockers.masked_by(redactor),
            suggested_next: self.suggested_next.masked_by(redactor),
            artifacts: self.artifacts.masked_by(redactor),
        }
    }
}

impl Mask for Artifact {
    fn masked_by(self, redactor: &Redactor) -> Artifact {
        Artifact {
            name: self.name.masked_by(redactor),
            kind: self.kind,
            preview: self.preview.masked_by(redactor),
            tokens: self.tokens,
            content: self.content.masked_by(redactor),
        }
    }
}

impl Mask for Prompt {
    fn masked_by(mut self, redactor: &Redactor) -> Prompt {
        for part in self.parts_mut() {
            if let Some(Payload::Inline(content)) = &part.content {
                *part = PromptPart::of(redactor.mask_json(content));
            }
        }
        self
    }
}

impl Mask for Invocation {
    fn masked_by(self, redactor: &Redactor) -> Invocation {
        Invocation {
            tool: self.tool.masked_by(redactor),
            args: self.args.masked_by(redactor),
            changes: self.changes.masked_by(redactor),
            evidence: self.evidence.masked_by(redactor),
            process: self.process.masked_by(redactor),
            output: self.output.map(|output| Arc::new(redactor.mask_json(&output))),
            ..self
        }
    }
}

impl Mask for ProcessEvidence {
    /// The other fields are numbers, digests and flags.
    fn masked_by(self, redactor: &Redactor) -> ProcessEvidence {
        ProcessEvidence {
            cwd: self.cwd.masked_by(redactor),
            env: self.env.masked_by(redactor),
            argv: self.argv.masked_by(redactor),
            ..self
        }
    }
}

impl Mask for Change {
    /// A process of the author may put a secret into the name of a file.
    fn masked_by(self, redactor: &Redactor) -> Change {
        Change { path: self.path.masked_by(redactor), diff: self.diff.masked_by(redactor), ..self }
    }
}

impl Mask for EvidenceRef {
    fn masked_by(self, redactor: &Redactor) -> EvidenceRef {
        EvidenceRef { reference: self.reference.masked_by(redactor), ..self }
    }
}

impl Mask for Verification {
    fn masked_by(self, redactor: &Redactor) -> Verification {
        Verification {
            reason: self.reason.masked_by(redactor),
            checks: self.checks.masked_by(redactor),
            ..self
        }
    }
}

impl Mask for CheckDetail {
    fn masked_by(self, redactor: &Redactor) -> CheckDetail {
        CheckDetail {
            check: self.check.masked_by(redactor),
            verdict: self.verdict,
            warning: self.warning,
            reason: self.reason.masked_by(redactor),
            evidence: self.evidence.masked_by(redactor),
        }
    }
}
