//! Classifies a documented option by its name, its value and its description, without knowing the program.
//!
//! The classification errs on the side of "not reviewed": only an option whose words do not suggest an effect is inert.
//! A person who reviews the row gives the others a role.

use super::manual::{Arity, Documented};

/// How a row lists an option that nobody has reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// No value, no effect.
    Inert,
    /// A value without effect: a number, a pattern, a format.
    Takes,
    /// The same, attached or absent.
    Optional,
    /// Its effect is not known: a command line with it is unknown.
    Unknown,
}

/// Beginnings of words in names of options that act.
const ACTS: &[&str] = &[
    "apply",
    "attach",
    "authent",
    "authoris",
    "authoriz",
    "auto-install",
    "background",
    "bind",
    "browser",
    "bypass",
    "chmod",
    "chown",
    "clean",
    "clear",
    "commit",
    "config",
    "connect",
    "cookie",
    "create",
    "credential",
    "daemon",
    "decrypt",
    "delete",
    "deploy",
    "destroy",
    "detach",
    "discard",
    "drop",
    "edit",
    "eject",
    "enable",
    "encrypt",
    "erase",
    "eval",
    "exec",
    "extension",
    "fetch",
    "fix",
    "flush",
    "force",
    "fork",
    "global",
    "grant",
    "hook",
    "import",
    "in-place",
    "in_place",
    "inject",
    "inplace",
    "insecure",
    "insert",
    "install",
    "interactive",
    "kill",
    "launch",
    "library",
    "listen",
    "load",
    "lock",
    "log-file",
    "logfile",
    "login",
    "logout",
    "mail",
    "merge",
    "modif",
    "module",
    "mount",
    "move",
    "open",
    "overwrite",
    "password",
    "patch",
    "plugin",
    "post",
    "preload",
    "privileg",
    "program",
    "prune",
    "publish",
    "pull",
    "purge",
    "push",
    "reboot",
    "register",
    "reload",
    "remove",
    "rename",
    "repair",
    "replace",
    "require",
    "reset",
    "restart",
    "restore",
    "rewrite",
    "root",
    "run",
    "save",
    "script",
    "secret",
    "self-update",
    "send",
    "serve",
    "setuid",
    "shell",
    "shutdown",
    "sign",
    "socket",
    "spawn",
    "start",
    "stop",
    "store",
    "submit",
    "sudo",
    "suid",
    "swap",
    "symlink",
    "sync",
    "token",
    "trace-file",
    "truncate",
    "trust",
    "unlink",
    "unlock",
    "unmount",
    "unsafe",
    "unset",
    "update",
    "upgrade",
    "upload",
    "wipe",
    "write",
    "xattr",
];

/// Beginnings of words in descriptions of options that act.
const VERBS: &[&str] = &[
    "bypass",
    "chmod",
    "chown",
    "connect",
    "creat",
    "daemon",
    "delet",
    "destroy",
    "detach",
    "discard",
    "edit",
    "eras",
    "exec",
    "in-place",
    "install",
    "kill",
    "launch",
    "listen",
    "load",
    "modif",
    "mount",
    "move",
    "overwrit",
    "patch",
    "plugin",
    "privileg",
    "publish",
    "purge",
    "push",
    "reboot",
    "remov",
    "renam",
    "repair",
    "replac",
    "restart",
    "restor",
    "rewrit",
    "run",
    "sav",
    "send",
    "spawn",
    "start",
    "stop",
    "symlink",
    "truncat",
    "uninstall",
    "unlink",
    "unlock",
    "unmount",
    "unsafe",
    "updat",
    "upgrad",
    "upload",
    "wip",
    "writ",
];

