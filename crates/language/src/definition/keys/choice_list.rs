//! [`Choice`]: the values of keys that take one of several texts, and the macros that declare them.

use super::table::KeyType;

/// A type whose values are texts in definition files.
pub(crate) trait Choice: Copy + Sized + 'static {
    /// The texts with the values that they stand for, in the order in which messages list them.
    const CHOICES: &'static [(&'static str, Self)];
    /// The texts.
    const NAMES: &'static [&'static str];
}

/// The type of a key that takes one of the texts of `T`.
pub(in crate::definition) const fn choice<T: Choice>() -> KeyType {
    KeyType::Choice(T::NAMES)
}

/// Declares enums with the text of each variant.
macro_rules! choices {
    ($($(#[$meta:meta])* pub enum $Type:ident {
        $($(#[$doc:meta])* $variant:ident = $text:literal,)+
    })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $Type {
            $($(#[$doc])* $variant,)+
        }

        impl $Type {
            /// The text in definitions.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($Type::$variant => $text,)+
                }
            }
        }

        $crate::definition::keys::choices_of! { $Type { $($text => $variant,)+ } }
    )+};
}

/// Declares lists of texts with the values that they stand for, where these are of no type of their own.
macro_rules! choice_table {
    ($($(#[$doc:meta])* $list:ident, $names:ident: $type:ty = {$($text:literal => $value:expr,)+})+) => {$(
        $(#[$doc])*
        pub(crate) const $list: &[(&str, $type)] = &[$(($text, $value)),+];
        pub(crate) const $names: &[&str] = &[$($text),+];
    )+};
}

/// Declares the texts of enums that other modules define.
macro_rules! choices_of {
    ($($Type:ident { $($text:literal => $variant:ident,)+ })+) => {$(
        impl $crate::definition::keys::Choice for $Type {
            const CHOICES: &'static [(&'static str, $Type)] = &[$(($text, $Type::$variant)),+];
            const NAMES: &'static [&'static str] = &[$($text),+];
        }
    )+};
}

pub(in crate::definition) use {choice_table, choices, choices_of};
