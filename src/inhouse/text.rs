//! What a row can say of a text.

use crate::effect::{Verb, sql};
use crate::shape;
use crate::untrusted::visible;
use url::Url;

/// Signs of code, markup and patterns, none of which belongs to plain words.
const CODE: [&str; 10] = ["`", "$(", "${", "|", "\\", "{{", "://", "{%", "#{", "www."];

/// Whether a text is words: no address, path, option, code or statement, and nothing invisible.
pub(super) fn is_plain(text: &str) -> bool {
    let shown = text.replace(['\n', '\t'], " ");
    let pieces = || shown.split(|c: char| c.is_whitespace() || "\"'=,;()[]".contains(c));
    let mail = |word: &str| {
        word.split_once('@').is_some_and(|(name, host)| {
            name.ends_with(|c: char| c.is_alphanumeric()) && host.trim_end_matches(['.', ',']).contains('.')
        })
    };
    let path = |word: &str| word.starts_with('/') && word.len() > 1 || word.starts_with("~/") || word.contains("../");
    let words = || shown.split_whitespace();
    let option = |piece: &str| piece.strip_prefix("--").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let variable = |piece: &str| {
        piece.match_indices('$').any(|(at, _)| {
            piece.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        })
    };
    let markup = |(at, _): (usize, &str)| {
        shown.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || "/!?".contains(c)))
    };
    visible(&shown) == shown
        && !CODE.iter().any(|sign| shown.contains(sign))
        && !shown.match_indices('<').any(markup)
        && !shown.trim_start().starts_with('-')
        && !is_statement(&shown)
        && !words().any(mail)
        && !pieces().any(|piece| path(piece) || option(piece) || variable(piece))
        && !shown.starts_with('=')
}

/// Whether words are a statement of a database rather than a sentence that begins like one.
fn is_statement(text: &str) -> bool {
    let begins = |part: &str| {
        shape::is_statement(part) && (sql::parses(part) || part.contains(['*', '=']) || part.contains("--"))
    };
    text.split([';', '\'']).any(begins) || shape::is_statement(text) && text.contains(';')
}

/// Whether a text is an absolute path in one of these folders, by its letters.
pub(super) fn is_below(text: &str, folders: &[String]) -> bool {
    let text = text.strip_suffix('/').unwrap_or(text);
    let parts: Vec<&str> = text.split('/').skip(1).collect();
    let clean = text.starts_with('/') && visible(text) == text && !text.contains(['*', '?', '[', '$', '`', '\\', '%']);
    clean
        && !text.contains(';')
        && parts.iter().all(|part| !part.is_empty() && !part.starts_with('-') && !matches!(*part, "." | ".."))
        && folders.iter().any(|folder| {
            let rest = text.strip_prefix(folder.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
}

/// Whether a text is an address of one of these hosts: by `https`, or by `http` if the host is given with it, and with
/// neither user nor port, unless the port is given.
pub(super) fn is_of_host(text: &str, hosts: &[String]) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    // programs disagree on what these are part of
    let named = text
        .split_once("://")
        .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '['));
    let odd = !named || text.contains(['\\', '@', '$', '`', ' ', '\t', '\n', '\r']) || visible(text) != text;
    let Some(host) = url.host_str().filter(|_| !odd && url.username().is_empty()) else { return false };
    let host = host.trim_end_matches('.');
    hosts.iter().any(|given| {
        let (scheme, given) = given.split_once("://").unwrap_or(("https", given));
        let (given, port) = given.rsplit_once(':').map_or((given, None), |(host, port)| (host, port.parse().ok()));
        let ports = port == url.port() || port.is_some() && port == url.port_or_known_default();
        url.scheme() == scheme && ports && is_named(host, given)
    })
}

/// Whether a text is an address of mail in one of these domains.
pub(super) fn is_of_domain(text: &str, domains: &[String]) -> bool {
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte));
    text.split_once('@').is_some_and(|(name, host)| {
        let address = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && plain(name)
            && plain(host)
            && !shape::is_switch(name);
        address && domains.iter().any(|given| is_named(host, given.trim_start_matches('@')))
    })
}

/// Whether a host has a name; `*.` stands for one or more labels before it.
fn is_named(host: &str, given: &str) -> bool {
    match given.strip_prefix("*.") {
        Some(domain) => {
            let head = host.len().checked_sub(domain.len() + 1).and_then(|at| host.split_at_checked(at));
            head.is_some_and(|(labels, rest)| {
                !labels.is_empty() && rest.starts_with('.') && rest.trim_start_matches('.').eq_ignore_ascii_case(domain)
            })
        }
        None => host.eq_ignore_ascii_case(given),
    }
}

/// Whether a text is of the kind of one of the given values.
pub(super) fn is_like(text: &str, given: &[String]) -> bool {
    given.iter().any(|value| value == text || shape::is_alike(value, text))
}

/// Placeholder table for a condition.
const TABLE: &str = "agrail_rows";

/// Whether a text is a database statement that only reads, or a condition on the rows of one table.
pub(super) fn is_statement_of(text: &str, kinds: &[String]) -> bool {
    kinds.iter().any(|kind| if kind == "condition" { is_condition(text) } else { only_reads(text) })
}

