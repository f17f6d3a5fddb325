//! [`Cron`]: a checked cron expression. The only file that uses croner.

use super::field::FIELDS;
use croner::parser::{CronParser, Seconds, Year};
use croner::time::Weekday;
use jiff::civil::Date;
use std::fmt;

/// A cron expression of five fields (OCPS 1.0, with `@daily` and its relatives, `L` and `#`).
#[derive(Clone)]
pub struct Cron {
    text: String,
    hours: Vec<bool>,
    minutes: Vec<bool>,
    /// Whether the hour field has no `*`, so that the hours are fixed times of day.
    fixed: bool,
    parsed: croner::Cron,
}

/// Why a text is not a cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronError {
    /// What is wrong with the expression.
    pub message: String,
    /// An expression that would be accepted, or the rule.
    pub help: String,
}

const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Cron {
    /// Parses an expression. Stricter than most programs: see [`CronError`].
    pub fn parse(text: &str) -> Result<Cron, CronError> {
        let text = text.trim();
        let fields = expanded(text)?;
        let normalized = fields.join(" ");
        let parser =
            CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let parsed = parser.parse(&normalized).map_err(|error| {
            problem(
                format!("`{text}` is not a cron expression: {error}"),
                "see `kb explain KB1002`",
            )
        })?;
        let pattern = &parsed.pattern;
        let hours = (0..24).map(|hour| pattern.hour_match(hour).unwrap_or(false)).collect();
        let minutes = (0..60).map(|minute| pattern.minute_match(minute).unwrap_or(false)).collect();
        let fixed = !fields[1].contains('*');
        Ok(Cron { text: text.to_owned(), hours, minutes, fixed, parsed })
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the hours are fixed times of day.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Whether a date matches the fields of day, month and weekday.
    pub(super) fn matches_date(&self, date: Date) -> bool {
        let pattern = &self.parsed.pattern;
        let weekday = Weekday::from_days_from_sunday(date.weekday().to_sunday_zero_offset() as u32);
        let (year, month, day) = (i32::from(date.year()), date.month() as u32, date.day() as u32);
        pattern.month_match(month).unwrap_or(false)
            && pattern.day_match(year, month, day, weekday).unwrap_or(false)
    }

    /// Whether an hour from 0 to 23 matches.
    pub(super) fn matches_hour(&self, hour: i8) -> bool {
        usize::try_from(hour).is_ok_and(|hour| self.hours.get(hour).copied().unwrap_or(false))
    }

    /// Whether a minute from 0 to 59 matches.
    pub(super) fn matches_minute(&self, minute: i8) -> bool {
        usize::try_from(minute).is_ok_and(|at| self.minutes.get(at).copied().unwrap_or(false))
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Cron) -> bool {
        self.text == other.text
    }
}

impl Eq for Cron {}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({})", self.text)
    }
}

/// The five fields with numbers in place of names.
fn expanded(text: &str) -> Result<Vec<String>, CronError> {
    if text.is_empty() {
        return Err(problem("the cron expression is empty", "write five fields: `0 6 * * *`"));
    }
    if text.starts_with('@') {
        let known = NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        let names = NICKNAMES.map(|(name, _)| format!("`{name}`")).join(", ");
        let (_, fields) = known.ok_or_else(|| {
            problem(format!("`{text}` is not a known schedule"), &format!("write one of {names}"))
        })?;
        return Ok(fields.split(' ').map(str::to_owned).collect());
    }
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let message = format!("`{text}` has {} fields; a cron expression has five", fields.len());
        let help = match fields.len() {
            6 | 7 => {
                "minute, hour, day of month, month, day of week: remove the field of seconds or years"
            }
            _ => {
                "write minute, hour, day of month, month and day of week: `0 6 * * *` is daily at 06:00"
            }
        };
        return Err(problem(message, help));
    }
    let fields = FIELDS.iter().zip(fields);
    fields
        .map(|(field, written)| field.normalized(written))
        .collect::<Result<_, _>>()
        .map_err(|(message, help)| CronError { message, help })
}

fn problem(message: impl Into<String>, help: &str) -> CronError {
    CronError { message: message.into(), help: help.to_owned() }
}
