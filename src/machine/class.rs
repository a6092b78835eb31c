//! Classifies paths by their text alone, so that paths which do not exist have a class, too.

use super::Account;
use agrail_effects::startup::STARTUP;
use strum::{IntoStaticStr, VariantArray};

/// The role of a path on the machine and for the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    /// In the account's own home.
    OwnHome,
    /// In another account's home.
    OtherHome,
    /// In the superuser's home.
    SuperuserHome,
    /// A folder of programs.
    SystemBinary,
    /// Libraries and data of programs.
    SystemLibrary,
    /// The boot loader and kernel images.
    Boot,
    /// `/proc` and `/sys`.
    Kernel,
    /// `/`, and top-level folders that only contain other folders, such as `/home` and `/mnt`.
    Root,
    /// `/etc`.
    SystemConfig,
    /// `/var` and `/run`.
    SystemData,
    /// Passwords, keys, tokens.
    Credential,
    /// Files that run automatically later: start-up files, timers, hooks.
    Persistence,
    /// Files of a project that a build service, an editor or another tool runs automatically.
    Automation,
    /// The guard's own configuration, memory and record, and the settings of the agents that use it.
    Guard,
    /// Folders that everyone may write.
    Shared,
    /// Logs and histories.
    Log,
    /// Disks and other devices.
    Device,
    /// `/dev/null` and similar devices.
    Harmless,
    /// None of the other classes.
    Ordinary,
}

impl Class {
    /// Stable name, used by policies.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Rank of protection, 0..=18. If the classes of a path and of its resolved path differ, the higher rank wins.
    #[must_use]
    pub fn weight(self) -> u8 {
        match self {
            Self::Harmless => 0,
            Self::Ordinary => 1,
            Self::OwnHome => 2,
            Self::Shared => 3,
            Self::SystemData => 4,
            Self::OtherHome => 5,
            Self::SuperuserHome => 6,
            Self::SystemConfig => 7,
            Self::Log => 8,
            Self::SystemLibrary => 9,
            Self::SystemBinary => 10,
            Self::Kernel => 11,
            Self::Boot => 12,
            Self::Device => 13,
            Self::Automation => 14,
            Self::Persistence => 15,
            Self::Credential => 16,
            Self::Guard => 17,
            Self::Root => 18,
        }
    }
}

