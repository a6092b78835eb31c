//! Programs of a project that are run with words: what they do depends on these. Names of its own Ruby, PHP, Perl and Lua.

use crate::javascript::project;
use crate::knowledge::{allowed_in, stopped_in};

/// Removes a folder that two words make.
const SWEEP: &str = "\
import argparse
import shutil
from pathlib import Path

def parse(argv=None):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--root', type=Path, default=Path('build'))
    ap.add_argument('--name', default='old')
    ap.add_argument('-y', '--yes', action='store_true')
    return ap.parse_args(argv)

def main(argv=None):
    args = parse(argv)
    victim = args.root / args.name
    if args.yes:
        shutil.rmtree(victim)

if __name__ == '__main__':
    main()
";
/// Empties one of several places, the home folder among them.
const CLEAN: &str = "\
import getopt, shutil, sys
from pathlib import Path

KINDS = {'cache': Path('.cache'), 'all': Path('/var/lib')}
options, names = getopt.getopt(sys.argv[1:], 'k:n', ['kind=', 'dry-run'])
for option, value in options:
    if option in ('-k', '--kind'):
        shutil.rmtree(KINDS[value])
for name in names:
    shutil.rmtree('build/' + name)
";
/// Subcommands with defaults of their own.
const MANAGE: &str = "\
import argparse, shutil
from pathlib import Path

BASE = Path(__file__).resolve().parent

def reset(ns):
    for part in ns.parts:
        shutil.rmtree(ns.area / part)

top = argparse.ArgumentParser()
commands = top.add_subparsers(dest='command', required=True)
project = commands.add_parser('project')
project.set_defaults(run=reset, area=BASE, parts=['out', 'tmp'])
machine = commands.add_parser('machine')
machine.set_defaults(run=reset, area=Path('/var'), parts=['lib', 'log'])
ns = top.parse_args()
ns.run(ns)
";

#[test]
fn words_decide_what_a_program_deletes() {
    let root = project(&[("sweep.py", SWEEP), ("clean.py", CLEAN), ("manage_state.py", MANAGE)]);
    allowed_in(
        root.path(),
        &[
            "python3 sweep.py --root build --name old --yes",
            "python3 sweep.py -y",
            "python3 sweep.py --ro=build -y",
            "python3 clean.py --kind cache",
            "python3 clean.py -k cache docs site",
            "python3 manage_state.py project",
            "python3 -c 'import os, sys; os.remove(sys.argv[1])' build/old/x",
        ],
    );
    stopped_in(
        root.path(),
        &[
            "python3 sweep.py --root /var --name lib --yes",
            "python3 sweep.py --ro=/etc --na ssl -y",
            "python3 sweep.py --root \"$PLACE\" --yes",
            "python3 sweep.py --root build --name old --yes $MORE",
            "python3 clean.py -kall",
            "python3 clean.py --ki=all",
            "python3 clean.py ../../../../var/lib",
            "python3 manage_state.py machine",
            "ls / | xargs python3 sweep.py --yes --root",
            "find / -maxdepth 1 -exec python3 sweep.py --yes --name lib --root {} \\;",
            "python3 - --root /etc --yes < sweep.py",
        ],
    );
}

#[test]
fn functions_among_the_arguments_are_called_if_the_words_are_not_certain() {
    let with = |line: &str| {
        format!(
            "import argparse, copy, os, shutil\np = argparse.ArgumentParser()\np.add_argument('--x')\n{line}\na = p.parse_args()\na.run(a.x)\n"
        )
    };
    let (lambda, system) =
        (with("p.set_defaults(run=lambda x: shutil.rmtree('/var/lib'))"), with("p.set_defaults(run=os.system)"));
    let (kind, known) = (with("p.add_argument('--y', type=os.remove)"), with("p.set_defaults(run=print)"));
    let changed = with("p.set_defaults(run=lambda x: shutil.rmtree('/var/lib'))\nunknown.register(p)");
    let root = project(&[
        ("lambda.py", &lambda),
        ("system.py", &system),
        ("kind.py", &kind),
        ("known.py", &known),
        ("changed.py", &changed),
    ]);
    allowed_in(root.path(), &["python3 known.py --x 1", "python3 known.py $X", "python3 system.py --x 'ls -l'"]);
    stopped_in(
        root.path(),
        &[
            "python3 lambda.py",
            "python3 lambda.py $X",
            "python3 system.py $X",
            "python3 system.py --x 'rm -rf /var/lib'",
            "python3 kind.py --y /etc/passwd",
            "python3 changed.py",
        ],
    );
}

