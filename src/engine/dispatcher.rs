use super::attempts::Message;
use super::fold::Folded;
use super::payloads::Payloads;
use super::setup::{Parts, RunControl, Setup, StartMode, Summary};
use crate::clock;
use crate::journal::{JournalError, StoredEvent};
use crate::run::{Effect, Event, Input, InstanceIx, RunStatus};
use crate::task::Task;
use crate::value::{JsonMap, Timestamp};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How often the inbox is looked into for what other processes left.
const INBOX_INTERVAL: Duration = Duration::from_millis(200);

/// Drives a run until it ends, waits for people alone, or is left. Task files of specialists are
/// given with the setup, frozen. Only the journal can stop it; everything before is in there.
pub async fn drive(
    parts: Parts,
    setup: Setup,
    task_files: JsonMap,
) -> Result<Summary, JournalError> {
    let stored = parts.journal.events(&setup.run, 0)?;
    drive_on(parts, setup, task_files, stored).await
}

/// As [`drive`], for a holder who has read already what the journal says of the run.
pub async fn drive_on(
    parts: Parts,
    setup: Setup,
    task_files: JsonMap,
    stored: Vec<StoredEvent>,
) -> Result<Summary, JournalError> {
    let dispatcher = Dispatcher::open(parts, setup, task_files, stored);
    crate::task::drive(to_its_end(dispatcher)).await
}

async fn to_its_end(mut dispatcher: Dispatcher) -> Result<Summary, JournalError> {
    let ended = dispatcher.run().await;
    if ended.is_err() {
        // What cannot be recorded must not go on happening.
        dispatcher.abandoned = true;
        dispatcher.stop_all().await;
    }
    dispatcher.parts.journal.release(&dispatcher.setup.run, dispatcher.setup.epoch).await;
    ended?;
    Ok(dispatcher.summary())
}

type Ack = oneshot::Sender<Result<(), crate::attempt::Stopped>>;

/// An input with what is owed for it once its events are stored.
pub(super) struct QueuedInput {
    pub(super) input: Input,
    pub(super) ack: Option<Ack>,
    pub(super) inbox: Option<i64>,
}

impl From<Input> for QueuedInput {
    fn from(input: Input) -> Self {
        QueuedInput { input, ack: None, inbox: None }
    }
}

pub(super) struct Dispatcher {
    pub(super) parts: Parts,
    pub(super) setup: Setup,
    pub(super) folded: Folded,
    pub(super) payloads: Payloads,
    pub(super) task_files: Arc<JsonMap>,
    pub(super) inputs: VecDeque<QueuedInput>,
    pub(super) now: Timestamp,
    pub(super) pending: Vec<Event>,
    pub(super) acks: Vec<Ack>,
    pub(super) effects: Vec<Effect>,
    pub(super) taken: Vec<i64>,
    pub(super) timers: BTreeSet<(Timestamp, InstanceIx)>,
    pub(super) cancels: BTreeMap<InstanceIx, CancellationToken>,
    /// Attempts that are processes.
    pub(super) processes: BTreeMap<InstanceIx, Task>,
    pub(super) messages: UnboundedReceiver<Message>,
    pub(super) line: UnboundedSender<Message>,
    pub(super) leaving: bool,
    pub(super) abandoned: bool,
    pub(super) expires: Option<Instant>,
    pub(super) began: BTreeMap<InstanceIx, Instant>,
    /// Secrets that holders before this one may have known, to be known again before anything is
    /// done that may repeat them.
    pub(super) earlier: BTreeSet<String>,
}

impl Dispatcher {
    fn open(parts: Parts, setup: Setup, task_files: JsonMap, stored: Vec<StoredEvent>) -> Self {
        let payloads = Payloads::new(parts.journal.clone());
        let folded = Folded::of(&setup.plan, setup.rules, &stored);
        let (line, messages) = unbounded_channel();
        let mut dispatcher = Dispatcher {
            payloads,
            folded,
            task_files: Arc::new(task_files),
            inputs: VecDeque::new(),
            now: clock::now(),
            pending: Vec::new(),
            acks: Vec::new(),
            effects: Vec::new(),
            taken: Vec::new(),
            timers: BTreeSet::new(),
            cancels: BTreeMap::new(),
            processes: BTreeMap::new(),
            messages,
            line,
            leaving: false,
            abandoned: false,
            expires: setup.plan.playbook().limits.timeout.map(|limit| clock::instant() + limit),
            began: BTreeMap::new(),
            earlier: BTreeSet::new(),
            parts,
            setup,
        };
        dispatcher.earlier = dispatcher.missing_of(&stored);
        dispatcher.begin(stored.is_empty());
        dispatcher
    }

    pub(super) fn tell(&mut self, input: Input) {
        self.inputs.push_back(input.into());
    }

    fn begin(&mut self, fresh: bool) {
        match self.setup.opening.clone() {
            StartMode::Start { digest, environment } if fresh => {
                let params = (*self.setup.params).clone();
                self.tell(Input::Started { digest, params, environment });
            }
            StartMode::Start { .. } | StartMode::Resume | StartMode::Answer { .. } => {
                self.tell(Input::Recovered { cancel: None });
            }
            StartMode::Retry { from } => {
                let reason = "asked for by `kb run retry`".to_owned();
                self.tell(Input::Reset { roots: from, reason });
            }
            StartMode::Cancel { by } => self.tell(Input::Recovered { cancel: Some(by) }),
        }
    }

