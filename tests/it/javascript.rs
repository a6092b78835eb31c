//! JavaScript and TypeScript that would run are read: what they do decides, not the name of the file.

use crate::guard::{context, own};
use crate::knowledge::{allowed_in, stopped_in};
use std::fs;
use std::path::Path;

/// A project with these files, and data of its user outside of it.
pub(crate) fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    context(root.path(), "user");
    for folder in ["home/user/Documents", "home/user/project/.git", "home/user/project/dist"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
        own(root.path(), folder, 1000);
    }
    write(root.path(), "home/user/Documents/thesis.odt", "text");
    for (name, text) in files {
        write(root.path(), &format!("home/user/project/{name}"), text);
    }
    root
}

fn write(root: &Path, path: &str, text: &str) {
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), text).unwrap();
    own(root, path, 1000);
}

#[test]
fn one_liners_are_read() {
    let root = project(&[("package.json", "{}")]);
    stopped_in(
        root.path(),
        &[
            "node -e \"require('fs').rmSync(process.env.HOME + '/Documents', {recursive: true})\"",
            "bun -e 'await Bun.$`rm -rf /home/user/Documents`'",
            "deno eval 'Deno.removeSync(\"/home/user/Documents\", {recursive: true})'",
            "node -p 'Function(\"return process\")().mainModule.require(\"child_process\").execSync(\"rm -rf ~/Documents\")'",
        ],
    );
    allowed_in(
        root.path(),
        &[
            "node -p 'require(\"./package.json\").version'",
            "node -e \"require('fs').rmSync('dist', {recursive: true, force: true})\"",
            "bun -e 'await Bun.write(\"dist/v.json\", JSON.stringify({at: Date.now()}))'",
            "node -e 'console.log([1, 2, 3].map(n => n ** 2).join())'",
        ],
    );
}

#[test]
fn values_are_followed_through_variables_functions_and_modules() {
    let root = project(&[
        (
            "lib/run.js",
            "const { execSync: go } = require('child_process')\nexports.sh = (line, ...rest) => go([line, ...rest].join(' '))\n",
        ),
        (
            "lib/paths.ts",
            "import { homedir } from 'node:os'\nexport enum Place { Docs = 'Documents' }\nexport const at = (p: Place) => `${homedir()}/${p}`\n",
        ),
        ("own.js", "const { sh } = require('./lib/run')\nsh('rm', '-rf', '~/Documents')\n"),
        (
            "class.ts",
            "import fs from 'fs'\nimport { at, Place } from './lib/paths'\nclass Store { constructor(private base: string) {}\n  wipe() { for (const f of ['a', '.']) fs.rmSync(`${this.base}/${f}`, { recursive: true }) } }\nnew Store(at(Place.Docs)).wipe()\n",
        ),
        (
            "late.mjs",
            "let step = () => {}\nconst run = () => step('/home/user/Documents')\nimport('node:fs').then(({ rmSync }) => { step = (p) => rmSync(p, { recursive: true }); run() })\n",
        ),
        ("good.js", "const { sh } = require('./lib/run')\nfor (const line of ['git status', 'ls -l dist']) sh(line)\n"),
        (
            "good.ts",
            "import fs from 'fs'\nimport path from 'path'\ninterface Entry { name: string }\nconst out = path.join(import.meta.dirname, 'dist')\nfs.mkdirSync(out, { recursive: true })\nfor (const e of fs.readdirSync('src', { withFileTypes: true }) as Entry[]) fs.copyFileSync(path.join('src', e.name), path.join(out, e.name))\n",
        ),
    ]);
    stopped_in(root.path(), &["node own.js", "npx tsx class.ts", "node late.mjs"]);
    allowed_in(root.path(), &["node good.js", "bun good.ts", "npx ts-node good.ts", "deno run -A good.ts"]);
}

#[test]
fn settings_in_json_are_known() {
    let clean = "for (const rel of settings.clean) fs.rmSync(path.resolve(__dirname, rel), { recursive: true })\n";
    let script = |begin: &str| format!("const fs = require('fs'), path = require('path')\n{begin}\n{clean}");
    let module = |begin: &str| format!("import fs from 'fs'\nimport path from 'path'\n{begin}\n{clean}");
    let (wide, narrow) = ("{\"clean\": [\"dist\", \"../..\"]}", "{\"clean\": [\"dist\", \"build/tmp\"], \"port\": 80}");
    let files = [
        ("wide.js", script("const settings = require('./wide.json')")),
        ("wide.mjs", module("import settings from './wide.json' with { type: 'json' }")),
        (
            "named.ts",
            module("import { clean } from './wide.json'\nconst settings = { clean }").replace("__dirname", "'.'"),
        ),
        ("tidy.js", script("const settings = require('./narrow')")),
        ("added.js", script("const settings = require('./narrow.json')\nsettings.clean.push('../..')")),
        ("set.js", script("const settings = require('./narrow.json')\nsettings.clean = ['../..']")),
        ("broken.js", "module.exports = require('./broken.json').x\n".to_owned()),
        ("wide.json", wide.to_owned()),
        ("narrow.json", narrow.to_owned()),
        ("broken.json", "{".repeat(70_000)),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let root = project(&files);
    stopped_in(root.path(), &["node wide.js", "node wide.mjs", "npx tsx named.ts", "node added.js", "node set.js"]);
    allowed_in(root.path(), &["node tidy.js", "node broken.js"]);
}

#[test]
fn what_is_not_followed_is_unknown() {
    let root = project(&[
        ("argv.js", "require('child_process').execSync(process.argv[2])\n"),
        ("table.js", "const cp = require('child_process')\ncp[process.env.HOW]('id')\n"),
        ("handed.js", "const all = Object.values(require('child_process'))\nall[5]('id')\n"),
        ("package.js", "require(process.argv[2])('x')\n"),
        ("broken.js", "const = 5\n"),
        ("itself.js", "const f = require('fs'); module.exports = require('./itself'); f.readFileSync(__filename)\n"),
    ]);
    stopped_in(root.path(), &["node argv.js", "node table.js", "node handed.js", "node package.js", "node broken.js"]);
    allowed_in(root.path(), &["node itself.js"]);
}

#[test]
fn hostile_sizes_are_bounded() {
    let deep = format!("x = {}1{}\n", "[".repeat(5_000), "]".repeat(5_000));
    let long = format!("let t = 'a'\n{}", "t = t + t\n".repeat(3_000));
    let wide = "f(1);".repeat(300_000);
    let spread = "let o = {}, l = []\nfor (;;) { o = {...o, ...l}; l = [...l, ...l, o] }\nl.join()\n";
    let root = project(&[("deep.js", &deep), ("long.js", &long), ("wide.js", &wide), ("spread.js", spread)]);
    stopped_in(root.path(), &["node deep.js", "node wide.js"]);
    allowed_in(root.path(), &["node long.js", "node spread.js"]);
}
