//! What of a conversation a model sees: lengths of tool results, and when it is compressed.

use super::turn::HARD_TOKENS;
use kb_base::value::limits::TOOL_RESULT_CHARS;
use kb_language::definition::ContextProfile;
use kb_language::toolspec::ResultPart;

/// Context windows, in tokens, from which the profiles `standard` and `wide` are the default.
const STANDARD_WINDOW: u32 = 32_000;
const WIDE_WINDOW: u32 = 500_000;
/// The window that is assumed for a profile if that of the model is unknown, in tokens.
const ASSUMED_STANDARD: u32 = 64_000;
const ASSUMED_WIDE: u32 = 200_000;

/// The limits of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    profile: ContextProfile,
    window: Option<u32>,
}

/// How much of a tool result is shown, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// So many characters of its beginning.
    Start(usize),
    /// The beginning and the end, together.
    Ends(usize),
}

impl ContextLimits {
    /// The limits of a profile for a context window, both as far as they are known.
    pub fn of(profile: Option<ContextProfile>, window: Option<u32>) -> Self {
        let fitting = match window {
            Some(WIDE_WINDOW..) => ContextProfile::Wide,
            Some(STANDARD_WINDOW..) => ContextProfile::Standard,
            _ => ContextProfile::Compact,
        };
        ContextLimits { profile: profile.unwrap_or(fitting), window }
    }

    /// Estimated tokens above which a conversation is compressed; `None`: by the rule for small
    /// windows, which counts messages too.
    pub fn compress_above(&self) -> Option<u32> {
        let assumed = match self.profile {
            ContextProfile::Compact => return None,
            ContextProfile::Standard => ASSUMED_STANDARD,
            ContextProfile::Wide => ASSUMED_WIDE,
        };
        Some((u64::from(self.window.unwrap_or(assumed)) * 6 / 10) as u32)
    }

    /// Estimated tokens above which the rule for small windows compresses, however few messages there are:
    /// less than [`HARD_TOKENS`] if 60 % of the window are less.
    pub fn small_limit(&self) -> u32 {
        let fits = |window: u32| (u64::from(window) * 6 / 10) as u32;
        self.window.map_or(HARD_TOKENS, |window| fits(window).min(HARD_TOKENS))
    }

    /// Tokens of exchanges that compression leaves unchanged.
    pub(super) fn kept_tokens(&self) -> u32 {
        self.compress_above().map_or(0, |above| above / 3)
    }

    /// How many characters of a file and of another result are shown.
    fn result_chars(&self) -> (usize, usize) {
        match self.profile {
            ContextProfile::Compact => (TOOL_RESULT_CHARS, TOOL_RESULT_CHARS),
            ContextProfile::Standard => (16_000, 4_000),
            ContextProfile::Wide => (48_000, 12_000),
        }
    }

    /// How much of a result is shown, of which this part matters.
    pub(super) fn shown(&self, part: ResultPart) -> Shown {
        let (file, other) = self.result_chars();
        match part {
            ResultPart::Rest => Shown::Start(file.max(5 * TOOL_RESULT_CHARS)),
            ResultPart::File => Shown::Start(file),
            ResultPart::Ends if self.profile != ContextProfile::Compact => Shown::Ends(other),
            ResultPart::Ends | ResultPart::Start => Shown::Start(other),
        }
    }

    /// How much of a result `output:read` shows at once, in characters.
    pub(super) fn read_on_chars(&self) -> usize {
        let (Shown::Start(chars) | Shown::Ends(chars)) = self.shown(ResultPart::Rest);
        chars
    }

    /// The limits on tool results as an instruction for the model.
    pub(super) fn instruction(&self) -> String {
        match self.profile {
            ContextProfile::Compact => format!(
                "Tool results longer than {TOOL_RESULT_CHARS} characters are truncated. Request only \
                 the part that you need, or continue reading as the truncation note says."
            ),
            ContextProfile::Standard | ContextProfile::Wide => {
                let (file, other) = self.result_chars();
                format!(
                    "Files longer than {file} characters and other tool results longer than {other} \
                     characters are truncated; read the part that you need with `startLine` and \
                     `endLine`, or continue reading as the truncation note says. Request independent \
                     reads in one turn: they run at the same time."
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_selects_the_profile_unless_one_is_named() {
        let of = |profile, window| ContextLimits::of(profile, window).compress_above();
        assert_eq!(of(None, None), None);
        assert_eq!(of(None, Some(8_000)), None);
        assert_eq!(of(None, Some(200_000)), Some(120_000));
        assert_eq!(of(Some(ContextProfile::Standard), None), Some(38_400));
        assert_eq!(of(Some(ContextProfile::Wide), Some(16_000)), Some(9_600));
        assert_eq!(of(Some(ContextProfile::Compact), Some(1_000_000)), None);
    }

    #[test]
    fn a_window_below_the_usual_limit_lowers_it() {
        let of = |window| ContextLimits::of(None, window).small_limit();
        assert_eq!([of(None), of(Some(31_999)), of(Some(8_192))], [8_000, 8_000, 4_915]);
    }
}
