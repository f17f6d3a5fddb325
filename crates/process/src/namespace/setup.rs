//! The environment of a namespace worker: its user namespace, `/proc`, process ids and capabilities.

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// Gives this process the right to create namespaces. A process with `CAP_SYS_ADMIN` has it;
/// another enters a user namespace in which it keeps its user and group ids. Returns the
/// capabilities from before.
pub(super) fn enter_user_namespace() -> io::Result<CapabilitySet> {
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

/// Mounts a `/proc` that shows only the processes of this PID namespace. It hides mounts below the
/// old one. All other mounts stay shared, so that a mount made by a step with its own privileges is
/// visible outside.
pub(super) fn mount_proc() -> Result<(), Errno> {
    mount_change(c"/proc", MountPropagationFlags::PRIVATE)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"/proc", c"proc", flags, None)
}

/// Starts the process ids of this namespace at a random number. Scripts name files in `/tmp` after
/// their process id, and two namespaces would soon use the same names. Has no effect if the kernel
/// does not support it.
pub(super) fn randomize_pids() {
    let max = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    let max: u64 = max.trim().parse().unwrap_or(32_768);
    let random = RandomState::new().hash_one(std::process::id());
    let _ = fs::write("/proc/sys/kernel/ns_last_pid", (300 + random % (max / 2)).to_string());
}

/// Removes the capabilities that the user namespace added from the bounding set. Steps must not get
/// them: a step of root could mount over the files of the next step of this worker.
pub(super) fn limit_capabilities(before: CapabilitySet) {
    for capability in CapabilitySet::all().iter().filter(|one| !before.contains(*one)) {
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
}
