//! [`keys!`](keys) and [`settings!`](settings): one declaration of the keys of a map.
//!
//! A declaration yields the [`KeyTable`](super::KeyTable) of the map, from which the schemas, the reference and
//! completion derive, the struct of its values, and its decoder:
//!
//! ```text
//! keys! {
//!     /// A price in US dollars per million tokens.
//!     pub struct ModelPrice(Debug, Clone): PRICE = ("price", "a price") {
//!         /// Prompt tokens.
//!         input: f64 = "input" as DOLLARS, required, example("3");
//!     }
//! }
//! ```
//!
//! The comment of a field is what the reference says about the key. Its Rust type says how the value is decoded and
//! which type the reference names ([`KeyValue`](crate::definition::syntax::KeyValue)); `as TYPE` names another one,
//! `=> function` decodes the value with a function, which returns an `Option` if the key is `required`. After that come
//! the properties of [`KeySpec`](super::KeySpec); `required` is the first of them. A default that a type can parse is the
//! value of an absent key.
//!
//! The names of a table can be followed by its rule and by groups of keys that are decoded elsewhere: `rule RULE`,
//! `first GROUP`, `also GROUP`. A struct without a table is a group of keys that several maps have: `with { field: Group }`
//! adds its keys and its values to a map. Fields below `plus` are not keys.
//!
//! `settings!` also asks for the word that says how an earlier value is narrowed by the present one when a run is
//! resumed, so that no policy is forgotten: `own` keeps it (no policy), `higher`, `lower`, `both`, `either` and `common`
//! take the stricter value, `inner` is that of the map.

