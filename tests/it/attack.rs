//! What somebody would try who wants out: paths, URLs and commands that are meant to do harm, each
//! with what must come of it. A table a subject; every row is an attempt.

<<<<<<< HEAD
mod outputs;
=======
mod escapes;
>>>>>>> 8e350d9 (process: give sandboxed commands their own root, network and system call filter; workspace: protect what git executes)
mod paths;
mod sandbox;
mod terminal;
mod unproven;
mod urls;
