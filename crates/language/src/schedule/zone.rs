//! [`Zone`]: a time zone of the bundled database, by its IANA name.

use jiff::tz::{TimeZone, TimeZoneDatabase};
use kb_base::diagnostic::nearest;
use std::fmt;

/// A time zone. The database is part of the program, so that a schedule means the same on every
/// machine.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    pub(super) tz: TimeZone,
}

/// No time zone has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneError {
    /// What is wrong with the name.
    pub message: String,
    /// A similar name, or where names are listed.
    pub help: String,
}

impl Zone {
    /// UTC, which has no daylight saving time.
    pub fn utc() -> Zone {
        Zone { name: "UTC".to_owned(), tz: TimeZone::UTC }
    }

    /// The zone with an IANA name such as `Europe/Berlin`. The name must be spelled as in the database.
    pub fn named(name: &str) -> Result<Zone, ZoneError> {
        if name == "UTC" {
            return Ok(Zone::utc());
        }
        let database = TimeZoneDatabase::bundled();
        match database.get(name) {
            Ok(tz) if tz.iana_name() == Some(name) => Ok(Zone { name: name.to_owned(), tz }),
            _ => {
                let known = Zone::names();
                let near = || nearest(name, known.iter().map(String::as_str));
                let same = known.iter().find(|known| known.eq_ignore_ascii_case(name));
                // `Berlin` means `Europe/Berlin`.
                let city = |known: &&String| {
                    known.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(name))
                };
                let meant = same.or_else(|| known.iter().find(city)).map(String::as_str);
                let help = match meant.or_else(near) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "write an IANA name such as `Europe/Berlin`, or `UTC`".to_owned(),
                };
                Err(ZoneError { message: format!("`{name}` is not a time zone"), help })
            }
        }
    }

    /// The names of all zones.
    pub fn names() -> Vec<String> {
        TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect()
    }

    /// The IANA name, such as `Europe/Berlin`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}
