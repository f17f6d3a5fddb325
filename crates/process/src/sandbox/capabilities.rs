//! The capabilities of sandboxed processes that run as root.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// The capabilities that root keeps in the sandbox: those of root in a container, without creating
/// devices, without raw sockets, which read the traffic of other programs of this machine, and without giving files
/// capabilities, with which others would run them. The others bypass file rules:
/// reading other processes, raw disks and memory, file handles.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops the capabilities that are not in [`KEPT`], for the calling thread and its children. Has an
/// effect for root only. It is permanent because the sandbox also sets `no_new_privs`.
pub(crate) fn drop_capabilities() -> std::io::Result<()> {
    let own = capabilities(None)?;
    if KEPT.contains(own.permitted) && KEPT.contains(own.inheritable) {
        return Ok(());
    }
    let kept = CapabilitySets {
        effective: own.effective & KEPT,
        permitted: own.permitted & KEPT,
        inheritable: own.inheritable & KEPT,
    };
    Ok(set_capabilities(None, kept)?)
}

/// Whether this process may create namespaces without a user namespace.
pub(crate) fn is_administrator() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN))
}
