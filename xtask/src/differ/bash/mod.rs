//! Random bash scripts.

mod flows;
mod scripts;
mod states;

use super::source::{Maker, Program, Way, existing, way};
use flows::FLOWS;
use scripts::SCRIPTS;
use states::STATES;

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
    } else {
        match make.random.usize(0..4) {
            0 => way(make, &FLOWS),
            1 => way(make, &SCRIPTS),
            _ => way(make, &STATES),
        }
    };
    make.depth -= 1;
    text
}
