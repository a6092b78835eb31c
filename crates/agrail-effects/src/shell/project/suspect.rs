//! What code of a project seldom names: private files, files that decide what runs later, accounts, addresses without a
//! name, the deletion of something in the home folder.

use aho_corasick::{AhoCorasick, MatchKind};
use std::sync::LazyLock;

/// Most places of a text that are compared.
const MOST: usize = 64;
/// How many lines lie between a home folder and what deletes it.
const NEAR: usize = 8;

/// What a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Private files, or files that decide what runs later.
    Place,
    /// A change of accounts, protections or history.
    Act,
    /// The home folder of the user, and what deletes or overwrites a folder.
    Home,
    Ruin,
    /// The beginning of an address.
    Address,
    /// What sends, writes, deletes or runs something.
    Means,
}

const WORDS: [(Mark, &[&str]); 6] = [
    (
        Mark::Place,
        &[
            ".ssh",
            "id_rsa",
            "id_ed25519",
            "authorized_keys",
            ".aws",
            ".gnupg",
            ".netrc",
            ".kube",
            ".git-credentials",
            "password-store",
            ".mozilla",
            ".config/gcloud",
            ".azure",
            ".pypirc",
            ".docker/config.json",
            "kubernetes/pki",
            "/etc/shadow",
            "/etc/sudoers",
            "sudoers.d",
            "ld.so.preload",
            ".bashrc",
            ".zshrc",
            ".bash_profile",
            ".zprofile",
            ".config/autostart",
            "/etc/cron",
            "systemd/user",
            "/etc/systemd",
            "launchagents",
            "sshd_config",
            "/etc/profile",
            "/etc/passwd",
            "login.keychain",
            ".bash_history",
            ".zsh_history",
        ],
    ),
    (
        Mark::Act,
        &[
            "chpasswd",
            "useradd ",
            "usermod ",
            "visudo",
            "ufw disable",
            "ufw --force disable",
            "setenforce 0",
            "systemctl mask",
            "iptables -f",
            "http.sslverify",
            "credential.helper",
            "reflog expire",
            "update-ref -d",
            "push --mirror",
            "| crontab",
            "crontab -",
            "|bash",
            "| bash",
            "|sh\"",
            "| sh\"",
            "|sh'",
            "| sh'",
        ],
    ),
    (
        Mark::Home,
        &[
            "userhomedir",
            "user.home",
            "homedir()",
            "path.home()",
            "expanduser(",
            "user_home",
            "$home",
            "${home}",
            "var(\"home\")",
            "getenv(\"home\")",
            "getenv('home')",
            "env[\"home\"]",
            "env['home']",
            "env.home",
            "\"~/",
            "'~/",
            " ~/",
            "userprofile",
            "environ[\"home\"]",
            "environ['home']",
            "dir.home",
            "homedir(",
            "env{home}",
        ],
    ),
    (
        Mark::Ruin,
        &[
            "rm -r",
            "rm -f",
            "rm_r",
            "rmtree",
            "removeall",
            "rmsync",
            "rm(",
            "file.delete",
            "<delete",
            "deletedir",
            "remove_dir_all",
            "unlink",
            "shred",
            "removedir",
            "delete(",
            "file.rm",
            "-delete",
            "remove_tree",
        ],
    ),
    (Mark::Address, &["http://", "https://"]),
    (
        Mark::Means,
        &[
            "curl",
            "wget",
            "request",
            "fetch(",
            "urlopen",
            "socket",
            "http.client",
            "net/http",
            "httpclient",
            "post(",
            "connect",
            "tcpstream",
            "append",
            "write",
            "file_put_contents",
            "open(",
            "copy",
            ">>",
            "tee ",
            "system(",
            "exec",
            "spawn",
            "popen",
            "subprocess",
            "sh -c",
            "rm -r",
            "rm_rf",
            "rmtree",
            "unlink",
            "removeall",
            "rmsync",
            "delete",
        ],
    ),
];

/// The search for all words, and the words by its numbers.
type Search = (AhoCorasick, Vec<(Mark, &'static str)>);

static SEARCH: LazyLock<Option<Search>> = LazyLock::new(|| {
    let marks: Vec<(Mark, &str)> =
        WORDS.iter().flat_map(|(mark, words)| words.iter().map(|word| (*mark, *word))).collect();
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard);
    Some((builder.build(marks.iter().map(|(_, word)| word)).ok()?, marks))
});

/// Whether a text names what code of a project seldom names, and has the means to use it.
pub(super) fn is_suspect(text: &str) -> bool {
    if SEARCH.is_none() {
        return true;
    }
    // `["git", "reflog", "expire"]` is `git reflog expire`
    let plain: String = text.chars().map(|c| if "\"',()[]".contains(c) { ' ' } else { c }).collect();
    let plain = plain.split(' ').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let acts = |mark| mark == Mark::Act;
    has(&plain, acts).is_some() || {
        let at = |wanted: Mark| has(text, move |mark| mark == wanted).is_some();
        (at(Mark::Place) || at(Mark::Address)) && at(Mark::Means) || at(Mark::Act) || ruins_home(text)
    }
}

/// Whether a text names the home folder and, close to it, deletes or overwrites something.
fn ruins_home(text: &str) -> bool {
    let homes: Vec<usize> = places(text, Mark::Home);
    let line = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count();
    let ruins: Vec<usize> = if homes.is_empty() { Vec::new() } else { places(text, Mark::Ruin) };
    let ruins: Vec<usize> = ruins.into_iter().take(MOST).map(line).collect();
    homes.into_iter().take(MOST).map(line).any(|home| ruins.iter().any(|ruin| home.abs_diff(*ruin) <= NEAR))
}

/// The first place of a mark that a text has.
fn has(text: &str, wanted: impl Fn(Mark) -> bool) -> Option<usize> {
    marks(text).find(|(mark, _)| wanted(*mark)).map(|(_, at)| at)
}

fn places(text: &str, wanted: Mark) -> Vec<usize> {
    marks(text).filter(|(mark, _)| *mark == wanted).map(|(_, at)| at).collect()
}

/// All marks of a text outside of comments.
fn marks(text: &str) -> impl Iterator<Item = (Mark, usize)> {
    let search = SEARCH.as_ref();
    let found = search.into_iter().flat_map(move |(search, marks)| {
        search.find_overlapping_iter(text).filter_map(move |found| {
            let (mark, word) = marks.get(found.pattern().as_usize())?;
            Some((*mark, *word, found.start(), found.end()))
        })
    });
    found.filter_map(move |(mark, word, start, end)| {
        let bare = mark != Mark::Address || is_bare(text.get(end..).unwrap_or_default());
        (bare && stands_alone(text, word, start, end) && !in_comment(text, start)).then_some((mark, start))
    })
}

/// Whether a name is not a part of a longer one: `config.ssh` is none.
fn stands_alone(text: &str, word: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|before| before.chars().next_back());
    let after = text.get(end..).and_then(|after| after.chars().next());
    let within = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ')' | ']'));
    let named = word.starts_with(['.', '/']) || word.starts_with("id_");
    !named || (!within(before) && !within(after))
}

/// Whether a place in a text is in a line that is a comment.
fn in_comment(text: &str, at: usize) -> bool {
    let line = text.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default().trim_start();
    ["#", "//", "*", "<!--", "--", "%"].iter().any(|mark| line.starts_with(mark))
}

/// Whether an address begins with a public number in place of a name.
fn is_bare(rest: &str) -> bool {
    let host = rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next().unwrap_or_default();
    host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| {
        !(address.is_private() || address.is_loopback() || address.is_link_local() || address.is_unspecified())
    })
}