#[test]
fn a_command_that_a_project_adds_to_its_framework_is_read() {
    let manage = "import sys\nfrom django.core.management import execute_from_command_line\n\nif __name__ == '__main__':\n    execute_from_command_line(sys.argv)\n";
    let command = |body: &str| {
        format!(
            "from django.core.management.base import BaseCommand\nimport shutil\n\nclass Command(BaseCommand):\n    def handle(self, *args, **options):\n        {body}\n"
        )
    };
    let (fine, grave) = (command("self.stdout.write('done')"), command("shutil.rmtree('/var/lib')"));
    let root = project(&[
        ("manage.py", manage),
        ("hours/management/commands/import_hours.py", &fine),
        ("apps/pages/management/commands/import_pages.py", &fine),
        ("hours/management/commands/tidy_hours.py", &grave),
    ]);
    allowed_in(root.path(), &["python manage.py import_hours a.csv --replace", "python3 manage.py import_pages"]);
    stopped_in(
        root.path(),
        &[
            "python manage.py tidy_hours",
            "python manage.py no_such_command --frob",
            "python manage.py import_hours --pythonpath=/tmp/x",
        ],
    );
}

#[test]
fn names_that_no_table_knows_are_those_of_a_project_and_its_packages() {
    let root = project(&[
        (
            "report.rb",
            "require 'optparse'\nrequire_relative 'lib/slug'\nOptionParser.new { |o| o.on('-x') { } }.parse!\nputs Slug.make('x').frobnicate\n",
        ),
        ("lib/slug.rb", "class Slug\n  def self.make(x) = new(x)\nend\n"),
        (
            "index.php",
            "<?php\n$t = new Tokenizer([]);\nfile_put_contents('out.json', $t->frequencies('x'));\nrename('out.json', 'public.json');\n",
        ),
        ("count.pl", "use Getopt::Long;\nmy $n = 1;\nGetOptions('n=i' => \\$n) or die;\nprint $n // 0 if -e 'x';\n"),
        ("pack.lua", "local inspect = require 'inspect'\nprint(inspect.frob({}))\nos.rename('a', 'b')\n"),
        ("home.rb", "require 'fileutils'\nFileUtils.remove_entry_secure(File.join(Dir.home, 'Documents'))\n"),
        ("zip.php", "<?php\n$z = new ZipArchive;\n$z->open('a.zip');\n$z->extractTo('/etc');\n"),
        ("copy.pl", "use File::Copy;\ncopy('x', '/etc/passwd');\n"),
        ("debug.lua", "debug.sethook(function() end)\n"),
        ("process.php", "<?php\n$p = new Process(['rm', '-rf', '/var/lib']);\n$p->mustRun();\n"),
        ("tree.pl", "use Path::Tiny;\npath('/var/lib')->remove_tree;\n"),
        ("folder.lua", "local lfs = require 'lfs'\nlfs.rmdir('/var/lib')\n"),
        ("folder.R", "fs::dir_delete('/var/lib')\n"),
        ("every.php", "<?php\nforeach (glob('/etc/{ssl,ssh}/*', GLOB_BRACE) as $f) { unlink($f); }\n"),
        ("move.rb", "require 'fileutils'\nFileUtils.mv('x', '/etc/passwd')\n"),
    ]);
    allowed_in(
        root.path(),
        &["ruby report.rb --width 3 -x", "php index.php --out=x", "perl count.pl --n 3", "lua pack.lua --width 4 -o x"],
    );
    stopped_in(
        root.path(),
        &[
            "ruby home.rb",
            "php zip.php",
            "perl copy.pl",
            "lua debug.lua",
            "ruby move.rb",
            "php process.php",
            "perl tree.pl",
            "lua folder.lua",
            "Rscript folder.R",
            "php every.php",
        ],
    );
    // outside of a project's own files, such a name is unknown
    stopped_in(root.path(), &["ruby -e 'Slug.make(1)'", "php -r '$t = new Tokenizer([]);'"]);
}

#[test]
fn a_file_on_the_standard_input_of_an_interpreter_is_read() {
    let root = project(&[
        ("fine.sh", "mkdir -p build\ntouch build/a\n"),
        ("grave.sh", "set -e\nmkdir -p build\nrm -rf /etc/ssl\n"),
        ("put.sh", "echo x >> \"$1\"\n"),
        ("put.py", "import sys\n\nopen(sys.argv[1], 'a').write('x')\n"),
        ("fine.py", "import json\n\nprint(json.dumps({}))\n"),
        ("select.sql", "SELECT name\nFROM item\nWHERE id = 1;\n"),
        ("drop.sql", "BEGIN;\nDROP TABLE item;\nCOMMIT;\n"),
    ]);
    allowed_in(
        root.path(),
        &["bash < fine.sh", "python3 < fine.py", "sqlite3 app.db < select.sql", "bash -s build/a < put.sh"],
    );
    stopped_in(
        root.path(),
        &[
            "bash < grave.sh",
            "bash -s x < grave.sh",
            "psql -d app < drop.sql",
            "sed s/a/b/ < fine.sh | bash",
            "bash -s /etc/profile < put.sh",
            "python3 - /etc/profile < put.py",
            "bash -s /etc/profile <<'E'\necho x >> \"$1\"\nE",
            "cd /tmp && python3 - /etc/profile <<'E'\nimport sys\nopen(sys.argv[1], 'a').write('x')\nE",
            "(cd /tmp && bash) < grave.sh",
        ],
    );
}
