//! Masks the texts of a value while it is serialised. Names of fields and of variants stay, so that the
//! value can be read back even if a secret has the same text.

use super::{Masked, Redactor};
use kb_base::value::Json;
use serde::ser::{self, Serialize, Serializer};
use std::fmt::Display;

impl Redactor {
    /// The serialised form of a value with masked texts. Numbers, names of fields and names of variants
    /// stay. `None` if the value cannot be serialised.
    pub fn mask_serialized<T: Serialize>(&self, value: &T) -> Option<Masked<Json>> {
        serde_json::to_value(Fields { value, redactor: self }).ok().map(Masked::new)
    }
}

/// A value whose texts are masked when it is serialised.
struct Fields<'r, T: ?Sized> {
    value: &'r T,
    redactor: &'r Redactor,
}

impl<T: Serialize + ?Sized> Serialize for Fields<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Masking { inner: serializer, redactor: self.redactor })
    }
}

/// A serializer, or the serializer of a list or map, that masks texts.
struct Masking<'r, S> {
    inner: S,
    redactor: &'r Redactor,
}

impl<'r, S> Masking<'r, S> {
    fn fields<'a, T: ?Sized>(&self, value: &'a T) -> Fields<'a, T>
    where
        'r: 'a,
    {
        Fields { value, redactor: self.redactor }
    }
}

/// Methods that pass a value on unchanged.
macro_rules! unchanged {
    ($($method:ident($type:ty)),* $(,)?) => {
        $(fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$method(value)
        })*
    };
}

/// Methods that start a list or map.
macro_rules! compounds {
    ($($method:ident($($name:ident: $type:ty),*) -> $compound:ident),* $(,)?) => {
        $(fn $method(self, $($name: $type),*) -> Result<Self::$compound, S::Error> {
            let inner = self.inner.$method($($name),*)?;
            Ok(Masking { inner, redactor: self.redactor })
        })*
    };
}

impl<'r, S: Serializer> Serializer for Masking<'r, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Masking<'r, S::SerializeSeq>;
    type SerializeTuple = Masking<'r, S::SerializeTuple>;
    type SerializeTupleStruct = Masking<'r, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Masking<'r, S::SerializeTupleVariant>;
    type SerializeMap = Masking<'r, S::SerializeMap>;
    type SerializeStruct = Masking<'r, S::SerializeStruct>;
    type SerializeStructVariant = Masking<'r, S::SerializeStructVariant>;

    unchanged! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_i128(i128), serialize_u8(u8), serialize_u16(u16),
        serialize_u32(u32), serialize_u64(u64), serialize_u128(u128), serialize_f32(f32),
        serialize_f64(f64), serialize_bytes(&[u8]), serialize_unit_struct(&'static str),
    }

    compounds! {
        serialize_seq(length: Option<usize>) -> SerializeSeq,
        serialize_tuple(length: usize) -> SerializeTuple,
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct,
        serialize_tuple_variant(
            name: &'static str, index: u32, variant: &'static str, length: usize
        ) -> SerializeTupleVariant,
        serialize_map(length: Option<usize>) -> SerializeMap,
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct,
        serialize_struct_variant(
            name: &'static str, index: u32, variant: &'static str, length: usize
        ) -> SerializeStructVariant,
    }

    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        self.inner.serialize_str(&self.redactor.mask_text(text))
    }

    fn serialize_char(self, letter: char) -> Result<S::Ok, S::Error> {
        self.inner.serialize_char(letter)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let value = self.fields(value);
        self.inner.serialize_some(&value)
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.fields(value);
        self.inner.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.fields(value);
        self.inner.serialize_newtype_variant(name, index, variant, &value)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serialize_str(&value.to_string())
    }
}

/// A list, whose elements are masked.
macro_rules! list {
    ($($trait:ident::$method:ident),* $(,)?) => {
        $(impl<S: ser::$trait> ser::$trait for Masking<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                let value = self.fields(value);
                self.inner.$method(&value)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        })*
    };
}

list! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

/// Fields with static names, whose values are masked.
macro_rules! named {
    ($($trait:ident),* $(,)?) => {
        $(impl<S: ser::$trait> ser::$trait for Masking<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                let value = self.fields(value);
                self.inner.serialize_field(name, &value)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        })*
    };
}

named! { SerializeStruct, SerializeStructVariant }

impl<S: ser::SerializeMap> ser::SerializeMap for Masking<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        let key = self.fields(key);
        self.inner.serialize_key(&key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        let value = self.fields(value);
        self.inner.serialize_value(&value)
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.inner.end()
    }
}
