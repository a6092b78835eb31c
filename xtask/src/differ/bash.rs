//! Random bash scripts.

use super::source::{Maker, Program, Way, existing, way};

/// The script with a number.
pub fn program(number: u64) -> Program {
    let mut make = Maker::new(number);
    let count = make.random.usize(1..5);
    let lines: Vec<String> = (0..count).map(|_| statement(&mut make)).collect();
    Program { source: format!("{}\n", lines.join("\n")), productions: make.productions }
}

/// A plain path without characters that the shell expands.
fn plain(make: &mut Maker) -> String {
    let new = make.name("n");
    let old = make.one(&["a.txt", "b.txt", "c.log", "d/e.txt", "d/f.txt", "d/g/h.txt", "/tmp/t1", "~/h1"]).to_owned();
    if make.chance(2) { format!("{new}.out") } else { old }
}

/// A word that expands to a path.
fn path(make: &mut Maker) -> String {
    const WAYS: [Way; 22] = [
        ("plain word", plain),
        ("plain word", plain),
        ("plain word", plain),
        ("double quotes", |m| format!("\"{}\"", plain(m).replace('~', "$HOME"))),
        ("single quotes", |m| format!("'{}'", existing(m))),
        ("space in quotes", |_| "\"with space.txt\"".into()),
        ("escaped space", |_| "with\\ space.txt".into()),
        ("ansi quotes", |m| format!("$'{}\\x2eout'", m.name("x"))),
        ("joined quotes", |m| format!("d/'{}'\".out\"", m.name("j"))),
        ("braces", |m| format!("{}.{{one,two}}", m.name("br"))),
        ("brace range", |m| format!("{}{{1..3}}", m.name("r"))),
        ("glob", |m| m.one(&["*.txt", "d/*", "?.log", "[ab].txt", "d/**/*.txt"]).into()),
        ("command substitution", |m| format!("$(echo {})", existing(m))),
        ("quoted substitution", |m| format!("\"$(printf '%s' {})\"", existing(m))),
        ("backquotes", |m| format!("`echo {}`", existing(m))),
        ("basename", |m| format!("\"$(basename /x/{}.out)\"", m.name("bn"))),
        ("dirname", |m| format!("\"$(dirname d/x)/{}\"", m.name("dn"))),
        ("default value", |m| format!("\"${{UNSET_{}:-{}}}\"", m.name("V"), m.name("dv"))),
        ("arithmetic", |m| format!("{}$((2 * 3 + 1))", m.name("ar"))),
        ("home", |m| format!("$HOME/{}", m.name("hm"))),
        ("working folder", |m| format!("\"$PWD/{}\"", m.name("wd"))),
        ("dots", |m| format!("./d/../{}", m.name("dt"))),
    ];
    way(make, &WAYS)
}

/// A command that changes or reads files.
fn command(make: &mut Maker) -> String {
    const WAYS: [Way; 26] = [
        ("touch", |m| format!("touch {}", path(m))),
        ("remove", |m| format!("rm -f {}", path(m))),
        ("remove folder", |m| format!("rm -rf {}", m.one(&["d", "d/g", "./d", "d/", "/tmp/t1"]))),
        ("make folder", |m| format!("mkdir -p {}/{}", m.name("m"), m.name("k"))),
        ("copy", |m| format!("cp {} {}", existing(m), path(m))),
        ("copy into", |m| format!("cp {} {} d", existing(m), path(m))),
        ("copy folder", |m| format!("cp -r d {}", m.name("dd"))),
        ("move", |m| format!("mv {} {}", existing(m), m.name("mv"))),
        ("move into", |m| format!("mv -t d/g {}", existing(m))),
        ("link", |m| format!("ln -s {} {}", existing(m), m.name("ln"))),
        ("hard link", |m| format!("ln {} {}", existing(m), m.name("hl"))),
        ("mode", |m| format!("chmod 600 {}", path(m))),
        ("read", |m| format!("cat {}", path(m))),
        ("write", |m| format!("echo text > {}", m.name("w"))),
        ("append", |m| format!("printf '%s\\n' x >> {}", existing(m))),
        ("write both", |m| format!("ls nothing &> {}", m.name("wb"))),
        ("write errors", |m| format!("ls nothing 2>{} >&2", m.name("we"))),
        ("tee", |m| format!("echo x | tee -a {}", path(m))),
        ("edit in place", |m| format!("sed -i 's/o/0/' {}", existing(m))),
        ("truncate", |m| format!("truncate -s 0 {}", existing(m))),
        ("sort into", |m| format!("sort -o {} {}", m.name("so"), existing(m))),
        ("no command", |m| format!("> {}", m.name("nc"))),
        ("find delete", |_| "find d -name '*.txt' -delete".into()),
        ("find run", |m| format!("find . -maxdepth 1 -name 'c*' -exec cp {{}} {} \\;", m.name("fe"))),
        ("install", |m| format!("install -m 600 {} {}", existing(m), m.name("in"))),
        ("split", |m| format!("split -l 1 {} {}", existing(m), m.name("sp"))),
    ];
    way(make, &WAYS)
}

/// A condition whose result the reader may or may not know.
fn condition(make: &mut Maker) -> String {
    const WAYS: [Way; 8] = [
        ("test file", |m| format!("[ -f {} ]", existing(m))),
        ("test missing", |_| "[ -e nothing ]".into()),
        ("double test", |m| format!("[[ {} == *.txt && -r a.txt ]]", existing(m))),
        ("grep", |m| format!("grep -q line {}", existing(m))),
        ("true", |m| m.one(&["true", "false", ":"]).into()),
        ("not", |_| "! test -d nothing".into()),
        ("arithmetic test", |_| "(( 3 > 2 ))".into()),
        ("compare", |m| format!("[ \"{}\" = 1 ]", m.random.usize(0..2))),
    ];
    way(make, &WAYS)
}

fn statement(make: &mut Maker) -> String {
    make.depth += 1;
    let text = if make.depth > 3 || make.chance(3) {
        command(make)
    } else if make.chance(2) {
        way(make, &FLOWS)
    } else {
        way(make, &STATES)
    };
    make.depth -= 1;
    text
}

/// Statements that decide what runs.
const FLOWS: [Way; 25] = [
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

/// Statements that change what later words mean, and use it.
const STATES: [Way; 32] = [
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
];
