//! The decision table of the agent loop: what an attempt does next, from counters alone.
//!
//! [`next`] is pure: the same [`LoopState`] always gives the same [`Next`].

use kb_core::evidence::Phase;
use kb_language::definition::LoopPhases;

/// Number of messages above which the context of a small window may be compressed.
pub const SOFT_MESSAGES: u32 = 5;
/// Estimated tokens below which the number of messages alone does not trigger compression. Five
/// messages are two tool calls: not worth the loss of detail and of the provider's prompt cache.
pub const SOFT_TOKENS: u32 = 2_000;
/// Estimated tokens above which the context is compressed, however few its messages are.
pub const HARD_TOKENS: u32 = 8_000;
/// Minimum number of messages that one compression below [`HARD_TOKENS`] must remove.
pub const WORTHWHILE: u32 = 4;
/// Maximum number of turns spent on an output that is invalid or missing.
pub const REPAIRS: u32 = 2;
/// Number of consecutive denied calls that ends an attempt.
pub const DENIALS: u32 = 3;
/// Number of identical calls with identical results that ends an attempt.
pub const REPEATS: u32 = 3;

/// The counters of an attempt at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoopState {
    /// Maximum number of model calls.
    pub max_steps: u32,
    /// Maximum number of tool calls.
    pub max_tool_calls: u32,
    /// Number of tool calls after which a turn without tools follows.
    pub reasoning_every: Option<u32>,
    /// Model calls so far.
    pub turns: u32,
    /// Tool calls so far.
    pub tool_calls: u32,
    /// Tool calls since the last turn without tools.
    pub calls_since_reasoning: u32,
    /// Submitted outputs that did not match the schema.
    pub invalid: u32,
    /// Consecutive responses without a call and without an output.
    pub silent: u32,
    /// Consecutive responses whose tool call was cut off at the length limit.
    pub cut_off: u32,
    /// Consecutive denied calls.
    pub denials: u32,
    /// How often the most recent call has given the same result without a change in between.
    pub repeats: u32,
    /// Responses whose calls were not executed because a limit was reached.
    pub declined: u32,
    /// The first call in the queue.
    pub pending: Pending,
    /// Whether the current response contains a `submit_output` call.
    pub reply_submits: bool,
    /// Whether a valid output was submitted.
    pub submitted: bool,
    /// Messages in the conversation.
    pub messages: u32,
    /// Messages that a summary could replace.
    pub foldable: u32,
    /// Estimated tokens of the conversation.
    pub tokens: u32,
    /// Estimated tokens above which the context is compressed; `None`: by the rule for small windows.
    pub compress_above: Option<u32>,
    /// [`HARD_TOKENS`], or less for a smaller window; `None`: [`HARD_TOKENS`].
    pub small_limit: Option<u32>,
    /// `agentLoop`: the attempt has phases.
    pub phases: Option<LoopPhases>,
    /// The current phase; `None` before the first.
    pub phase: Option<Phase>,
    /// Whether the model answered the question of the phase.
    pub answered: bool,
    /// Whether the model calls the task complex.
    pub complex: bool,
    /// Whether the review asks for an improvement.
    pub improve: bool,
    /// Rounds of execution and critique so far, with the current one.
    pub round: u32,
    /// Whether a round before the current one submitted a valid output.
    pub has_draft: bool,
}

/// The first call in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pending {
    /// The queue is empty: the model is called next.
    #[default]
    None,
    /// A tool call that was not started.
    Fresh,
    /// A tool call that was started and has no recorded result.
    Started,
    /// A `submit_output` call.
    Submit,
}

/// The next action of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send the conversation to the model.
    CallModel(Turn),
    /// Execute the first call in the queue.
    CallTool,
    /// Answer the first call in the queue, which was started and has no recorded result.
    Recover,
    /// Answer the first call in the queue without executing it: a limit is reached.
    Decline,
    /// Check the submitted output against its schema.
    Validate,
    /// Begin this phase.
    Enter(Phase),
    /// Replace the oldest messages by a summary.
    Compress,
    /// End with the submitted output.
    Done,
    /// End without an output.
    Fail(GiveUpReason),
}

/// The form of one model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The purpose of the call.
    pub mode: Mode,
    /// The tools in the request.
    pub offer: Offer,
}

/// The purpose of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Continue with the task.
    Continue,
    /// Reason without tools.
    Reason,
    /// Fix an invalid output, or submit one at all.
    Repair,
    /// As `Repair`, in the provider's structured-output mode.
    Structured,
    /// Submit the results so far: no further turn is allowed.
    Finish,
    /// Answer the question of a phase without tools: `Understand`, `Plan` or `Critique`.
    Answer(Phase),
}

/// The tools in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The specialist's allow-list and `submit_output`.
    All,
    /// Only `submit_output`.
    SubmitOnly,
    /// The model must not call a tool.
    None,
}

/// The reason why an attempt ends without an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUpReason {
    /// The same call gave the same result [`REPEATS`] times.
    Loop,
    /// [`DENIALS`] calls in a row were denied.
    Denied,
    /// The limit of model calls is reached.
    Steps,
    /// The limit of tool calls is reached and the model requests more.
    ToolCalls,
    /// The output is still invalid after [`REPAIRS`] repairs.
    InvalidOutput,
    /// No output was submitted after [`REPAIRS`] repairs.
    NeverSubmitted,
    /// More than [`REPAIRS`] responses in a row ended within a tool call, at their length limit.
    CutOff,
}

