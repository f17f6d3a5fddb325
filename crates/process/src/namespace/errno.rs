//! The error of the last system call of this thread.

use rustix::io::Errno;

/// The error of the last failed system call through `libc`.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
