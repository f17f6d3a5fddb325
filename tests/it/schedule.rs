//! Schedules: the grammar of cron expressions, the next time, changes of the clock, catch-up, overlap.
//!
//! `tests/conformance/schedules.tsv` has facts of Cronos, `schedules-differ.tsv` those that contradict
//! the rule, each with the reason. The facts of robfig/cron and Hexagon/croner are below.

use kb::schedule::{
    ActiveRuns, Bounds, CatchUp, ClockChange, Cron, Decision, Entry, Keep, Overlap, Policy,
    Schedule, Times, Verdict, Zone, account, date, jitter, local_end, local_start, next_in_queue,
    overlap,
};
use kb::value::Timestamp;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or_else(|| panic!("{text} is no time"))
}

fn schedule(cron: &str, zone: &str) -> Schedule {
    let cron = Cron::parse(cron).unwrap_or_else(|error| panic!("{cron}: {error:?}"));
    Schedule::new(Times::Cron(Box::new(cron)), Zone::named(zone).unwrap(), "")
}

/// The next times as local times with offsets.
fn local_times(cron: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
    let schedule = schedule(cron, zone);
    let mut next = schedule.next(at(from));
    let mut found = Vec::new();
    while let Some(time) = next.filter(|_| found.len() < count) {
        found.push(schedule.describe(time).local);
        next = schedule.next(time);
    }
    found
}

/// A time of a fact: with an offset as written, else a local time of the zone.
fn instant(text: &str, zone: &str) -> Timestamp {
    Timestamp(match text.parse::<jiff::Timestamp>() {
        Ok(at) => at.as_millisecond(),
        Err(_) => {
            let local: jiff::civil::DateTime = text.parse().unwrap();
            let zone = jiff::tz::TimeZone::get(zone).unwrap();
            zone.to_ambiguous_timestamp(local).compatible().unwrap().as_millisecond()
        }
    })
}

fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn answer(zone: &str, cron: &str, from: &str, inclusive: &str) -> Option<(Schedule, Timestamp)> {
    let schedule = Schedule::new(
        Times::Cron(Box::new(Cron::parse(cron).ok()?)),
        Zone::named(zone).unwrap(),
        "",
    );
    let from = instant(from, zone).0 - i64::from(inclusive == "true");
    let next = schedule.next(Timestamp(from))?;
    Some((schedule, next))
}

