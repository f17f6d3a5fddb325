//! A share of all tests as a report writes it: `83 %`.

/// A percentage with its decimal places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) struct Share {
    /// The number without its point: 833 for `83.3 %`.
    digits: u64,
    /// Number of decimal places.
    places: u32,
}

/// Most decimal places that are read.
const PLACES: u32 = 6;

impl Share {
    /// The share that a word is, such as `83%` and `83.3%`.
    pub(super) fn of(word: &str) -> Option<Share> {
        let number = word.strip_suffix('%')?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        let places = u32::try_from(fraction.len()).ok().filter(|places| *places <= PLACES)?;
        let is_number = (1..=3).contains(&whole.len()) && is_plain(whole) && is_plain(fraction);
        let digits = format!("{whole}{fraction}").parse().ok().filter(|_| is_number)?;
        let share = Share { digits, places };
        (share.digits <= share.whole()).then_some(share)
    }

    /// Its number where it is all tests.
    fn whole(self) -> u64 {
        100 * 10_u64.pow(self.places)
    }

    pub(super) fn is_all(self) -> bool {
        self.digits == self.whole()
    }

    /// The share of the other tests.
    pub(super) fn rest(self) -> Share {
        Share { digits: self.whole() - self.digits, ..self }
    }

    /// Whether it is the share of a part of all, rounded or cut off. None and all are exact.
    pub(in crate::verify) fn fits(self, part: u64, all: u64) -> bool {
        if part > all || all == 0 || self.is_all() {
            return part == all && all > 0;
        }
        if self.digits == 0 {
            return part == 0;
        }
        let (part, all) = (u128::from(part) * u128::from(self.whole()), u128::from(all));
        let nearest = (2 * part + all) / (2 * all);
        [nearest, part / all].contains(&u128::from(self.digits))
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn a_share_is_that_of_a_number_of_tests_if_it_is_rounded_or_cut_off() {
        for (word, part, all, expected) in [
            ("83%", 5, 6, true),
            ("83.3%", 5, 6, true),
            ("83.34%", 5, 6, false),
            ("84%", 5, 6, false),
            ("66%", 2, 3, true),
            ("67%", 2, 3, true),
            ("100%", 5, 5, true),
            ("100%", 999, 1000, false),
            ("99%", 999, 1000, true),
            ("0%", 1, 1000, false),
            ("0%", 0, 3, true),
            ("100%", 0, 0, false),
        ] {
            assert_eq!(Share::of(word).unwrap().fits(part, all), expected, "{word} {part} {all}");
        }
        assert!(
            ["%", "120%", "-5%", "83", "8.33333333%"].map(Share::of).iter().all(Option::is_none)
        );
    }
}
