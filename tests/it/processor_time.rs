//! The processor time of threads and processes: what something costs on a machine that does other work too.

use std::time::Duration;

/// What this thread has used.
pub(crate) fn of_thread() -> Duration {
    // Nanoseconds, where the kernel counts them.
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split(' ').next().and_then(|count| count.parse().ok()) {
        Some(count) if count > 0 => Duration::from_nanos(count),
        _ => ticks("/proc/thread-self/stat"),
    }
}

/// What all threads of a process have used, in steps of 10 ms.
pub(crate) fn of_process(pid: u32) -> Duration {
    ticks(&format!("/proc/{pid}/stat"))
}

fn ticks(path: &str) -> Duration {
    let stat = std::fs::read_to_string(path).unwrap();
    // The fields follow the name, which stands in brackets and may hold anything.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let count = |field: &str| field.parse::<u64>().unwrap();
    Duration::from_millis(10 * fields.split(' ').skip(11).take(2).map(count).sum::<u64>())
}
