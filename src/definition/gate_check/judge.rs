//! `judge:`: a model reviews the output. Not supported yet; a gate with it is inconclusive.

use super::spec::CheckKind;
use crate::definition::model::Check;

pub(super) static JUDGE: CheckKind =
    CheckKind { key: "judge", decode: |_, _, _| Some(Check::NotYet("judge")) };
