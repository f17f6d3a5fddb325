//! What a process tried to reach in a network namespace of its own: the kernel counts it.

use crate::result::Unreached;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;

/// The counters of the network namespace of a process. They stay readable after its end.
pub(super) struct NetworkCounters(OwnedFd);

impl NetworkCounters {
    /// Those of this process. Makes only one system call.
    pub(super) fn of_this_process() -> Option<NetworkCounters> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(c"/proc/self/net/snmp", flags, Mode::empty());
        file.ok().map(NetworkCounters)
    }

    /// What has been tried so far.
    pub(super) fn unreached(self) -> Unreached {
        let mut text = String::new();
        let _ = File::from(self.0).read_to_string(&mut text);
        unreached(&text)
    }
}

/// Reads the counters: for each protocol a line with names and one with values.
fn unreached(text: &str) -> Unreached {
    let counted = |protocol: &str, name: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with(protocol));
        let (names, values) = (lines.next()?, lines.next()?);
        let at = names.split_whitespace().position(|one| one == name)?;
        values.split_whitespace().nth(at)?.parse::<u64>().ok()
    };
    let has = |protocol, name| counted(protocol, name).is_some_and(|count| count > 0);
    Unreached {
        // A question to a resolver on this machine finds no port.
        machines: has("Ip:", "OutNoRoutes") || has("Udp:", "NoPorts"),
        servers: has("Tcp:", "AttemptFails"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let text = "Ip: Forwarding OutNoRoutes\nIp: 2 3\nTcp: MaxConn AttemptFails\nTcp: -1 0\n";
        assert_eq!(unreached(text), Unreached { machines: true, servers: false });
        assert_eq!(unreached("Ip: 1"), Unreached::default());
    }
}
