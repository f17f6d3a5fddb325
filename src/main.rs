//! The `kb` program. Everything is in the library.

fn main() -> std::process::ExitCode {
    kb::cli::main()
}
