//! The files of a project, and which of them a text mentions.

use super::survey::CODE;
use super::text::{SHORTEST, Text, Word, is_path, names_of, sum};
use crate::shell::{Shell, tidy};
use foldhash::{HashMap, HashSet};

/// Most folders of the project whose files can be found by a mention.
const FOLDERS: usize = 48;
/// Most files that one word mentions.
const MENTIONED: usize = 4;
/// Folders with code of others, or with products.
const FOREIGN: [&str; 9] =
    [".git", ".venv", "__pycache__", "build", "dist", "node_modules", "target", "vendor", "venv"];
/// Hidden folders in which code of the project may be.
pub(super) const HIDDEN: [&str; 4] = [".config", ".husky", ".mvn", ".yarn"];
/// Endings of texts and data, in which nothing runs.
const DATA: [&str; 24] = [
    "adoc", "bmp", "css", "csv", "gif", "html", "ico", "jpeg", "jpg", "less", "lock", "log", "md", "pdf", "png", "po",
    "rst", "scss", "snap", "sum", "svg", "tsv", "txt", "woff2",
];
/// Beginnings of the names of files that describe jobs and services, which run elsewhere.
const ELSEWHERE: [&str; 12] = [
    ".appveyor",
    ".drone",
    ".gitlab-ci",
    ".travis",
    "Jenkinsfile",
    "Vagrantfile",
    "appveyor",
    "azure-pipelines",
    "bitbucket-pipelines",
    "cloudbuild",
    "compose.",
    "docker-compose",
];
/// Beginnings of the names of files that describe images, which have their own reader.
const IMAGES: [&str; 3] = ["Containerfile", "Dockerfile", "dockerfile"];
/// Endings of settings and scripts of build tools.
const BUILDS: [&str; 9] = ["bzl", "cmake", "conf", "gradle", "groovy", "json", "props", "targets", "xml"];
/// Endings of files of one language. A file names another one of its language without the ending.
const FAMILIES: [&[&str]; 9] = [
    &["cjs", "cts", "js", "jsx", "mjs", "mts", "svelte", "ts", "tsx", "vue"],
    &["rb", "rake", "gemspec", "ru"],
    &["ex", "exs"],
    &["kt", "kts"],
    &["gradle", "groovy"],
    &["sbt", "scala"],
    &["lua", "rockspec"],
    &["pl", "pm", "t"],
    &["bash", "sh"],
];
/// Endings of settings that name modules of the project.
const CONFIGURES: [&str; 4] = ["", "cfg", "ini", "toml"];

/// The files that the text of a file mentions.
pub(super) fn mentions(path: &str, text: &Text, index: &Index) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    // scripts of a package are read where they are run
    let packages = name == "package.json";
    let words = text.words.iter().filter(|word| index.knows(word));
    let words = words.map(|word| &*word.text);
    let words = words.filter(|word| !packages || is_path(word) && !word.ends_with(".sh"));
    words.flat_map(|word| index.named(word, folder, ending(name))).collect()
}