const HARMLESS: &[&str] =
    &["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "ptmx", "fd", "pts"];
const SECRET_ETC: &[&str] = &["shadow", "gshadow", "sudoers", "sudoers.d", "krb5.keytab", "pam.d"];
const PERSISTENT_ETC: &[&str] = &[
    "anacrontab",
    "init.d",
    "rc.local",
    "systemd",
    "profile",
    "profile.d",
    "bash.bashrc",
    "bashrc",
    "environment",
    "ld.so.preload",
    "ld.so.conf",
    "ld.so.conf.d",
    "inittab",
    "update-motd.d",
    "modules-load.d",
    "zsh",
    "csh.cshrc",
    "init",
    "incron.d",
];
const SECRET_HOME: &[&str] = &[
    ".gnupg",
    ".aws/credentials",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".docker/config.json",
    ".kube/config",
    ".config/gcloud",
    ".azure",
    ".npmrc",
    ".pypirc",
    ".vault-token",
    ".config/gh/hosts.yml",
    ".password-store",
    ".local/share/keyrings",
    ".smbcredentials",
    ".config/rclone/rclone.conf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".terraform.d/credentials.tfrc.json",
    ".config/hub",
    ".s3cfg",
    ".boto",
    "Library/Keychains",
];
/// Files of a project that a tool runs automatically, at any depth of the project.
const AUTOMATION: &[&[&str]] = &[
    &[".github", "workflows"],
    &[".github", "actions"],
    &[".gitlab-ci.yml"],
    &[".circleci"],
    &["Jenkinsfile"],
    &["azure-pipelines.yml"],
    &["bitbucket-pipelines.yml"],
    &[".travis.yml"],
    &[".drone.yml"],
    &[".buildkite"],
    &[".husky"],
    &[".pre-commit-config.yaml"],
    &[".vscode", "tasks.json"],
    &[".devcontainer"],
    &[".envrc"],
    &[".mcp.json"],
    &[".claude.json"],
    &[".claude", "agents"],
    &[".claude", "commands"],
    &[".claude", "skills"],
    &[".claude", "plugins"],
    &[".cursor", "mcp.json"],
    &[".git", "config"],
    &[".gitconfig"],
    &[".config", "git", "config"],
    &[".cargo", "config.toml"],
    &[".cargo", "bin"],
    &[".local", "bin"],
];
/// The same for files that determine whether the guard is asked.
const GUARD: &[&[&str]] = &[
    &[".claude", "settings.json"],
    &[".claude", "settings.local.json"],
    &[".claude", "hooks"],
    &[".codex", "hooks.json"],
    &[".codex", "config.toml"],
    &[".codex", "hooks"],
    // these contain the transcripts, and with them the user's requests
    &[".claude", "projects"],
    &[".codex", "sessions"],
    // the hooks of other hosts, and what switches them off
    &[".cursor", "hooks.json"],
    &[".copilot", "hooks"],
    &[".copilot", "settings.json"],
    &[".github", "hooks"],
    &[".github", "copilot"],
    &["Documents", "Cline", "Hooks"],
    &[".clinerules", "hooks"],
    &[".cline", "hooks"],
    &[".codeium", "windsurf", "hooks.json"],
    &[".codeium", "hooks.json"],
    &[".windsurf", "hooks.json"],
    &[".devin"],
    &[".config", "devin"],
    &[".openhands", "hooks.json"],
    &[".openhands", "plugins"],
    &[".agents", "plugins"],
    &[".config", "goose"],
    &["crush.json"],
    &[".crush.json"],
    &["crushrc"],
    &[".crushrc"],
    &[".gemini", "settings.json"],
    &[".gemini", "trustedFolders.json"],
    &[".qwen", "settings.json"],
    &[".qwen", "trustedFolders.json"],
    &[".qwen", ".env"],
    &["opencode.json"],
    &["opencode.jsonc"],
    &[".opencode", "plugin"],
    &[".opencode", "plugins"],
    &[".config", "opencode"],
    &[".agrail"],
    &[".config", "agrail"],
    &[".local", "share", "agrail"],
    &[".local", "state", "agrail"],
    &["etc", "agrail"],
    &["etc", "claude-code"],
    &["etc", "codex"],
    &["etc", "cursor"],
    &["etc", "github-copilot"],
    &["etc", "windsurf"],
    &["etc", "devin"],
    &["etc", "crush"],
    &["etc", "gemini-cli"],
    &["etc", "qwen-code"],
    &["etc", "opencode"],
];
const BROWSER: &[&str] = &["logins.json", "key4.db", "key3.db", "cookies.sqlite", "Login Data", "Cookies"];

/// Files and folders of the guard in a home, relative to it.
pub(crate) fn guard_in_home() -> impl Iterator<Item = String> {
    GUARD.iter().filter(|known| known.first().is_some_and(|first| first.starts_with('.'))).map(|known| known.join("/"))
}

/// Files and folders in a home that are protected because of their contents, relative to it.
pub(crate) fn protected_in_home() -> impl Iterator<Item = &'static str> {
    const MORE: [&str; 7] =
        [".ssh", ".gitconfig", ".config/git", ".cargo", ".config/systemd/user", ".config/autostart", ".config/fish"];
    STARTUP.iter().chain(SECRET_HOME).copied().chain(MORE)
}

/// File names that are protected in their proper folder: a home, or its `.ssh`.
pub(crate) fn startup_names() -> impl Iterator<Item = &'static str> {
    const KEYS: [&str; 5] = ["authorized_keys", "authorized_keys2", "config", "rc", "environment"];
    STARTUP.iter().copied().chain(KEYS)
}

