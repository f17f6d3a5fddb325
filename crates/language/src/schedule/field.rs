//! The grammar of one field of a cron expression, checked before croner parses it: croner accepts
//! names inside other words, empty items and steps that match one value only.

/// One of the five fields.
pub(super) struct Field {
    /// The field as messages name it.
    pub(super) name: &'static str,
    least: u16,
    most: u16,
    names: &'static [&'static str],
}

pub(super) const FIELDS: [Field; 5] = [
    Field { name: "minute", least: 0, most: 59, names: &[] },
    Field { name: "hour", least: 0, most: 23, names: &[] },
    Field { name: "day of month", least: 1, most: 31, names: &[] },
    Field { name: "month", least: 1, most: 12, names: MONTHS },
    Field { name: "day of week", least: 0, most: 7, names: WEEKDAYS },
];

const MONTHS: &[&str] =
    &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// What is wrong with a field, and how to fix it.
pub(super) type Wrong = (String, String);

impl Field {
    /// Checks a field and writes it with numbers in place of names.
    pub(super) fn normalized(&self, text: &str) -> Result<String, Wrong> {
        let items = text.split(',').map(|item| self.item(item)).collect::<Result<Vec<_>, _>>()?;
        if items.len() > 1 && items.iter().any(|item| item == "*") {
            let help = format!("write `*` alone, or list the values of the {}", self.name);
            return Err((format!("`{text}` lists `*` together with other values"), help));
        }
        Ok(items.join(","))
    }

    fn item(&self, item: &str) -> Result<String, Wrong> {
        if item.is_empty() {
            let message = format!("the {} has an empty item between commas", self.name);
            return Err((message, "remove the extra comma".to_owned()));
        }
        if let Some((range, step)) = item.split_once('/') {
            return self.stepped(item, range, step);
        }
        if item == "*" {
            return Ok(item.to_owned());
        }
        if let Some((day, nth)) = item.split_once('#').filter(|_| self.is_weekday()) {
            return self.nth(item, day, nth);
        }
        if item.eq_ignore_ascii_case("L") && self.name == "day of month" {
            return Ok("L".to_owned());
        }
        if let Some(day) = item.strip_suffix(['L', 'l']).filter(|_| self.is_weekday()) {
            return self.nth(item, day, "L");
        }
        let (from, to) = self.range(item)?;
        Ok(if from == to { from.to_string() } else { format!("{from}-{to}") })
    }

    fn is_weekday(&self) -> bool {
        self.name == "day of week"
    }

    /// `MON#2`, `5#L`: an occurrence of a weekday in a month.
    fn nth(&self, item: &str, day: &str, nth: &str) -> Result<String, Wrong> {
        let day = self.value(day, item)?;
        match nth {
            "1" | "2" | "3" | "4" | "5" => Ok(format!("{day}#{nth}")),
            "L" | "l" => Ok(format!("{day}#L")),
            _ => Err((
                format!("`{item}` is not an occurrence of a weekday"),
                "write `MON#1` to `MON#5` for the first to fifth, `MON#L` for the last".to_owned(),
            )),
        }
    }

    fn stepped(&self, item: &str, range: &str, step: &str) -> Result<String, Wrong> {
        if range != "*" && !range.contains('-') {
            let message = format!("`{item}` has a step and no range");
            let start = if range.is_empty() { "0" } else { range };
            let help = format!("write `*/{step}` or `{start}-{}/{step}`", self.most);
            return Err((message, help));
        }
        let (from, to) = match range {
            "*" => (self.least, self.most.min(if self.is_weekday() { 6 } else { u16::MAX })),
            range => self.range(range)?,
        };
        let width = to - from;
        let number: Option<u16> = digits(step).and_then(|step| step.parse().ok());
        match number {
            Some(number) if number > 0 && number <= width => Ok(match range {
                "*" if self.is_weekday() => format!("{from}-{to}/{number}"),
                "*" => format!("*/{number}"),
                _ => format!("{from}-{to}/{number}"),
            }),
            Some(number) if number > width => Err((
                format!(
                    "the step of `{item}` is too large: it matches only one value of the {}",
                    self.name
                ),
                match range {
                    "*" => format!("write a step from 1 to {width}, or `{from}` for one value"),
                    _ => format!("write a step from 1 to {width}"),
                },
            )),
            _ => Err((
                format!("`{step}` is not a step of the {}", self.name),
                format!("write a whole number from 1 to {width}"),
            )),
        }
    }

    fn range(&self, item: &str) -> Result<(u16, u16), Wrong> {
        let Some((from, to)) = item.split_once('-') else {
            let value = self.value(item, item)?;
            return Ok((value, value));
        };
        let (from, mut to) = (self.value(from, item)?, self.value(to, item)?);
        // `FRI-SUN`: Sunday is also 7.
        if self.is_weekday() && to == 0 && from > 0 {
            to = 7;
        }
        if from > to {
            let help =
                format!("write two ranges: `{from}-{},{}-{to}`", self.most.min(59), self.least);
            return Err((format!("the range `{item}` ends before it starts"), help));
        }
        Ok((from, to))
    }

    fn value(&self, text: &str, item: &str) -> Result<u16, Wrong> {
        if let Some(index) = self.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            return Ok(self.least + index as u16);
        }
        let number: Option<u16> = digits(text).and_then(|text| text.parse().ok());
        match number {
            Some(value) if (self.least..=self.most).contains(&value) => Ok(value),
            _ => Err((format!("`{item}` is not a value of the {}", self.name), self.expected())),
        }
    }

    fn expected(&self) -> String {
        let forms = match self.name {
            "day of month" => ", or `L` for the last day",
            "day of week" => {
                ", `SUN` to `SAT`, `MON#2` for the second Monday, `FRI#L` for the last Friday"
            }
            "month" => ", or `JAN` to `DEC`",
            _ => "",
        };
        format!("write a number from {} to {}{forms}", self.least, self.most)
    }
}

/// The text, if it is one or two digits.
fn digits(text: &str) -> Option<&str> {
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    ((1..=2).contains(&text.len()) && all_digits).then_some(text)
}
