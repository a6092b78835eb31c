//! Random Python programs.

use super::source::{Maker, Program, Way, existing, way};

/// The program with a number.
pub fn program(number: u64) -> Program {
    let mut make = Maker::new(number);
    let count = make.random.usize(1..5);
    let body: Vec<String> = (0..count).map(|_| statement(&mut make, 0)).collect();
    Program { source: format!("{IMPORTS}{}", body.concat()), productions: make.productions }
}

/// What each program may use.
const IMPORTS: &str = "\
import glob, io, json, os, pathlib, shutil, socket, subprocess, sys, tempfile, zipfile, tarfile, csv, urllib.request
from os import path as osp, remove as rm
from pathlib import Path
from shutil import copyfile
";

/// A new name in quotes.
fn fresh(make: &mut Maker) -> String {
    format!("'{}'", make.name("n"))
}

/// A path in the quotes of Python.
fn quoted(make: &mut Maker) -> String {
    format!("'{}'", existing(make))
}

/// An expression whose value is a path.
fn path(make: &mut Maker) -> String {
    const WAYS: [Way; 20] = [
        ("constant", quoted),
        ("constant", fresh),
        ("double quotes", |m| format!("\"{}\"", existing(m))),
        ("escape", |m| format!("'\\x64/{}'", m.name("e"))),
        ("implicit joining", |m| format!("'d/' '{}'", m.name("i"))),
        ("sum", |m| format!("'d' + '/' + '{}'", m.name("s"))),
        ("formatted", |m| format!("f\"d/{{'{}'}}.f\"", m.name("f"))),
        ("percent", |m| format!("'%s/%s' % ('d', '{}')", m.name("p"))),
        ("format", |m| format!("'{{}}/{{name}}'.format('d', name='{}')", m.name("fm"))),
        ("join", |m| format!("os.path.join('d', {})", fresh(m))),
        ("join of strings", |m| format!("'/'.join(['d', {}])", fresh(m))),
        ("path object", |m| format!("Path('d') / {}", fresh(m))),
        ("suffix", |m| format!("Path({}).with_suffix('.sfx')", quoted(m))),
        ("sibling", |m| format!("Path({}).with_name({})", quoted(m), fresh(m))),
        ("base name", |m| format!("osp.basename({}) + '.base'", quoted(m))),
        ("folder name", |m| format!("osp.dirname('d/x') + '/{}'", m.name("dn"))),
        ("home", |m| format!("os.path.expanduser('~/{}')", m.name("h"))),
        ("environment", |m| format!("os.environ['HOME'] + '/{}'", m.name("h"))),
        ("replaced", |m| format!("{}.replace('txt', 'rep').upper()", quoted(m))),
        ("slice", |m| format!("{}[:-4] + '.sliced'", quoted(m))),
    ];
    way(make, &WAYS)
}

