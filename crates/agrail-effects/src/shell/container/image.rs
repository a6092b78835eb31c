//! Dockerfiles: what the commands of a build do with files and secrets of this machine.
//!
//! A build runs in a root of its own. What reaches further is data that it sends away, commands on other machines, and
//! files of the context and secrets that its commands read.

use super::{Inside, Mount, moved};
use crate::role::Role;
use crate::shell::command::quote_all;
use crate::shell::{Shell, UNKNOWN_SPAN, extract_effects, file, tidy};
use crate::table::Bound;
use crate::{Cause, Detail, Effect, Target, Verb};

/// Longest Dockerfile that is read, in bytes, and most of its commands.
const LONGEST: usize = 64 * 1024;
const MOST: usize = 64;
/// Names under which an engine looks for it.
const NAMES: [&str; 2] = ["Dockerfile", "Containerfile"];

/// A `RUN` command, and the files of this machine that it can read.
#[derive(Debug)]
struct Run {
    command: String,
    folder: String,
    mounts: Vec<Mount>,
}

impl Shell<'_> {
    /// Interprets the commands of an image's build.
    pub(super) fn build_image(&mut self, bound: &Bound, arguments: &[String]) {
        let context = bound.arguments.iter().find(|(role, ..)| *role == Role::Copy).map(|(_, path, _)| path.as_str());
        let Some(context) = context.filter(|context| *context != "-" && !context.contains("://")) else { return };
        let context = self.path(context);
        let named = value_of(arguments, &["-f", "--file"]).map(|file| self.path(file));
        let files = named
            .map_or_else(|| NAMES.iter().map(|name| tidy(&format!("{context}/{name}"))).collect(), |file| vec![file]);
        let there = |path: &String| Some((path.clone(), self.read_contents(path).ok()?));
        let Some((file, contents)) = files.iter().find_map(there) else { return };
        let secrets: Vec<Mount> = values_of(arguments, "--secret").filter_map(|value| self.secret(value)).collect();
        for content in &contents {
            let commands = commands(&String::from_utf8_lossy(content.get(..LONGEST).unwrap_or(content)), &context);
            if content.len() > LONGEST || commands.len() > MOST {
                self.surely_unknown(Cause::Budget, &format!("{file} is too long"), "build");
            }
            let digest = file::digest(content);
            self.reading.scripts.push((file.clone(), digest.clone()));
            let mut effect = Effect::new(Verb::Execute, Target::Path(file.clone()), "build");
            "source".clone_into(&mut effect.operation);
            effect.detail = Detail::Digest(digest);
            self.add(effect);
            for mut run in commands.into_iter().take(MOST) {
                run.mounts.extend(secrets.iter().cloned());
                self.build_command(&run);
            }
        }
    }

    /// The file behind `id=NAME,src=FILE`, where commands see it.
    fn secret(&self, value: &str) -> Option<Mount> {
        let field = |names: [&str; 2]| {
            value.split(',').find_map(|part| part.split_once('=').filter(|(name, _)| names.contains(name)))
        };
        let (_, file) = field(["src", "source"])?;
        let (_, name) = field(["id", "id"])?;
        Some(Mount { source: self.path(file), target: format!("/run/secrets/{name}"), read_only: true })
    }

    /// Adds what a command of a build does beyond the image.
    fn build_command(&mut self, run: &Run) {
        let around = Inside { around: self.around, mounts: &run.mounts };
        let reading = extract_effects(&run.command, "root", "/root", &run.folder, &around);
        for effect in reading.effects {
            let outside = run.mounts.iter().find_map(|mount| moved(effect.target.name(), &mount.target, &mount.source));
            let target = match (&effect.target, outside) {
                (Target::Path(_), Some(path)) if effect.verb == Verb::Read => Target::Path(path),
                (target, _) if matches!(effect.verb, Verb::Send | Verb::Remote) => target.clone(),
                _ => continue,
            };
            self.push(Effect { target, ..effect });
        }
    }
}

