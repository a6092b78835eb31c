//! Statements that run other scripts, and programs whose output is a part of a later word.

use super::{command, statement};
use crate::differ::source::{Way, existing};

/// Statements with scripts and outputs.
pub(super) const SCRIPTS: [Way; 25] = [
    ("script folder", |m| {
        m.one(&[
            "bash here.sh",
            "bash ./here.sh",
            "./here.sh",
            "bash d/../here.sh",
            "(cd d && bash ../here.sh)",
            "sh here.sh",
        ])
        .into()
    }),
    ("argument loop", |m| {
        let n = m.name("ar");
        match m.random.usize(0..4) {
            0 => "bash args.sh".into(),
            1 => format!("bash args.sh --name {n}"),
            2 => format!("bash args.sh -q --name={n} {}", m.name("rest")),
            _ => format!("./args.sh {} -q", m.name("rest")),
        }
    }),
    ("library", |m| format!(". ./lib.sh; make_one {}; touch \"$last.after\"", m.name("li"))),
    ("library by folder", |m| format!("source \"$PWD/lib.sh\" && make_two {} {}", m.name("la"), m.name("lb"))),
    ("sourced state", |m| format!(". ./state.sh; touch {} \"$PLACE.st\"; cd \"$OLD\"; {}", m.name("ss"), command(m))),
    ("sourced in subshell", |m| format!("(. ./state.sh; touch {}); touch {}", m.name("si"), m.name("so"))),
    ("sequence", |m| format!("for i in $(seq 1 3); do touch {}$i; done", m.name("sq"))),
    ("file in a word", |m| format!("touch \"$(cat v.txt).{}\" \"$(< v.txt).{}\"", m.name("fw"), m.name("fw"))),
    ("real path", |m| {
        format!("touch \"$(realpath d/../a.txt).{}\" \"$(readlink -f d)/{}\"", m.name("rp"), m.name("rl"))
    }),
    ("nested substitution", |m| format!("touch \"$(basename \"$(dirname /a/b/c)\").{}\"", m.name("ns"))),
    ("base name without ending", |m| format!("f={}; touch \"$(basename \"$f\" .txt).{}\"", existing(m), m.name("be"))),
    ("placeholder", |m| format!("printf '%s\\n' {} {} | xargs -I{{}} touch {{}}.pl", m.name("a"), m.name("b"))),
    ("find with many", |_| "find d -name '*.txt' -exec chmod 600 {} +".into()),
    ("find in shell", |_| "find d -name '*.txt' -exec sh -c 'touch \"$1.fs\"' _ {} \\;".into()),
    ("here-document to shell", |m| format!("bash <<'END'\ntouch {}\n{}\nEND", m.name("hs"), command(m))),
    ("input to shell", |m| format!("echo 'touch {}' | bash", m.name("is"))),
    ("lines of a string", |m| format!("while read -r l; do touch \"$l.ls\"; done <<< {}", m.name("ls"))),
    ("output of the shell", |m| format!("( exec > {}; echo x; {} )", m.name("os"), command(m))),
    ("trap function", |m| {
        let f = m.name("f");
        format!("{f}() {{ touch \"{f}.end\"; }}; trap {f} EXIT; {}", statement(m))
    }),
    ("archive", |m| format!("tar cf {t}.tar {}; tar xf {t}.tar -C d", existing(m), t = m.name("t"))),
    ("compress", |m| format!("cp {} {z}; gzip {z}", existing(m), z = m.name("z"))),
    ("block copy", |m| format!("dd if={} of={} bs=64 2> /dev/null", existing(m), m.name("dd"))),
    ("lookup", |m| format!("command -v touch > /dev/null && touch {}", m.name("cv"))),
    ("wrapper", |m| format!("env A=1 nice -n 1 timeout 5 touch {}", m.name("wr"))),
    ("copied script", |m| format!("cp run.sh {c}.sh; bash {c}.sh {}", m.name("x"), c = m.name("c"))),
];
