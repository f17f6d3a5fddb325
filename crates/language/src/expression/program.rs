//! The compiled form of an expression: a read, a constant, or compiled code over slots.

use super::convert::{from_value, to_value};
use super::engine;
use super::fault::Fault;
use super::keys::KeyRef;
use super::reference::{Reference, Root};
use super::scope::Scope;
use kb_base::value::Json;
use minijinja::value::{Enumerator, Object, Value};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An evaluable expression.
#[derive(Debug)]
pub(super) enum Program {
    /// A plain path, evaluated without minijinja.
    Read(Reference),
    /// A literal value.
    Constant(Box<Json>),
    /// Any other expression.
    Compiled(Box<Compiled>),
}

/// Code of minijinja with its slots.
pub(super) struct Compiled {
    code: minijinja::Expression<'static, 'static>,
    slots: Box<[Slot]>,
    references: Box<[Reference]>,
}

/// The value of a variable `vN` in generated source.
#[derive(Debug)]
pub(super) enum Slot {
    /// The reference with this number, at this part of the text.
    Read(usize, Range<usize>),
    Constant(Value),
}

impl Compiled {
    /// Compiles generated source.
    pub(super) fn new(
        source: String,
        slots: Vec<Slot>,
        references: Vec<Reference>,
    ) -> Result<Self, Fault> {
        let code = engine::compile(source).map_err(Fault::of_engine)?;
        Ok(Compiled { code, slots: slots.into(), references: references.into() })
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Compiled");
        text.field("slots", &self.slots).field("references", &self.references);
        text.finish_non_exhaustive()
    }
}

impl Program {
    /// All references, in order.
    pub(super) fn references(&self) -> &[Reference] {
        match self {
            Program::Read(reference) => std::slice::from_ref(reference),
            Program::Constant(_) => &[],
            Program::Compiled(compiled) => &compiled.references,
        }
    }

    /// Evaluates; `None` means undefined.
    pub(super) fn value(&self, scope: &dyn Scope) -> Result<Option<Json>, Fault> {
        match self {
            Program::Read(reference) => Ok(read(reference, scope, Json::clone)),
            Program::Constant(json) => Ok(Some(Json::clone(json))),
            Program::Compiled(compiled) => compiled.value(scope),
        }
    }

    /// The parts of the text that read a value other than a secret, with it.
    pub(super) fn reads(&self, scope: &dyn Scope) -> Vec<(Range<usize>, Option<Json>)> {
        let Program::Compiled(compiled) = self else { return Vec::new() };
        let of_slot = |slot: &Slot| match slot {
            Slot::Read(at, range) => {
                let reference = &compiled.references[*at];
                let is_secret = matches!(reference.root, Root::Secret(_));
                (!is_secret).then(|| (range.clone(), read(reference, scope, Json::clone)))
            }
            Slot::Constant(_) => None,
        };
        compiled.slots.iter().filter_map(of_slot).collect()
    }

    /// Passes the value to a function without a copy; `None` if it is undefined.
    pub(super) fn with<T>(
        &self,
        scope: &dyn Scope,
        inspect: impl FnOnce(&Json) -> T,
    ) -> Result<Option<T>, Fault> {
        match self {
            Program::Read(reference) => Ok(read(reference, scope, inspect)),
            Program::Constant(json) => Ok(Some(inspect(json))),
            Program::Compiled(compiled) => Ok(compiled.value(scope)?.as_ref().map(inspect)),
        }
    }
}

impl Compiled {
    fn value(&self, scope: &dyn Scope) -> Result<Option<Json>, Fault> {
        let slots = self.slots.iter().map(|slot| match slot {
            Slot::Read(at, _) => {
                read(&self.references[*at], scope, to_value).unwrap_or(Value::UNDEFINED)
            }
            Slot::Constant(value) => value.clone(),
        });
        let context = Value::from_object(Slots(slots.collect()));
        let value = self.code.eval(context).map_err(Fault::of_engine)?;
        if value.is_undefined() { Ok(None) } else { from_value(&value).map(Some) }
    }
}

/// Passes the value of a path to a function; `None` if it is undefined.
pub(super) fn read<T>(
    reference: &Reference,
    scope: &dyn Scope,
    inspect: impl FnOnce(&Json) -> T,
) -> Option<T> {
    let mut keys = reference.keys.iter().peekable();
    let has_fields = matches!(reference.root, Root::Step(_) | Root::Run | Root::Loop);
    let is_field = |key: &KeyRef<'_>| has_fields && matches!(key, KeyRef::Name(_));
    let field = match keys.next_if(is_field) {
        Some(KeyRef::Name(field)) => Some(field),
        _ => None,
    };
    let base = scope.lookup(&reference.root, field)?;
    keys.try_fold(&*base, below).map(inspect)
}

/// The value of a key inside a value.
fn below<'j>(json: &'j Json, key: KeyRef<'_>) -> Option<&'j Json> {
    match (json, key) {
        (Json::Object(map), KeyRef::Name(name)) => map.get(name),
        (Json::Array(items), KeyRef::Index(index)) => match usize::try_from(index) {
            Ok(index) => items.get(index),
            Err(_) => {
                let back = usize::try_from(index.unsigned_abs()).ok()?;
                items.get(items.len().checked_sub(back)?)
            }
        },
        _ => None,
    }
}

/// Whether a value is true: all values except null, false, 0 and empty ones.
pub(super) fn is_true(json: &Json) -> bool {
    match json {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(map) => !map.is_empty(),
    }
}

/// The variables `v0`, `v1`, … of generated source.
#[derive(Debug)]
struct Slots(Vec<Value>);

impl Object for Slots {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let at: usize = key.as_str()?.strip_prefix('v')?.parse().ok()?;
        self.0.get(at).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}
