//! What the shell reader makes of scripts: the effects of a script, as `verb target`.

use agrail::effect::shell::{self, NoFiles};

fn effects(script: &str) -> Vec<String> {
    let reading = shell::extract_effects(script, "user", "/home/user", "/home/user", &NoFiles);
    let mut found: Vec<String> =
        reading.effects.iter().map(|e| e.to_table_notation().replace('\u{FFFC}', "…")).collect();
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
fn a_tilde_in_a_word_that_looks_like_an_assignment_is_a_home() {
    let reading = |command: &str| {
        let action = agrail::Action::Shell { command: command.to_owned(), cwd: Some("/w".into()) };
        let who = agrail::effect::Who { name: "me", home: "/home/me" };
        let effects = agrail::effect::extract_effects(&action, who, &agrail::effect::shell::NoFiles).effects;
        effects.iter().map(|effect| format!("{} {}", effect.verb, effect.target)).collect::<Vec<_>>().join("; ")
    };
    for (command, expected) in [
        ("dd if=/w/a of=~/.bashrc", "/home/me/.bashrc"),
        ("dd if=/w/a \"of=~/b\"", "/w/~/b"),
        ("dd if=/w/a of='~/b'", "/w/~/b"),
    ] {
        assert!(reading(command).contains(expected), "{command}: {}", reading(command));
    }
}

#[test]
fn what_perhaps_did_not_run_leaves_both_possible() {
    check(&[
        ("X=/etc; false && X=/tmp; rm -rf $X", &["delete /etc", "delete /tmp"]),
        ("X=/etc; if [ -e a ]; then X=/tmp/a; fi; rm -rf $X", &["delete /etc", "delete /tmp/a"]),
        ("X=/tmp; if [ -e a ]; then :; else X=/a; fi; rm $X", &["delete /a", "delete /tmp"]),
        ("X=/etc; if false; then X=/tmp/a; fi; rm -rf $X", &["delete /etc"]),
        ("X=/tmp; if true; then :; else X=/a; fi; rm $X", &["delete /tmp"]),
        ("X=/etc; if a=1; then X=/tmp; else rm $X; fi", &["delete /etc"]),
        (
            "X=/etc; if [ -e a ]; then X=/tmp; elif [ -e b ]; then X=/b; else rm $X; fi; rm $X",
            &["delete /b", "delete /etc", "delete /tmp"],
        ),
        ("X=/tmp; if [ -e a ]; then X=/a; exit; fi; rm $X", &["delete /tmp"]),
        ("X=0; true && X=1 && false && X=0; rm $X", &["delete /home/user/0", "delete /home/user/1"]),
        ("[ -e a ] || cd /tmp && rm x", &["list/enter /tmp", "delete /home/user/x", "delete /tmp/x"]),
        ("rm -rf d; cd d; rm x", &["delete /home/user/d", "delete /home/user/d/x", "delete /home/user/x"]),
        ("rm -rf d; mkdir d; cd d; rm x", &["delete /home/user/d", "create /home/user/d", "delete /home/user/d/x"]),
        ("cd /tmp; pushd a; rm x; popd; rm y", &["list/enter /tmp", "delete /tmp/a/x", "delete /tmp/y"]),
        ("for ((i = 0; i < 3; i++)); do rm /n$i; done", &["delete /n…"]),
        ("f() { for a; do rm $a; done; }; f /a /b", &["delete /a", "delete /b"]),
        ("f=a/b; rm /${f//\\//_}", &["delete /a_b"]),
        ("IFS=,; n=/a,/b; rm $n", &["variable IFS", "delete /a", "delete /b"]),
        ("ls /tmp/*.log | xargs rm", &["delete /tmp/*.log"]),
        ("cp /a b:c", &["overwrite /home/user/b:c"]),
        ("f(){ if [ -e a ]; then X=/etc; return; fi; X=/tmp; }; f; rm $X", &["delete /etc", "delete /tmp"]),
        ("if [ -e a ]; then f(){ rm /a; }; else exit 1; fi; f", &["delete /a"]),
        ("exit(){ :; }; X=/tmp; if [ -e a ]; then X=/a; exit; fi; rm $X", &["delete /a", "delete /tmp"]),
        ("X=/tmp; case $1 in a) X=/a ;; b) rm $X ;; *) exit 2 ;; esac; rm $X", &["delete /a", "delete /tmp"]),
        ("X=/tmp; case $1 in a) X=/a ;& b) rm $X ;; esac", &["delete /a", "delete /tmp"]),
        ("case a in ${X:=/etc}) ;; esac; rm $X", &["delete …"]),
        ("cd /etc; false && cd /tmp; rm x", &["list/enter /etc", "list/enter /tmp", "delete /etc/x", "delete /tmp/x"]),
        ("cd /tmp && cd a && rm x", &["list/enter /tmp", "delete /tmp/a/x"]),
        ("cd /tmp || exit; rm x", &["list/enter /tmp", "delete /tmp/x"]),
        ("f(){ rm /a; }; if [ -e a ]; then f(){ rm /b; }; fi; f", &["delete /a", "delete /b"]),
        ("f(){ rm /a; }; if false; then f(){ rm /b; }; fi; f", &["delete /a"]),
        ("for i in $(ls); do rm $X; X=/etc; done", &["delete …"]),
        ("while read l; do rm /a$X; X=/b; done < f", &["delete /a…"]),
        ("for f in a b; do rm $f; done", &["delete /home/user/a", "delete /home/user/b"]),
    ]);
}

#[test]
fn state_of_a_child_ends_with_it() {
    check(&[
        ("(HOME=/etc); rm ~/a", &["delete /home/user/a"]),
        ("set -- a; (set -- b); rm $1", &["delete /home/user/a"]),
        ("set -- a; set -- b | cat; rm $1", &["delete /home/user/a"]),
        ("A=a; sudo A=b true; rm $A", &["delete /home/user/a"]),
        ("A=a; env -C /tmp A=b true; rm $A", &["delete /home/user/a"]),
        ("A=a; (readonly A); A=b; rm $A", &["delete /home/user/b"]),
        ("set -- a; sh -c 'rm $1' x b; rm $1", &["delete /home/user/a", "delete /home/user/b"]),
        ("set -- a; false && set -- b; rm $1", &["delete …"]),
        ("HOME=/a; false && HOME=/b; rm ~/x", &["delete …/x"]),
    ]);
}

#[test]
fn unusual_spellings_of_options_are_parsed() {
    check(&[
        ("bash -oc pipefail 'rm a'", &["delete /home/user/a"]),
        ("bash -- -c", &["execute /home/user/-c", "unknown /home/user/-c"]),
        ("zsh --emulate sh -c 'rm a'", &["delete /home/user/a"]),
        ("echo cm0gYQ== | base64 -d - | sh", &["delete /home/user/a"]),
        ("fish --command='rm a'", &["delete /home/user/a"]),
        ("fish -C 'rm a'", &["delete /home/user/a"]),
        ("make --file=- <<E\nall:\n\trm /a\nE", &["delete /a"]),
        ("make -kC /s -f - <<E\nall:\n\trm a\nE", &["delete /s/a"]),
        ("make -kn -f - <<E\nall:\n\trm /a\nE", &[]),
        ("mapfile -tC 'rm -rf x' lines", &["delete /home/user/x"]),
        ("set -euo pipefail; rm $1", &["delete …"]),
        ("trap - EXIT; trap -p EXIT", &[]),
        ("echo -nE 'rm a' | sh", &["delete /home/user/a"]),
        ("printf -- 'rm a' | sh", &["delete /home/user/a"]),
        ("echo cm0gYQ== | base64 -d -w 0 | sh", &["delete /home/user/a"]),
        ("echo cm0gYQ== | base64 --dec | sh", &["delete /home/user/a"]),
        ("echo rm-a | tr - ' ' | sh", &["delete /home/user/a"]),
        ("echo 'rmx a' | tr --delete x | sh", &["delete /home/user/a"]),
        ("exec -cla name rm a", &["delete /home/user/a"]),
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
        ("pushd /tmp; rm x; popd; rm y", &["list/enter /tmp", "delete /tmp/x", "delete /home/user/y"]),
        ("set -- a b; shift; rm $1", &["delete /home/user/b"]),
    ]);
}

/// Every effect of a script, one a line.
fn all(script: &str) -> String {
    let reading = agrail::effect::shell::extract_effects(script, "user", "/home/user", "/home/user", &NoFiles);
    reading.effects.iter().map(|effect| effect.to_table_notation() + "\n").collect()
}

#[test]
fn a_heredoc_goes_through_pipes_to_whoever_runs_it() {
    for script in [
        "cat <<'E' | bash\nrm -rf /etc\nE",
        "cat <<E | sudo bash\nrm -rf /etc\nE",
        "cat <<'E' | tee log | cat - | sh\nrm -rf /etc\nE",
        "cat <<'E' | python3\nimport shutil; shutil.rmtree('/etc')\nE",
        "cat - <<'E' | env -i sh\nrm -rf /etc\nE",
        "cat <<'E' | { sh; }\nrm -rf /etc\nE",
        "cat <<< 'rm -rf /etc' | bash",
        "f() { cat <<'E'\nrm -rf /etc\nE\n}; f | bash",
        "cat <<'E' | ssh localhost\nrm -rf /etc\nE",
        "echo 'rm -rf /etc' | chroot /",
        "psql prod <<'E'\n\\! rm -rf /etc\nE",
        "sqlite3 x.db <<< '.shell rm -rf /etc'",
        "sftp h <<< '!rm -rf /etc'",
        "make -f - <<'E'\nall:\n\trm -rf /etc\nE",
        "bash <<'E'\n\\rm -rf /etc\nE",
    ] {
        assert!(all(script).contains("delete /etc"), "{script}: {}", all(script));
    }
    for (script, effect) in [
        ("cat <<'E' | psql prod\nDROP TABLE users;\nE", "drop"),
        ("cat <<'E' | mysql -h db prod\nDELETE FROM users;\nE", "delete"),
        ("sqlite3 x.db <<< 'drop table t'", "drop"),
        ("cat <<'E' | perl\nsystem(\"rm -rf /etc\");\nE", "delete /etc"),
    ] {
        assert!(all(script).contains(effect), "{script}: {}", all(script));
    }
    // it does not read what the command before `&&` prints
    assert!(!all("cat <<'E' && sh\nrm -rf /etc\nE").contains("delete"));
    assert!(!all("cat <<'E' | grep x\nrm -rf /etc\nE").contains("delete"));
}

#[test]
fn substitutions_run_in_every_position() {
    let payload = "$(rm -rf /etc)";
    for script in [
        "export P",
        "declare P",
        "declare -x a P",
        "readonly P",
        "local P",
        "typeset -i a=P",
        "export a=P",
        "unset P",
        "case P in a) ;; esac",
        "case a in P) ;; esac",
        "case a in \"P\") ;; esac",
        "case a in b|P) ;; esac",
        "(( P ))",
        "(( a = P + 1 ))",
        "echo $(( P + 1 ))",
        "for ((i=P; i<1; i++)); do :; done",
        "for ((i=0; i<P; i++)); do :; done",
        "for a in x P; do :; done",
        "select a in P; do break; done",
        "a[P]=1",
        "a=(1 P)",
        "a=([P]=1)",
        "echo ${a[P]}",
        "echo ${a:-P}",
        "echo ${a:=P}",
        "echo ${a:+P}",
        "echo ${a:?P}",
        "echo ${a#P}",
        "echo ${a%%P}",
        "echo ${a/P/x}",
        "echo ${a/x/P}",
        "echo ${a:P:1}",
        "[[ -n P ]]",
        "[[ a == P ]]",
        "[[ a =~ P ]]",
        "[ -n P ]",
        "test P",
        "if P; then :; fi",
        "while P; do break; done",
        "until P; do break; done",
        "echo > P",
        "echo < P",
        "cat <<E\nP\nE",
        "cat <<< P",
        "cat <(P)",
        "tee >(P)",
        "A=P ls",
        "! P",
        "time P",
        "P &",
        "{ P; }",
        "(P)",
        "f() { :; } > P; f",
        "f() { P; }; f",
        "{ :; } > P",
        "while :; do break; done < P",
        "echo \"a ${b:-\"P\"} c\"",
        "`echo P`",
        "trap P EXIT",
        "eval P",
        "x='a[P]'; (( x ))",
        "x='a[P]'; [[ x -eq 1 ]]",
        "x='a[P]'; echo ${y:x}",
        "declare -i z='a[P]'",
        "coproc P",
        "let a=P",
        "printf -v a P",
        "read a <<< P",
        "echo a | P",
        "exec P",
        "[[ a && -n P ]]",
        "(( a ? P : 1 ))",
    ] {
        let script = script.replace('P', payload);
        assert!(all(&script).contains("delete /etc"), "{script}: {}", all(&script));
    }
    // what stands in a text that is not expanded is text
    for script in
        ["echo '$(rm -rf /etc)'", "cat <<'E'\n$(rm -rf /etc)\nE", "f() { rm -rf /etc; }; ls", "# $(rm -rf /etc)"]
    {
        assert!(!all(script).contains("delete"), "{script}: {}", all(script));
    }
}

#[test]
fn a_redirection_of_a_definition_holds_at_each_call() {
    for (script, effect) in [
        ("f() { echo x; } > /etc/passwd; f", "write /etc/passwd"),
        ("f() ( echo x ) >> ~/.bashrc\nf", "append /home/user/.bashrc"),
        ("function f { cat; } < /etc/shadow; f", "read /etc/shadow"),
    ] {
        assert!(all(script).contains(effect), "{script}: {}", all(script));
    }
    assert_eq!(all("f() { echo x; } > /etc/passwd"), "", "it is not called");
}

#[test]
fn a_detour_to_this_machine_is_this_machine() {
    for script in [
        "ssh localhost rm -rf /etc",
        "ssh -tt root@127.0.0.1 'rm -rf /etc'",
        "ssh -p 22 ::1 rm -rf /etc",
        "ssh -o HostName=localhost box rm -rf /etc",
        "ssh 127.1 -- rm -rf /etc",
        "echo 'rm -rf /etc' | ssh localhost",
        "ssh \"$HOST\" rm -rf /etc",
        "ssh 127.0.0.1.nip.io rm -rf /etc",
        "ssh localhost <<< 'rm -rf /etc'",
        "ssh ssh://me@localhost:22 rm -rf /etc",
        "ssh -l root 0 rm -rf /etc",
    ] {
        assert!(all(script).contains("delete /etc"), "{script}: {}", all(script));
    }
    assert!(all("ssh localhost agrail approvals approve X").contains("config agrail"));
    assert!(all("scp x me@localhost:.ssh/authorized_keys").contains("overwrite /home/user/.ssh/authorized_keys"));
    for script in ["scp x '[::1]:.ssh/authorized_keys'", "scp x scp://me@localhost:22//home/user/.ssh/authorized_keys"]
    {
        assert!(all(script).contains("overwrite /home/user/.ssh/authorized_keys"), "{script}: {}", all(script));
    }
    assert!(all("ssh -R 9000 h").contains("connect localhost:"));
    assert!(all("su - user -c 'echo x >> .bashrc'").contains("append /home/user/.bashrc"));
    // only the first operand is the account; what follows it, or `--`, is the shell's
    for command in ["su root -c 'rm -rf /etc' bob", "su -c 'rm -rf /etc' root -- bob", "su root -- -c 'rm -rf /etc'"] {
        assert!(all(command).contains("delete /etc"), "{command}: {}", all(command));
    }
    assert!(all("ssh -R 9000:127.0.0.1:8642 h").contains("connect 127.0.0.1:8642"));
    for (script, effect) in [
        ("nc 127.0.0.1 8642 < req", "send 127.0.0.1:8642"),
        ("telnet ::1 8642", "connect [::1]:8642"),
        ("echo x > /dev/tcp/127.0.0.1/8642", "send 127.0.0.1:8642"),
    ] {
        assert!(all(script).contains(effect), "{script}: {}", all(script));
    }
    for script in ["ssh host.example rm -rf /etc", "ssh host.example ls"] {
        assert!(!all(script).contains("delete /etc"), "{script}: {}", all(script));
    }
}

#[test]
fn a_program_that_waits_is_unknown_where_the_host_types() {
    let unknown = |script: &str, typed: bool| {
        let around: &dyn agrail::effect::shell::FileSource =
            if typed { &agrail::effect::shell::Typing(&NoFiles) } else { &NoFiles };
        let reading = agrail::effect::shell::extract_effects(script, "user", "/home/user", "/home/user", around);
        reading.effects.iter().any(|effect| effect.to_table_notation().contains("typed into"))
    };
    for script in [
        "bash -i",
        "sh",
        "python3",
        "python3 -i x.py",
        "node",
        "psql",
        "ssh h",
        "vim a",
        "less a",
        "mysql -u x",
        "nc h 80",
    ] {
        assert!(unknown(script, true) && !unknown(script, false), "{script}");
    }
    for script in [
        "bash -c ls",
        "python3 -c 'print(1)'",
        "echo ls | bash",
        "psql -c 'select 1'",
        "ssh h ls",
        "cat a",
        "vim --version",
    ] {
        assert!(!unknown(script, true), "{script}");
    }
}