#[test]
fn facts_of_cronos_hold() {
    let mut wrong = String::new();
    for row in rows(include_str!("../conformance/schedules.tsv")) {
        let [zone, cron, from, inclusive, expected] = row[..] else { panic!("{row:?}") };
        let found = answer(zone, cron, from, inclusive).map(|(_, next)| next);
        if found != Some(instant(expected, zone)) {
            wrong += &format!("{row:?}: {:?}\n", found.map(Timestamp::rfc3339));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn facts_that_contradict_the_rule_are_listed_with_the_reason() {
    for row in rows(include_str!("../conformance/schedules-differ.tsv")) {
        let [zone, cron, from, inclusive, theirs, ours, reason] = row[..] else {
            panic!("{row:?}")
        };
        let found = answer(zone, cron, from, inclusive);
        let local = found.as_ref().map(|(schedule, next)| schedule.describe(*next).local);
        assert_eq!(local.as_deref().unwrap_or("refused"), ours, "{row:?}");
        assert_ne!(found.map(|(_, next)| next), Some(instant(theirs, zone)), "{row:?}");
        assert!(!reason.is_empty());
    }
}

/// Facts of robfig/cron `spec_test.go` in the syntax of OCPS, without seconds. Not taken: `0/15` and
/// `Mon/2` (a step without a range), `?`, and `*/10 * Sun` (in Vixie cron a field that starts with `*`
/// makes days a conjunction; in OCPS only `*` itself does).
#[test]
fn facts_of_robfig_cron_hold() {
    let cases = [
        ("2012-07-09T15:45:00Z", "20-35/15 * * * *", "2012-07-09T16:20:00Z"),
        ("2012-07-09T23:46:00Z", "*/15 * * * *", "2012-07-10T00:00:00Z"),
        ("2012-07-09T23:45:00Z", "20-35/15 * * * *", "2012-07-10T00:20:00Z"),
        ("2012-07-09T23:35:51Z", "20-35/15 10-12 * * *", "2012-07-10T10:20:00Z"),
        ("2012-07-09T23:35:51Z", "20-35/15 * 9-20 * *", "2012-07-10T00:20:00Z"),
        ("2012-07-09T23:35:51Z", "20-35/15 * 9-20 Jul *", "2012-07-10T00:20:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 9 Apr-Oct *", "2012-08-09T00:00:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 * Feb Mon", "2013-02-04T00:00:00Z"),
        ("2012-12-31T23:59:45Z", "* * * * *", "2013-01-01T00:00:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 29 Feb *", "2016-02-29T00:00:00Z"),
        ("2012-07-09T14:59:59Z", "@hourly", "2012-07-09T15:00:00Z"),
        ("2012-07-08T23:59:59Z", "@daily", "2012-07-09T00:00:00Z"),
        ("2012-07-07T23:59:59Z", "@weekly", "2012-07-08T00:00:00Z"),
        ("2012-06-30T23:59:59Z", "@monthly", "2012-07-01T00:00:00Z"),
        ("2012-07-14T23:59:59Z", "* * 1,15 * Sun", "2012-07-15T00:00:00Z"),
        ("2012-06-14T23:59:59Z", "* * 1,15 * Sun", "2012-06-15T00:00:00Z"),
        ("2012-07-31T23:59:59Z", "* * 1,15 * Sun", "2012-08-01T00:00:00Z"),
    ];
    for (from, cron, expected) in cases {
        let next = schedule(cron, "UTC").next(at(from)).map(Timestamp::rfc3339);
        assert_eq!(next, Some(at(expected).rfc3339()), "{cron} from {from}");
    }
    assert!(!schedule("0 0 30 2 *", "UTC").ever_fires());
    assert!(!schedule("0 0 31 4 *", "UTC").ever_fires());
    // It fires at 02:30 of the next year; with the rule of `kb` at the end of the gap of this one.
    assert_eq!(
        local_times("30 2 11 3 *", "America/New_York", "2012-03-11T05:00:00Z", 1),
        ["2012-03-11 03:00 -04:00"]
    );
}

/// Facts of Hexagon/croner `ocps-1.0.test.ts` to `ocps-1.3.test.ts`. Not taken: `W`, `+`, `?`, fields of
/// seconds and years (not OCPS 1.0), and weekday ranges over the end of the week.
#[test]
fn facts_of_croner_hold() {
    for cron in [
        "0 0 * * *",
        "  0 0 * * *  ",
        "0  0   *    *     *",
        "0\t0\t*\t*\t*",
        "0,30,59 * * * *",
        "0 0,12,23 * * *",
        "0 0 1,15,31 * *",
        "0 0 1 1,6,12 *",
        "0 0 * * 0",
        "0 0 * * 7",
        "0 0 1 jan *",
        "0 0 1 DEC *",
        "0 0 * * sun",
        "0 0-20/5 * * *",
        "0 1-3,10-12 * * *",
        "0 10-20/2 * * *",
        "0 0 31 2 *",
        "@yearly",
        "@Annually",
        "@MONTHLY",
        "@weekly",
        "@daily",
        "@hourly",
        "0 0 L * *",
        "0 0 * * FRI#L",
        "0 0 * * 5L",
        "0 0 * * MON#5",
        "0 0 L 2 FRI#L",
    ] {
        assert!(Cron::parse(cron).is_ok(), "{cron}: {:?}", Cron::parse(cron));
    }
    for cron in [
        "60 * * * *",
        "0 24 * * *",
        "0 0 32 * *",
        "0 0 1 13 *",
        "0 0 * * 8",
        "0 17-9 * * *",
        "0 */0 * * *",
        "0 12 10-15W * *",
        "* * * * * *",
        "* * * * * * *",
        "@reboot",
        "@every 5m",
    ] {
        assert!(Cron::parse(cron).is_err(), "{cron}");
    }
    assert_eq!(
        local_times("0 0 L 2 *", "UTC", "2026-01-01T00:00:00Z", 3),
        ["2026-02-28 00:00 +00:00", "2027-02-28 00:00 +00:00", "2028-02-29 00:00 +00:00"]
    );
    assert_eq!(
        local_times("0 0 * * TUE#2", "UTC", "2026-01-01T00:00:00Z", 2),
        ["2026-01-13 00:00 +00:00", "2026-02-10 00:00 +00:00"]
    );
    assert_eq!(
        local_times("0 0 * * 5#L", "UTC", "2026-01-01T00:00:00Z", 2),
        ["2026-01-30 00:00 +00:00", "2026-02-27 00:00 +00:00"]
    );
    assert_eq!(
        local_times("0,15,30,45 * * * *", "UTC", "2025-01-01T10:59:00Z", 2),
        ["2025-01-01 11:00 +00:00", "2025-01-01 11:15 +00:00"]
    );
}

/// The invalid expressions of Cronos that are invalid here too, and what OCPS forbids.
#[test]
fn invalid_expressions_are_refused() {
    for cron in "*/60 * * * *|,1 * * * *|1, * * * *|, * * * *|- * * * *|-1 * * * *|7- * * * *|/ * * * *|\
        */ * * * *|1/ * * * *|1/60 * * * *|1k * * * *|60 * * * *|5#3 * * * *|L * * * *|* 25 * * *|\
        * 1/24 * * *|* L * * *|* * 32 * *|* * 31-32 * *|* * T * *|* * MON * *|* * L-31 * *|* * 1LW * *|\
        * * * 13 *|* * * 2#2 *|* * * L *|* * * * 8|* * * * L|* * * * 0#|* * * * 0#0|* * * * 5#6|\
        * * * * SUN#050|* * * * SUNDAY|* * * * SU0|* * * * SUT|* * *|@|@yearl|@yearly !|@@daily|\
        */24 * * * * *|* */24 * * *|* * */31 * *|*,5 * * * *|1--5 * * * *|1-2-3 * * * *|0 0 * * MON-|\
        0 0 * * SUNMON|0 0 JAN * *|００ 0 * * *"
        .split('|')
    {
        let refused = Cron::parse(cron).expect_err(cron);
        assert!(!refused.message.is_empty() && !refused.help.is_empty(), "{cron}");
    }
}

#[test]
fn messages_name_the_fix() {
    let refused = |cron: &str| {
        let error = Cron::parse(cron).unwrap_err();
        format!("{} | {}", error.message, error.help)
    };
    insta::assert_snapshot!(
        [
            "*/60 * * * *", "0 */24 * * *", "0 0 6 * * *", "0 6 * *", "5/15 * * * *", "0 22-5 * * *", "0 6 15W * *",
            "0 6 * * Monday", "@dayly", "1,,2 * * * *", "",
        ]
        .map(refused)
        .join("\n"),
        @r"
    the step of `*/60` is too large: it matches only one value of the minute | write a step from 1 to 59, or `0` for one value
    the step of `*/24` is too large: it matches only one value of the hour | write a step from 1 to 23, or `0` for one value
    `0 0 6 * * *` has 6 fields; a cron expression has five | minute, hour, day of month, month, day of week: remove the field of seconds or years
    `0 6 * *` has 4 fields; a cron expression has five | write minute, hour, day of month, month and day of week: `0 6 * * *` is daily at 06:00
    `5/15` has a step and no range | write `*/15` or `5-59/15`
    the range `22-5` ends before it starts | write two ranges: `22-23,0-5`
    `15W` is not a value of the day of month | write a number from 1 to 31, or `L` for the last day
    `Monday` is not a value of the day of week | write a number from 0 to 7, `SUN` to `SAT`, `MON#2` for the second Monday, `FRI#L` for the last Friday
    `@dayly` is not a known schedule | write one of `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight`, `@hourly`
    the minute has an empty item between commas | remove the extra comma
    the cron expression is empty | write five fields: `0 6 * * *`
    "
    );
    let zone = |name: &str| Zone::named(name).unwrap_err().help;
    assert_eq!(zone("Europe/Berln"), "did you mean `Europe/Berlin`?");
    assert_eq!(zone("Berlin"), "did you mean `Europe/Berlin`?");
    assert_eq!(zone("europe/berlin"), "did you mean `Europe/Berlin`?");
    assert!(Zone::named("Local").is_err() && Zone::named("../../etc/passwd").is_err());
}

/// Eight zones: a fixed time fires exactly once a day, whatever the clock does.
#[test]
fn a_fixed_time_fires_once_a_day() {
    let zones = [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "America/Santiago",
        "Asia/Amman",
        "Africa/Casablanca",
        "America/Havana",
        "Asia/Tehran",
    ];
    for zone in zones {
        for cron in ["30 2 * * *", "0 0 * * *", "30 0 * * *", "15 23 * * *", "45 1 * * *"] {
            let schedule = schedule(cron, zone);
            let (mut at, end) = (at("2014-12-31T12:00:00Z"), at("2020-12-31T12:00:00Z"));
            let mut days = Vec::new();
            while let Some(next) = schedule.next(at).filter(|next| *next < end) {
                days.push(schedule.describe(next).local[..10].to_owned());
                at = next;
            }
            let count = days.len();
            days.dedup();
            assert_eq!((count, days.len()), (2192, 2192), "{cron} in {zone}");
        }
    }
}

#[test]
fn gaps_and_overlaps() {
    // Berlin: 02:00 → 03:00 on 29 March 2026, 03:00 → 02:00 on 25 October 2026.
    let berlin = |cron: &str, from: &str, count| local_times(cron, "Europe/Berlin", from, count);
    assert_eq!(
        berlin("0,30 2 * * *", "2026-03-28T12:00:00Z", 2),
        ["2026-03-29 03:00 +02:00", "2026-03-30 02:00 +02:00"]
    );
    assert_eq!(
        berlin("0,30 2 * * *", "2026-10-24T12:00:00Z", 3),
        ["2026-10-25 02:00 +02:00", "2026-10-25 02:30 +02:00", "2026-10-26 02:00 +01:00"]
    );
    assert_eq!(
        berlin("30 * * * *", "2026-03-29T00:00:00Z", 2),
        ["2026-03-29 01:30 +01:00", "2026-03-29 03:30 +02:00"]
    );
    assert_eq!(
        berlin("30 * * * *", "2026-10-25T00:00:00Z", 3),
        ["2026-10-25 02:30 +02:00", "2026-10-25 02:30 +01:00", "2026-10-25 03:30 +01:00"]
    );
    let schedule = schedule("30 2 * * *", "Europe/Berlin");
    let change = |from: &str| schedule.describe(schedule.next(at(from)).unwrap()).change;
    assert_eq!(change("2026-03-28T12:00:00Z"), Some(ClockChange::AfterGap));
    assert_eq!(change("2026-10-24T12:00:00Z"), Some(ClockChange::FirstOfTwo));
    assert_eq!(change("2026-06-24T12:00:00Z"), None);
    // A day that does not exist: Samoa skipped 30 December 2011.
    assert_eq!(
        local_times("0 12 * * *", "Pacific/Apia", "2011-12-29T22:30:00Z", 2),
        ["2011-12-31 00:00 +14:00", "2011-12-31 12:00 +14:00"]
    );
}

/// Each zone with a fixed time in its gap (it fires once, at the end of the gap) and in its overlap (the first pass only).
#[test]
fn clock_changes_in_six_zones() {
    let cases = [
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-03-28T12:00:00Z",
            ["2026-03-29 03:00 +02:00", "2026-03-30 02:30 +02:00"],
        ),
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-10-24T12:00:00Z",
            ["2026-10-25 02:30 +02:00", "2026-10-26 02:30 +01:00"],
        ),
        (
            "America/New_York",
            "30 2 * * *",
            "2026-03-07T12:00:00Z",
            ["2026-03-08 03:00 -04:00", "2026-03-09 02:30 -04:00"],
        ),
        (
            "America/New_York",
            "30 1 * * *",
            "2026-10-31T12:00:00Z",
            ["2026-11-01 01:30 -04:00", "2026-11-02 01:30 -05:00"],
        ),
        // The clock changes by half an hour.
        (
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2026-10-03T00:00:00Z",
            ["2026-10-04 02:30 +11:00", "2026-10-05 02:15 +11:00"],
        ),
        (
            "Australia/Lord_Howe",
            "45 1 * * *",
            "2026-04-04T00:00:00Z",
            ["2026-04-05 01:45 +11:00", "2026-04-06 01:45 +10:30"],
        ),
        // The gap is at midnight.
        (
            "America/Sao_Paulo",
            "0 0 * * *",
            "2018-11-03T12:00:00Z",
            ["2018-11-04 01:00 -02:00", "2018-11-05 00:00 -02:00"],
        ),
        (
            "Africa/Cairo",
            "30 0 * * *",
            "2024-04-25T12:00:00Z",
            ["2024-04-26 01:00 +03:00", "2024-04-27 00:30 +03:00"],
        ),
        // The overlap begins the day before.
        (
            "Africa/Cairo",
            "30 23 * * *",
            "2024-10-31T12:00:00Z",
            ["2024-10-31 23:30 +03:00", "2024-11-01 23:30 +02:00"],
        ),
        // A whole day is missing.
        (
            "Pacific/Apia",
            "0 12 * * *",
            "2011-12-29T22:30:00Z",
            ["2011-12-31 00:00 +14:00", "2011-12-31 12:00 +14:00"],
        ),
    ];
    let zones: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.0).collect();
    assert_eq!(zones.len(), 6);
    for (zone, cron, from, expected) in cases {
        assert_eq!(local_times(cron, zone, from, 2), expected, "{cron} in {zone} from {from}");
    }
}

