use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// What root keeps in the sandbox: what containers give their root, without making devices. The
/// rest goes around file rules: reading other processes, raw disks and memory, file handles.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW);

/// Gives up, for the calling thread and what it starts, the capabilities that the sandbox does not
/// hold. Without effect for everybody but root. It lasts because no new privileges are gained on
/// `exec`, which the sandbox sets as well.
pub(in crate::process) fn drop_capabilities() -> std::io::Result<()> {
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