/// The class of an absolute, normalised path, and whether it is a well-known folder itself. `homes`: name and home of
/// each account.
pub(crate) fn classify(path: &str, who: &Account, homes: &[(String, String)]) -> (Class, bool) {
    let path = path
        .strip_prefix("/private")
        .filter(|p| p.starts_with("/etc") || p.starts_with("/var") || p.starts_with("/tmp"))
        .unwrap_or(path);
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    if parts.is_empty() {
        return (Class::Root, true);
    }
    if let Some(hook) = parts.windows(3).find(|w| matches!(w, [".git", "hooks", _])) {
        return (Class::Persistence, hook.is_empty());
    }
    let passes = |known: &&&[&str]| parts.windows(known.len()).any(|w| w == **known);
    if GUARD.iter().any(|known| passes(&known)) {
        return (Class::Guard, false);
    }
    if AUTOMATION.iter().any(|known| passes(&known)) {
        return (Class::Automation, false);
    }
    if let Some(found) = home(path, &parts, who, homes) {
        return found;
    }
    let alone = parts.len() == 1;
    match parts.as_slice() {
        ["dev", "shm"] => (Class::Shared, true),
        ["dev", "shm", ..] => (Class::Shared, false),
        ["dev", name, ..] if HARMLESS.contains(name) => (Class::Harmless, false),
        // the memory of the machine
        ["dev", "mem" | "kmem" | "port"] => (Class::Credential, false),
        ["dev", "tcp" | "udp", ..] => (Class::Harmless, false),
        ["dev", ..] => (Class::Device, alone),
        ["proc", "kcore" | "kmem", ..] | ["proc", _, "mem" | "environ", ..] => (Class::Credential, false),
        ["proc" | "sys", ..] => (Class::Kernel, alone),
        ["boot" | "efi", ..] => (Class::Boot, alone),
        [image] if image.starts_with("vmlinuz") || image.starts_with("initrd") => (Class::Boot, false),
        ["tmp"] | ["var", "tmp"] => (Class::Shared, true),
        ["tmp", ..] | ["var", "tmp", ..] => (Class::Shared, false),
        ["etc", rest @ ..] => (etc(rest), rest.is_empty()),
        ["bin" | "sbin"] | ["usr", "bin" | "sbin" | "libexec"] | ["usr", "local", "bin" | "sbin"] => {
            (Class::SystemBinary, true)
        }
        ["bin" | "sbin", ..] | ["usr", "bin" | "sbin" | "libexec", ..] | ["usr", "local", "bin" | "sbin", ..] => {
            (Class::SystemBinary, false)
        }
        ["lib" | "usr", .., "systemd", "system" | "user", _] | ["lib", "systemd", ..] => (Class::Persistence, false),
        // what the administrator of this machine has added to it
        ["usr", "local", "lib" | "lib64" | "share" | "include" | "src" | "etc", _, ..] => (Class::SystemData, false),
        [library, ..] if matches!(*library, "lib" | "lib32" | "lib64" | "libx32" | "usr" | "System") => {
            (Class::SystemLibrary, alone)
        }
        ["Library", "LaunchDaemons" | "LaunchAgents", ..] => (Class::Persistence, false),
        ["Library", ..] => (Class::SystemLibrary, alone),
        ["var", "spool", "cron" | "at", ..] => (Class::Persistence, false),
        ["var", "log"] => (Class::Log, true),
        ["var", "log", ..] | ["var" | "run", "utmp", ..] | ["var", "run", "utmp"] => (Class::Log, false),
        ["home" | "var" | "mnt" | "media" | "opt" | "srv" | "run" | "Users" | "Volumes" | "Applications"] => {
            (Class::Root, false)
        }
        ["var", "www", _, ..] => (Class::Ordinary, false),
        ["var" | "run", ..] => (Class::SystemData, parts.len() == 2),
        _ if key_file(&parts) => (Class::Credential, false),
        _ => (Class::Ordinary, false),
    }
}

fn etc(rest: &[&str]) -> Class {
    match rest {
        [name, ..] if SECRET_ETC.contains(&name.trim_end_matches('-')) => Class::Credential,
        ["security", "opasswd", ..] | ["ssl", "private", ..] => Class::Credential,
        ["ssh", key] if key.starts_with("ssh_host_") && !key.ends_with(".pub") => Class::Credential,
        [name, ..]
            if PERSISTENT_ETC.contains(name)
                || name.starts_with("cron")
                || (name.starts_with("rc") && name.ends_with(".d")) =>
        {
            Class::Persistence
        }
        ["xdg", "autostart", ..] | ["udev", "rules.d", ..] | ["apt", "apt.conf.d", ..] => Class::Persistence,
        _ => Class::SystemConfig,
    }
}