proptest! {
    /// Compared with a search minute by minute over the same rule.
    #[test]
    fn the_next_time_is_the_first_match(
        minute in prop_oneof![Just("*"), Just("*/7"), Just("0,30"), Just("59"), Just("15-20")],
        hour in prop_oneof![Just("*"), Just("*/2"), Just("2"), Just("1-3"), Just("0,23")],
        days in prop_oneof![Just("* * *"), Just("* * SUN"), Just("29 3 *"), Just("L * *"), Just("25 10 *")],
        zone in prop_oneof![
            Just("Europe/Berlin"), Just("America/New_York"), Just("Australia/Lord_Howe"), Just("UTC")
        ],
        from in 1_700_000_000_000i64..1_800_000_000_000,
    ) {
        let schedule = schedule(&format!("{minute} {hour} {days}"), zone);
        let next = schedule.next(Timestamp(from)).unwrap();
        prop_assert!(next.0 > from && next.0 % 60_000 == 0);
        let again = schedule.next(Timestamp(next.0 - 1)).unwrap();
        prop_assert_eq!(again, next);
        if next.0 - from < 200_000_000 {
            let tz = jiff::tz::TimeZone::get(zone).unwrap();
            let mut at = from - from.rem_euclid(60_000) + 60_000;
            while at < next.0 {
                let local = tz.to_datetime(jiff::Timestamp::from_millisecond(at).unwrap());
                let text = schedule.describe(Timestamp(at)).local;
                let (h, m) = (local.hour(), local.minute());
                let hit = minute_matches(minute, m) && hour_matches(hour, h) && day_matches(days, local);
                // Only the second pass of an overlap may match a fixed time without firing.
                let repeated = matches!(
                    schedule.describe(Timestamp(at)).change, Some(ClockChange::FirstOfTwo)
                );
                prop_assert!(!hit || (schedule.is_fixed() && repeated), "{text} matches");
                at += 60_000;
            }
        }
        if let Some(last) = schedule.last(Timestamp(from), Timestamp(next.0 + 1)) {
            prop_assert_eq!(last, next);
        }
    }
}

