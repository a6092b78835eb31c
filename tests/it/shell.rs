//! What the shell reader makes of scripts: the effects of a script, as `verb target`.

use agrail::effect::shell::{self, Nowhere};

fn effects(script: &str) -> Vec<String> {
    let reading = shell::read(script, "user", "/home/user", "/home/user", &Nowhere);
    let mut found: Vec<String> = reading.effects.iter().map(|e| e.brief().replace('\u{FFFC}', "…")).collect();
    found.sort();
    found.dedup();
    found
}

/// Each script has exactly these effects, reads and lists apart.
fn check(cases: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (script, expected) in cases {
        let found: Vec<String> =
            effects(script).into_iter().filter(|e| !e.starts_with("read ") && !e.starts_with("list ")).collect();
        let mut expected: Vec<String> = expected.iter().map(|e| (*e).to_owned()).collect();
        expected.sort();
        if found != expected {
            wrong.push(format!("{script}\n   expected {expected:?}\n   found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_perhaps_did_not_run_leaves_both_possible() {
    check(&[
        ("X=/etc; false && X=/tmp; rm -rf $X", &["delete …"]),
        ("X=/etc; if false; then X=/tmp/a; fi; rm -rf $X", &["delete …"]),
        ("X=/tmp; if true; then :; else X=/a; fi; rm $X", &["delete …"]),
        ("X=/etc; if a=1; then X=/tmp; else rm $X; fi", &["delete …"]),
        ("cd /etc; false && cd /tmp; rm x", &["delete …/x"]),
        ("cd /tmp && cd a && rm x", &["delete /tmp/a/x"]),
        ("cd /tmp || exit; rm x", &["delete /tmp/x"]),
        ("f(){ rm /a; }; if false; then f(){ rm /b; }; fi; f", &["delete /a", "delete /b"]),
        ("for i in $(ls); do rm $X; X=/etc; done", &["delete …"]),
        ("while read l; do rm /a$X; X=/b; done < f", &["delete /a…"]),
        ("for f in a b; do rm $f; done", &["delete /home/user/a", "delete /home/user/b"]),
    ]);
}

#[test]
fn a_tilde_is_the_home_in_redirections_and_assignments() {
    check(&[
        ("echo x >> ~/.bashrc", &["append /home/user/.bashrc"]),
        ("X=~/a; rm $X", &["delete /home/user/a"]),
        ("echo x > '~/a'", &["write /home/user/~/a"]),
    ]);
}

#[test]
fn links_that_the_script_makes_are_followed() {
    check(&[
        ("ln -s /etc d && rm d/passwd", &["delete /etc/passwd", "delete /home/user/d/passwd", "link /home/user/d"]),
        ("ln -s /etc /tmp; rm /tmp/etc/passwd", &["delete /etc/passwd", "delete /tmp/etc/passwd", "link /tmp"]),
        ("ln -s /tmp /etc; rm /etc/ssl", &["delete /etc/ssl", "delete /tmp/ssl", "link /etc"]),
    ]);
}

#[test]
fn builtins_change_what_later_words_mean() {
    check(&[
        ("X=/a; unset X; rm $X/b", &["delete /b"]),
        ("read X; rm $X", &["delete …"]),
        ("$ rm a", &["delete /home/user/a"]),
        ("printf -v X /etc/passwd; rm $X", &["delete /etc/passwd"]),
        ("pushd /tmp; rm x; popd; rm y", &["delete /tmp/x", "delete …/y"]),
        ("set -- a b; shift; rm $1", &["delete /home/user/b"]),
    ]);
}