/// A documentation comment without the space at its start.
pub(in crate::definition) const fn sentence(comment: &'static str) -> &'static str {
    comment.split_at(1).1
}

macro_rules! keys {
    ($(
        $(#[doc = $what:literal])+
        $vis:vis struct $Struct:ident($($derive:ident),*) $(: $TABLE:ident = ($name:literal, $called:literal $(, rule $rule:expr)? $(, first $first:path)? $(, also $group:path)*))? {
            $(
                $(#[doc = $about:literal])+
                $field:ident: $ty:ty = $key:literal $(as $key_type:expr)? $(=> $decode:path)? $(, $property:ident $(($value:expr))?)*;
            )+
        } $(with { $($(#[doc = $part_doc:literal])+ $part:ident: $part_ty:ident,)+ })? $(plus { $($(#[$extra_doc:meta])+ $extra:ident: $extra_ty:ty,)+ })?
    )+) => {$(
        $(#[doc = $what])+
        #[derive($($derive),*)]
        $vis struct $Struct {
            $($(#[doc = $about])+ $vis $field: $ty,)+
            $($($(#[doc = $part_doc])+ $vis $part: $part_ty,)+)?
            $($($(#[$extra_doc])+ $vis $extra: $extra_ty,)+)?
        }

        impl $Struct {
            /// What the reference says about such a map.
            #[allow(dead_code)]
            const ABOUT: &'static str = $crate::definition::keys::sentence(concat!($($what),+));

            /// The keys with a field of their own.
            const OWN_KEYS: &'static [$crate::definition::keys::KeySpec] = &[$(
                $crate::definition::keys::key(
                    $key,
                    $crate::definition::keys::keys!(@type $ty $(, $key_type)?),
                    $crate::definition::keys::sentence(concat!($($about),+)),
                )$(.$property($($value)?))*
            ),+];

            /// All keys: also those of the groups below `with`.
            pub(crate) const KEYS: &'static [$crate::definition::keys::KeySpec] = &{
                const LISTS: &[&[$crate::definition::keys::KeySpec]] = &[$Struct::OWN_KEYS, $($($part_ty::KEYS),+)?];
                $crate::definition::keys::joined::<{ $crate::definition::keys::count(LISTS) }>(LISTS)
            };

            /// Decodes the keys among others of a map.
            pub(crate) fn part(
                fields: &$crate::definition::syntax::Fields<'_>,
                decoder: &mut $crate::definition::syntax::Decoder,
            ) -> Option<$Struct> {
                let mut specs = Self::OWN_KEYS.iter();
                $(let $field = $crate::definition::keys::keys!(@decode $ty, fields, specs.next()?, decoder, [$($property)*] $(, $decode)?);)+
                $($(let $part = $part_ty::part(fields, decoder);)+)?
                Some($Struct {
                    $($field: $field?,)+
                    $($($part: $part?,)+)?
                    $($($extra: Default::default(),)+)?
                })
            }

            /// The values of absent keys. `None`: a key has none.
            #[allow(dead_code)]
            pub(crate) fn without_keys() -> Option<$Struct> {
                let mut specs = Self::OWN_KEYS.iter();
                Some($Struct {
                    $($field: $crate::definition::keys::keys!(@absent $ty, specs.next()?, [$($property)*] $(, $decode)?)?,)+
                    $($($part: $part_ty::without_keys()?,)+)?
                    $($($extra: Default::default(),)+)?
                })
            }
        }

        $(
            /// The keys of the map.
            pub(crate) static $TABLE: $crate::definition::keys::KeyTable = $crate::definition::keys::table(
                $name,
                $called,
                $Struct::ABOUT,
                &[$($first,)? $Struct::KEYS, $($group),*],
            )$(.rule($rule))?;

            impl $Struct {
                /// The type of a key with such a map.
                #[allow(dead_code)]
                pub(crate) const MAP: $crate::definition::keys::KeyType = $crate::definition::keys::KeyType::Map(&$TABLE);

                /// Decodes a map.
                #[allow(dead_code)]
                pub(crate) fn from_node(
                    node: &$crate::definition::syntax::Node,
                    decoder: &mut $crate::definition::syntax::Decoder,
                ) -> Option<$Struct> {
                    $Struct::of(&decoder.fields(node, &$TABLE)?, decoder)
                }

                /// Decodes the keys of a map.
                pub(crate) fn of(
                    fields: &$crate::definition::syntax::Fields<'_>,
                    decoder: &mut $crate::definition::syntax::Decoder,
                ) -> Option<$Struct> {
                    decoder.unsupported(fields);
                    $Struct::part(fields, decoder)
                }
            }

            impl $crate::definition::syntax::KeyValue for $Struct {
                const TYPE: $crate::definition::keys::KeyType = $Struct::MAP;

                fn decode(
                    node: &$crate::definition::syntax::Node,
                    _: &str,
                    _: &$crate::definition::keys::KeySpec,
                    decoder: &mut $crate::definition::syntax::Decoder,
                ) -> Option<$Struct> {
                    $Struct::from_node(node, decoder)
                }

                fn absent(_: &$crate::definition::keys::KeySpec) -> Option<$Struct> {
                    $Struct::without_keys()
                }
            }
        )?
    )+};
    (@type $ty:ty, $key_type:expr) => { $key_type };
    (@type $ty:ty) => { <$ty as $crate::definition::syntax::KeyValue>::TYPE };
    (@decode $ty:ty, $fields:expr, $spec:expr, $decoder:expr, [required $($others:ident)*], $decode:path) => {{
        let spec = $spec;
        $decoder.required($fields, spec.name).and_then(|node| $decode(node, spec.name, $decoder))
    }};
    (@decode $ty:ty, $fields:expr, $spec:expr, $decoder:expr, [$($properties:ident)*], $decode:path) => {{
        let spec = $spec;
        Some($fields.get(spec.name).map(|node| $decode(node, spec.name, $decoder)).unwrap_or_default())
    }};
    (@decode $ty:ty, $fields:expr, $spec:expr, $decoder:expr, [$($properties:ident)*]) => {
        $decoder.value::<$ty>($fields, $spec)
    };
    (@absent $ty:ty, $spec:expr, [required $($others:ident)*], $decode:path) => {{
        let _ = $spec;
        None
    }};
    (@absent $ty:ty, $spec:expr, [$($properties:ident)*], $decode:path) => {{
        let _ = $spec;
        Some(<$ty>::default())
    }};
    (@absent $ty:ty, $spec:expr, [$($properties:ident)*]) => {
        <$ty as $crate::definition::syntax::KeyValue>::absent($spec)
    };
}

macro_rules! settings {
    ($(
        $(#[doc = $what:literal])+
        pub struct $Struct:ident($($derive:ident),+): $TABLE:ident = ($name:literal, $called:literal $(, first $first:path)? $(, also $group:path)*) {
            $(
                $(#[doc = $about:literal])+
                [$narrowed:ident] $field:ident: $ty:ty = $key:literal $(as $key_type:expr)? $(=> $decode:path)? $(, $property:ident $(($value:expr))?)*;
            )+
        } $(plus { $($(#[$extra_doc:meta])+ $extra:ident: $extra_ty:ty,)+ })?
    )+) => {$(
        $crate::definition::keys::keys! {
            $(#[doc = $what])+
            pub struct $Struct($($derive),+): $TABLE = ($name, $called $(, first $first)? $(, also $group)*) {
                $(
                    $(#[doc = $about])+
                    $field: $ty = $key $(as $key_type)? $(=> $decode)? $(, $property $(($value))?)*;
                )+
            } $(plus { $($(#[$extra_doc])+ $extra: $extra_ty,)+ })?
        }

        impl Default for $Struct {
            fn default() -> $Struct {
                let mut specs = Self::OWN_KEYS.iter();
                $Struct {
                    $($field: specs
                        .next()
                        .and_then(|spec| $crate::definition::keys::keys!(@absent $ty, spec, [$($property)*] $(, $decode)?))
                        .unwrap_or_default(),)+
                    $($($extra: Default::default(),)+)?
                }
            }
        }

        impl $Struct {
            /// The same, with every policy narrowed by `present`: what either forbids is forbidden.
            #[must_use]
            pub fn narrowed_by(&self, present: &$Struct) -> $Struct {
                $Struct {
                    $($field: $crate::definition::keys::settings!(@$narrowed self.$field, present.$field),)+
                    $($($extra: self.$extra.clone(),)+)?
                }
            }
        }
    )+};
    (@own $own:expr, $present:expr) => {{
        let _ = &$present;
        $own.clone()
    }};
    (@inner $own:expr, $present:expr) => { $own.narrowed_by(&$present) };
    (@higher $own:expr, $present:expr) => { $crate::definition::keys::higher($own, $present) };
    (@lower $own:expr, $present:expr) => { $own.into_iter().chain($present).min() };
    (@both $own:expr, $present:expr) => { $own && $present };
    (@either $own:expr, $present:expr) => { $own || $present };
    (@common $own:expr, $present:expr) => {
        $own.iter().filter(|entry| $present.contains(entry)).cloned().collect()
    };
}

/// The higher of two values; `None` is the lowest.
pub(in crate::definition) fn higher<T: PartialOrd>(one: T, other: T) -> T {
    if other > one { other } else { one }
}

pub(in crate::definition) use {keys, settings};
