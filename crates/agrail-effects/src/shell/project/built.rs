//! What the action builds from the project and then runs: the project's own code, in another form.

use crate::shell::content::Content;
use crate::shell::{Output, ReadError, Shell, UNKNOWN_SPAN};
use crate::{Target, Verb};

/// Programs that translate the code of a project.
const BUILDERS: [&str; 34] = [
    "c++",
    "cargo",
    "cc",
    "clang",
    "clang++",
    "cmake",
    "dart",
    "dotnet",
    "esbuild",
    "g++",
    "gcc",
    "gfortran",
    "ghc",
    "go",
    "gradle",
    "gradlew",
    "javac",
    "kotlinc",
    "make",
    "meson",
    "mvn",
    "mvnw",
    "nim",
    "ninja",
    "nvcc",
    "ocamlfind",
    "rollup",
    "rustc",
    "sbt",
    "stack",
    "swift",
    "tsc",
    "webpack",
    "zig",
];

/// Variables that add sources, options or programs to a build.
const SEARCHED: [&str; 14] = [
    "CC",
    "CFLAGS",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "C_INCLUDE_PATH",
    "GOFLAGS",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "NODE_PATH",
    "RUSTFLAGS",
];
/// Endings of scripts, which no compiler makes.
const SCRIPTS: [&str; 10] = ["bash", "lua", "mk", "php", "pl", "ps1", "py", "rb", "sh", "zsh"];

impl Shell<'_> {
    /// Notes whether a builder gets source that is no file of the project: from its input, or from another command.
    pub(in crate::shell) fn note_sources(&mut self, program: &str, arguments: &[String], stdin: &Output) {
        if !BUILDERS.contains(&program) || self.given_sources {
            return;
        }
        let root = self.project_root().unwrap_or_default();
        let foreign = |word: &String| {
            // `-I/a`, `--file=/a`, `out=/a`
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            let is_option = |c: char| c == '-' || c == '_' || c.is_ascii_alphanumeric();
            let value = if value.starts_with('-') { value.trim_start_matches(is_option) } else { value };
            let outside = value.starts_with(['/', '~']) || value.split('/').any(|part| part == "..");
            let path = self.path(value);
            outside && path != root && !self.is_own_file(&path)
        };
        let given = |word: &String| {
            let macros = word.starts_with("-D") && word.contains(['(', '"', ';', '{', '|']);
            word == "-" || word.starts_with(['@', '<']) || word.contains("/dev/") || macros || foreign(word)
        };
        let set = |name: &&str| self.state.variables.contains_key(*name);
        self.given_sources = stdin.piped || arguments.iter().any(given) || SEARCHED.iter().any(set);
    }

    /// Whether another program than a builder puts something at a path, or into a folder above it in the project.
    fn is_put(&self, path: &str, builder: impl Fn(&str) -> bool) -> bool {
        let root = self.project_root().unwrap_or_default();
        self.reading.effects.iter().any(|effect| match (&effect.target, effect.verb) {
            (
                Target::Path(to),
                Verb::Write | Verb::Overwrite | Verb::Append | Verb::Move | Verb::Link | Verb::Create,
            ) => {
                let to = to.trim_end_matches('/');
                let above = path.strip_prefix(to).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                above && to != root && !builder(&effect.program) && effect.program != "mkdir"
            }
            _ => false,
        })
    }

    /// Whether a file that cannot be read is a product of the project: a program built it, or may have, from nothing but
    /// files that the action has not touched.
    pub(in crate::shell) fn is_built(&self, path: &str, why: &ReadError) -> bool {
        let builder = |program: &str| BUILDERS.contains(&program.rsplit('/').next().unwrap_or(program));
        let by_builder = |content: &Content| match content {
            Content::By(program) => builder(program),
            Content::Before(at) => self.around.is_missing(at) || at == path,
            _ => false,
        };
        let built = match why {
            ReadError::Changed => self.contents(path).iter().all(by_builder),
            ReadError::Missing(_) => self.reading.effects.iter().any(|effect| match &effect.target {
                Target::Path(folder) if matches!(effect.verb, Verb::Execute | Verb::Write) => {
                    let folder = folder.trim_end_matches('/');
                    builder(&effect.program) && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
                }
                _ => false,
            }),
            _ => false,
        };
        let root = self.project_root().unwrap_or_default();
        let foreign = self.reading.effects.iter().any(|effect| match &effect.target {
            // it builds code from outside the project
            Target::Path(source) if matches!(effect.verb, Verb::Read | Verb::Execute) => {
                builder(&effect.program) && *source != root && !self.is_own_file(source)
            }
            _ => false,
        });
        if self.given_sources || self.is_put(path, builder) {
            return false;
        }
        let is_script = path.rsplit_once('.').is_some_and(|(_, ending)| SCRIPTS.contains(&ending));
        built
            && !foreign
            && !is_script
            && self.is_own_file(path)
            && !path.contains(UNKNOWN_SPAN)
            && !self.changes_sources(builder)
    }
}
