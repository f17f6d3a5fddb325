//! Context windows and response limits of models.

use super::prices::plain_name;

/// The sizes of a model, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelLimits {
    /// Tokens that the prompt and the response may have together.
    pub window: Option<u32>,
    /// Maximum tokens of one response, reasoning included.
    pub output: Option<u32>,
    /// Whether the model reasons without being asked to.
    pub reasons: bool,
}

/// Beginnings of model names with window and maximum response, in thousands of tokens, and whether the
/// model reasons without being asked to. The longest beginning decides. Checked in November 2026; `contextWindow` and `maxOutputTokens` of a tier take
/// precedence.
const TABLE: &[(&str, u32, u32, bool)] = &[
    ("claude-", 200, 64, false),
    ("claude-3-", 200, 8, false),
    ("claude-opus-4", 200, 32, false),
    ("claude-opus-4-5", 200, 64, false),
    ("claude-opus-4-6", 200, 64, false),
    ("claude-opus-4-7", 200, 64, false),
    ("claude-opus-4-8", 200, 128, false),
    ("claude-opus-5", 1_000, 128, true),
    ("claude-sonnet-5", 1_000, 128, true),
    ("claude-haiku-5", 1_000, 128, true),
    ("claude-fable-5", 1_000, 128, true),
    ("gpt-4.1", 1_000, 32, false),
    ("gpt-4o", 128, 16, false),
    ("gpt-5", 400, 128, true),
    ("gpt-5.5", 1_050, 128, true),
    ("gpt-5.6", 1_050, 128, true),
    ("gpt-5.6-luna", 400, 128, true),
    ("gpt-6", 1_050, 128, true),
    ("gpt-6-luna", 400, 128, true),
    ("gpt-oss", 131, 32, true),
    ("o3", 200, 100, true),
    ("o4", 200, 100, true),
    ("gemini-", 1_000, 64, true),
    ("mistral-", 128, 32, false),
    ("codestral-", 128, 32, false),
    ("devstral-", 128, 32, false),
    ("deepseek-", 128, 8, false),
    ("deepseek-reasoner", 128, 64, true),
    ("grok-4", 256, 64, true),
];

impl ModelLimits {
    /// The sizes of a model by its name; a provider prefix and a date suffix are ignored.
    pub(super) fn of(model: &str) -> ModelLimits {
        let name = plain_name(model);
        let known = TABLE.iter().filter(|row| name.starts_with(row.0));
        match known.max_by_key(|row| row.0.len()) {
            Some(&(_, window, output, reasons)) => {
                ModelLimits { window: Some(window * 1_000), output: Some(output * 1_000), reasons }
            }
            None => ModelLimits::default(),
        }
    }

    /// These sizes, with those of the settings taking precedence.
    pub(super) fn or_own(self, window: Option<u32>, output: Option<u32>) -> ModelLimits {
        ModelLimits { window: window.or(self.window), output: output.or(self.output), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_decides_and_unknown_models_have_no_sizes() {
        let sizes = |model: &str| {
            let limits = ModelLimits::of(model);
            limits.window.zip(limits.output)
        };
        assert_eq!(sizes("claude-opus-4-5-20251101"), Some((200_000, 64_000)));
        assert_eq!(sizes("anthropic/claude-opus-5-5"), Some((1_000_000, 128_000)));
        assert_eq!(sizes("openai/gpt-oss-120b"), Some((131_000, 32_000)));
        assert_eq!(sizes("SmolLM2-135M"), None);
    }
}
