//! Tests of programs that get words.

#![allow(clippy::indexing_slicing)]

use crate::python::{Library, Place, extract_effects};
use crate::reading::NoModules;

/// The effects of a program that gets these words.
fn effects(source: &str, words: &[&str]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let place = Place { path: "/p/a.py", folder: "/p", words: Some(&words), loader: &NoModules };
    let reading = extract_effects(source, &place, &Library::NONE);
    assert!(reading.is_complete(), "{:?}", reading.problems);
    let mut found: Vec<String> =
        reading.calls.into_iter().map(|call| format!("{} {}", call.role, call.target)).collect();
    found.sort();
    found
}

#[test]
fn words_of_the_command_line() {
    let source = "import os, sys\nfor name in sys.argv[1:]:\n    os.remove('/d/' + name)\n";
    assert_eq!(effects(source, &["a", "b"]), ["delete /d/a", "delete /d/b"]);
    assert_eq!(effects("from sys import argv\nimport os\nos.remove(argv[-1])\n", &["/x"]), ["delete /x"]);
    // words that the program itself sets
    let source = "import os, sys\nsys.argv = ['a', '/own']\nos.remove(sys.argv[1])\n";
    assert_eq!(effects(source, &["/x"]), ["delete /own"]);
    assert_eq!(effects("import os, sys\nsys.argv.pop(1)\nos.remove(sys.argv[1])\n", &["/x", "/y"]).len(), 3);
}

const PARSER: &str = "\
import argparse, os, shutil
from pathlib import Path
p = argparse.ArgumentParser(description='x')
p.add_argument('source', type=Path)
p.add_argument('-o', '--out', default='/default')
p.add_argument('--also', nargs='*', default=['/first'])
p.add_argument('-j', '--jobs', type=int, default=1)
p.add_argument('-v', '--verbose', action='store_true')
args = p.parse_args()
os.remove(args.source / 'file')
os.rmdir(args.out)
for one in args.also:
    os.chmod(one, 0o600)
";

#[test]
fn arguments_of_a_parser() {
    for (words, expected) in [
        (vec!["/s"], ["chmod /first", "delete /default", "delete /s/file"].to_vec()),
        (vec!["-o", "/o", "/s"], ["chmod /first", "delete /o", "delete /s/file"].to_vec()),
        (vec!["--ou", "/o", "/s"], ["chmod /first", "delete /o", "delete /s/file"].to_vec()),
        (vec!["--out=/o", "-v", "/s", "-j4"], ["chmod /first", "delete /o", "delete /s/file"].to_vec()),
        (vec!["/s", "--also", "/1", "/2"], ["chmod /1", "chmod /2", "delete /default", "delete /s/file"].to_vec()),
    ] {
        assert_eq!(effects(PARSER, &words), expected, "{words:?}");
    }
}

#[test]
fn words_that_may_be_read_in_another_way_are_unknown() {
    for words in [
        vec!["/s", "--v", "/o"],
        vec!["/s", "--", "--out"],
        vec!["/s", "\u{FFFC}"],
        vec!["/s", "-xv"],
        vec!["/s", "*.txt"],
        vec!["/s", "/second"],
        vec![],
    ] {
        let found = effects(PARSER, &words);
        assert!(found.contains(&"delete \u{FFFC}".to_owned()), "{words:?}: {found:?}");
    }
    for change in [
        "p = argparse.ArgumentParser(prefix_chars='+')",
        "p = argparse.ArgumentParser(fromfile_prefix_chars='@')",
        "class Own(argparse.ArgumentParser): pass\np = Own()",
    ] {
        let source = PARSER.replace("p = argparse.ArgumentParser(description='x')", change);
        assert!(effects(&source, &["/s"]).contains(&"delete \u{FFFC}".to_owned()), "{change}");
    }
    for change in ["vars(args)['out'] = input()", "args.__dict__.update(x)", "setattr(args, input(), '/o')"] {
        let source = PARSER.replace("os.rmdir", &format!("{change}\nos.rmdir"));
        assert!(effects(&source, &["/s"]).contains(&"delete \u{FFFC}".to_owned()), "{change}");
    }
}

#[test]
fn arguments_that_the_program_changes_or_hands_on() {
    let with = |change: &str| effects(&PARSER.replace("os.rmdir", &format!("{change}\nos.rmdir")), &["/s"]);
    assert!(with("args.out = '/other'").contains(&"delete /other".to_owned()));
    assert!(with("setattr(args, 'out', '/other')").contains(&"delete /other".to_owned()));
    assert!(with("def f(a): a.out = '/other'\nf(args)").contains(&"delete /other".to_owned()));
    let spread = PARSER.replace("os.rmdir(args.out)", "def f(out, **rest): os.rmdir(out)\nf(**vars(args))");
    assert!(effects(&spread, &["/s", "-o", "/o"]).contains(&"delete /o".to_owned()));
}

#[test]
fn subcommands() {
    let source = "\
import argparse, os
def build(args): os.mkdir(args.folder)
def clean(args): os.rmdir(args.folder)
def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument('--folder', default='/default')
    commands = p.add_subparsers(dest='command', required=True)
    one = commands.add_parser('build', help='x')
    one.add_argument('names', nargs='+')
    one.set_defaults(run=build)
    two = commands.add_parser('clean')
    two.set_defaults(run=clean)
    args = p.parse_args(argv)
    args.run(args)
main()
";
    assert_eq!(effects(source, &["build", "a", "b"])[0], "create /default");
    assert!(effects(source, &["--folder", "/f", "clean"]).contains(&"delete /f".to_owned()));
}

#[test]
fn files_that_a_parser_opens() {
    let source = "import argparse\np = argparse.ArgumentParser()\np.add_argument('out', type=argparse.FileType('w'))\np.parse_args()\n";
    assert_eq!(effects(source, &["/o"]), ["write /o"]);
    assert_eq!(effects(source, &["-x", "/o"]), ["write \u{FFFC}"]);
}

#[test]
fn older_parsers() {
    let source = "\
import optparse, os
p = optparse.OptionParser(usage='x')
p.add_option('-o', '--out', dest='target', default='/default')
p.add_option('-n', type='int', default=1)
p.add_option('-q', action='store_true')
options, names = p.parse_args()
os.rmdir(options.target)
for name in names: os.remove(name)
";
    assert_eq!(effects(source, &["-n3", "/a", "-o", "/o", "/b"]), ["delete /a", "delete /b", "delete /o"]);
    assert_eq!(effects(source, &["-q"]), ["delete /default"]);
    let source = "\
import getopt, os, sys
options, names = getopt.getopt(sys.argv[1:], 'd:v', ['dir=', 'verbose'])
folder = '/default'
for name, value in options:
    if name in ('-d', '--dir'):
        folder = value
for name in names:
    os.remove(os.path.join(folder, name))
";
    for words in [["-d/x", "a"], ["--di=/x", "a"]] {
        assert!(effects(source, &words).contains(&"delete /x/a".to_owned()), "{words:?}");
    }
    assert!(effects(source, &["-x", "a"])[0].contains('\u{FFFC}'));
}
