//! The macro that declares the choices of a key that takes one of several texts.

/// Declares a list of choices and the list of their texts.
macro_rules! choices {
    ($($(#[$doc:meta])* $list:ident, $names:ident: $type:ty = {$($text:literal => $value:expr),+ $(,)?})+) => {$(
        $(#[$doc])*
        pub(crate) const $list: &[(&str, $type)] = &[$(($text, $value)),+];
        pub(crate) const $names: &[&str] = &[$($text),+];
    )+};
}

pub(in crate::definition) use choices;
