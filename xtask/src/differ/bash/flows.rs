//! Statements that decide what runs.

use super::{command, condition, path, statement};
use crate::differ::source::{Way, existing};

/// Statements that decide what runs.
pub(super) const FLOWS: [Way; 25] = [
    ("if", |m| format!("if {}; then {}; fi", condition(m), statement(m))),
    ("if else", |m| format!("if {}; then {}; else {}; fi", condition(m), statement(m), statement(m))),
    ("elif", |m| {
        format!("if {}; then {}; elif {}; then {}; fi", condition(m), statement(m), condition(m), statement(m))
    }),
    ("exit in branch", |m| format!("if {}; then {}; exit 0; fi\n{}", condition(m), command(m), statement(m))),
    ("case", |m| {
        format!("case {} in *.txt) {} ;; c*|d*) {} ;; *) {} ;; esac", existing(m), statement(m), command(m), command(m))
    }),
    ("case fall", |m| format!("case a in a) {} ;& b) {} ;; esac", command(m), command(m))),
    ("for", |m| {
        let v = m.name("v");
        format!("for {v} in {} {}; do touch \"${v}.bak\"; {}; done", existing(m), path(m), statement(m))
    }),
    ("for glob", |m| {
        let v = m.name("v");
        format!("for {v} in d/*; do cp \"${v}\" {}; done", m.name("fg"))
    }),
    ("c for", |m| {
        let n = m.name("cf");
        format!("for ((i = 0; i < 3; i++)); do touch {n}$i; done")
    }),
    ("while read", |m| format!("while read -r line; do touch \"l-$line\"; {}; done < a.txt", command(m))),
    ("while count", |m| {
        let n = m.name("wc");
        format!("i=0; while [ $i -lt 2 ]; do touch {n}$i; i=$((i + 1)); done")
    }),
    ("until", |m| format!("n=x; until [ -n \"$n\" ]; do {}; done", command(m))),
    ("break", |m| format!("for i in 1 2 3; do {}; break; {}; done", command(m), command(m))),
    ("and", |m| format!("{} && {}", condition(m), statement(m))),
    ("or", |m| format!("{} || {}", condition(m), statement(m))),
    ("and or", |m| format!("{} && {} || {}", condition(m), command(m), command(m))),
    ("pipeline", |m| format!("cat {} | sort | tee {}", existing(m), m.name("pt"))),
    ("xargs", |_| "ls d/*.txt | xargs rm -f".into()),
    ("xargs known", |m| format!("echo {} {} | xargs touch", existing(m), m.name("xa"))),
    ("subshell", |m| format!("( {}; {} )", statement(m), command(m))),
    ("group", |m| format!("{{ {}; {}; }}", statement(m), command(m))),
    ("group redirect", |m| format!("{{ echo a; echo b; }} > {}", m.name("gr"))),
    ("background", |m| format!("{} & wait", command(m))),
    ("shell -c", |m| format!("bash -c '{}'", command(m).replace('\'', "\""))),
    ("time", |m| format!("time {}", command(m))),
];