/// The values of an option: `--secret VALUE`, `--secret=VALUE`.
fn values_of<'a>(arguments: &'a [String], option: &'a str) -> impl Iterator<Item = &'a str> {
    arguments.iter().enumerate().filter_map(move |(at, word)| match word.strip_prefix(option)? {
        "" => arguments.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

fn value_of<'a>(arguments: &'a [String], options: &[&'a str]) -> Option<&'a str> {
    options.iter().find_map(|option| values_of(arguments, option).next())
}

/// The commands of a Dockerfile, each with the variables and the files that it sees.
fn commands(text: &str, context: &str) -> Vec<Run> {
    let (mut all, mut mounts, mut folder, mut variables) = (Vec::new(), Vec::new(), "/".to_owned(), Vec::new());
    for (name, rest) in instructions(text) {
        let (options, rest) = options(&rest);
        match name.as_str() {
            "FROM" => (mounts, folder, variables) = (Vec::new(), "/".to_owned(), Vec::new()),
            "WORKDIR" => folder = within(&folder, &rest),
            "ENV" | "ARG" => variables.push(assignment(&rest)),
            "COPY" | "ADD" if !options.iter().any(|option| option.starts_with("--from")) => {
                mounts.extend(copies(&rest, context, &folder));
            }
            "RUN" => {
                let mut mounts: Vec<Mount> = mounts.clone();
                mounts.extend(options.iter().filter_map(|option| bound_mount(option, context)));
                let command = match serde_json::from_str::<Vec<String>>(&rest) {
                    Ok(words) => quote_all(&words),
                    Err(_) => rest,
                };
                let variables = variables.join("\n");
                all.push(Run { command: format!("{variables}\n{command}"), folder: folder.clone(), mounts });
            }
            _ => {}
        }
    }
    all
}

/// The instructions with their text: continued lines joined, comments left out, here-documents kept.
fn instructions(text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut whole = line.trim().to_owned();
        if whole.is_empty() || whole.starts_with('#') {
            continue;
        }
        while let Some(open) = whole.strip_suffix('\\') {
            let more = lines.by_ref().find(|line| !line.trim_start().starts_with('#')).unwrap_or_default();
            whole = format!("{open}{}", more.trim());
        }
        let (name, rest) = whole.split_once(char::is_whitespace).unwrap_or((whole.as_str(), ""));
        let (name, mut rest) = (name.to_ascii_uppercase(), rest.trim().to_owned());
        if name == "RUN"
            && let Some((_, mark)) = rest.split_once("<<")
        {
            let end: String = mark
                .trim_start_matches(['-', '"', '\''])
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let body: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != end).collect();
            // `RUN <<END` runs its lines; after a command, they are its input
            let (given, command) = options(&rest);
            rest = if command.starts_with("<<") {
                format!("{} {}", given.join(" "), body.join("\n"))
            } else {
                format!("{rest}\n{}\n{end}", body.join("\n"))
            };
        }
        all.push((name, rest));
    }
    all
}

/// The options in front of the text of an instruction.
fn options(text: &str) -> (Vec<String>, String) {
    let (mut options, mut rest) = (Vec::new(), text.trim());
    while rest.starts_with("--") {
        let (option, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        options.push(option.to_owned());
        rest = after.trim_start();
    }
    (options, rest.to_owned())
}

fn within(folder: &str, path: &str) -> String {
    let path = path.trim().trim_matches('"');
    if path.starts_with('/') { tidy(path) } else { tidy(&format!("{folder}/{path}")) }
}

/// `ENV A=b` and `ENV A b` as an export.
fn assignment(text: &str) -> String {
    match text.split_once(char::is_whitespace) {
        Some((name, value)) if !name.contains('=') => format!("export {name}={}", crate::reading::quote(value.trim())),
        None if !text.contains('=') => String::new(),
        _ => format!("export {text}"),
    }
}

/// The sources of a copy from the context, and where commands see them.
fn copies(text: &str, context: &str, folder: &str) -> Vec<Mount> {
    let words = serde_json::from_str::<Vec<String>>(text)
        .unwrap_or_else(|_| text.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect());
    let Some((to, sources)) = words.split_last() else { return Vec::new() };
    let into = within(folder, to);
    let several = sources.len() > 1 || to.ends_with('/');
    let source = |from: &String| {
        if from.contains([UNKNOWN_SPAN, '$', '*', '?', ':']) {
            return None;
        }
        let source = tidy(&format!("{context}/{from}"));
        let name = source.rsplit('/').next().unwrap_or_default();
        // a folder is copied without its own name
        let named = several && from.trim_end_matches(['/', '.']).contains('.');
        let target = if named { format!("{into}/{name}") } else { into.clone() };
        Some(Mount { source, target, read_only: true })
    };
    sources.iter().filter_map(source).collect()
}

/// `--mount=type=bind,source=a,target=/b` without another stage.
fn bound_mount(option: &str, context: &str) -> Option<Mount> {
    let value = option.strip_prefix("--mount=")?;
    let field = |names: &[&str]| {
        value
            .split(',')
            .filter_map(|part| part.split_once('='))
            .find(|(name, _)| names.contains(name))
            .map(|(_, value)| value)
    };
    if field(&["from"]).is_some() || field(&["type"]) != Some("bind") {
        return None;
    }
    let source = tidy(&format!("{context}/{}", field(&["source", "src"]).unwrap_or(".")));
    Some(Mount { source, target: tidy(field(&["target", "dst", "destination"])?), read_only: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_see_what_was_copied() {
        let file = [
            "FROM a AS b\nWORKDIR /app\nENV X=1 Y=2\nCOPY . .\n# no\nRUN a && \\\n  # no\n  b\nRUN [\"c\", \"d e\"]",
            "FROM f\nCOPY --from=b /x /y\nCOPY k.txt /keys/\nRUN --mount=type=bind,source=s,target=/t <<E\ng\nE\n",
        ];
        let file = file.join("\n");
        let all = commands(&file, "/c");
        let texts: Vec<&str> = all.iter().map(|run| run.command.as_str()).collect();
        assert_eq!(texts, ["export X=1 Y=2\na && b", "export X=1 Y=2\n'c' 'd e'", "\ng"]);
        let mount =
            |source: &str, target: &str| Mount { source: source.into(), target: target.into(), read_only: true };
        assert_eq!(all.first().map(|run| run.mounts.clone()), Some(vec![mount("/c", "/app")]));
        assert_eq!(
            all.last().map(|run| run.mounts.clone()),
            Some(vec![mount("/c/k.txt", "/keys/k.txt"), mount("/c/s", "/t")])
        );
    }
}
