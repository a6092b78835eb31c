//! Files that a shell or a version control system runs automatically.

/// Names of files in a home folder that a shell, a login or an interactive program runs.
pub const STARTUP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".kshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".forward",
    ".gdbinit",
    ".irbrc",
    ".lldbinit",
    ".pdbrc",
    ".pryrc",
    ".Rprofile",
];

/// Whether a shell or git runs the file at this path automatically: a start-up file, a hook or a scheduled job.
#[must_use]
pub fn shell_runs(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let last = parts.last().copied().unwrap_or_default();
    STARTUP.contains(&last)
        || parts.windows(3).any(|w| matches!(w, [".git", "hooks", _]))
        || parts.contains(&".husky")
        || parts.iter().any(|p| matches!(*p, "profile.d" | "init.d") || p.starts_with("cron."))
}
