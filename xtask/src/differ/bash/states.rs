//! Statements that change what later words mean, and use it.

use super::{command, condition, plain, statement};
use crate::differ::source::{Way, existing};

/// Statements that change what later words mean, and use it.
pub(super) const STATES: [Way; 51] = [
    ("variable", |m| {
        let v = m.name("v");
        format!("{v}={}; {}\ntouch \"${v}\" \"${{{v}}}.copy\"", plain(m), statement(m))
    }),
    ("variable in branch", |m| {
        let (v, c) = (m.name("v"), condition(m));
        format!("{v}={}; if {c}; then {v}={}; fi; touch \"r-${v}\"", existing(m), existing(m))
    }),
    ("remove suffix", |m| format!("f={}; touch \"${{f%.*}}.suffix\" \"${{f##*/}}.base\"", existing(m))),
    ("remove prefix", |m| format!("f=d/e.txt; touch \"${{f#d/}}.{}\" \"${{f%/*}}/{}\"", m.name("pr"), m.name("pr"))),
    ("replace", |m| format!("f={}; touch \"${{f/txt/rep}}\" \"${{f//\\//_}}.flat\"", existing(m))),
    ("length", |m| format!("f={}; touch \"len${{#f}}\"", existing(m))),
    ("substring", |m| format!("f={}; touch \"sub${{f:0:3}}\"", existing(m))),
    ("upper case", |m| format!("f={}; touch \"${{f^^}}.up\"", existing(m))),
    ("assign default", |m| format!(": \"${{NEW_{}:={}}}\"; touch made", m.name("V"), m.name("as"))),
    ("alternative", |m| format!("f={}; touch \"alt${{f:+.yes}}\"", existing(m))),
    ("split words", |m| format!("files=\"{} {}\"; touch $files", m.name("s"), m.name("s"))),
    ("own separator", |m| format!("IFS=,; names={},{}; touch $names; unset IFS", m.name("i"), m.name("i"))),
    ("array", |m| format!("list=({} {}); list+=({}); touch \"${{list[@]}}\"", m.name("l"), existing(m), m.name("l"))),
    ("array item", |m| format!("list=({} {}); rm -f \"${{list[1]}}\"", existing(m), existing(m))),
    ("function", |m| {
        let f = m.name("f");
        format!("{f}() {{ touch \"$1.fn\"; {}; }}\n{f} {}", statement(m), m.name("g"))
    }),
    ("local", |m| {
        let f = m.name("f");
        format!("x={}; {f}() {{ local x={}; touch \"$x\"; }}; {f}; touch \"$x\"", m.name("o"), m.name("in"))
    }),
    ("return", |m| {
        let (f, c) = (m.name("f"), condition(m));
        format!("{f}() {{ if {c}; then t={}; return; fi; t={}; }}; {f}; touch \"r-$t\"", existing(m), existing(m))
    }),
    ("all arguments", |m| {
        let f = m.name("f");
        format!(
            "{f}() {{ for a; do touch \"$a.arg\"; done; shift; touch \"$1.second\"; }}; {f} {} {}",
            m.name("p"),
            m.name("q")
        )
    }),
    ("set arguments", |m| format!("set -- {} {}; touch \"$2\" \"count$#\"", existing(m), m.name("sa"))),
    ("enter folder", |m| format!("cd d && touch {} && cd .. && {}", m.name("cd"), statement(m))),
    ("enter in subshell", |m| format!("(cd d/g; rm -f h.txt; touch {}); touch {}", m.name("es"), m.name("es"))),
    ("folder stack", |m| format!("pushd d > /dev/null; touch {}; popd > /dev/null; {}", m.name("ps"), command(m))),
    ("here-document", |m| {
        let v = m.name("hd");
        format!("cat > {v} <<EOF\nline $HOME\nEOF\ncat {v}")
    }),
    ("here-string", |m| format!("read -r x y <<< \"{} {}\"; touch \"hs-$x\"", m.name("a"), m.name("b"))),
    ("eval", |m| format!("eval \"touch {}; {}\"", m.name("ev"), command(m).replace(['"', '$', '`'], ""))),
    ("source", |m| format!(". ./more.sh; touch \"$NAME\" {}", m.name("sr"))),
    ("run file", |m| format!("bash run.sh {}", m.name("rf"))),
    ("written script", |m| {
        let s = m.name("s");
        format!("echo 'touch {}' > {s}.sh; bash {s}.sh; chmod +x {s}.sh; ./{s}.sh", m.name("ws"))
    }),
    ("trap", |m| format!("trap 'touch {}' EXIT; {}", m.name("tr"), statement(m))),
    ("redirect shell", |m| format!("exec 3> {}; echo x >&3; exec 3>&-", m.name("ex"))),
    ("process output", |m| {
        format!("sort <(cat {}) > {}; echo y > >(cat > {})", existing(m), m.name("po"), m.name("pi"))
    }),
    ("environment", |m| {
        format!("X={} bash -c 'touch \"$X\"'; export Y={}; sh -c 'touch \"$Y\"'", m.name("e"), m.name("y"))
    }),
    ("printf into", |m| format!("printf -v v '%s.%s' {} pv; touch \"$v\"", m.name("pf"))),
    ("read lines", |m| format!("mapfile -t lines < v.txt; touch \"${{lines[0]}}.{}\"", m.name("ml"))),
    ("arithmetic name", |m| format!("i=2; touch \"{}$((i + 1))\"", m.name("an"))),
    ("default chain", |m| format!("touch \"${{A_{n}:-${{B_{n}:-{n}}}}}\"", n = m.name("dc"))),
    ("subshell variable", |m| {
        let (a, b) = (m.name("sv"), m.name("sv"));
        format!("x={a}; (x={b}; touch \"$x.in\"); touch \"$x.out\"")
    }),
    ("pipe variable", |m| {
        let (a, b) = (m.name("pv"), m.name("pv"));
        format!("x={a}; echo | {{ x={b}; touch \"$x.in\"; }}; touch \"$x.out\"")
    }),
    ("and assign", |m| {
        let (c, a, b) = (condition(m), m.name("aa"), m.name("ab"));
        format!("{c} && x={a} || x={b}; touch \"$x.ca\"")
    }),
    ("array loop", |m| {
        let (a, b) = (m.name("al"), m.name("al"));
        format!("list=({a} {b}); for i in \"${{list[@]}}\"; do touch \"$i.it\"; done; touch \"${{#list[@]}}.n\"")
    }),
    ("indirect", |m| format!("n=val; val={}; touch \"${{!n}}.ind\"", m.name("iv"))),
    ("new folder", |m| format!("mkdir -p {n} && cd {n} && touch {}; cd ..", m.name("nf"), n = m.name("nd"))),
    ("through a link", |m| format!("ln -s {} {l}; echo x > {l}", existing(m), l = m.name("tl"))),
    ("temporary", |_| "t=$(mktemp); echo x > \"$t\"; rm -f \"$t\"".into()),
    ("rename by suffix", |_| "for f in *.log; do mv \"$f\" \"${f%.log}.old\"; done".into()),
    ("count arguments", |m| {
        let f = m.name("f");
        format!(
            "{f}() {{ touch \"n$#\"; for a in \"$@\"; do touch \"$a.ca\"; done; }}; {f}; {f} {} {}",
            m.name("a"),
            m.name("b")
        )
    }),
    ("argument default", |m| {
        let (f, a, b) = (m.name("f"), m.name("ad"), m.name("ad"));
        format!("{f}() {{ touch \"${{1:-{a}}}.d\" \"${{2:-x$1}}.e\"; }}; {f}; {f} {b}")
    }),
    ("shift two", |m| {
        format!(
            "set -- {} {} {}; shift; touch \"$1.s1\"; shift 2; touch \"x$1.s2\"",
            m.name("a"),
            m.name("b"),
            m.name("c")
        )
    }),
    ("while arguments", |m| {
        format!("set -- {} {}; while [ $# -gt 0 ]; do touch \"$1.wa\"; shift; done", m.name("a"), m.name("b"))
    }),
    ("options", |m| {
        let f = m.name("f");
        format!(
            "{f}() {{ local OPTIND=1 o; while getopts 'ab:' o; do case $o in b) touch \"$OPTARG.go\" ;; a) touch a.go ;; esac; done; }}; {f} -a -b {}",
            m.name("op")
        )
    }),
    ("case on argument", |m| {
        let (f, x) = (m.name("f"), m.name("x"));
        format!("{f}() {{ case \"$1\" in a*) touch {x}a ;; *) touch {x}b ;; esac; }}; {f} abc; {f} {}", m.name("q"))
    }),
];
