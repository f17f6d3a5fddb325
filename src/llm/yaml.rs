use crate::value::{Json, JsonMap};

/// Writes a value as YAML that people can read and change: texts of several lines stand as blocks,
/// everything else that is not plainly a word is quoted.
pub(super) fn yaml(value: &Json) -> String {
    let mut out = String::new();
    match value {
        Json::Object(map) if !map.is_empty() => write_map(map, 0, &mut out),
        Json::Array(items) if !items.is_empty() => write_list(items, 0, &mut out),
        scalar => {
            write_scalar(scalar, 0, &mut out);
        }
    }
    out
}

fn write_map(map: &JsonMap, indent: usize, out: &mut String) {
    for (i, (key, value)) in map.iter().enumerate() {
        // The first entry of a map in a list stands behind its dash.
        if i > 0 || !out.ends_with("- ") {
            pad(indent, out);
        }
        out.push_str(&if is_word(key) { key.clone() } else { quoted(key) });
        out.push(':');
        match value {
            Json::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_map(inner, indent + 2, out);
            }
            Json::Array(items) if !items.is_empty() => {
                out.push('\n');
                write_list(items, indent + 2, out);
            }
            scalar => {
                out.push(' ');
                write_scalar(scalar, indent + 2, out);
            }
        }
    }
}

fn write_list(items: &[Json], indent: usize, out: &mut String) {
    for item in items {
        pad(indent, out);
        out.push_str("- ");
        match item {
            Json::Object(inner) if !inner.is_empty() => write_map(inner, indent + 2, out),
            Json::Array(inner) if !inner.is_empty() => {
                out.pop();
                out.push('\n');
                write_list(inner, indent + 2, out);
            }
            scalar => write_scalar(scalar, indent + 2, out),
        }
    }
}

fn write_scalar(value: &Json, indent: usize, out: &mut String) {
    match value {
        Json::String(text) if fits_block(text) => write_block(text, indent, out),
        Json::String(text) => {
            out.push_str(&quoted(text));
            out.push('\n');
        }
        // Empty lists and objects look the same in both languages.
        other => {
            out.push_str(&other.to_string());
            out.push('\n');
        }
    }
}

/// A literal block: `|-`, `|` or `|+` by the newlines at its end, with its indentation said where
/// the first line would hide it.
fn write_block(text: &str, indent: usize, out: &mut String) {
    out.push('|');
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    let body = text.strip_suffix('\n');
    match body {
        None => out.push('-'),
        Some(body) if body.ends_with('\n') => out.push('+'),
        Some(_) => {}
    }
    out.push('\n');
    for line in body.unwrap_or(text).split('\n') {
        if !line.is_empty() {
            pad(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn fits_block(text: &str) -> bool {
    let lines = text.trim_end_matches('\n');
    lines.contains('\n')
        && !lines.trim().is_empty()
        && !text.contains("\n\t")
        && !text.starts_with('\t')
        && text.chars().all(|c| c == '\n' || c == '\t' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&format!("\\u{:04X}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// Whether a key needs no quotes.
fn is_word(text: &str) -> bool {
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is written reads back as the same value, with a reader of another make.
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
                - tool: "f"
        "#);
    }
}