/// Words that a path, an address or a command is called.
const PLACES: &[&str] = &[
    "address",
    "archive",
    "binary",
    "cmd",
    "command",
    "cwd",
    "database",
    "dest",
    "destdir",
    "device",
    "dir",
    "directory",
    "editor",
    "endpoint",
    "executable",
    "expr",
    "expression",
    "file",
    "filename",
    "folder",
    "host",
    "hostname",
    "image",
    "ip",
    "key",
    "location",
    "module",
    "output",
    "path",
    "pathname",
    "pattern-file",
    "pid",
    "pidfile",
    "plugin",
    "port",
    "prefix",
    "prog",
    "program",
    "registry",
    "remote",
    "repo",
    "repository",
    "root",
    "script",
    "server",
    "shell",
    "socket",
    "src",
    "target",
    "uri",
    "url",
    "user",
    "username",
    "workdir",
];

/// Descriptions that begin so belong to options that only print.
const PRINTS: &[&str] = &[
    "print",
    "display",
    "show",
    "list",
    "output",
    "suppress",
    "do not",
    "don't",
    "never",
    "quiet",
    "be ",
    "verbose",
    "help",
    "ignore",
    "skip",
    "treat",
    "sort",
    "count",
    "use ",
    "enable colo",
];

/// Names that mean the same everywhere.
const HARMLESS: &[&str] = &[
    "--help",
    "--version",
    "--verbose",
    "--quiet",
    "--silent",
    "--no-color",
    "--no-colour",
    "--color",
    "--colour",
    "--debug",
    "--usage",
    "--json",
    "--dry-run",
    "--no-progress",
    "--progress",
    "--null",
    "--no-pager",
    "--print0",
];

/// The class of an option.
pub fn classify(option: &Documented) -> Class {
    let harmless = option.names.iter().any(|name| HARMLESS.contains(&name.as_str()));
    let plain = match option.arity {
        Arity::None => Class::Inert,
        Arity::Optional => Class::Optional,
        Arity::Required => Class::Takes,
    };
    if harmless && option.arity != Arity::Required {
        return plain;
    }
    let about = option.about.to_lowercase();
    let named = option.names.iter().flat_map(|name| name.trim_start_matches('-').split(['-', '_', '.']));
    let prints = option.arity == Arity::None && PRINTS.iter().any(|begin| about.starts_with(begin));
    let begins = |list: &[&str], word: &str| list.iter().any(|begin| word.starts_with(begin));
    let whole = option.names.iter().map(|name| name.trim_start_matches('-'));
    if named.chain(whole).map(str::to_lowercase).any(|word| begins(ACTS, &word)) {
        return Class::Unknown;
    }
    if !prints && about.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| begins(VERBS, word)) {
        return Class::Unknown;
    }
    let place = |text: &str| {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| PLACES.contains(&word.trim_end_matches('s')) || PLACES.contains(&word))
    };
    // a value without a name may be anything
    let vague = option.arity != Arity::None && option.value.is_empty() && option.about.is_empty();
    if option.arity != Arity::None
        && (vague || place(&option.value) || place(&about) || option.names.iter().any(|name| place(name)))
    {
        return Class::Unknown;
    }
    // a letter without a description may be anything
    if option.about.is_empty() && option.names.iter().all(|name| name.len() == 2) {
        return Class::Unknown;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(names: &str, arity: Arity, value: &str, about: &str) -> Class {
        let names = names.split(' ').map(str::to_owned).collect();
        classify(&Documented { names, arity, value: value.into(), about: about.into() })
    }

    #[test]
    fn only_options_without_words_of_action_are_settled() {
        assert_eq!(class("-v --verbose", Arity::None, "", ""), Class::Inert);
        assert_eq!(class("--sort", Arity::Required, "WORD", "sort by WORD"), Class::Takes);
        assert_eq!(class("--color", Arity::Optional, "WHEN", "colours"), Class::Optional);
        for (names, arity, value) in [
            ("--load", Arity::Required, "LIB"),
            ("--in-place", Arity::Optional, "SUFFIX"),
            ("--report", Arity::Required, "FILE"),
            ("-q", Arity::None, ""),
            ("--fix", Arity::None, ""),
            ("--exec-batch", Arity::Required, "cmd"),
        ] {
            assert_eq!(class(names, arity, value, ""), Class::Unknown, "{names}");
        }
        assert_eq!(class("-x", Arity::None, "", "delete the files afterwards"), Class::Unknown);
    }
}
