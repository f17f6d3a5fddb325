//! Budgets: the ledger under any order of reservations and settlements, and runs that wait for more.

use crate::running::Start;
use crate::scratch::Scratch;
use futures::FutureExt as _;
use kb::definition::Budget;
use kb::specialist::{Amount, Ledger, Left, Need, Reservation};
use kb::value::{Digest, Money, RunLimits, StepId};
use serde_json::json;
use std::sync::Arc;

/// A small generator, so that a failure can be repeated by its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }

    fn amount(&mut self, most: Amount) -> Amount {
        Amount {
            cost: Money(self.below(most.cost.0 as u64 + 1) as i64),
            tokens: self.below(most.tokens + 1),
            tool_calls: self.below(most.tool_calls + 1),
        }
    }
}

fn step(name: &str) -> StepId {
    StepId::new(name).expect("an id")
}

fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::default(), |a, b| Amount {
        cost: a.cost + b.cost,
        tokens: a.tokens + b.tokens,
        tool_calls: a.tool_calls + b.tool_calls,
    })
}

fn within(amount: Amount, budget: Budget) -> bool {
    budget.max_cost.is_none_or(|cap| amount.cost <= cap)
        && budget.max_tokens.is_none_or(|cap| amount.tokens <= cap)
        && budget.max_tool_calls.is_none_or(|cap| amount.tool_calls <= cap)
}

#[test]
fn any_order_of_reservations_and_settlements_keeps_the_ledger_exact_and_within_the_budget() {
    for seed in 1..=2_000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let run = Budget {
            max_cost: (dice.below(4) > 0).then(|| Money(dice.below(2_000) as i64)),
            max_tokens: (dice.below(3) > 0).then(|| dice.below(2_000)),
            max_tool_calls: (dice.below(3) > 0).then(|| dice.below(20)),
            ..Budget::default()
        };
        let own = Budget { max_tokens: Some(dice.below(500)), ..Budget::default() };
        let ledger = Arc::new(Ledger::new(run, [(step("a"), own)]));
        let mut open: Vec<(bool, Amount, Reservation)> = Vec::new();
        let (mut spent, mut spent_by_a) = (Amount::default(), Amount::default());
        for _ in 0..200 {
            let is_a = dice.below(2) == 0;
            let name = step(if is_a { "a" } else { "b" });
            if dice.below(2) == 0 {
                let most = Amount { cost: Money(300), tokens: 300, tool_calls: 2 };
                let amount = dice.amount(most);
                if let Some(Ok(reserved)) = ledger.reserve(Some(&name), amount).now_or_never() {
                    open.push((is_a, amount, reserved));
                }
            } else if !open.is_empty() {
                let chosen = dice.below(open.len() as u64) as usize;
                let (is_a, amount, reserved) = open.swap_remove(chosen);
                // A stopped call counts with its whole reservation.
                let used = if dice.below(4) == 0 { amount } else { dice.amount(amount) };
                if used == amount {
                    drop(reserved)
                } else {
                    drop(reserved.settle(used))
                }
                spent = sum([spent, used].into_iter());
                if is_a {
                    spent_by_a = sum([spent_by_a, used].into_iter());
                }
            }
            let reserved = sum(open.iter().map(|(_, amount, _)| *amount));
            assert_eq!(ledger.totals(), (spent, reserved), "seed {seed}");
            assert!(within(sum([spent, reserved].into_iter()), run), "seed {seed}: {run:?}");
            let of_a = sum(open.iter().filter(|(is_a, ..)| *is_a).map(|(_, amount, _)| *amount));
            assert!(within(sum([spent_by_a, of_a].into_iter()), own), "seed {seed}: {own:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_calls_wait_for_each_other_and_spend_the_whole_budget() {
    let run = Budget { max_tokens: Some(1_000), ..Budget::default() };
    let ledger = Arc::new(Ledger::new(run, []));
    // Each call reserves 100 and uses 10: 91 calls fit before a reservation no longer does.
    let calls = (0..200).map(|_| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            let call = |tokens| Amount { tokens, ..Amount::default() };
            match ledger.reserve(Some(&step("a")), call(100)).await {
                Ok(reserved) => {
                    tokio::task::yield_now().await;
                    reserved.settle(call(10));
                    1
                }
                Err(error) => {
                    assert!(error.to_string().contains("budget of 1000 tokens"), "{error}");
                    0
                }
            }
        })
    });
    let made: u64 =
        futures::future::join_all(calls).await.into_iter().map(|n| n.expect("ran")).sum();
    assert_eq!(made, 91);
    let (spent, reserved) = ledger.totals();
    assert_eq!((spent.tokens, reserved.tokens), (910, 0));
}