/// Whether a text is a condition on the rows of one table: it reads nothing but columns of that table.
fn is_condition(text: &str) -> bool {
    let own = |name: &str| name.split('.').next() == Some(TABLE);
    // what closes a parenthesis that it has not opened does not parse without one
    let statements = [format!("SELECT * FROM {TABLE} WHERE ({text})"), format!("SELECT * FROM {TABLE} WHERE {text}")];
    !text.contains(';')
        && statements.iter().all(|statement| {
            only_reads(statement) && sql::extract_effects(statement).iter().all(|effect| own(effect.target.name()))
        })
}

/// Whether a text is a database statement that only reads.
pub(super) fn only_reads(text: &str) -> bool {
    // databases disagree on where a comment or a quoted text ends
    let one = text.trim_end().strip_suffix(';').unwrap_or(text);
    if one.contains([';', '#', '$', '\r', '\\', '`']) || one.contains("--") || one.contains("/*") {
        return false;
    }
    let effects = sql::extract_effects(text);
    // `SELECT 1` reads no table
    let selects = text.trim_start().get(..6).is_some_and(|first| first.eq_ignore_ascii_case("select"));
    sql::parses(text) && (selects || !effects.is_empty()) && effects.iter().all(|effect| effect.verb == Verb::Select)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn plain_text_names_no_place_and_runs_nothing() {
        for good in [
            "Carrier called, ETA 14:30; see OPS-12 (50 % done).",
            "",
            "50/50 and/or a-b",
            "Grüße, 東京\nnext",
            "with the two late orders",
        ] {
            assert!(is_plain(good), "{good}");
        }
        for bad in [
            "see https://evil.example",
            "mail eve@evil.example, please",
            "/etc/shadow",
            "read ~/.ssh/id_rsa",
            "a ../../b",
            "--force",
            "$(id)",
            "`id`",
            "DROP TABLE users",
            "<img src=x>",
            "a\u{200b}b",
            "a\u{1b}[2J",
            "see (/etc/shadow)",
            "file=/etc/shadow",
            "read $HOME/x",
            "www.evil.example/x",
            "x --force",
            "x'; DROP TABLE users",
        ] {
            assert!(!is_plain(bad), "{bad}");
        }
    }

    #[test]
    fn places_are_what_they_seem() {
        let folders = list("/srv/app /data/in/");
        assert!(is_below("/srv/app/x/y.csv", &folders) && is_below("/data/in/a/", &folders));
        for bad in [
            "/srv/app",
            "/srv/apple/x",
            "/srv/app/../x",
            "/srv/app//x",
            "srv/app/x",
            "/srv/app/*",
            "/srv/app/$HOME",
            "",
        ] {
            assert!(!is_below(bad, &folders), "{bad}");
        }
        let hosts = list("wiki.acme.example *.docs.acme.example http://local.acme.example:8080");
        for good in [
            "https://wiki.acme.example/a?b=c#d",
            "https://WIKI.acme.example",
            "https://a.b.docs.acme.example/",
            "http://local.acme.example:8080/x",
        ] {
            assert!(is_of_host(good, &hosts), "{good}");
        }
        for bad in [
            "http://wiki.acme.example/",
            "https://wiki.acme.example:8443/",
            "https://wiki.acme.example@evil.example/",
            "https://wiki.acme.example\\@evil.example/",
            "https://wiki.acme.example.evil.example/",
            "https://docs.acme.example/",
            "https://evildocs.acme.example/",
            "http://local.acme.example/",
            "//wiki.acme.example/",
            "wiki.acme.example",
            "javascript:https://wiki.acme.example/",
        ] {
            assert!(!is_of_host(bad, &hosts), "{bad}");
        }
        let domains = list("acme.example *.acme.example");
        assert!(is_of_domain("ann.b+c@acme.example", &domains) && is_of_domain("a@eu.ACME.example", &domains));
        for bad in [
            "ann@evil.example",
            "all@acme.example",
            "ann@acme.example.evil",
            "ann@acme.example,eve@evil.example",
            "@acme.example",
            "a@b@acme.example",
        ] {
            assert!(!is_of_domain(bad, &domains), "{bad}");
        }
    }

    #[test]
    fn statement_that_only_reads_is_told_from_others() {
        assert!(only_reads("SELECT a, count(*) FROM t WHERE b > 3 GROUP BY a"));
        assert!(only_reads("SELECT 1"));
        for bad in [
            "SELECT 1; DELETE FROM t",
            "SELECT a FROM t --\r; DELETE FROM u",
            "SELECT a FROM t WHERE b = 1 --1 INTO OUTFILE '/x'",
            "SELECT a FROM t /*M!100100 ; DROP TABLE u */",
            "DELETE FROM t",
            "SELECT 1; DROP TABLE t",
            "SELECT * INTO OUTFILE '/tmp/x' FROM t",
            "SELECT pg_read_file('/etc/passwd')",
            "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
            "hello there",
            "",
        ] {
            assert!(!only_reads(bad), "{bad}");
        }
        for good in ["a = 1 AND b LIKE 'x%'", "moved_at BETWEEN '2025-02-01' AND '2025-02-28' AND sku = 'O''Neill-42'"]
        {
            assert!(is_condition(good), "{good}");
        }
        for bad in [
            "1=1) UNION SELECT * FROM users WHERE (1=1",
            "a IN (SELECT b FROM users)",
            "1=1); DROP TABLE t",
            "1=1 -- x",
            "1=1) OR (1=1",
            "a = $x$) UNION SELECT * FROM users WHERE (1=1 OR b = $x$",
            "pg_sleep(10) IS NULL",
            "",
        ] {
            assert!(!is_condition(bad), "{bad}");
        }
    }
}