    async fn run(&mut self) -> Result<(), JournalError> {
        let mut inbox = tokio::time::interval(INBOX_INTERVAL);
        inbox.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // First the taking over, then what was left for the run while it had no holder.
        self.tick().await?;
        if let StartMode::Answer { step, reply } = self.setup.opening.clone() {
            self.answer(step.as_deref(), &reply);
        }
        self.read_inbox().await?;
        self.leaving &= self.inputs.is_empty();
        loop {
            self.tick().await?;
            // The taking over may have found nothing to do, and an answer after it brought work.
            self.leaving &= self.folded.state.running() == 0;
            if self.leaving && !self.abandoned && !self.folded.state.status().has_ended() {
                // Somebody may have left something for this holder in the meantime.
                self.read_inbox().await?;
                self.leaving = self.inputs.is_empty();
                if !self.leaving {
                    continue;
                }
            }
            if self.leaving || self.abandoned {
                self.stop_all().await;
                return Ok(());
            }
            let due = self.timers.first().map(|(due, _)| *due);
            tokio::select! {
                biased;
                Some(message) = self.messages.recv() => self.take(message)?,
                Some(command) = self.setup.commands.recv() => self.obey(command),
                () = sleep_until(due) => {}
                () = expiry(self.expires) => self.expire(),
                _ = inbox.tick() => self.read_inbox().await?,
            }
            while let Ok(message) = self.messages.try_recv() {
                self.take(message)?;
            }
            self.take_due_timers();
        }
    }

    fn take(&mut self, message: Message) -> Result<(), JournalError> {
        match message {
            Message::Record { instance, iteration, attempt, record, stored } => {
                if self.abandoned {
                    let _ = stored.send(Err(crate::attempt::Stopped));
                    return Ok(());
                }
                let input = Input::Recorded { instance, iteration, attempt, record };
                self.inputs.push_back(QueuedInput { input, ack: Some(stored), inbox: None });
            }
            Message::Ended { instance, iteration, attempt, report } => {
                self.cancels.remove(&instance);
                self.processes.remove(&instance);
                let report = *report;
                self.tell(Input::AttemptEnded { instance, iteration, attempt, report });
            }
            Message::Judged { instance, iteration, attempt, observed, verification } => {
                self.cancels.remove(&instance);
                if let Some(record) = observed {
                    self.tell(Input::Recorded { instance, iteration, attempt, record });
                }
                let verification = *verification;
                self.tell(Input::Judged { instance, iteration, attempt, verification });
            }
            Message::Fetched { instance, attempt, effect, fetched } => {
                self.fetched(instance, attempt, *effect, fetched);
            }
            Message::Broken { ended, error } => {
                ended.map(|instance| self.cancels.remove(&instance));
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) fn obey(&mut self, command: RunControl) {
        match command {
            RunControl::Drain(reason) => self.tell(Input::Drain { reason }),
            RunControl::Cancel(by) => self.tell(Input::CancelRequested { by }),
            RunControl::Abandon => self.abandoned = true,
        }
    }

    fn expire(&mut self) {
        self.expires = None;
        if let Some(limit) = self.setup.plan.playbook().limits.timeout {
            self.tell(Input::Expired { limit_ms: limit.as_millis() as u64 });
        }
    }

    fn take_due_timers(&mut self) {
        let now = clock::now();
        while let Some(&(due, instance)) = self.timers.first() {
            if due > now {
                return;
            }
            self.timers.pop_first();
            self.tell(Input::TimerDue { instance });
        }
    }

    /// Tells everything that runs to stop, and waits until it has.
    async fn stop_all(&mut self) {
        self.cancels.values().for_each(CancellationToken::cancel);
        let patience = clock::instant() + Duration::from_secs(5);
        while !self.cancels.is_empty() {
            let message = tokio::time::timeout_at(patience.into(), self.messages.recv()).await;
            match message {
                Ok(Some(
                    Message::Ended { instance, .. }
                    | Message::Judged { instance, .. }
                    | Message::Fetched { instance, .. },
                )) => {
                    self.cancels.remove(&instance);
                }
                Ok(Some(Message::Record { stored, .. })) => {
                    let _ = stored.send(Err(crate::attempt::Stopped));
                }
                Ok(Some(Message::Broken { ended, .. })) => {
                    ended.map(|instance| self.cancels.remove(&instance));
                }
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn summary(&self) -> Summary {
        let state = &self.folded.state;
        let status = match state.status() {
            RunStatus::Running if self.abandoned || state.is_draining() => RunStatus::Interrupted,
            RunStatus::Running => RunStatus::Waiting,
            other => other,
        };
        Summary {
            run: self.setup.run.clone(),
            status,
            outputs: state.outputs().cloned(),
            failure: state.failure().cloned(),
            usage: state.usage(),
            started_at: state.started_at(),
            ended_at: clock::now(),
        }
    }
}

async fn expiry(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(due: Option<Timestamp>) {
    match due {
        Some(due) => tokio::time::sleep(due.since(clock::now())).await,
        None => std::future::pending().await,
    }
}
