/// Lets large memory go back to the system as soon as it is free; to be called at the start.
///
/// Left alone, the C library does so until the first time, and from then on keeps holes of that size,
/// such as that of a definition's text.
pub fn return_large_memory() {
    // SAFETY: sets a number of the allocator, which any thread may at any time.
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// In bytes; the C library's own number for the first time.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 << 10;