/// A call that takes all that is left waits for one that has reserved it, and then takes what that one left.
#[tokio::test]
async fn what_a_call_needs_is_computed_when_it_is_reserved() {
    let run = Budget { max_tokens: Some(1_000), ..Budget::default() };
    let ledger = Arc::new(Ledger::new(run, []));
    let call = |tokens| Amount { tokens, ..Amount::default() };
    let all = |left: Left| {
        let amount = call(left.tokens.expect("a limit").max(100));
        Need { amount, at_most: amount, model: None }
    };
    let a = step("a");
    let first = ledger.reserve_estimate(Some(&a), all).await.expect("the whole budget");
    let mut second = Box::pin(ledger.reserve_estimate(Some(&a), all));
    assert!(second.as_mut().now_or_never().is_none(), "it waits");
    drop(first.settle(call(120)));
    let _second = second.now_or_never().expect("at once").expect("the rest");
    assert_eq!(ledger.totals(), (call(120), call(880)));
}

/// Estimates of 100 tokens that turn out as 250: at the end of the budget, calls are made one by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_calls_with_low_estimates_exceed_a_budget_by_one_difference() {
    let run = Budget { max_tokens: Some(1_000), ..Budget::default() };
    let ledger = Arc::new(Ledger::new(run, []));
    let call = |tokens| Amount { tokens, ..Amount::default() };
    let calls = (0..40).map(|_| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            let a = step("a");
            let need = |_left| Need { amount: call(100), at_most: call(400), model: None };
            if let Ok(reserved) = ledger.reserve_estimate(Some(&a), need).await {
                tokio::task::yield_now().await;
                reserved.settle(call(250));
            }
        })
    });
    futures::future::join_all(calls).await.into_iter().for_each(|ended| ended.expect("ran"));
    let spent = ledger.totals().0.tokens;
    assert!((1_000..=1_150).contains(&spent), "{spent}");
}

/// A provider that counts ten times the estimate, and more than the text has bytes: the first answer shows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_the_first_answer_of_a_model_the_worst_that_it_used_is_expected() {
    for (budget, used) in [(3_000, 1_000), (30_000, 1_000), (3_000, 4_000), (30_000, 250)] {
        let run = Budget { max_tokens: Some(budget), ..Budget::default() };
        let ledger = Arc::new(Ledger::new(run, []));
        let call = |tokens| Amount { tokens, ..Amount::default() };
        let calls = (0..200).map(|_| {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                let a = step("a");
                let model = Some(Digest::of(b"m"));
                let need = |_left| Need { amount: call(100), at_most: call(400), model };
                if let Ok(reserved) = ledger.reserve_estimate(Some(&a), need).await {
                    tokio::task::yield_now().await;
                    reserved.settle(call(used));
                }
            })
        });
        futures::future::join_all(calls).await.into_iter().for_each(|ended| ended.expect("ran"));
        let spent = ledger.totals().0.tokens;
        assert!((budget - 100..=budget + used - 100).contains(&spent), "{budget} {used}: {spent}");
    }
    // Beside the first call of a model none is made; after its answer they run in parallel again.
    let ledger =
        Arc::new(Ledger::new(Budget { max_tokens: Some(1_000_000), ..Budget::default() }, []));
    let call = |tokens| Amount { tokens, ..Amount::default() };
    let reserve = |name: &str| {
        let (ledger, model) = (ledger.clone(), Some(Digest::of(name.as_bytes())));
        let need = move |_left| Need { amount: call(100), at_most: call(400), model };
        async move { ledger.reserve_estimate(Some(&step("a")), need).await.expect("a budget") }
    };
    let first = reserve("m").await;
    assert!(reserve("m").now_or_never().is_none(), "it waits for the first answer");
    // A call that was refused shows nothing.
    first.release();
    let first = reserve("m").await;
    assert!(reserve("m").now_or_never().is_none(), "it waits for the first answer");
    first.settle(call(100));
    let (one, two) = (reserve("m").await, reserve("m").await);
    assert!(reserve("other").now_or_never().is_none(), "another model is not known");
    drop((one, two));
    reserve("other").await.settle(call(100));
}

