//! What surrounds a cell: the user namespace that makes it allowed, and its `/proc`.

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// Lets this process make namespaces: by the rights that it has, or in a user namespace in which it
/// and its files keep their owner. Gives the rights that it had.
pub(super) fn enter_user() -> io::Result<CapabilitySet> {
    let before = capabilities(None)?.effective;
    if before.contains(CapabilitySet::SYS_ADMIN) {
        return Ok(before);
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: this process has one thread, and no descriptor table is unshared.
    #[allow(unsafe_code)]
    unsafe {
        rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER)?;
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    Ok(before)
}

/// Gives a cell a `/proc` that shows it alone. Mounts below the old one are hidden, everything else
/// stays as it is, so that what a step mounts by its own right is seen outside as ever.
pub(super) fn own_proc() -> Result<(), Errno> {
    mount_change(c"/proc", MountPropagationFlags::PRIVATE)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"/proc", c"proc", flags, None)
}

/// Lets process ids begin somewhere else in each cell: scripts name files in `/tmp` after them, and
/// two cells would soon use the same. Without effect where the kernel does not offer it.
pub(super) fn spread_ids() {
    let most = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    let most: u64 = most.trim().parse().unwrap_or(32_768);
    let random = RandomState::new().hash_one(std::process::id());
    let _ = fs::write("/proc/sys/kernel/ns_last_pid", (300 + random % (most / 2)).to_string());
}

/// What the user namespace has given beyond the rights from before is for making cells, not for what
/// runs in them: a step of root must not mount over what the next step of its cell will run.
pub(super) fn keep_rights(before: CapabilitySet) {
    for right in CapabilitySet::all().iter().filter(|right| !before.contains(*right)) {
        let _ = rustix::thread::remove_capability_from_bounding_set(right);
    }
}