/// The class of a path in a home, and whether it is the home itself; `None` outside homes.
fn home(path: &str, parts: &[&str], who: &Account, homes: &[(String, String)]) -> Option<(Class, bool)> {
    let below = |home: &str| -> Option<String> {
        let rest = path.strip_prefix(home.trim_end_matches('/'))?;
        (home.len() > 1 && (rest.is_empty() || rest.starts_with('/'))).then(|| rest.trim_start_matches('/').to_owned())
    };
    // what is protected in a home is protected in this one, too; for the rest its place counts, wherever HOME leads
    if let Some(class) = who.variable_home.as_deref().and_then(below).and_then(|rest| within_home(&rest)) {
        return Some((class, false));
    }
    let (class, rest) = if let Some(rest) = below(&who.home).filter(|_| who.home != "/") {
        (Class::OwnHome, rest)
    } else if parts.first() == Some(&"root") {
        (Class::SuperuserHome, parts.get(1..).unwrap_or_default().join("/"))
    } else if let Some(rest) = homes.iter().filter(|(name, _)| *name != who.name).find_map(|(_, home)| below(home)) {
        (Class::OtherHome, rest)
    } else if parts.len() > 1 && matches!(parts.first(), Some(&("home" | "Users"))) && parts.get(1) != Some(&"Shared") {
        (Class::OtherHome, parts.get(2..).unwrap_or_default().join("/"))
    } else {
        return None;
    };
    Some((within_home(&rest).unwrap_or(class), rest.is_empty()))
}

fn within_home(rest: &str) -> Option<Class> {
    let parts: Vec<&str> = rest.split('/').filter(|p| !p.is_empty()).collect();
    let starts = |known: &&&str| rest == **known || rest.strip_prefix(**known).is_some_and(|r| r.starts_with('/'));
    let last = parts.last().copied().unwrap_or_default();
    match parts.as_slice() {
        [".ssh", "authorized_keys" | "authorized_keys2" | "config" | "rc" | "environment"] => Some(Class::Persistence),
        [".ssh", "known_hosts" | "known_hosts.old"] => None,
        [".ssh", name, ..] if !name.ends_with(".pub") => Some(Class::Credential),
        [name] if STARTUP.contains(name) => Some(Class::Persistence),
        [name] if name.ends_with("_history") && name.starts_with('.') => Some(Class::Log),
        [".config", "systemd" | "autostart", ..]
        | [".config", "fish", "config.fish"]
        | [".config", "fish", "conf.d", ..] => Some(Class::Persistence),
        ["Library", "LaunchAgents", ..] | [".local", "share", "systemd", ..] => Some(Class::Persistence),
        _ if SECRET_HOME.iter().any(|k| starts(&k)) => Some(Class::Credential),
        [".mozilla" | ".config" | ".thunderbird" | "Library", .., _] if BROWSER.contains(&last) => {
            Some(Class::Credential)
        }
        _ if key_file(&parts) => Some(Class::Credential),
        _ => None,
    }
}

/// Whether a path is a private key in a folder of keys, a password database, or an `.env` file with secrets.
fn key_file(parts: &[&str]) -> bool {
    let Some((last, folders)) = parts.split_last() else { return false };
    let settings = last.strip_prefix(".env").is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if settings && !["example", "sample", "template", "dist", "defaults"].iter().any(|word| last.contains(word)) {
        return true;
    }
    let key = last.ends_with(".pem")
        || last.ends_with(".key")
        || last.starts_with("id_rsa")
        || last.starts_with("id_ed25519")
        || last.starts_with("id_ecdsa");
    let kept = folders.iter().any(|f| matches!(*f, ".ssh" | "ssh" | "ssl" | "private" | "keys"));
    last.ends_with(".kdbx") || (key && kept && !last.ends_with(".pub"))
}

/// Whether a folder, by its name, contains credentials as a whole.
pub(crate) fn holds_credentials(path: &str) -> bool {
    const FOLDERS: &[&str] =
        &[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", "gcloud", "keyrings"];
    path.rsplit('/').find(|p| !p.is_empty()).is_some_and(|last| FOLDERS.contains(&last))
}