const READER: &str = "schema: kb.specialist/1\nid: reader\nrole: You read.\ntools: [fs:list]\n";

#[test]
fn a_used_up_cost_lets_the_run_wait_until_it_is_resumed_with_more() {
    let scratch = Scratch::new(&[
        (".kb/specialists/reader.yml", READER),
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nbudget: {maxCostUsd: 0.5}\nsteps:\n  - {id: a, specialist: reader, task: Look., retry: {max: 0}}\n",
        ),
        // Nothing listens there: a call that is made fails.
        (
            ".kb/kb.config.yml",
            "llm: {tiers: {medium: {endpoint: \"http://127.0.0.1:9/v1\", model: m, price: {input: 1000, output: 1000}}}}\n",
        ),
    ]);
    let said = scratch.kb(&["playbook", "run", "p"]).code(3);
    said.says(&["the budget of $0.50 of the run is used up", "kb run resume", "--budget USD"]);
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["kb run resume", "--budget USD"]);
    // Without a higher budget it waits again.
    scratch.kb(&["run", "resume", "@last"]).code(3).says(&["the budget of $0.50"]);
    let said = scratch.kb(&["run", "resume", "@last", "--budget", "100", "--json"]).code(1);
    let last = said.events().into_iter().rfind(|e| e["type"] == "attempt:end").expect("an attempt");
    assert_eq!(last["outcome"], "transient", "{last}");
}

#[test]
fn a_limited_cost_needs_the_price_of_the_model() {
    let scratch = Scratch::new(&[
        (".kb/specialists/reader.yml", READER),
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: reader, task: Look.}\n",
        ),
        (
            ".kb/kb.config.yml",
            "llm: {tiers: {medium: {endpoint: \"http://[::ffff:127.0.0.1]:9/v1\", model: unheard-of}}}\n",
        ),
    ]);
    let said = scratch.kb(&["playbook", "run", "p", "--budget", "1"]).code(3);
    said.says(&["the price of the model `unheard-of` of `reader` is unknown", "llm.prices"]);
    // A rejection fails the step; nothing was sent.
    scratch.kb(&["run", "reject", "@last", "a"]);
    scratch.kb(&["run", "show", "@last"]).says(&["KB0586"]);
    // After an approval the model is called: nobody answers at this address. The next attempt, here in a
    // process of its own, does not ask again.
    scratch.kb(&["playbook", "run", "p", "--budget", "1"]).code(3);
    scratch.kb(&["run", "approve", "@last", "a"]);
    scratch.kb(&["run", "show", "@last"]).says(&["cannot reach"]);
    let said = scratch.kb(&["run", "retry", "@last", "--json"]).code(1);
    assert!(said.events().iter().all(|event| event["type"] != "ask:opened"), "{}", said.out);
    scratch.kb(&["playbook", "run", "p", "--budget", "-1"]).code(2);
}

