//! What a process tried to reach in a network namespace of its own: the kernel counts it.

use crate::result::Unreached;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The counters of the network namespace of a process. They stay readable after its end.
pub(super) struct NetworkCounters {
    file: OwnedFd,
    /// The values before the first process.
    before: String,
}

impl NetworkCounters {
    /// Those of this process, without their values. Makes only one system call.
    pub(super) fn open() -> Result<NetworkCounters, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(c"/proc/self/net/snmp", flags, Mode::empty())?;
        Ok(NetworkCounters { file, before: String::new() })
    }

    /// The same with the values of now as those before the first process.
    pub(super) fn with_values(self) -> NetworkCounters {
        NetworkCounters { before: self.text(), ..self }
    }

    pub(super) fn try_clone(&self) -> Option<NetworkCounters> {
        let file = self.file.try_clone().ok()?;
        Some(NetworkCounters { file, before: self.before.clone() })
    }

    /// Whether no process has used the network.
    pub(super) fn are_unchanged(&self) -> bool {
        self.text() == self.before
    }

    /// What has been tried so far.
    pub(super) fn unreached(&self) -> Unreached {
        unreached(&self.text())
    }

    fn text(&self) -> String {
        const SIZE: usize = 16 << 10;
        let mut text = vec![0; SIZE];
        let length = rustix::io::pread(&self.file, &mut text, 0).unwrap_or_default();
        text.truncate(length);
        String::from_utf8_lossy(&text).into_owned()
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
