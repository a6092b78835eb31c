//! Random JavaScript programs.

use super::source::{Maker, Program, Way, existing, way};

/// The program with a number.
pub fn program(number: u64) -> Program {
    let mut make = Maker::new(number);
    let count = make.random.usize(1..5);
    let body: Vec<String> = (0..count).map(|_| statement(&mut make, 0)).collect();
    let body: String = body.iter().map(|statement| format!("{{\n{statement}}}\n")).collect();
    Program { source: format!("{IMPORTS}(async () => {{\n{body}}})();\n"), productions: make.productions }
}

/// What each program may use.
const IMPORTS: &str = "\
const fs = require('fs'), path = require('node:path'), os = require('os');
const { execSync, spawnSync, execFileSync } = require('child_process');
const { unlinkSync: remove, promises: files } = require('fs');
";

/// A new name in quotes.
fn fresh(make: &mut Maker) -> String {
    format!("'{}'", make.name("n"))
}

/// The path of a file that is there, in quotes.
fn quoted(make: &mut Maker) -> String {
    format!("'{}'", existing(make))
}

/// An expression whose value is a path.
fn path(make: &mut Maker) -> String {
    const WAYS: [Way; 19] = [
        ("constant", quoted),
        ("constant", fresh),
        ("double quotes", |m| format!("\"{}\"", existing(m))),
        ("escape", |m| format!("'\\x64/{}'", m.name("e"))),
        ("code point", |m| format!("'\\u{{64}}/{}'", m.name("u"))),
        ("sum", |m| format!("('d' + '/' + '{}')", m.name("s"))),
        ("template", |m| format!("`d/${{'{}'}}.t`", m.name("t"))),
        ("template in template", |m| format!("`d/${{`${{'x'}}-{}`}}`", m.name("t"))),
        ("join", |m| format!("path.join('d', '..', {})", fresh(m))),
        ("resolve", |m| format!("path.resolve({})", fresh(m))),
        ("join of strings", |m| format!("['d', {}].join('/')", fresh(m))),
        ("concat", |m| format!("'d/'.concat({})", fresh(m))),
        ("base name", |m| format!("(path.basename({}) + '.base')", quoted(m))),
        ("folder name", |m| format!("(path.dirname('d/x') + '/{}')", m.name("dn"))),
        ("home", |m| format!("path.join(os.homedir(), {})", fresh(m))),
        ("environment", |m| format!("`${{process.env.HOME}}/{}`", m.name("h"))),
        ("working folder", |m| format!("path.join(process.cwd(), {})", fresh(m))),
        ("replaced", |m| format!("{}.replace('txt', 'rep')", quoted(m))),
        ("slice", |m| format!("({}.slice(0, -4) + '.sliced')", quoted(m))),
    ];
    way(make, &WAYS)
}