#[test]
fn steps_that_reach_a_model_without_a_price_wait_for_one_decision() {
    let project = |decision: &str| {
        let scratch = Scratch::new(&[
            (".kb/specialists/reader.yml", READER),
            (
                ".kb/playbooks/p.yml",
                "schema: kb.playbook/1\nid: p\nlimits: {maxParallel: 2}\nsteps:\n  - {id: a, specialist: reader, task: Look.}\n  - {id: b, specialist: reader, task: Look.}\n  - {id: c, specialist: reader, dependsOn: [a], runIf: allDone, task: Look.}\n",
            ),
            (
                ".kb/kb.config.yml",
                "llm: {tiers: {medium: {endpoint: \"http://[::ffff:127.0.0.1]:9/v1\", model: unheard-of}}}\n",
            ),
        ]);
        scratch.kb(&["playbook", "run", "p", "--budget", "1"]).code(3);
        let said = scratch.kb(&["run", decision, "@last", "a"]).code(1);
        assert!(!said.out.contains("waits for you"), "{}", said.out);
        let shown = scratch.json(&["run", "show", "@last", "--json"]);
        let codes: Vec<_> = (0..3).map(|n| shown["steps"][n]["error"]["code"].clone()).collect();
        (scratch, codes)
    };
    let (_scratch, codes) = project("approve");
    assert_eq!(codes, ["KB0702", "KB0702", "KB0702"]);
    // No step is called, and none asks again, until the run is started again.
    let (scratch, codes) = project("reject");
    assert_eq!(codes, ["KB0586", "KB0586", "KB0586"]);
    scratch.kb(&["run", "retry", "@last"]).code(3).says(&["the price of the model"]);
}

#[test]
fn a_call_without_a_connection_costs_nothing() {
    let scratch = priced(ONE_STEP, "");
    scratch.kb(&["playbook", "run", "p", "--budget", "1000"]).code(1).says(&["cannot reach"]);
    let usage = scratch.json(&["run", "show", "@last", "--json"])["usage"].clone();
    assert_eq!((&usage["promptTokens"], &usage["modelCalls"]), (&json!(0), &json!(0)), "{usage}");
}

/// A project whose model is a server that nobody answers on, with these further settings.
fn priced(playbook: &str, settings: &str) -> Scratch {
    let tier = "llm: {tiers: {medium: {endpoint: \"http://127.0.0.1:9/v1\", model: m, price: {input: 1000, output: 1000}}}}\n";
    Scratch::new(&[
        (".kb/specialists/reader.yml", READER),
        (".kb/playbooks/p.yml", playbook),
        (".kb/kb.config.yml", &format!("{tier}{settings}")),
    ])
}

const ONE_STEP: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: reader, task: Look., retry: {max: 0}}\n";

#[test]
fn a_budget_of_zero_permits_no_call_and_can_be_raised() {
    let scratch = priced(ONE_STEP, "");
    let said = scratch.kb(&["playbook", "run", "p", "--budget", "0"]).code(3);
    said.says(&["the budget of $0", "--budget USD"]);
    scratch.kb(&["run", "resume", "@last", "--budget", "1000"]).code(1).says(&["cannot reach"]);
}

/// Of the run and of a step: what is used up can be raised, by whatever it is counted.
#[test]
fn a_used_up_number_of_tokens_can_be_raised() {
    let small = "budget: {maxTokens: 100}";
    let of_step = ONE_STEP.replace("retry: {max: 0}", &format!("retry: {{max: 0}}, {small}"));
    for (playbook, whose) in [(format!("{ONE_STEP}{small}\n"), "the run"), (of_step, "step `a`")] {
        let scratch = priced(&playbook, "");
        let said = scratch.kb(&["playbook", "run", "p"]).code(3);
        said.says(&[&format!("the budget of 100 tokens of {whose} is used up"), "--max-tokens N"]);
        scratch.kb(&["run", "show", "@last"]).code(0).says(&["--max-tokens N"]);
        // A limit of another kind changes nothing, and one that is too low is used up again.
        scratch.kb(&["run", "resume", "@last", "--budget", "1000"]).code(3);
        let said = scratch.kb(&["run", "resume", "@last", "--max-tokens", "200"]).code(3);
        said.says(&[&format!("the budget of 200 tokens of {whose}")]);
        // Every later resume keeps the value.
        scratch.kb(&["run", "resume", "@last"]).code(3).says(&["the budget of 200 tokens"]);
        let said = scratch.kb(&["run", "resume", "@last", "--max-tokens", "1000000"]).code(1);
        said.says(&["cannot reach"]);
    }
    let scratch = priced(ONE_STEP, "");
    let said = scratch.kb(&["playbook", "run", "p", "--max-tokens", "100"]).code(3);
    said.says(&["the budget of 100 tokens of the run"]);
}