fn ending(name: &str) -> &str {
    name.trim_start_matches('.').rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Whether a file with one ending names files with the other one without it.
fn is_module_of(ending: &str, other: &str) -> bool {
    let family = |one: &[&str]| one.contains(&ending) && one.contains(&other);
    ending == other
        || FAMILIES.iter().any(|one| family(one))
        || CONFIGURES.contains(&ending) && !matches!(other, "bash" | "sh")
}

/// The files of a project, by their names and by their folders.
#[derive(Default)]
pub(in crate::shell) struct Index {
    by_name: HashMap<String, Vec<String>>,
    by_folder: HashMap<String, Vec<String>>,
    by_path: HashMap<String, Vec<String>>,
    /// The digests of the names of the files and folders.
    names: HashSet<u64>,
}

impl Index {
    pub(super) fn new(shell: &Shell<'_>, root: &str) -> Self {
        let mut index = Self::default();
        for folder in shell.below(vec![root.to_owned()], FOLDERS) {
            let files = shell.texts_in(&folder);
            for path in &files {
                let name = path.rsplit('/').next().unwrap_or_default();
                let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
                let whole = name.rsplit_once('.').map_or(name, |(before, _)| before);
                for name in HashSet::from_iter([name, stem, whole]) {
                    index.by_name.entry(name.to_owned()).or_default().push(path.clone());
                }
                for path_of in HashSet::from_iter([
                    path.as_str(),
                    path.strip_suffix(&format!(".{}", ending(name))).unwrap_or(path),
                ]) {
                    index.by_path.entry(path_of.to_owned()).or_default().push(path.clone());
                }
            }
            index.names.extend(folder.rsplit('/').next().map(sum));
            index.by_folder.insert(folder, files);
        }
        index.names.extend(index.by_name.keys().map(|name| sum(name)));
        index
    }

    /// Whether a file or a folder may have a name that a word ends with.
    fn knows(&self, word: &Word) -> bool {
        self.names.contains(&word.base) || word.last != word.base && self.names.contains(&word.last)
    }

    /// The files that a word means in a file with that ending.
    fn named(&self, word: &str, folder: &str, from: &str) -> Vec<String> {
        let (base, last) = names_of(word);
        let few =
            |found: Option<&Vec<String>>| found.into_iter().flatten().take(MENTIONED).cloned().collect::<Vec<_>>();
        if is_path(word) {
            let path = tidy(&format!("{folder}/{word}"));
            let at = few(self.by_path.get(&path));
            if !at.is_empty() {
                return at;
            }
            let below = [format!("{path}/src"), path].map(|folder| few(self.by_folder.get(&folder))).concat();
            if word.contains('/') && !below.is_empty() {
                return below;
            }
        }
        // `members = ["xtask"]`
        let source = || self.by_folder.get(&format!("{folder}/{word}/src"));
        let mut found = if CONFIGURES.contains(&from) && !is_path(word) { few(source()) } else { Vec::new() };
        // `tests.support.timing`
        for name in HashSet::from_iter([base, last]).into_iter().filter(|name| name.len() >= SHORTEST) {
            let files = self.by_name.get(name).into_iter().flatten();
            let means = |path: &&String| {
                let file = path.rsplit('/').next().unwrap_or_default();
                file == name || is_module_of(from, ending(file))
            };
            found.extend(files.filter(means).take(MENTIONED).cloned());
        }
        found
    }
}

impl Shell<'_> {
    /// The texts of a folder in which something may run.
    pub(super) fn texts_in(&self, folder: &str) -> Vec<String> {
        let names = self.file_names(folder);
        names.iter().filter(|name| may_run(name)).map(|name| format!("{folder}/{name}")).collect()
    }

    /// Folders and those below them, at most so many.
    pub(super) fn below(&self, mut open: Vec<String>, most: usize) -> Vec<String> {
        let mut at = 0;
        while at < open.len() && open.len() < most {
            let folder = open.get(at).cloned().unwrap_or_default();
            let mut names = self.around.names(&folder).unwrap_or_default().folders;
            names.retain(|name| {
                !FOREIGN.contains(&name.as_str()) && (!name.starts_with('.') || HIDDEN.contains(&name.as_str()))
            });
            names.sort();
            open.extend(names.iter().map(|name| format!("{folder}/{name}")));
            at += 1;
        }
        open.truncate(most);
        open
    }
}

/// Whether something may run on this machine in a file with that name. Makefiles are read by their own reader.
fn may_run(name: &str) -> bool {
    !DATA.contains(&ending(name))
        && !name.ends_with("-lock.json")
        && !matches!(name, "Makefile" | "makefile" | "GNUmakefile")
        && !runs_elsewhere(name)
}

/// Whether a file with that name describes what runs in an image or on another machine. The ending decides as well: a
/// build tool also loads `compose.gradle`.
fn runs_elsewhere(name: &str) -> bool {
    let begins = |all: &[&str]| all.iter().any(|begin| name.starts_with(begin));
    let is_code = |ending: &str| {
        let listed = CODE.contains(&ending) || CONFIGURES.contains(&ending) || BUILDS.contains(&ending);
        !ending.is_empty() && (listed || FAMILIES.iter().any(|family| family.contains(&ending)))
    };
    match ending(name) {
        "dockerfile" => true,
        end => begins(&ELSEWHERE) && matches!(end, "" | "yaml" | "yml") || begins(&IMAGES) && !is_code(end),
    }
}
