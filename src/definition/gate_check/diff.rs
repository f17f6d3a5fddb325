//! `diff:`: limits which files may change. Not supported yet; a gate with it is inconclusive.

use super::spec::CheckKind;
use crate::definition::model::Check;

pub(super) static DIFF: CheckKind =
    CheckKind { key: "diff", decode: |_, _, _| Some(Check::NotYet("diff")) };
