//! The text format of Prometheus, version 0.0.4. Pure.

use std::fmt::Write;

/// The content type of the format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The kind of a family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// A value that only grows.
    Counter,
    /// A value that can go down.
    Gauge,
    /// Counts of values up to limits.
    Histogram,
}

/// A text of metrics. The samples of a family follow its head.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family. The name of a counter ends with `_total`.
    pub(super) fn family(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a text cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// A sample with its labels.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{text}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = match value {
            value if value.is_infinite() && value > 0.0 => writeln!(self.text, " +Inf"),
            value => writeln!(self.text, " {value}"),
        };
    }

    /// The whole text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Exposition::default();
        text.family("kb_x", MetricKind::Gauge, "A\nhelp.");
        text.sample("kb_x", &[("a", "b\"c\\d\ne"), ("f", "g")], 1.5);
        text.sample("kb_x", &[], 2.0);
        assert_eq!(
            text.finish(),
            "# HELP kb_x A\\nhelp.\n# TYPE kb_x gauge\nkb_x{a=\"b\\\"c\\\\d\\ne\",f=\"g\"} 1.5\nkb_x 2\n"
        );
    }
}
