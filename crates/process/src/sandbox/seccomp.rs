//! The system calls that a sandboxed process may not use: those that reach other processes, kernel
//! keyrings, mounts and namespaces, whatever the file rules say.

use super::denied_calls::{ABSENT, DENIED};
use super::isolation::Isolation;
use libc::{
    BPF_ABS, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_JUMP, BPF_K, BPF_LD, BPF_RET,
    BPF_STMT, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, c_long, sock_filter, sock_fprog,
};
use rustix::io::Errno;

/// The set-user-ID and set-group-ID bits of a mode. A file of the project that has them runs as the user of `kb` for
/// everybody.
const SET_ID: u32 = 0o6000;
/// System calls that set a mode, with the argument that has it.
const MODES: &[(c_long, u32)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
];
/// System calls that can create a file, with the argument that has the flags; the next one has the mode.
const OPENS: &[(c_long, u32)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];
/// The flags of a call that creates a file.
const CREATES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;
/// System calls whose first argument is a process; 0 is the caller.
const OWN_PROCESS: [c_long; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setaffinity,
];
/// System calls whose first argument says what the second is, with the value for a process.
const OWN_PRIORITY: [(c_long, u32); 2] = [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];
/// System V IPC, for systems without IPC namespaces: also what takes the number of an object, which everybody can list.
const SHARED_MEMORY: [c_long; 11] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
];
/// Requests to a terminal that make input of it, as if a person had typed.
const TYPING: [u32; 2] = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
/// How many calls with the same answer are compared in a row.
const ROW: usize = 4;
/// All `CLONE_NEW…` flags.
const NEW_NAMESPACES: u32 = 0x7e02_0080;
/// Unix, IPv4, IPv6 and netlink sockets. Others do not belong to the network namespace.
const FAMILIES: [u32; 4] =
    [libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xc000_00f3;

/// The offsets in `struct seccomp_data`: number, architecture, and the low half of an argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// A filter program for the kernel. It is built before the child starts and has no pointers into
/// itself.
pub(crate) struct SystemCallFilter(Vec<sock_filter>);

impl SystemCallFilter {
    /// The filter of a process that is isolated in these ways.
    pub(crate) fn new(isolation: Isolation) -> SystemCallFilter {
        let mut filter = SystemCallFilter(Vec::with_capacity(512));
        // System calls of another architecture have other numbers.
        filter.load(ARCH);
        filter.jump(BPF_JEQ, ARCHITECTURE, 1, 0);
        filter.fail(libc::ENOSYS);
        filter.load(NUMBER);
        #[cfg(target_arch = "x86_64")]
        {
            // The bit of the x32 ABI.
            filter.jump(BPF_JSET, 0x4000_0000, 0, 1);
            filter.fail(libc::ENOSYS);
        }
        filter.search(&mut rules(isolation));
        filter
    }

    /// Adds a search for the number of the call, by halves: the kernel tries a new filter with every number, so that a
    /// list of all costs more than the start of a program. A call without a rule is permitted.
    fn search(&mut self, rules: &mut [Rule]) {
        rules.sort_by_key(|(number, _)| *number);
        let answers: Vec<Option<u32>> =
            rules.iter().map(|(_, block)| block.only_answer()).collect();
        match rules {
            [] => self.allow(),
            // One answer for all, at the end of a row of comparisons.
            [_, ..]
                if rules.len() <= ROW
                    && answers[0].is_some()
                    && answers.iter().all(|one| *one == answers[0]) =>
            {
                for (at, (number, _)) in rules.iter().enumerate() {
                    self.jump(BPF_JEQ, *number, (rules.len() - at) as u8, 0);
                }
                self.allow();
                self.push(BPF_RET | BPF_K, answers[0].unwrap_or_default());
            }
            [(number, block)] => {
                self.jump(BPF_JEQ, *number, 0, block.0.len() as u8);
                self.0.append(&mut block.0);
                self.allow();
            }
            _ => {
                let (below, from) = rules.split_at_mut(rules.len() / 2);
                let first = from.first().map_or(0, |(number, _)| *number);
                let mut inner = SystemCallFilter(Vec::new());
                inner.search(below);
                // The jump of a comparison is too short for half of the rules.
                self.jump(BPF_JGE, first, 0, 1);
                self.push(BPF_JMP | BPF_JA, inner.0.len() as u32);
                self.0.append(&mut inner.0);
                self.search(from);
            }
        }
    }

    /// Applies the filter to the calling thread and its children, permanently. Needs
    /// `no_new_privs`.
    pub(crate) fn install(&self) -> Result<(), Errno> {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the program has the given length; the kernel copies it and does not change it.
        #[allow(unsafe_code)]
        let done = unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        match done {
            0 => Ok(()),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::PERM)),
        }
    }

    /// Fails if a mode sets the user or the group of a program.
    fn without_set_id(&mut self, argument: u32) {
        self.load(argument);
        self.jump(BPF_JSET, SET_ID, 0, 1);
        self.fail(libc::EPERM);
    }

    /// Fails unless an argument has this value.
    fn require(&mut self, argument: u32, value: u32) {
        self.load(argument);
        self.jump(BPF_JEQ, value, 1, 0);
        self.fail(libc::EPERM);
    }

    /// Fails if a process id is not one of this sandbox. A PID namespace contains one other process:
    /// its worker, with the id 1. Without one, only 0, the caller, is certain.
    fn not_outside(&mut self, argument: u32, in_namespace: bool) {
        if !in_namespace {
            return self.require(argument, 0);
        }
        self.load(argument);
        self.jump(BPF_JEQ, 1, 0, 1);
        self.fail(libc::EPERM);
    }

    /// The answer of a block that reads no argument.
    fn only_answer(&self) -> Option<u32> {
        let first = self.0.first()?;
        (u32::from(first.code) == BPF_RET | BPF_K).then_some(first.k)
    }

    fn load(&mut self, offset: u32) {
        self.push(BPF_LD | BPF_W | BPF_ABS, offset);
    }

    fn fail(&mut self, errno: i32) {
        self.push(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errno as u32);
    }

    fn allow(&mut self) {
        self.push(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }

    fn push(&mut self, code: u32, value: u32) {
        // SAFETY: builds a value; there are no conditions.
        #[allow(unsafe_code)]
        self.0.push(unsafe { BPF_STMT(code as u16, value) });
    }

    fn jump(&mut self, test: u32, value: u32, then: u8, otherwise: u8) {
        // SAFETY: builds a value; there are no conditions.
        #[allow(unsafe_code)]
        self.0.push(unsafe { BPF_JUMP((BPF_JMP | test | BPF_K) as u16, value, then, otherwise) });
    }
}

