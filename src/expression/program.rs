//! What a parsed expression is at run time: a read, a constant, or compiled code over such slots.

use super::convert::{from_value, to_value};
use super::engine;
use super::evaluate::Scope;
use super::fault::Fault;
use super::reference::Root;
use super::resolve::Key;
use crate::value::Json;
use minijinja::value::{Enumerator, Object, Value};
use std::fmt;
use std::sync::Arc;

/// A read of a path below a root; needs no engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) root: Root,
    pub(super) path: Vec<Key>,
}

/// An evaluable expression.
#[derive(Debug, Clone)]
pub(super) enum Program {
    /// Only a path, which is what most placeholders are.
    Read(Read),
    /// A literal.
    Constant(Json),
    /// Anything else.
    Compiled(Arc<Compiled>),
}

/// Code of the engine with the slots that it reads.
pub(super) struct Compiled {
    code: minijinja::Expression<'static, 'static>,
    slots: Vec<Slot>,
}

/// What a variable `vN` of lowered source stands for.
#[derive(Debug, Clone)]
pub(super) enum Slot {
    Read(Read),
    Constant(Value),
}

impl Compiled {
    /// Compiles lowered source.
    pub(super) fn new(source: String, slots: Vec<Slot>) -> Result<Self, Fault> {
        let code = engine::compile(source).map_err(Fault::of_engine)?;
        Ok(Compiled { code, slots })
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl Program {
    /// The value; `None` is undefined.
    pub(super) fn value(&self, scope: &dyn Scope) -> Result<Option<Json>, Fault> {
        match self {
            Program::Read(read) => Ok(read.with(scope, Json::clone)),
            Program::Constant(json) => Ok(Some(json.clone())),
            Program::Compiled(compiled) => compiled.value(scope),
        }
    }

    /// Shows the value to a function; `None` where it is undefined. Reads are not copied for it.
    pub(super) fn with<T>(
        &self,
        scope: &dyn Scope,
        look: impl FnOnce(&Json) -> T,
    ) -> Result<Option<T>, Fault> {
        match self {
            Program::Read(read) => Ok(read.with(scope, look)),
            Program::Constant(json) => Ok(Some(look(json))),
            Program::Compiled(compiled) => Ok(compiled.value(scope)?.as_ref().map(look)),
        }
    }
}

impl Compiled {
    fn value(&self, scope: &dyn Scope) -> Result<Option<Json>, Fault> {
        let slots = self.slots.iter().map(|slot| match slot {
            Slot::Read(read) => read.with(scope, to_value).unwrap_or(Value::UNDEFINED),
            Slot::Constant(value) => value.clone(),
        });
        let context = Value::from_object(Slots(slots.collect()));
        let value = self.code.eval(context).map_err(Fault::of_engine)?;
        match value.is_undefined() {
            true => Ok(None),
            false => from_value(&value).map(Some),
        }
    }
}

impl Read {
    fn with<T>(&self, scope: &dyn Scope, look: impl FnOnce(&Json) -> T) -> Option<T> {
        let has_fields = matches!(self.root, Root::Step(_) | Root::Run | Root::Loop);
        let (field, path) = match (has_fields, self.path.split_first()) {
            (true, Some((Key::Name(field), rest))) => (Some(field.as_str()), rest),
            _ => (None, self.path.as_slice()),
        };
        let base = scope.lookup(&self.root, field)?;
        path.iter().try_fold(&*base, below).map(look)
    }
}

/// What a key finds in a value.
fn below<'j>(json: &'j Json, key: &Key) -> Option<&'j Json> {
    match (json, key) {
        (Json::Object(map), Key::Name(name)) => map.get(name),
        (Json::Array(items), Key::Index(index)) => match usize::try_from(*index) {
            Ok(index) => items.get(index),
            Err(_) => {
                let back = usize::try_from(index.unsigned_abs()).ok()?;
                items.get(items.len().checked_sub(back)?)
            }
        },
        _ => None,
    }
}

/// Whether a value counts as true: all but null, false, 0 and what is empty.
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

/// The variables `v0`, `v1`, … of lowered source.
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