/// Calls that have effects.
const CALLS: [Way; 49] = [
    ("write", |m| format!("open({}, 'w').write('x')", path(m))),
    ("append", |m| format!("open({}, mode='a').write('x')", path(m))),
    ("read", |m| format!("print(open({}).read())", quoted(m))),
    ("update", |m| format!("open({}, 'r+').truncate(0)", quoted(m))),
    ("create", |m| format!("open({}, 'x').close()", fresh(m))),
    ("io open", |m| format!("io.open({}, 'wb').write(b'x')", path(m))),
    ("remove", |m| format!("os.remove({})", quoted(m))),
    ("renamed import", |m| format!("rm({})", quoted(m))),
    ("unlink", |m| format!("os.unlink({})", quoted(m))),
    ("remove folder", |m| format!("shutil.rmtree({})", m.one(&["'d'", "'d/g'", "'.'", "Path('d')"]))),
    ("remove empty folder", |m| {
        let f = fresh(m);
        format!("os.mkdir({f}); os.rmdir({f})")
    }),
    ("make folders", |m| format!("os.makedirs(os.path.join({}, 'in'), exist_ok=True)", path(m))),
    ("rename", |m| format!("os.rename({}, {})", quoted(m), path(m))),
    ("replace", |m| format!("os.replace({}, {})", quoted(m), path(m))),
    ("move", |m| format!("shutil.move({}, {})", quoted(m), path(m))),
    ("move into", |m| format!("shutil.move({}, 'd/g')", quoted(m))),
    ("copy", |m| format!("shutil.copy({}, {})", quoted(m), path(m))),
    ("copy into", |m| format!("shutil.copy2({}, 'd')", quoted(m))),
    ("copy file", |m| format!("copyfile({}, dst={})", quoted(m), path(m))),
    ("copy folder", |m| format!("shutil.copytree('d', {})", fresh(m))),
    ("mode", |m| format!("os.chmod({}, 0o600)", quoted(m))),
    ("symbolic link", |m| format!("os.symlink({}, {})", quoted(m), path(m))),
    ("hard link", |m| format!("os.link({}, {})", quoted(m), path(m))),
    ("times", |m| format!("os.utime({})", quoted(m))),
    ("truncate", |m| format!("os.truncate({}, 0)", quoted(m))),
    ("descriptor", |m| format!("os.write(os.open({}, os.O_WRONLY | os.O_CREAT), b'x')", path(m))),
    ("path write", |m| format!("Path({}).write_text('x')", path(m))),
    ("path bytes", |m| format!("Path({}).write_bytes(b'x')", path(m))),
    ("path read", |m| format!("print(Path({}).read_text())", quoted(m))),
    ("path open", |m| format!("Path({}).open('w').write('x')", path(m))),
    ("path touch", |m| format!("Path({}).touch()", path(m))),
    ("path unlink", |m| format!("Path({}).unlink(missing_ok=True)", path(m))),
    ("path rename", |m| format!("Path({}).rename({})", quoted(m), path(m))),
    ("path folder", |m| format!("Path({}).mkdir(parents=True)", path(m))),
    ("path link", |m| format!("Path({}).symlink_to('a.txt')", path(m))),
    ("path mode", |m| format!("Path({}).chmod(0o600)", quoted(m))),
    ("system", |m| format!("os.system('touch {}')", m.name("sy"))),
    ("run", |m| format!("subprocess.run(['touch', str({})])", path(m))),
    ("run shell", |m| format!("subprocess.run('rm -f {} && echo x > {}', shell=True)", existing(m), m.name("rs"))),
    ("output of", |m| format!("subprocess.check_output(['cp', {}, {}])", quoted(m), fresh(m))),
    ("process", |m| format!("subprocess.Popen(['touch', {}], cwd='d').wait()", fresh(m))),
    ("output file", |m| format!("subprocess.call(['echo', 'x'], stdout=open({}, 'w'))", fresh(m))),
    ("pipe", |m| format!("print(os.popen('cat {}').read())", existing(m))),
    ("archive", |m| format!("zipfile.ZipFile({}, 'w').write({})", fresh(m), quoted(m))),
    ("tar", |m| format!("tarfile.open({}, 'w:gz').add('d')", fresh(m))),
    ("make archive", |m| format!("shutil.make_archive({}, 'tar', 'd')", fresh(m))),
    ("evaluate", |m| format!("eval(\"os.remove('{}')\")", existing(m))),
    ("execute", |m| format!("exec('import os as o\\no.unlink(\"{}\")')", existing(m))),
    ("interpreter", |m| format!("subprocess.run([sys.executable, '-c', 'open(\"{}\", \"w\")'])", m.name("in"))),
];

/// An effect on a path in a variable.
fn use_of(make: &mut Maker, variable: &str) -> String {
    let how = make.one(&[
        "open(V, 'w').write('x')",
        "print(open(V).read())",
        "os.remove(V)",
        "shutil.copy(V, str(V) + '.copy')",
        "os.rename(V, str(V) + '.moved')",
        "Path(V).touch()",
        "subprocess.run(['touch', str(V)])",
    ]);
    how.replace('V', variable)
}

fn condition(make: &mut Maker) -> String {
    const WAYS: [Way; 7] = [
        ("exists", |m| format!("os.path.exists({})", quoted(m))),
        ("path exists", |m| format!("Path({}).is_file()", quoted(m))),
        ("comparison", |m| format!("{} == 1", m.random.usize(0..2))),
        ("arguments", |_| "len(sys.argv) > 1".into()),
        ("membership", |m| format!("{} in os.listdir('.')", quoted(m))),
        ("not", |m| format!("not {}.endswith('.txt')", quoted(m))),
        ("both", |m| format!("os.path.isdir('d') and {}", m.one(&["True", "False"]))),
    ];
    way(make, &WAYS)
}

