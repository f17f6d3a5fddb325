//! Short descriptions of inputs and events for the report of a failing case.

use kb::plan::Plan;
use kb::redaction::Masked;
use kb::run::*;

pub(super) fn input(plan: &Plan, state: &State, input: &Input) -> String {
    let name = |ix: &InstanceIx| named(plan, state, *ix);
    match input {
        Input::Started { .. } => "the run is to begin".into(),
        Input::Recovered { cancel: None, .. } => "the new owner goes on".into(),
        Input::Recovered { cancel: Some(_), .. } => "the new owner comes to cancel".into(),
        Input::Evaluated { instance, iteration, found } => {
            let found = match found.as_deref() {
                Ok(Evaluation::Condition(truth)) => truth.to_string(),
                Ok(Evaluation::Items { keys, .. }) => format!("{} items", keys.len()),
                Err(_) => "a failure".into(),
            };
            format!("{} (iteration {iteration}) evaluates to {found}", name(instance))
        }
        Input::Exchanged { instance, attempt, call, exchange, .. } => {
            format!("{} #{attempt} says {call} {:?}", name(instance), **exchange)
        }
        Input::Recorded { instance, attempt, .. } => {
            format!("{} #{attempt} records something", name(instance))
        }
        Input::AttemptEnded { instance, iteration, attempt, report } => {
            let name = name(instance);
            format!("{name} #{attempt} (iteration {iteration}) ends with {}", report.outcome)
        }
        Input::Judged { instance, iteration, attempt, verification } => {
            let (name, verdict) = (name(instance), verification.verdict);
            format!("{name} #{attempt} (iteration {iteration}) is judged: {verdict}")
        }
        Input::TimerDue { instance } => format!("a moment comes for {}", name(instance)),
        Input::Merged { instance, merged, .. } => {
            let how = if merged.failure.is_none() { "merged" } else { "not merged" };
            format!("the changes of {} are {how}", name(instance))
        }
        Input::Gathered { instance, output, .. } => {
            let how = if output.is_ok() { "gathered" } else { "not gathered" };
            format!("the outputs of {} are {how}", name(instance))
        }
        Input::Answered { instance, reply } => {
            let said = if reply.approved { "yes" } else { "no" };
            format!("a person says {said} to {}", name(instance))
        }
        Input::ReplyRefused { instance } => {
            format!("a person answers {} with what does not fit", name(instance))
        }
        Input::UntilEvaluated { instance, attempt, done, .. } => {
            format!("the loop of {} #{attempt} is done: {done:?}", name(instance))
        }
        Input::WaitOpened { instance, attempt, wait, .. } => match &**wait {
            Wait::Until(due) => format!("{} #{attempt} waits until {}", name(instance), due.0),
            Wait::Person(_) => format!("{} #{attempt} asks a person", name(instance)),
        },
        Input::ChildWaits { instance, attempt, .. } => {
            format!("the child run of {} #{attempt} waits", name(instance))
        }
        Input::ChildMoved { instance } => {
            format!("the child run of {} was answered", name(instance))
        }
        Input::CancelRequested { .. } => "the run is to stop for good".into(),
        Input::Expired { .. } => "the run's time is up".into(),
        Input::Drain { .. } => "the owner is to leave".into(),
        Input::Reset { roots, .. } => {
            let roots: Vec<String> = roots.iter().map(name).collect();
            format!("retry from [{}]", roots.join(", "))
        }
        Input::Concluded { outputs, .. } => {
            format!("the run's outputs are {}", if outputs.is_ok() { "there" } else { "not there" })
        }
    }
}

pub(super) fn events(plan: &Plan, state: &State, events: &[Masked<Event>]) -> String {
    let words: Vec<String> = events.iter().map(|e| event(plan, state, e)).collect();
    if words.is_empty() { "nothing".into() } else { words.join(", ") }
}

fn event(plan: &Plan, state: &State, event: &Event) -> String {
    let name = |ix: &InstanceIx| named(plan, state, *ix);
    match event {
        Event::RunStarted { .. } => "run begins".into(),
        Event::RunResumed { in_flight, .. } => {
            let names: Vec<String> = in_flight.iter().map(name).collect();
            format!("run goes on, in flight: [{}]", names.join(", "))
        }
        Event::Evaluated { instance, truth } => format!("{} holds: {truth}", name(instance)),
        Event::Expanded { instance, keys, .. } => {
            format!("{} has {} items", name(instance), keys.len())
        }
        Event::Ready { instance } => format!("{} ready", name(instance)),
        Event::Started { instance, attempt } => format!("{} starts #{attempt}", name(instance)),
        Event::Exchanged { instance, call, seq, .. } => {
            format!("{} said {call} up to {seq}", name(instance))
        }
        Event::Recorded { instance, .. } => format!("{} recorded", name(instance)),
        Event::AttemptEnded { instance, attempt, outcome, .. } => {
            format!("{} #{attempt} ended: {outcome}", name(instance))
        }
        Event::Judged { instance, attempt, verification } => {
            format!("{} #{attempt} judged: {}", name(instance), verification.verdict)
        }
        Event::Recovered { instance, action, taken, max, due, .. } => {
            format!("{} {} {taken} of {max} at {}", name(instance), action.as_str(), due.0)
        }
        Event::Continued { instance, attempt } => {
            format!("{} #{attempt} continues", name(instance))
        }
        Event::Waiting { instance, .. } => format!("{} waits for a person", name(instance)),
        Event::PassEnded { instance, pass, done, .. } => {
            format!("{} pass {pass} ended, done: {done}", name(instance))
        }
        Event::Merging { instance } => format!("{} merges", name(instance)),
        Event::Merged { instance, .. } => format!("{} has merged", name(instance)),
        Event::TimerSet { instance, due } => format!("{} waits until {}", name(instance), due.0),
        Event::Asked { instance, .. } => format!("{} asks a person", name(instance)),
        Event::Answered { instance, approved, .. } => {
            format!("{} answered: {approved}", name(instance))
        }
        Event::Ended { instance, status, .. } => format!("{} {status}", name(instance)),
        Event::Kept { instance, kept } => format!("{} is kept: {}", name(instance), kept.status),
        Event::PlanRevised { revision } => format!("revision {} of a plan", revision.number),
        Event::Skipped { instance } => format!("{} is not selected", name(instance)),
        Event::Reset { closure, .. } => {
            let names: Vec<String> = closure.iter().map(name).collect();
            format!("back go [{}]", names.join(", "))
        }
        Event::SentBack { instance, to, closure, .. } => {
            let names: Vec<String> = closure.iter().map(name).collect();
            format!("{} sends back to {}: [{}]", name(instance), name(to), names.join(", "))
        }
        Event::CancelRequested { .. } => "cancel asked for".into(),
        Event::TimedOut { .. } => "out of time".into(),
        Event::Draining { .. } => "drains".into(),
        Event::RunEnded { status, .. } => format!("run {status}"),
    }
}

fn named(plan: &Plan, state: &State, ix: InstanceIx) -> String {
    if ix.at() < state.instances().count() {
        state.key(plan, ix).to_string()
    } else {
        format!("instance {}", ix.0)
    }
}
