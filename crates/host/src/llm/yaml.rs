//! Recorded scripts as human-readable YAML: texts of several lines are literal blocks.
//!
//! `serde-saphyr` writes the YAML; it shares its parser with the loader of definitions. This file only
//! decides which texts become blocks.

use kb_base::value::Json;
use serde::{Serialize, Serializer};
use serde_saphyr::{LitStr, SerializerOptions};

/// The value as YAML. A value that the library cannot write is written as JSON, which is YAML too.
pub fn yaml(value: &Json) -> String {
    let mut options = SerializerOptions::default();
    options.prefer_block_scalars = false;
    serde_saphyr::to_string_with_options(&Readable(value), options)
        .unwrap_or_else(|_| serde_json::to_string_pretty(value).unwrap_or_default())
}

/// A value whose texts of several lines are written as literal blocks.
struct Readable<'a>(&'a Json);

impl Serialize for Readable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Json::String(text) if fits_block(text) => LitStr(text).serialize(serializer),
            Json::Array(items) => serializer.collect_seq(items.iter().map(Readable)),
            Json::Object(map) => {
                serializer.collect_map(map.iter().map(|(key, value)| (key, Readable(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

/// Whether every YAML reader reads a literal block of this text back as the same text.
fn fits_block(text: &str) -> bool {
    let lines = text.trim_end_matches('\n');
    lines.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && !text.contains("\n\t")
        && text.chars().all(|c| c == '\n' || c == '\t' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The text is read back as the same value by two YAML readers.
    fn check(value: &Json) -> String {
        let text = yaml(value);
        let back: Json = serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(back, *value, "{text}");
        let back: Json = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(back, *value, "{text}");
        text
    }

    #[test]
    fn every_value_reads_back_as_it_was() {
        let texts = [
            "",
            " ",
            "a",
            "yes",
            "~",
            "1",
            "a: b",
            "- a",
            "# no",
            "\"'\\",
            "a\nb",
            "a\nb\n",
            "a\nb\n\n\n",
            "\na\nb",
            "  a\nb\n",
            "a\n  b\n\nc",
            "\n",
            "\n\n",
            "\ta\nb",
            "a\n\tb",
            "a\r\nb",
            "\u{1b}[0m\nx",
            "é\u{1f600}\nx",
            "a \nb ",
            "---\n...\n",
            "\u{feff}a\nb",
            "a\u{2028}b\nc",
            "{{ x }}\n%",
            "x\n ",
            "\u{7f}",
        ];
        for text in texts {
            check(&json!({"key": text, "list": [text, {"in": text, "after": 1}]}));
        }
        check(&json!({"a b": [], "on": {}, "": null, "n": [1, -2.5, true, [[1], []], {"x": []}]}));
    }

    proptest::proptest! {
        #[test]
        fn any_text_reads_back_as_it_was(
            text in "[ -~\n\t:#|>é\u{85}]{0,40}|\\PC{0,20}|(a|b|\n| |\r|-){0,12}",
            key in "\\PC{0,6}",
        ) {
            check(&json!({key: [text.clone(), {"x": {"y": text}}]}));
        }
    }

    #[test]
    fn it_reads_well() {
        let value =
            json!({"steps": {"a[b.rs]": [{"say": "one\ntwo\n", "calls": [{"tool": "f"}]}]}});
        insta::assert_snapshot!(check(&value), @r#"
        steps:
          "a[b.rs]":
          - say: |
              one
              two
            calls:
            - tool: f
        "#);
    }
}
