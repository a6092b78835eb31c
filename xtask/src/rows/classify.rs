//! Recognises options without an effect by their names and descriptions, without knowing the program.
//!
//! It errs on the side of a review: only a flag whose words do not suggest an effect is inert.

use super::manual::{Arity, Documented};

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

/// Whether the option takes no value and its words do not suggest an effect.
pub fn is_inert(option: &Documented) -> bool {
    if option.arity != Arity::None {
        return false;
    }
    if option.names.iter().any(|name| HARMLESS.contains(&name.as_str())) {
        return true;
    }
    let begins = |list: &[&str], word: &str| list.iter().any(|begin| word.starts_with(begin));
    let parts = option.names.iter().flat_map(|name| name.trim_start_matches('-').split(['-', '_', '.']));
    let whole = option.names.iter().map(|name| name.trim_start_matches('-'));
    if parts.chain(whole).map(str::to_lowercase).any(|word| begins(ACTS, &word)) {
        return false;
    }
    let about = option.about.to_lowercase();
    let prints = PRINTS.iter().any(|begin| about.starts_with(begin));
    if !prints && about.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| begins(VERBS, word)) {
        return false;
    }
    // a letter without a description may be anything
    !about.is_empty() || option.names.iter().any(|name| name.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inert(names: &str, arity: Arity, about: &str) -> bool {
        let names = names.split(' ').map(str::to_owned).collect();
        is_inert(&Documented { names, arity, value: String::new(), about: about.into() })
    }

    #[test]
    fn only_flags_without_words_of_action_are_inert() {
        assert!(inert("-v --verbose", Arity::None, ""));
        assert!(inert("--by-name", Arity::None, "order the lines by their names"));
        for (names, arity, about) in [
            ("--load", Arity::Required, ""),
            ("--color", Arity::Optional, "colours"),
            ("--in-place", Arity::None, ""),
            ("-q", Arity::None, ""),
            ("--fix", Arity::None, ""),
            ("--exec-batch", Arity::None, ""),
            ("-x", Arity::None, "delete the files afterwards"),
        ] {
            assert!(!inert(names, arity, about), "{names}");
        }
    }
}
