//! Files that the caller of `kb` left open.

/// Keeps the files that this process inherited, apart from the standard streams, from the processes that it starts: a
/// command would read and write them whatever the sandbox permits. To be called first, before other threads start.
///
/// The files stay open here, because an argument can name one (`--params <(command)`).
pub fn keep_inherited_files() {
    #[cfg(target_os = "linux")]
    if close_all_on_exec() {
        return;
    }
    let entries = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.filter(|number| *number > 2) {
        // SAFETY: setting a flag of a descriptor touches no memory, and one that is closed is an error.
        #[allow(unsafe_code)]
        unsafe {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// One system call for all, from Linux 5.11.
#[cfg(target_os = "linux")]
fn close_all_on_exec() -> bool {
    // SAFETY: setting flags of descriptors touches no memory.
    #[allow(unsafe_code)]
    let done = unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    done == 0
}
