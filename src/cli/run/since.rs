//! The value of `--since`.

use kb_service::service::PointInTime;

/// Reads the value of `--since`.
pub(in crate::cli) fn since(text: &str) -> Result<PointInTime, String> {
    PointInTime::parse(text).ok_or_else(|| {
        "expected a duration such as `10m` or a time such as `2026-11-23T09:00:00Z`".to_owned()
    })
}
