/// Lets all threads of this process share one heap; to be called before there is a second one.
///
/// The C library gives each thread a heap of its own, so what reading a definition leaves free would
/// not serve the run, which goes on in other threads. Where few of them allocate at the same time,
/// nothing is lost by it.
///
/// What is large goes back to the system once it is free. Left alone, the C library does so until the
/// first time, and from then on would keep holes of the size of a definition's text.
pub fn share_heap() {
    // SAFETY: sets numbers of the allocator, which any thread may at any time.
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// In bytes; the C library's own number for the first time.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 << 10;
