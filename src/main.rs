//! The `kb` program. Everything is in the library.

fn main() -> std::process::ExitCode {
    kb::process::keep_inherited_files();
    kb::process::run_init_process().unwrap_or_else(kb::cli::main)
}