/// What is done about one system call: a block that ends with an answer.
type Rule = (u32, SystemCallFilter);

/// The rules for a process that is isolated in these ways, one for each number.
fn rules(isolation: Isolation) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::with_capacity(128);
    let mut on = |number: c_long, block: &dyn Fn(&mut SystemCallFilter)| {
        let mut inner = SystemCallFilter(Vec::new());
        block(&mut inner);
        inner.allow();
        rules.push((number as u32, inner));
    };
    let in_namespace = isolation.has(Isolation::MOUNTS);
    let shared_memory = if in_namespace { &[][..] } else { &SHARED_MEMORY };
    for number in DENIED.iter().chain(shared_memory) {
        on(*number, &|filter| filter.fail(libc::EPERM));
    }
    for number in ABSENT {
        on(number, &|filter| filter.fail(libc::ENOSYS));
    }
    for number in OWN_PROCESS {
        on(number, &|filter| filter.not_outside(argument(0), in_namespace));
    }
    for (number, process) in OWN_PRIORITY {
        on(number, &|filter| {
            filter.require(argument(0), process);
            filter.not_outside(argument(1), in_namespace);
        });
    }
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        on(number, &|filter| {
            filter.load(argument(0));
            filter.jump(BPF_JSET, NEW_NAMESPACES, 0, 1);
            filter.fail(libc::EPERM);
        });
    }
    for (number, mode) in MODES {
        on(*number, &|filter| filter.without_set_id(argument(*mode)));
    }
    for (number, flags) in OPENS {
        on(*number, &|filter| {
            let mut creates = SystemCallFilter(Vec::new());
            creates.without_set_id(argument(flags + 1));
            filter.load(argument(*flags));
            filter.jump(BPF_JSET, CREATES, 0, creates.0.len() as u8);
            filter.0.append(&mut creates.0);
        });
    }
    on(libc::SYS_ioctl, &|filter| {
        filter.load(argument(1));
        for request in TYPING {
            filter.jump(BPF_JEQ, request, 0, 1);
            filter.fail(libc::EPERM);
        }
    });
    let families: &[u32] =
        if isolation.has(Isolation::NO_SOCKETS) { &FAMILIES[..1] } else { &FAMILIES };
    on(libc::SYS_socket, &|filter| {
        filter.load(argument(0));
        for family in families {
            filter.jump(BPF_JEQ, *family, 0, 1);
            filter.allow();
        }
        filter.fail(libc::EACCES);
    });
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of a filter for a system call without arguments, and the number of instructions that it took.
    fn answer(filter: &SystemCallFilter, number: u32) -> (u32, usize) {
        let (mut at, mut value, mut steps) = (0, 0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = filter.0[at];
            steps += 1;
            at += 1;
            let code = u32::from(code);
            let skip = |taken: bool| usize::from(if taken { jt } else { jf });
            if code == BPF_RET | BPF_K {
                return (k, steps);
            } else if code == BPF_LD | BPF_W | BPF_ABS {
                value = [(NUMBER, number), (ARCH, ARCHITECTURE)]
                    .into_iter()
                    .find_map(|(offset, value)| (offset == k).then_some(value))
                    .unwrap_or(0);
            } else if code == BPF_JMP | BPF_JA {
                at += k as usize;
            } else if code == BPF_JMP | BPF_JEQ | BPF_K {
                at += skip(value == k);
            } else if code == BPF_JMP | BPF_JGE | BPF_K {
                at += skip(value >= k);
            } else {
                assert_eq!(code, BPF_JMP | BPF_JSET | BPF_K);
                at += skip(value & k != 0);
            }
        }
    }

    #[test]
    fn each_call_gets_its_answer_after_a_few_comparisons() {
        let isolations = [
            Isolation::default(),
            Isolation::default().with(Isolation::MOUNTS).with(Isolation::NETWORK),
            Isolation::default().with(Isolation::NO_SOCKETS),
        ];
        for isolation in isolations {
            let filter = SystemCallFilter::new(isolation);
            let denied = SECCOMP_RET_ERRNO | libc::EPERM as u32;
            let absent = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
            let no_family = SECCOMP_RET_ERRNO | libc::EACCES as u32;
            let has_mounts = isolation.has(Isolation::MOUNTS);
            let number = |number: &c_long| *number as u32;
            for at in 0..600 {
                let expected = match () {
                    () if DENIED.iter().map(number).any(|own| own == at) => denied,
                    () if ABSENT.iter().map(number).any(|own| own == at) => absent,
                    () if !has_mounts && SHARED_MEMORY.iter().map(number).any(|own| own == at) => {
                        denied
                    }
                    // The priority of a process group, and of an I/O class that does not exist.
                    () if at == libc::SYS_ioprio_set as u32 => denied,
                    // The family 0.
                    () if at == libc::SYS_socket as u32 => no_family,
                    () => SECCOMP_RET_ALLOW,
                };
                let (found, steps) = answer(&filter, at);
                assert_eq!(found, expected, "{at}");
                assert!(steps < 40, "{at}: {steps}");
            }
            let mut numbers: Vec<u32> =
                rules(isolation).iter().map(|(number, _)| *number).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all);
        }
    }
}