#[test]
fn a_specialist_has_only_its_share_of_the_budget() {
    let shares = "orchestrator: {escalation: {budgetAllocation: {reader: 5, orchestrator: 10}}}\n";
    let scratch = priced(ONE_STEP, shares);
    let said = scratch.kb(&["playbook", "run", "p", "--budget", "20"]).code(3);
    said.says(&["the budget of $1.00 of the share of `reader` is used up"]);
    // With more for the run, the share grows; the call is then made, and nobody answers.
    scratch.kb(&["run", "resume", "@last", "--budget", "1000"]).code(1);
    let wrong = shares.replace("reader: 5", "reader: 95");
    let scratch = priced(ONE_STEP, &wrong);
    scratch.kb(&["playbook", "validate"]).code(2).says(&["add up to 105 %"]);
}

/// After `switchSpecialist`, the share of the other specialist counts.
#[test]
fn a_switch_of_the_specialist_uses_the_share_of_the_other() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    specialist: reader\n    task: Look.\n    recovery:\n      - {on: [transient], do: switchSpecialist, to: senior}\n";
    let shares = "orchestrator: {escalation: {budgetAllocation: {reader: 80, senior: 1}}}\n";
    let scratch = priced(playbook, shares);
    scratch.write(".kb/specialists/senior.yml", &READER.replace("reader", "senior"));
    let said = scratch.kb(&["playbook", "run", "p", "--budget", "100"]).code(3);
    said.says(&["switchSpecialist", "the budget of $1.00 of the share of `senior` is used up"]);
    let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
    let starts = events.iter().filter(|event| event["type"] == "step:start");
    let by: Vec<_> = starts.filter_map(|event| event["specialist"].as_str()).collect();
    assert_eq!(by, ["reader", "senior"]);
    // With more for the run, its share permits the call, and nobody answers.
    scratch.kb(&["run", "resume", "@last", "--budget", "5000"]).code(1).says(&["cannot reach"]);
}

#[test]
fn a_resume_keeps_the_budget_of_the_resume_before_it() {
    let scratch = priced(ONE_STEP, "");
    scratch.kb(&["playbook", "run", "p", "--budget", "0.5"]).code(3).says(&["$0.50"]);
    scratch.kb(&["run", "resume", "@last", "--budget", "0.75"]).code(3).says(&["$0.75"]);
    scratch.kb(&["run", "resume", "@last"]).code(3).says(&["$0.75"]);
}

#[test]
fn shares_scale_with_the_budget_of_the_run() {
    let run = Budget { max_cost: Some(Money(1_000)), max_tokens: Some(100), ..Budget::default() };
    let shares = [("a".to_owned(), 30), ("b".to_owned(), 60)];
    let pairs = shares.iter().map(|(name, percent)| (name, percent));
    let ledger = Arc::new(Ledger::new(run, []).with_shares(pairs));
    let reserve = |share: &'static str, cost: i64| {
        let payer = kb::specialist::Payer { share: Some(share), ..Default::default() };
        let amount = Amount { cost: Money(cost), ..Amount::default() };
        ledger.reserve(payer, amount).now_or_never()
    };
    let first = reserve("a", 300).expect("at once").expect("the whole share");
    assert!(reserve("a", 1).is_none(), "it waits for what `a` has reserved");
    assert!(matches!(reserve("a", 301), Some(Err(_))));
    let second = reserve("b", 600).expect("at once").expect("the share of `b`");
    assert!(matches!(reserve("c", 100), Some(Ok(_))), "without a share, the rest of the run");
    drop(first);
    assert!(matches!(reserve("a", 1), Some(Err(_))), "a stopped call counts");
    ledger.limit(RunLimits { cost: Some(Money(2_000)), ..RunLimits::default() });
    assert!(matches!(reserve("a", 300), Some(Ok(_))));
    second.settle(Amount::default());
}