fn minute_matches(field: &str, minute: i8) -> bool {
    match field {
        "*" => true,
        "*/7" => minute % 7 == 0,
        "0,30" => minute == 0 || minute == 30,
        "59" => minute == 59,
        _ => (15..=20).contains(&minute),
    }
}

fn hour_matches(field: &str, hour: i8) -> bool {
    match field {
        "*" => true,
        "*/2" => hour % 2 == 0,
        "2" => hour == 2,
        "1-3" => (1..=3).contains(&hour),
        _ => hour == 0 || hour == 23,
    }
}

fn day_matches(field: &str, local: jiff::civil::DateTime) -> bool {
    match field {
        "* * *" => true,
        "* * SUN" => local.weekday() == jiff::civil::Weekday::Sunday,
        "29 3 *" => (local.day(), local.month()) == (29, 3),
        "L * *" => local.day() == local.date().last_of_month().day(),
        _ => (local.day(), local.month()) == (25, 10),
    }
}

fn hourly() -> Schedule {
    schedule("0 * * * *", "UTC")
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

fn catch_up(window: Duration, keep: Keep, max: u32) -> Policy {
    Policy { catch_up: CatchUp { window, keep, max }, jitter: Duration::ZERO }
}

fn accounted(policy: Policy, paused: bool, cursor: &str, now: &str) -> (Vec<String>, String) {
    let result = account("t", &hourly(), policy, paused, at(cursor), at(now));
    let text = |entry: &Entry| {
        let time = |at: Timestamp| at.rfc3339()[5..16].to_owned();
        let until = entry.until.map(|until| format!("..{}", time(until))).unwrap_or_default();
        format!("{}{until} {:?}", time(entry.nominal), entry.verdict)
    };
    (result.entries.iter().map(text).collect(), result.cursor.rfc3339()[5..16].to_owned())
}

#[test]
fn every_nominal_time_is_accounted_for() {
    let (from, now) = ("2026-01-10T00:00:00Z", "2026-01-10T05:00:30Z");
    let default = Policy::default();
    assert_eq!(
        accounted(default, false, from, now).0,
        ["01-10T01:00..01-10T04:00 Missed", "01-10T05:00 Fire { late: false }"]
    );
    // A minute old is on time, a second more is late.
    let on_time = |now| accounted(default, false, "2026-01-10T04:30:00Z", now).0;
    assert_eq!(on_time("2026-01-10T05:01:00Z"), ["01-10T05:00 Fire { late: false }"]);
    assert_eq!(on_time("2026-01-10T05:01:01Z"), ["01-10T05:00 Missed"]);
    // Nothing on time: the newest one within the window stands for the others.
    let late = "2026-01-10T05:30:00Z";
    assert_eq!(accounted(default, false, from, late).0, ["01-10T01:00..01-10T05:00 Missed"]);
    let latest = catch_up(hours(2), Keep::Latest, 10);
    assert_eq!(
        accounted(latest, false, from, late).0,
        [
            "01-10T01:00..01-10T03:00 Missed",
            "01-10T04:00 Superseded",
            "01-10T05:00 Fire { late: true }"
        ]
    );
    assert_eq!(
        accounted(latest, false, from, now).0.last().unwrap(),
        "01-10T05:00 Fire { late: false }"
    );
    let all = catch_up(hours(24), Keep::All, 3);
    assert_eq!(
        accounted(all, false, from, late).0,
        [
            "01-10T01:00..01-10T02:00 BeyondMaximum",
            "01-10T03:00 Fire { late: true }",
            "01-10T04:00 Fire { late: true }",
            "01-10T05:00 Fire { late: true }"
        ]
    );
    assert_eq!(accounted(all, true, from, late).0, ["01-10T01:00..01-10T05:00 Paused"]);
    assert_eq!(accounted(all, false, from, late).1, "01-10T05:00");
}

#[test]
fn a_clock_that_jumps_fires_nothing_twice() {
    // Back an hour: the cursor is ahead, and nothing fires until the clock has passed it.
    let (entries, cursor) =
        accounted(Policy::default(), false, "2026-01-10T05:00:00Z", "2026-01-10T04:00:10Z");
    assert_eq!((entries.len(), cursor.as_str()), (0, "01-10T05:00"));
    // Ahead a year by mistake and back again: the cursor returns, the schedule continues.
    let (entries, cursor) =
        accounted(Policy::default(), false, "2027-01-10T05:00:00Z", "2026-01-10T04:30:00Z");
    assert_eq!((entries.len(), cursor.as_str()), (0, "01-10T04:30"));
    // 30 days down, every minute: one entry, found without looking at each time.
    let minutely = schedule("* * * * *", "Europe/Berlin");
    let started = crate::processor_time::of_thread();
    let (cursor, now) = (at("2026-03-01T00:00:00Z"), at("2026-03-31T00:00:20Z"));
    for _ in 0..100 {
        let result = account("t", &minutely, Policy::default(), false, cursor, now);
        assert_eq!(result.entries.len(), 2, "{:?}", result.entries);
        assert_eq!(result.entries[0].verdict, Verdict::Missed);
        assert_eq!(result.due, Some(at("2026-03-31T00:01:00Z")));
    }
    let took = crate::processor_time::of_thread() - started;
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_delay_is_fixed_and_bounded() {
    let most = Duration::from_secs(600);
    let nominal = at("2026-01-10T05:00:00Z");
    let delay = jitter("a/nightly", nominal, most);
    assert_eq!(delay, jitter("a/nightly", nominal, most));
    assert_ne!(delay, jitter("b/nightly", nominal, most));
    assert_eq!(jitter("a/nightly", nominal, Duration::ZERO), Duration::ZERO);
    let policy = Policy { jitter: most, ..Policy::default() };
    let cursor = at("2026-01-10T04:30:00Z");
    let before = account(
        "a/nightly",
        &hourly(),
        policy,
        false,
        cursor,
        Timestamp(nominal.after(delay).0 - 1),
    );
    assert_eq!((before.entries.len(), before.due), (0, Some(nominal.after(delay))));
    let after = account("a/nightly", &hourly(), policy, false, cursor, nominal.after(delay));
    assert_eq!(after.entries[0].verdict, Verdict::Fire { late: false });
}

#[test]
fn overlap_policies() {
    use Decision::{Queue, Replace, Skip, Start};
    let of = |policy, started, queued| overlap(policy, ActiveRuns { started, queued });
    for policy in
        [Overlap::Skip, Overlap::QueueOne, Overlap::QueueAll, Overlap::Cancel, Overlap::Allow]
    {
        assert_eq!(of(policy, 0, 0), Start);
    }
    assert_eq!([of(Overlap::Skip, 1, 0), of(Overlap::Skip, 0, 1)], [Skip, Skip]);
    assert_eq!([of(Overlap::QueueOne, 1, 0), of(Overlap::QueueOne, 1, 1)], [Queue, Skip]);
    assert_eq!([of(Overlap::QueueAll, 1, 0), of(Overlap::QueueAll, 1, 9)], [Queue, Queue]);
    assert_eq!([of(Overlap::Cancel, 1, 0), of(Overlap::Allow, 3, 3)], [Replace, Start]);
}

#[test]
fn the_queue_is_fair_between_playbooks() {
    let (early, late) = (Timestamp(1), Timestamp(2));
    let active: BTreeMap<String, usize> = [("a".to_owned(), 2), ("b".to_owned(), 1)].into();
    assert_eq!(next_in_queue(&[("a", early), ("a", early), ("b", late)], &active), Some(2));
    assert_eq!(next_in_queue(&[("a", late), ("a", early)], &active), Some(1));
    assert_eq!(next_in_queue(&[("b", early), ("c", late)], &active), Some(1));
    assert_eq!(next_in_queue(&[], &active), None);
}

/// `every`, `at`, and the bounds of a schedule, in a zone whose clock changes.
#[test]
fn periods_single_times_and_bounds() {
    let berlin = || Zone::named("Europe/Berlin").unwrap();
    let local = |text: &str| local_start(text).unwrap_or_else(|| panic!("{text}"));
    let all = |schedule: &Schedule, from: &str, count: usize| -> Vec<String> {
        let mut after = at(from);
        let next = || {
            after = schedule.next(after)?;
            Some(schedule.describe(after).local)
        };
        std::iter::from_fn(next).take(count).collect()
    };
    // A period is real time, counted from the start, which counts itself.
    let every = Schedule::new(Times::Every(36 * 3_600_000), berlin(), "every 36h");
    let from = Bounds { from: Some(local("2027-03-27")), ..Bounds::default() };
    let every = every.within(from.clone());
    assert_eq!(
        all(&every, "2020-01-01T00:00:00Z", 3),
        ["2027-03-27 00:00 +01:00", "2027-03-28 13:00 +02:00", "2027-03-30 01:00 +02:00"]
    );
    assert_eq!(
        all(&every, "2027-03-28T11:00:00Z", 1),
        ["2027-03-30 01:00 +02:00"],
        "a time itself is over"
    );
    // Single times: one that the clock skips, one that it repeats.
    let at_times = ["2027-03-28T02:30", "2027-10-31T02:30"].map(local).to_vec();
    let single = Schedule::new(Times::At(at_times), berlin(), "at");
    assert_eq!(
        all(&single, "2027-01-01T00:00:00Z", 9),
        ["2027-03-28 03:00 +02:00", "2027-10-31 02:30 +02:00"]
    );
    assert_eq!(
        single.describe(single.next(at("2027-01-01T00:00:00Z")).unwrap()).change,
        Some(ClockChange::AfterGap)
    );
    assert_eq!(single.next(at("2027-12-01T00:00:00Z")), None);
    // The last day counts as a whole, and dates are left out.
    let bounds = Bounds {
        from: Some(local("2027-12-24T12:00")),
        until: local_end("2027-12-28"),
        except: ["2027-12-25", "2027-12-26"].iter().map(|text| date(text).unwrap()).collect(),
    };
    let daily =
        Schedule::new(Times::Cron(Box::new(Cron::parse("0 6,18 * * *").unwrap())), berlin(), "")
            .within(bounds);
    assert_eq!(
        all(&daily, "2020-01-01T00:00:00Z", 9),
        [
            "2027-12-24 18:00 +01:00",
            "2027-12-27 06:00 +01:00",
            "2027-12-27 18:00 +01:00",
            "2027-12-28 06:00 +01:00",
            "2027-12-28 18:00 +01:00"
        ]
    );
    assert_eq!(
        daily.last(at("2027-12-01T00:00:00Z"), at("2028-06-01T00:00:00Z")),
        Some(at("2027-12-28T17:00:00Z"))
    );
    let never = Schedule::new(Times::Every(10_000), berlin(), "")
        .within(Bounds { until: local_end("1969-12-31"), ..from });
    assert!(!never.ever_fires());
    for text in [
        "2027-02-30",
        "2027-1-1",
        "2027-01-01T09:00Z",
        "2027-01-01T09:00+01:00",
        "2027-01-01T25:00",
        "09:00",
        "",
    ] {
        assert_eq!(local_start(text), None, "{text}");
    }
}