/// The next action for these counters.
pub fn next(s: &LoopState) -> Next {
    match decide(s) {
        // An improvement that fails does not lose the output that it was to improve.
        Next::Fail(_) if s.has_draft => Next::Enter(Phase::Finish),
        next => next,
    }
}

fn decide(s: &LoopState) -> Next {
    if s.submitted {
        return after_output(s);
    }
    if s.denials >= DENIALS {
        return Next::Fail(GiveUpReason::Denied);
    }
    if s.repeats >= REPEATS {
        return Next::Fail(GiveUpReason::Loop);
    }
    match s.pending {
        Pending::Submit => Next::Validate,
        Pending::Started => Next::Recover,
        Pending::Fresh if over_limit(s) => Next::Decline,
        Pending::Fresh => Next::CallTool,
        Pending::None => between_turns(s),
    }
}

/// On the last turn a call could not be answered for, unless the same reply hands the output in.
fn over_limit(s: &LoopState) -> bool {
    s.tool_calls >= s.max_tool_calls || (s.turns >= s.max_steps && !s.reply_submits)
}

fn between_turns(s: &LoopState) -> Next {
    if s.cut_off > REPAIRS {
        return Next::Fail(GiveUpReason::CutOff);
    }
    let repairs = s.invalid + s.silent;
    if repairs > REPAIRS {
        return Next::Fail(if s.invalid > 0 {
            GiveUpReason::InvalidOutput
        } else {
            GiveUpReason::NeverSubmitted
        });
    }
    if s.turns >= s.max_steps {
        return Next::Fail(if s.invalid > 0 {
            GiveUpReason::InvalidOutput
        } else {
            GiveUpReason::Steps
        });
    }
    if s.declined > 1 {
        return Next::Fail(GiveUpReason::ToolCalls);
    }
    if let Some(next) = before_work(s) {
        return next;
    }
    if worth_compressing(s) {
        return Next::Compress;
    }
    Next::CallModel(model_turn(s, repairs))
}

/// The question of a phase.
fn question(phase: Phase) -> Next {
    Next::CallModel(Turn { mode: Mode::Answer(phase), offer: Offer::None })
}

/// The phases before the work. They leave two model calls for the work.
fn before_work(s: &LoopState) -> Option<Next> {
    s.phases?;
    let room = s.turns + 2 < s.max_steps;
    match s.phase {
        None if s.turns == 0 && room => Some(Next::Enter(Phase::Understand)),
        Some(phase @ (Phase::Understand | Phase::Plan)) if !s.answered => Some(question(phase)),
        Some(Phase::Understand) if s.complex && room => Some(Next::Enter(Phase::Plan)),
        None | Some(Phase::Understand | Phase::Plan) => Some(Next::Enter(Phase::Execute)),
        Some(Phase::Execute | Phase::Critique | Phase::Finish) => None,
    }
}

/// A valid output is reviewed, improved, or the result.
fn after_output(s: &LoopState) -> Next {
    let Some(phases) = s.phases else { return Next::Done };
    match s.phase {
        // An attempt that began before specialists had phases has none.
        None | Some(Phase::Finish) => Next::Done,
        Some(Phase::Execute) if phases.critique && s.turns < s.max_steps => {
            Next::Enter(Phase::Critique)
        }
        Some(Phase::Critique) if !s.answered && worth_compressing(s) => Next::Compress,
        Some(Phase::Critique) if !s.answered => question(Phase::Critique),
        Some(Phase::Critique)
            if s.improve && s.round < phases.rounds && s.turns + 1 < s.max_steps =>
        {
            Next::Enter(Phase::Execute)
        }
        Some(Phase::Understand | Phase::Plan | Phase::Execute | Phase::Critique) => {
            Next::Enter(Phase::Finish)
        }
    }
}

fn model_turn(s: &LoopState, repairs: u32) -> Turn {
    let last = s.turns + 1 >= s.max_steps || s.tool_calls >= s.max_tool_calls;
    let offer = if last { Offer::SubmitOnly } else { Offer::All };
    match repairs {
        REPAIRS => Turn { mode: Mode::Structured, offer: Offer::None },
        1.. => Turn { mode: Mode::Repair, offer },
        0 if last => Turn { mode: Mode::Finish, offer },
        0 if s.reasoning_every.is_some_and(|n| s.calls_since_reasoning >= n.max(1)) => {
            Turn { mode: Mode::Reason, offer: Offer::None }
        }
        0 => Turn { mode: Mode::Continue, offer },
    }
}

fn worth_compressing(s: &LoopState) -> bool {
    if let Some(above) = s.compress_above {
        return s.tokens > above && s.foldable > 0;
    }
    let soft = s.messages > SOFT_MESSAGES && s.tokens > SOFT_TOKENS && s.foldable >= WORTHWHILE;
    soft || (s.tokens > s.small_limit.unwrap_or(HARD_TOKENS) && s.foldable > 0)
}
