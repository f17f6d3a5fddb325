//! Runs steps in PID namespaces, so that the kernel ends every process that a step leaves behind.
//!
//! `kb` starts itself again as the *init process*. The init process creates *namespace workers*. A
//! worker is PID 1 of a PID namespace with its own `/proc`. It starts one process at a time. When
//! the main process of a step has ended, the worker asks the kernel whether it has children left.
//! Orphans in the namespace have no other parent, so the answer is exact and costs one system call.
//! One `kill(-1)` ends what is left: a fork bomb cannot outrun it, and it reaches nothing outside
//! the namespace. A worker with no processes left serves the next step.
//!
//! How each process ends:
//!
//! * `kb` has a socket to the init process and one to each worker. All close when `kb` is killed.
//!   Each worker then ends, and the kernel ends its namespace. The init process waits for that and
//!   removes the temporary directory.
//! * When the init process is killed, the parent death signal ends each worker.
//! * When a worker is killed, `kb` sees its socket close, waits until the kernel has ended the
//!   namespace, and reports the step as lost.
//!
//! These processes have no terminal, so Ctrl-C reaches `kb` only. A step can neither see nor signal
//! the init process, and its signals cannot end PID 1.
//!
//! [`init_process`] and [`worker_process`] run in the re-executed program: single-threaded, without
//! a runtime, settings or journal. [`WorkerPool`], [`Worker`], [`init_link`] and [`listener`] run
//! in `kb`. Start reading at [`WorkerPool::start`].

mod clone;
mod errno;
mod init_link;
mod init_process;
mod isolation;
mod kept;
mod landlock_rule;
mod launch;
mod listener;
mod loopback;
mod message;
mod network_counters;
mod new_root;
mod pool;
mod setup;
mod signals;
mod socket;
mod worker;
mod worker_process;

pub use init_process::run_init_process;
pub(super) use pool::WorkerPool;
pub(super) use worker::Worker;
