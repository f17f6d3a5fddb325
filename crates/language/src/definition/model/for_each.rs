//! `forEach:` and `matrix:`: one step instance per item (fan-out).

use crate::definition::keys::choices;
use crate::expression::{Template, ValueTemplate};

/// `forEach:` or `matrix:` of a step.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// Where the items come from.
    pub items: ItemSource,
    /// `as:`: name of the item in templates. Default: `item`; `matrix` for a matrix.
    pub name: String,
    /// Unique key of an item. `None`: what the source gives, such as the path of a file, else the index.
    pub key: Option<Template>,
    /// Maximum parallel items; the limit of the run applies as well.
    pub max_parallel: Option<u32>,
    /// What the failure of one item means for the others.
    pub on_item_error: OnItemError,
    /// `collect:`: the value of an item in the output of the step. `None`: the output of the item.
    pub collect: Option<ValueTemplate>,
}

choices! {
    /// `onItemError:`: what the failure of an item means for its step and the other items.
    #[derive(Default)]
    pub enum OnItemError {
        /// The step fails; items that have not started are cancelled.
        #[default]
        Fail = "fail",
        /// All items run, then the step fails.
        Finish = "finish",
        /// All items run, and the step does not fail.
        Continue = "continue",
    }
}

impl OnItemError {
    /// Whether the step fails if one of its items has failed.
    pub fn fails_the_step(self) -> bool {
        self != OnItemError::Continue
    }
}

/// Where the items of a step come from.
#[derive(Debug, Clone)]
pub enum ItemSource {
    /// A list, a map or a number.
    Value(ValueTemplate),
    /// The project files that match globs; a glob with `!` excludes files.
    Files(Box<[Template]>),
    /// The lines of a project file that are not empty.
    Lines(Template),
    /// All combinations of the values of some axes.
    Matrix(Matrix),
}

/// The combinations of a `matrix:`.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The axes in the order of the file; the last one varies fastest.
    pub axes: Vec<(String, ValueTemplate)>,
    /// Values that are added to matching combinations, or further ones.
    pub include: Option<ValueTemplate>,
    /// Combinations that are left out.
    pub exclude: Option<ValueTemplate>,
}

impl ForEach {
    /// Whether the items can have keys other than their index.
    pub fn can_have_keys(&self) -> bool {
        let given = match &self.items {
            ItemSource::Files(_) | ItemSource::Matrix(_) => true,
            ItemSource::Lines(_) => false,
            ItemSource::Value(ValueTemplate::Literal(value)) => value.is_object(),
            // The value may be a map.
            ItemSource::Value(_) => true,
        };
        given || self.key.is_some()
    }
}