/// Calls that have effects.
const CALLS: [Way; 44] = [
    ("write", |m| format!("fs.writeFileSync({}, 'x')", path(m))),
    ("append", |m| format!("fs.appendFileSync({}, 'x')", path(m))),
    ("read", |m| format!("console.log(fs.readFileSync({}, 'utf8'))", quoted(m))),
    ("awaited write", |m| format!("await files.writeFile({}, 'x')", path(m))),
    ("awaited read", |m| format!("console.log(await fs.promises.readFile({}))", quoted(m))),
    ("callback", |m| format!("fs.writeFile({}, 'x', error => console.log(error))", path(m))),
    ("callback with call", |m| {
        format!("fs.readFile({}, (error, data) => fs.writeFileSync({}, data))", quoted(m), path(m))
    }),
    ("remove", |m| format!("fs.rmSync({})", quoted(m))),
    ("remove folder", |m| {
        format!("fs.rmSync({}, {{ recursive: true, force: true }})", m.one(&["'d'", "'d/g'", "'d/'"]))
    }),
    ("renamed import", |m| format!("remove({})", quoted(m))),
    ("unlink", |m| format!("fs.unlinkSync({})", quoted(m))),
    ("awaited unlink", |m| format!("await files.unlink({})", quoted(m))),
    ("remove empty folder", |m| {
        let f = fresh(m);
        format!("fs.mkdirSync({f}); fs.rmdirSync({f})")
    }),
    ("make folders", |m| format!("fs.mkdirSync({} + '/in', {{ recursive: true }})", path(m))),
    ("rename", |m| format!("fs.renameSync({}, {})", quoted(m), path(m))),
    ("awaited rename", |m| format!("await files.rename({}, {})", quoted(m), path(m))),
    ("copy", |m| format!("fs.copyFileSync({}, {})", quoted(m), path(m))),
    ("copy folder", |m| format!("fs.cpSync('d', {}, {{ recursive: true }})", fresh(m))),
    ("mode", |m| format!("fs.chmodSync({}, 0o600)", quoted(m))),
    ("symbolic link", |m| format!("fs.symlinkSync({}, {})", quoted(m), path(m))),
    ("hard link", |m| format!("fs.linkSync({}, {})", quoted(m), path(m))),
    ("times", |m| format!("fs.utimesSync({}, 1, 1)", quoted(m))),
    ("truncate", |m| format!("fs.truncateSync({}, 0)", quoted(m))),
    ("descriptor", |m| format!("fs.writeSync(fs.openSync({}, 'w'), 'x')", path(m))),
    ("descriptor append", |m| format!("fs.closeSync(fs.openSync({}, 'a'))", path(m))),
    ("stream", |m| format!("fs.createWriteStream({}).end('x')", path(m))),
    ("streams", |m| format!("fs.createReadStream({}).pipe(fs.createWriteStream({}))", quoted(m), path(m))),
    ("temporary folder", |m| {
        format!("fs.writeFileSync(path.join(fs.mkdtempSync(path.join(os.tmpdir(), 't-')), {}), 'x')", fresh(m))
    }),
    ("shell", |m| format!("execSync('touch {}')", m.name("sh"))),
    ("shell words", |m| format!("execSync(`rm -f ${{{}}} && echo x > {}`)", quoted(m), m.name("sw"))),
    ("shell folder", |m| format!("execSync('touch {}', {{ cwd: 'd' }})", m.name("sf"))),
    ("output of", |m| format!("console.log(execSync('cat {}').toString())", existing(m))),
    ("spawn", |m| format!("spawnSync('touch', [{}])", path(m))),
    ("spawn shell", |m| format!("spawnSync('rm -f {}', {{ shell: true }})", existing(m))),
    ("file of program", |m| format!("execFileSync('cp', [{}, {}], {{ stdio: 'inherit' }})", quoted(m), fresh(m))),
    ("later program", |m| format!("require('child_process').exec('touch {}')", m.name("lp"))),
    ("started program", |m| format!("require('child_process').spawn('touch', [{}])", path(m))),
    ("interpreter", |m| {
        format!("execFileSync(process.execPath, ['-e', \"require('fs').writeFileSync('{}', '')\"])", m.name("in"))
    }),
    ("computed member", |m| format!("fs['unlink' + 'Sync']({})", quoted(m))),
    ("computed module", |m| format!("require('f' + 's').writeFileSync({}, '')", path(m))),
    ("dynamic import", |m| format!("(await import('node:fs')).writeFileSync({}, '')", path(m))),
    ("module's own require", |m| format!("module.require('fs').appendFileSync({}, 'x')", path(m))),
    ("apply", |m| format!("fs.unlinkSync.apply(null, [{}])", quoted(m))),
    ("call", |m| format!("fs.writeFileSync.call(fs, {}, 'x')", path(m))),
];

/// An effect on a path in a variable.
fn use_of(make: &mut Maker, variable: &str) -> String {
    let how = make.one(&[
        "fs.writeFileSync(V, 'x')",
        "fs.readFileSync(V)",
        "fs.unlinkSync(V)",
        "fs.copyFileSync(V, V + '.copy')",
        "fs.renameSync(V, `${V}.moved`)",
        "fs.appendFileSync(V, 'x')",
        "spawnSync('touch', [V])",
        "execSync(`touch ${V}`)",
    ]);
    how.replace('V', variable)
}

fn condition(make: &mut Maker) -> String {
    const WAYS: [Way; 8] = [
        ("exists", |m| format!("fs.existsSync({})", quoted(m))),
        ("is file", |m| format!("fs.statSync({}, {{ throwIfNoEntry: false }})?.isFile()", quoted(m))),
        ("comparison", |m| format!("{} === 1", m.random.usize(0..2))),
        ("arguments", |_| "process.argv.length > 2".into()),
        ("membership", |m| format!("fs.readdirSync('.').includes({})", quoted(m))),
        ("not", |m| format!("!{}.endsWith('.txt')", quoted(m))),
        ("both", |m| format!("fs.existsSync('d') && {}", m.one(&["true", "false"]))),
        ("coalesced", |m| format!("(process.env.NOTHING ?? {})", m.one(&["''", "'x'"]))),
    ];
    way(make, &WAYS)
}