#[test]
fn a_warning_threshold_is_an_event_of_its_own() {
    let scratch = Scratch::new(&[
        (".kb/specialists/reader.yml", READER),
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nbudget: {maxCostUsd: 1, warnCostUsd: 0}\nsteps:\n  - {id: a, specialist: reader, task: Look.}\n",
        ),
        (
            "script.json",
            r#"{"schema": "kb.script/1", "steps": {"a": [{"output": {"summary": "done"}}]}}"#,
        ),
        (".kb/kb.config.yml", "llm: {prices: {script: {input: 1, output: 1}}}\n"),
    ]);
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.json", "--json"]);
    let events = said.events();
    let warnings: Vec<_> = events.iter().filter(|e| e["type"] == "budget:warning").collect();
    assert_eq!(warnings.len(), 1, "{events:?}");
    assert!(warnings[0]["text"].as_str().unwrap().contains("the run has cost $0"), "{warnings:?}");
}

/// A call whose process was killed counts with what it had reserved.
#[test]
fn a_call_that_a_kill_interrupts_counts_with_its_reservation() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let scratch = Scratch::new(&[
        (".kb/specialists/reader.yml", READER),
        (".kb/playbooks/p.yml", ONE_STEP),
        (
            ".kb/kb.config.yml",
            &format!(
                "llm: {{tiers: {{medium: {{endpoint: \"http://{address}/v1\", model: m, contextWindow: 32000, price: {{input: 1, output: 1}}}}}}}}\n"
            ),
        ),
    ]);
    let mut child = scratch
        .command()
        .args(["playbook", "run", "p", "--budget", "1"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .start();
    // The request has arrived, so that its reservation is recorded.
    let connection = accepted(&server);
    child.kill().unwrap();
    child.wait().unwrap();
    drop((connection, server));
    let said = scratch.kb(&["run", "resume", "@last", "--json"]).code(1);
    let events = said.events();
    let note = events.iter().find(|e| e["type"] == "step:note" && e["level"] == "warning");
    let note = note.expect("a warning")["text"].as_str().unwrap().to_owned();
    assert!(note.starts_with("a model call was interrupted by a crash"), "{note}");
    let end = events.iter().rfind(|e| e["type"] == "attempt:end").expect("an attempt");
    assert!(end["usage"]["completionTokens"].as_u64().unwrap() >= 4_096, "{end}");
    assert!(end["usage"]["costUsd"].as_f64().unwrap_or_default() > 0.0, "{end}");
}

#[test]
fn global_limits_narrow_the_tool_calls_of_an_attempt() {
    let limits = |at: &str| format!("{at}global_limits: {{max_tool_calls_per_task: 1}}");
    let call = r#"{"calls": [{"tool": "fs:list", "args": {"path": "."}}]}"#;
    let other = r#"{"calls": [{"tool": "fs:list", "args": {"path": ".kb"}}]}"#;
    let script = format!(
        r#"{{"schema": "kb.script/1", "steps": {{"a": [{call}, {other}, {{"output": {{"summary": "done"}}}}]}}}}"#
    );
    for (settings, specialist) in [
        (format!("security: {{{}}}\n", limits("")), READER.to_owned()),
        ("{}\n".to_owned(), format!("{READER}{}\n", limits(""))),
        ("{}\n".to_owned(), format!("{READER}security: {{{}}}\n", limits(""))),
    ] {
        let scratch = Scratch::new(&[
            (".kb/specialists/reader.yml", &specialist),
            (".kb/playbooks/p.yml", ONE_STEP),
            (".kb/kb.config.yml", &settings),
            ("script.json", &script),
        ]);
        let said = scratch.kb(&["playbook", "run", "p", "--script", "script.json", "--json"]);
        let calls = said.events().iter().filter(|e| e["type"] == "tool:call").count();
        assert_eq!(calls, 1, "{settings}{specialist}{}", said.err);
    }
}

/// Waits for a connection.
fn accepted(server: &std::net::TcpListener) -> std::net::TcpStream {
    let (began, limit) = (std::time::Instant::now(), std::time::Duration::from_secs(60));
    server.set_nonblocking(true).unwrap();
    loop {
        if let Ok((connection, _)) = server.accept() {
            connection.set_nonblocking(false).unwrap();
            connection.set_read_timeout(Some(limit)).unwrap();
            return connection;
        }
        assert!(began.elapsed() < limit, "nobody connects");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Reads one request and returns the connection.
fn request(server: &std::net::TcpListener) -> std::net::TcpStream {
    request_with_text(server).0
}

/// Reads one request and returns the connection, and the text of the request in small letters.
fn request_with_text(server: &std::net::TcpListener) -> (std::net::TcpStream, String) {
    use std::io::Read;
    let mut connection = accepted(server);
    let mut read = Vec::new();
    let mut part = [0; 16 << 10];
    loop {
        let count = connection.read(&mut part).unwrap();
        read.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&read).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        // A question about the server has no body.
        if head.starts_with("get") {
            let answer = "HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            std::io::Write::write_all(&mut connection, answer.as_bytes()).unwrap();
            return request_with_text(server);
        }
        let length = head.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.expect("a length").trim().parse().unwrap();
        if count == 0 || body.len() >= length {
            let text = text.clone();
            return (connection, text);
        }
    }
}

/// Without a budget too, a call of a judge whose process was killed counts with its reservation.
#[test]
fn a_call_of_a_judge_that_a_kill_interrupts_counts_without_a_budget() {
    use std::io::Write;
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let scratch = Scratch::new(&[
        (".kb/specialists/reader.yml", READER),
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    specialist: reader\n    task: Look.\n    \
             verify: {checks: [{judge: {}}]}\n",
        ),
        (
            ".kb/kb.config.yml",
            &format!(
                "llm: {{tiers: {{medium: {{endpoint: \"http://{address}/v1\", model: m, stream: false, contextWindow: 32000, price: {{input: 1, output: 1}}}}}}}}\n"
            ),
        ),
    ]);
    let mut child = scratch
        .command()
        .args(["playbook", "run", "p"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .start();
    let output = serde_json::json!({"summary": "a summary that is long enough to be judged by another model"});
    let call = serde_json::json!({"id": "c", "type": "function",
        "function": {"name": "submit_output", "arguments": output.to_string()}});
    let message = serde_json::json!({"role": "assistant", "content": "", "tool_calls": [call]});
    let reply = serde_json::json!({"id": "r", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
    .to_string();
    let mut answered = request(&server);
    write!(
        answered,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{reply}",
        reply.len()
    )
    .unwrap();
    drop(answered);
    // The judge is called: its reservation is recorded before.
    let judging = request(&server);
    child.kill().unwrap();
    child.wait().unwrap();
    drop((judging, server));
    let said = scratch.kb(&["run", "resume", "@last", "--json"]);
    let events = said.events();
    let end = events.iter().find(|e| e["type"] == "run:end").expect("an end");
    // The reservation of the judge is 2,048 tokens of its response.
    assert!(end["usage"]["completionTokens"].as_u64().unwrap() >= 2_048, "{end}");
    assert!(!events.iter().any(|e| e["type"] == "step:start"), "the step is not repeated");
}

/// What a call may cost is known before it is made: the response has a limit that the budget affords.
#[test]
fn a_call_under_a_budget_has_a_limit_of_its_response() {
    let limit_of = |window: &str, llm: &str, budget: &[&str]| {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let scratch = Scratch::new(&[
            (".kb/specialists/reader.yml", &format!("{READER}{llm}")),
            (".kb/playbooks/p.yml", ONE_STEP),
            (
                ".kb/kb.config.yml",
                &format!(
                    "llm: {{tiers: {{medium: {{endpoint: \"http://{address}/v1\", model: m{window}, price: {{input: 0, output: 100}}}}}}}}\n"
                ),
            ),
        ]);
        let mut child = scratch
            .command()
            .args([&["playbook", "run", "p"], budget].concat())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .start();
        let (connection, text) = request_with_text(&server);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(connection);
        let limit = text.split("\"max_tokens\":").nth(1)?.split([',', '}']).next()?;
        limit.trim().parse::<u64>().ok()
    };
    let known = ", contextWindow: 64000";
    // $0.80 at $100 for a million tokens.
    assert_eq!(limit_of("", "", &["--budget", "0.8"]), Some(8_000));
    assert_eq!(limit_of(known, "", &["--budget", "0.8"]), Some(8_000));
    assert_eq!(limit_of("", "", &["--budget", "100"]), Some(16_384));
    assert_eq!(limit_of("", "llm: {maxTokens: 5000}\n", &["--budget", "0.8"]), Some(5_000));
    assert_eq!(limit_of("", "", &[]), None);
}
