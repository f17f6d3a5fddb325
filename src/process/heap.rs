/// Lets all threads of this process share one heap; to be called before there is a second one.
///
/// The C library gives each thread a heap of its own, so what reading a definition leaves free would
/// not serve the run, which goes on in other threads. Where few of them allocate at the same time,
/// nothing is lost by it.
pub fn share_heap() {
    // SAFETY: sets a number of the allocator, which any thread may at any time.
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
