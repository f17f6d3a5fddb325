/// Lets large memory go back to the system as soon as it is free; to be called at the start.
///
/// Left alone, the C library does so until the first time, and from then on keeps holes of that size,
/// such as that of a definition's text. What is made and left with each step, such as the list of a
/// workspace's files, is below that: to allocate its pages again took as long as a tenth of a scan.
pub fn return_large_memory() {
    // SAFETY: sets numbers of the allocator, which any thread may at any time.
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 4 * LARGE);
    }
}

/// In bytes.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 256 << 10;
