//! Names of methods and filters of other languages.

/// The filter that corresponds to a common method of other languages.
pub(super) fn method_filter(method: &str) -> Option<&'static str> {
    Some(match method {
        "upper" | "toUpperCase" | "upcase" | "uppercase" => "upper",
        "lower" | "toLowerCase" | "downcase" | "lowercase" => "lower",
        "strip" | "trim" => "trim",
        "split" => "split(',')",
        "join" => "join(',')",
        "replace" => "replace('a', 'b')",
        "items" => "items",
        "keys" => "list",
        "get" => "attr('key')",
        "length" | "size" | "len" | "count" => "length",
        "toString" => "string",
        _ => return None,
    })
}
