//! What the generators of programs share.

use std::collections::BTreeSet;

/// A generated program.
#[derive(Debug)]
pub struct Program {
    pub source: String,
    /// The productions of the grammar that made it.
    pub productions: BTreeSet<&'static str>,
}

/// Files that are there before a program runs, and their content.
pub const FILES: [(&str, &str); 14] = [
    ("a.txt", "one two\nthree\n"),
    ("b.txt", "b.out\nd/e.out\n"),
    ("c.log", "line 1\nline 2\n"),
    ("d/e.txt", "e\n"),
    ("d/f.txt", "f\n"),
    ("d/g/h.txt", "h\n"),
    ("with space.txt", "space\n"),
    ("run.sh", "touch from-run \"$1\"\n"),
    ("more.sh", "touch from-more\nNAME=sourced.out\n"),
    ("v.txt", "word\n"),
    (
        "here.sh",
        "#!/bin/bash\nDIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]:-$0}\")\" > /dev/null && pwd)\"\ntouch \"$DIR/from-here\"\ncd \"$(dirname \"$0\")/d\" && touch in-d\n",
    ),
    (
        "args.sh",
        "#!/bin/bash\nNAME=none\nwhile [[ $# -gt 0 ]]; do\n  case \"$1\" in\n    --name) NAME=\"$2\"; shift 2 ;;\n    --name=*) NAME=\"${1#*=}\"; shift ;;\n    -q) touch quiet; shift ;;\n    *) REST=\"$1\"; shift ;;\n  esac\ndone\ntouch \"$NAME.arg\" \"${REST:-no}.rest\"\n",
    ),
    (
        "lib.sh",
        "make_one() {\n  local r=\"$1\"\n  touch \"$r.lib\"\n  last=\"$r\"\n}\nmake_two() { make_one \"$1\"; make_one \"$2\"; }\n",
    ),
    ("state.sh", "OLD=$PWD\nPLACE=pl\ncd d/g\n"),
];
/// The folder in which programs run.
pub const WORK: &str = "/home/user/work";
/// The home of the account that runs them.
pub const HOME: &str = "/home/user";

/// A way to write a word, a command or a statement, with the name of its production.
pub type Way = (&'static str, fn(&mut Maker) -> String);

/// Makes choices, and notes which productions were used.
pub struct Maker {
    pub random: fastrand::Rng,
    pub productions: BTreeSet<&'static str>,
    /// Names that were given so far, for new ones.
    pub names: usize,
    pub depth: usize,
}

impl Maker {
    /// The maker of the program with a number.
    pub fn new(number: u64) -> Self {
        Maker { random: fastrand::Rng::with_seed(number), productions: BTreeSet::new(), names: 0, depth: 0 }
    }

    /// One of several.
    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.random.choice(of.iter()).copied().unwrap_or_default()
    }

    /// A new name that begins so.
    pub fn name(&mut self, begin: &str) -> String {
        self.names += 1;
        format!("{begin}{}", self.names)
    }

    pub fn note(&mut self, production: &'static str) {
        self.productions.insert(production);
    }

    pub fn chance(&mut self, of: usize) -> bool {
        self.random.usize(..of) == 0
    }
}

/// One of the ways.
pub fn way(make: &mut Maker, ways: &[Way]) -> String {
    let Some((name, how)) = ways.get(make.random.usize(..ways.len().max(1))) else { return String::new() };
    make.note(name);
    how(make)
}

/// A file that is there.
pub fn existing(make: &mut Maker) -> String {
    make.one(&["a.txt", "b.txt", "c.log", "d/e.txt", "d/f.txt", "d/g/h.txt"]).to_owned()
}