/// A statement with its lines indented.
fn statement(make: &mut Maker, level: usize) -> String {
    if level > 2 || make.chance(3) {
        return format!("{}\n", way(make, &CALLS));
    }
    make.depth = level;
    way(make, &FLOWS)
}

/// Statements one level deeper.
fn block(make: &mut Maker) -> String {
    let level = make.depth;
    let text = statement(make, level + 1);
    make.depth = level;
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Statements that decide what runs, or what later words mean.
const FLOWS: [Way; 43] = [
    ("if", |m| format!("if {}:\n{}", condition(m), block(m))),
    ("if else", |m| format!("if {}:\n{}else:\n{}", condition(m), block(m), block(m))),
    ("elif", |m| format!("if {}:\n{}elif {}:\n{}", condition(m), block(m), condition(m), block(m))),
    ("variable", |m| format!("v = {}\n{}\n", path(m), use_of(m, "v"))),
    ("variable in branch", |m| {
        format!("v = {}\nif {}:\n    v = {}\n{}\n", path(m), condition(m), path(m), use_of(m, "v"))
    }),
    ("conditional", |m| format!("v = {} if {} else {}\n{}\n", quoted(m), condition(m), fresh(m), use_of(m, "v"))),
    ("unpacking", |m| format!("v, w = {}, {}\n{}\n{}\n", quoted(m), fresh(m), use_of(m, "v"), use_of(m, "w"))),
    ("augmented", |m| format!("v = {}\nv += '.more'\n{}\n", quoted(m), use_of(m, "v"))),
    ("walrus", |m| format!("if (v := {}):\n    {}\n", quoted(m), use_of(m, "v"))),
    ("global", |m| format!("v = 'a.txt'\ndef f():\n    global v\n    v = {}\nf()\n{}\n", path(m), use_of(m, "v"))),
    ("for", |m| format!("for v in [{}, {}]:\n    {}\n{}", path(m), path(m), use_of(m, "v"), block(m))),
    ("for else", |m| format!("for v in ({},):\n    {}\nelse:\n{}", quoted(m), use_of(m, "v"), block(m))),
    ("range", |m| format!("for i in range(3):\n    open('{}%d' % i, 'w')\n", m.name("r"))),
    ("enumerate", |m| format!("for i, v in enumerate([{}]):\n    shutil.copy(v, f'{{v}}.{{i}}')\n", quoted(m))),
    ("zip", |m| format!("for v, w in zip([{}], [{}]):\n    shutil.copy(v, w)\n", quoted(m), fresh(m))),
    ("listing", |m| {
        format!(
            "for v in os.listdir('d'):\n    p = os.path.join('d', v)\n    if os.path.isfile(p):\n        {}\n",
            use_of(m, "p")
        )
    }),
    ("glob", |m| format!("for v in glob.glob('{}'):\n    {}\n", m.one(&["*.txt", "d/*.txt", "?.log"]), use_of(m, "v"))),
    ("path glob", |m| format!("for v in Path('d').{}('*.txt'):\n    {}\n", m.one(&["glob", "rglob"]), use_of(m, "v"))),
    ("walk", |m| {
        format!(
            "for root, folders, files in os.walk('d'):\n    for v in files:\n        v = os.path.join(root, v)\n        {}\n",
            use_of(m, "v")
        )
    }),
    ("scan", |m| {
        format!("for e in os.scandir('d'):\n    if e.is_file():\n        v = e.path\n        {}\n", use_of(m, "v"))
    }),
    ("iterate folder", |m| format!("for v in Path('d').iterdir():\n    if v.is_file():\n        {}\n", use_of(m, "v"))),
    ("while", |m| format!("i = 0\nwhile i < 2:\n    open('{}' + str(i), 'w')\n    i += 1\n", m.name("w"))),
    ("break", |m| {
        format!(
            "for v in [{}, {}]:\n    if {}:\n        break\n    {}\n",
            quoted(m),
            quoted(m),
            condition(m),
            use_of(m, "v")
        )
    }),
    ("try", |m| format!("try:\n{}except Exception as e:\n    print(e)\n", block(m))),
    ("try handler", |m| format!("try:\n    open('nothing')\nexcept OSError:\n{}finally:\n{}", block(m), block(m))),
    ("with", |m| format!("with open({}, 'w') as f:\n    f.write('x')\n", path(m))),
    ("with two", |m| format!("with open({}) as f, open({}, 'w') as g:\n    g.write(f.read())\n", quoted(m), path(m))),
    ("lines", |m| {
        format!(
            "with open({}) as f:\n    for line in f:\n        open('l-' + line.split()[0], 'w')\n{}",
            quoted(m),
            block(m)
        )
    }),
    ("temporary", |m| {
        format!(
            "with tempfile.TemporaryDirectory() as t:\n    v = os.path.join(t, {})\n    Path(v).touch()\n",
            fresh(m)
        )
    }),
    ("function", |m| {
        let f = m.name("f");
        format!("def {f}(v):\n    {}\n{f}({})\n{f}({})\n", use_of(m, "v"), path(m), path(m))
    }),
    ("defaults", |m| {
        let f = m.name("f");
        format!("def {f}(v={}, *, w={}):\n    shutil.copy(v, w)\n{f}()\n{f}(w={})\n", quoted(m), fresh(m), fresh(m))
    }),
    ("returned", |m| {
        let f = m.name("f");
        format!(
            "def {f}(v):\n    if {}:\n        return {}\n    return v + '.ret'\nv = {f}({})\n{}\n",
            condition(m),
            path(m),
            quoted(m),
            use_of(m, "v")
        )
    }),
    ("more arguments", |m| {
        let f = m.name("f");
        format!(
            "def {f}(*names, **options):\n    for v in names:\n        {}\n{f}({}, {})\n",
            use_of(m, "v"),
            path(m),
            quoted(m)
        )
    }),
    ("closure", |m| {
        let f = m.name("f");
        format!(
            "def {f}(v):\n    def inner(w):\n        shutil.copy(v, w)\n    return inner\n{f}({})({})\n",
            quoted(m),
            path(m)
        )
    }),
    ("lambda", |m| format!("act = lambda v: {}\nact({})\n", use_of(m, "v").replace(".write('x')", ""), path(m))),
    ("generator", |m| {
        let f = m.name("f");
        format!("def {f}():\n    yield {}\n    yield {}\nfor v in {f}():\n    {}\n", path(m), quoted(m), use_of(m, "v"))
    }),
    ("class", |m| {
        let c = m.name("C");
        format!(
            "class {c}:\n    def __init__(self, name):\n        self.name = name\n    def act(self):\n        v = self.name\n        {}\n{c}({}).act()\n",
            use_of(m, "v"),
            path(m)
        )
    }),
    ("decorator", |m| {
        let (d, f) = (m.name("deco"), m.name("f"));
        format!(
            "def {d}(inner):\n    def outer(*args):\n        print(args)\n        return inner(*args)\n    return outer\n@{d}\ndef {f}(v):\n    {}\n{f}({})\n",
            use_of(m, "v"),
            path(m)
        )
    }),
    ("comprehension", |m| {
        format!(
            "names = [v + '.lc' for v in [{}, {}]]\nfor v in names:\n    {}\n",
            quoted(m),
            quoted(m),
            use_of(m, "v")
        )
    }),
    ("map", |m| format!("list(map(os.remove, [{}, {}]))\n", quoted(m), quoted(m))),
    ("dictionary", |m| {
        format!(
            "table = {{'x': {}, 'y': {}}}\nfor k, v in table.items():\n    {}\n",
            path(m),
            quoted(m),
            use_of(m, "v")
        )
    }),
    ("enter folder", |m| format!("os.chdir('d')\nopen({}, 'w')\nos.chdir('..')\n{}", fresh(m), block(m))),
    ("attribute", |m| {
        format!("getattr(os, 'un' + 'link')({})\n__import__('shutil').copy({}, {})\n", quoted(m), quoted(m), fresh(m))
    }),
];
