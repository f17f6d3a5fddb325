//! Disks that are full, broken, or lose their power: the real binary over a library that is preloaded
//! (`tests/faults/disk.c`) and sees every change of the state folder.

mod broken;
mod device;
mod full;
mod log;
mod power_cut;
mod reopened;
mod scenario;
mod shim;
mod shim_tests;

pub(crate) use full::with_small_disk;
pub(crate) use log::{Op, Record, read_log};
pub(crate) use shim::{Deed, Fault, compiled};