/// A statement with its lines.
fn statement(make: &mut Maker, level: usize) -> String {
    if level > 2 || make.chance(3) {
        return format!("{};\n", way(make, &CALLS));
    }
    make.depth = level;
    way(make, &FLOWS)
}

/// Statements in braces.
fn block(make: &mut Maker) -> String {
    let level = make.depth;
    let text = statement(make, level + 1);
    make.depth = level;
    format!("{{\n{text}}}\n")
}

/// Statements that decide what runs, or what later words mean.
const FLOWS: [Way; 43] = [
    ("if", |m| format!("if ({}) {}", condition(m), block(m))),
    ("if else", |m| format!("if ({}) {}else {}", condition(m), block(m), block(m))),
    ("else if", |m| format!("if ({}) {}else if ({}) {}", condition(m), block(m), condition(m), block(m))),
    ("variable", |m| format!("const v = {};\n{};\n", path(m), use_of(m, "v"))),
    ("variable in branch", |m| {
        format!("let v = {};\nif ({}) {{ v = {}; }}\n{};\n", path(m), condition(m), path(m), use_of(m, "v"))
    }),
    ("conditional", |m| format!("const v = {} ? {} : {};\n{};\n", condition(m), quoted(m), fresh(m), use_of(m, "v"))),
    ("and then", |m| format!("{} && {};\n", condition(m), use_of(m, "'a.txt'"))),
    ("array pattern", |m| {
        format!("const [v, w] = [{}, {}];\n{};\n{};\n", quoted(m), fresh(m), use_of(m, "v"), use_of(m, "w"))
    }),
    ("object pattern", |m| {
        format!(
            "const {{ a: v, b: {{ c: w }} }} = {{ a: {}, b: {{ c: {} }} }};\nfs.copyFileSync(v, w);\n",
            quoted(m),
            path(m)
        )
    }),
    ("pattern with default", |m| format!("const {{ v = {} }} = {{}};\n{};\n", path(m), use_of(m, "v"))),
    ("augmented", |m| format!("let v = {};\nv += '.more';\n{};\n", quoted(m), use_of(m, "v"))),
    ("later assignment", |m| {
        format!("let v = 'a.txt';\nconst f = () => {{ v = {}; }};\nf();\n{};\n", path(m), use_of(m, "v"))
    }),
    ("for of", |m| format!("for (const v of [{}, {}]) {{ {}; }}\n{}", path(m), path(m), use_of(m, "v"), block(m))),
    ("for", |m| format!("for (let i = 0; i < 3; i++) fs.writeFileSync('{}' + i, '');\n", m.name("r"))),
    ("while", |m| format!("let i = 0;\nwhile (i < 2) {{ fs.writeFileSync(`{}${{i}}`, ''); i += 1; }}\n", m.name("w"))),
    ("do while", |m| format!("let i = 0;\ndo {{\n{}i++;\n}} while (i < 1);\n", block(m))),
    ("for each", |m| format!("[{}, {}].forEach(v => {});\n", path(m), quoted(m), use_of(m, "v"))),
    ("for each index", |m| format!("[{}].forEach((v, i) => {{ fs.copyFileSync(v, v + '.' + i); }});\n", quoted(m))),
    ("map", |m| {
        format!("[{}, {}].map(v => v + '.m').forEach(v => {{ {}; }});\n", quoted(m), quoted(m), use_of(m, "v"))
    }),
    ("filter", |m| {
        format!("for (const v of [{}, 'c.log'].filter(n => n.endsWith('.txt'))) {{ {}; }}\n", quoted(m), use_of(m, "v"))
    }),
    ("map of functions", |m| format!("[{}].map(remove);\n", quoted(m))),
    ("listing", |m| {
        format!(
            "for (const name of fs.readdirSync('d')) {{\n  const v = path.join('d', name);\n  if (fs.statSync(v).isFile()) {{ {}; }}\n}}\n",
            use_of(m, "v")
        )
    }),
    ("listing with types", |m| {
        format!(
            "for (const e of fs.readdirSync('d', {{ withFileTypes: true }})) if (e.isFile()) {{\n  const v = `d/${{e.name}}`;\n  {};\n}}\n",
            use_of(m, "v")
        )
    }),
    ("walk", |m| {
        let f = m.name("walk");
        format!(
            "function {f}(d) {{\n  for (const n of fs.readdirSync(d)) {{\n    const v = path.join(d, n);\n    if (fs.statSync(v).isDirectory()) {f}(v); else {{ {}; }}\n  }}\n}}\n{f}('d');\n",
            use_of(m, "v")
        )
    }),
    ("try", |m| format!("try {}catch (error) {{ console.log(error.message); }}\n", block(m))),
    ("try handler", |m| format!("try {{ fs.readFileSync('nothing'); }} catch {}finally {}", block(m), block(m))),
    ("lines", |m| {
        format!(
            "fs.readFileSync({}, 'utf8').split('\\n').forEach(l => fs.writeFileSync('l-' + l.length, ''));\n",
            quoted(m)
        )
    }),
    ("function", |m| {
        let f = m.name("f");
        format!("function {f}(v) {{ {}; }}\n{f}({});\n{f}({});\n", use_of(m, "v"), path(m), path(m))
    }),
    ("function used before", |m| {
        let f = m.name("f");
        format!("{f}({});\nfunction {f}(v) {{ {}; }}\n", path(m), use_of(m, "v"))
    }),
    ("default value", |m| {
        let f = m.name("f");
        format!(
            "const {f} = (v = {}, {{ w = {} }} = {{}}) => fs.copyFileSync(v, w);\n{f}();\n{f}(undefined, {{ w: {} }});\n",
            quoted(m),
            fresh(m),
            fresh(m)
        )
    }),
    ("returned", |m| {
        let f = m.name("f");
        format!(
            "function {f}(v) {{ if ({}) return {}; return v + '.ret'; }}\nconst v = {f}({});\n{};\n",
            condition(m),
            path(m),
            quoted(m),
            use_of(m, "v")
        )
    }),
    ("rest", |m| {
        let f = m.name("f");
        format!(
            "const {f} = (...names) => {{ for (const v of names) {{ {}; }} }};\n{f}({}, {});\n",
            use_of(m, "v"),
            path(m),
            quoted(m)
        )
    }),
    ("spread", |m| format!("const names = [{}, {}];\nfs.copyFileSync(...names);\n", quoted(m), path(m))),
    ("closure", |m| {
        let f = m.name("f");
        format!("const {f} = v => w => fs.copyFileSync(v, w);\n{f}({})({});\n", quoted(m), path(m))
    }),
    ("called at once", |m| format!("(function (v) {{ {}; }})({});\n", use_of(m, "v"), path(m))),
    ("async function", |m| {
        let f = m.name("f");
        format!("const {f} = async v => {{ {}; }};\nawait {f}({});\n", use_of(m, "v"), path(m))
    }),
    ("then", |m| format!("files.readFile({}).then(() => {});\n", quoted(m), use_of(m, "'b.txt'"))),
    ("all", |m| {
        format!("await Promise.all([{}, {}].map(async v => {{ {}; }}));\n", path(m), quoted(m), use_of(m, "v"))
    }),
    ("generator", |m| {
        let f = m.name("f");
        format!(
            "function* {f}() {{ yield {}; yield {}; }}\nfor (const v of {f}()) {{ {}; }}\n",
            path(m),
            quoted(m),
            use_of(m, "v")
        )
    }),
    ("class", |m| {
        let c = m.name("C");
        format!(
            "class {c} {{\n  constructor(name) {{ this.name = name; }}\n  act() {{ const v = this.name; {}; }}\n}}\nnew {c}({}).act();\n",
            use_of(m, "v"),
            path(m)
        )
    }),
    ("object method", |m| format!("const o = {{ act(v) {{ {}; }} }};\no.act({});\n", use_of(m, "v"), path(m))),
    ("switch", |m| {
        format!("switch ({}.length) {{\n  case 5: {}break;\n  default: {}}}\n", quoted(m), block(m), block(m))
    }),
    ("timer", |m| format!("setTimeout(() => {}, 1);\n", block(m))),
];
