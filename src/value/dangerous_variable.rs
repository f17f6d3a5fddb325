//! Environment variables that make programs execute or load code.

/// Whether a variable makes programs execute or load code. Its value must never come from a
/// parameter, a model or a step. Case is ignored.
pub fn is_dangerous_variable(name: &str) -> bool {
    const FAMILIES: [&str; 6] = ["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "NPM_CONFIG_", "DOTNET_"];
    const NAMES: [&str; 38] = [
        "BASHOPTS",
        "BASH_ENV",
        "BASH_XTRACEFD",
        "CARGO_BUILD_RUSTC",
        "CARGO_BUILD_RUSTC_WRAPPER",
        "CDPATH",
        "CORECLR_PROFILER_PATH",
        "ENV",
        "GCONV_PATH",
        "GLIBC_TUNABLES",
        "GLOBIGNORE",
        "IFS",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "LESSCLOSE",
        "LESSOPEN",
        "LOCPATH",
        "MANPAGER",
        "NLSPATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PAGER",
        "PERL5DB",
        "PERL5LIB",
        "PERL5OPT",
        "PROMPT_COMMAND",
        "PS4",
        "PYTHONHOME",
        "PYTHONINSPECT",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "RUBYLIB",
        "RUBYOPT",
        "RUSTC",
        "RUSTC_WRAPPER",
        "SHELLOPTS",
        "ZDOTDIR",
        "_JAVA_OPTIONS",
    ];
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str()) || FAMILIES.iter().any(|family| name.starts_with(family))
}
