//! One rule of a Landlock ruleset.

use super::errno::last_errno;
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::ffi::c_int;
use std::os::fd::AsRawFd;

/// Adds access below a directory to a ruleset.
pub(super) fn allow_below(
    rules: BorrowedFd<'_>,
    directory: &impl AsRawFd,
    access: u64,
) -> Result<(), Errno> {
    /// `struct landlock_path_beneath_attr`.
    #[repr(C, packed)]
    struct PathBeneath {
        allowed_access: u64,
        parent: c_int,
    }
    const PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { allowed_access: access, parent: directory.as_raw_fd() };
    // SAFETY: the structure is the one for this kind of rule.
    #[allow(unsafe_code)]
    let done = unsafe {
        let rule = &raw const rule;
        libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), PATH_BENEATH, rule, 0)
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}
