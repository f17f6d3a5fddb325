//! What happens next in an attempt, decided from numbers alone.

/// Messages beyond which the context may be shortened (000, Phase 4).
pub const SOFT_MESSAGES: u32 = 5;
/// Five messages are two tool calls, which are not worth a loss of detail and of the provider's
/// cache: below this many tokens the count of messages alone shortens nothing.
pub const SOFT_TOKENS: u32 = 2_000;
/// Tokens beyond which the context is shortened, however few its messages are (000, Phase 4).
pub const HARD_TOKENS: u32 = 8_000;
/// Messages that have to go at once before it is worth it below [`HARD_TOKENS`].
pub const WORTHWHILE: u32 = 4;
/// Turns that may be spent on an output that does not fit or was not handed in.
pub const REPAIRS: u32 = 2;
/// Denials in a row that end an attempt.
pub const DENIALS: u32 = 3;
/// The same call with the same result, this many times, ends an attempt.
pub const REPEATS: u32 = 3;

/// What an attempt adds up to at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoopState {
    /// Model calls that it may make.
    pub max_steps: u32,
    /// Tool calls that it may make.
    pub max_tool_calls: u32,
    /// A turn without tools after this many calls.
    pub reasoning_every: Option<u32>,
    /// Model calls so far.
    pub turns: u32,
    /// Tool calls so far.
    pub tool_calls: u32,
    /// Tool calls since the last turn without tools.
    pub calls_since_reasoning: u32,
    /// Outputs handed in that did not fit.
    pub invalid: u32,
    /// Replies in a row without a call and without an output.
    pub silent: u32,
    /// Denied calls in a row.
    pub denials: u32,
    /// How often the most repeated call gave the same result.
    pub repeats: u32,
    /// Replies whose calls were not made because a limit was reached.
    pub declined: u32,
    /// The call that is next.
    pub pending: Pending,
    /// Whether the reply under way hands an output in.
    pub reply_submits: bool,
    /// Whether a fitting output is there.
    pub submitted: bool,
    /// Messages of the conversation.
    pub messages: u32,
    /// Those that a summary could stand for.
    pub foldable: u32,
    /// Estimated tokens of the conversation.
    pub tokens: u32,
}

/// The call at the head of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pending {
    /// None: the model is to be asked.
    #[default]
    None,
    /// A tool call that was not begun.
    Fresh,
    /// A tool call that was begun and whose end nobody saw.
    Started,
    /// The output is handed in.
    Submit,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Turn the model.
    CallModel(Turn),
    /// Make the call at the head of the queue.
    CallTool,
    /// Find out about the call at the head of the queue, whose end nobody saw.
    Recover,
    /// Answer the call at the head of the queue without making it: a limit is reached.
    Decline,
    /// Look at the output that is handed in.
    Validate,
    /// Shorten the context.
    Compress,
    /// Done.
    Done,
    /// Give up.
    Fail(GiveUpReason),
}

/// How the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// To what end.
    pub mode: Mode,
    /// With which tools.
    pub offer: Offer,
}

/// To what end the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// To go on.
    Continue,
    /// To think, without tools.
    Reason,
    /// To mend what it handed in, or to hand something in at all.
    Repair,
    /// The same, in the provider's structured-output mode.
    Structured,
    /// To hand in what it has: the limits allow no more.
    Finish,
}

/// Which tools a model is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Its whitelist and `submit_output`.
    All,
    /// `submit_output` alone.
    SubmitOnly,
    /// None.
    None,
}

/// GiveUpReason an attempt gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUpReason {
    /// The same call gave the same result too often.
    Loop,
    /// Too many calls were denied in a row.
    Denied,
    /// No more model calls.
    Steps,
    /// No more tool calls, and the model asks for more.
    ToolCalls,
    /// What was handed in does not fit, after all repairs.
    Unfit,
    /// Nothing was handed in, after all repairs.
    NeverSubmitted,
}

/// What happens next.
pub fn next(s: &LoopState) -> Next {
    if s.submitted {
        return Next::Done;
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
    let repairs = s.invalid + s.silent;
    if repairs > REPAIRS {
        return Next::Fail(if s.invalid > 0 {
            GiveUpReason::Unfit
        } else {
            GiveUpReason::NeverSubmitted
        });
    }
    if s.turns >= s.max_steps {
        return Next::Fail(if s.invalid > 0 { GiveUpReason::Unfit } else { GiveUpReason::Steps });
    }
    if s.declined > 1 {
        return Next::Fail(GiveUpReason::ToolCalls);
    }
    if worth_compressing(s) {
        return Next::Compress;
    }
    Next::CallModel(model_turn(s, repairs))
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
    let soft = s.messages > SOFT_MESSAGES && s.tokens > SOFT_TOKENS && s.foldable >= WORTHWHILE;
    soft || (s.tokens > HARD_TOKENS && s.foldable > 0)
}
