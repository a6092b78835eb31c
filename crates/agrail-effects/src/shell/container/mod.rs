//! Containers: what they reach of this machine, and what the command inside does.
//!
//! A container that gets no privileges, no devices, no part of the host's namespaces and no folder outside of the project
//! is confined: running it changes nothing here. The command inside is interpreted in a root of its own, which has the
//! project's folders where they are mounted; only what it does to them counts. Of a running container nobody knows the
//! mounts, so only a command that looks is confined there. A compose file is read; its services are judged in the same
//! way. Of a Dockerfile it counts what its commands do with the files that they are given (`image`), of a manifest what
//! reaches the node (`kubernetes`).

mod compose;
mod image;
mod kubernetes;

use super::command::quote_all;
use super::{FileSource, Names, ReadError, Reading, Shell, UNKNOWN_SPAN, tidy};
use crate::role::Role;
use crate::table::Bound;
use crate::{Cause, Detail, Effect, Kind, Target, Verb};
use compose::{Service, services};

/// Programs whose containers see of this machine only what their options and files say.
const ENGINES: [&str; 7] = ["docker", "docker-compose", "kubectl", "nerdctl", "oc", "podman", "podman-compose"];
/// Names under which a compose file is found, and those that are merged into it.
const COMPOSE: [&str; 4] = ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];
const OVERRIDES: [&str; 4] =
    ["compose.override.yaml", "compose.override.yml", "docker-compose.override.yaml", "docker-compose.override.yml"];
/// Longest compose file, in bytes.
const LONGEST: usize = 64 * 1024;
/// Most templates of a chart that are read.
const TEMPLATES: usize = 64;
/// Operation of a container that is confined.
const CONFINED: &str = "confined";

/// A folder or file of this machine inside a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// Its path; empty for a volume of the container service.
    pub source: String,
    pub target: String,
    pub read_only: bool,
}

/// The files inside a container: those of its mounts; its image is not known.
struct Inside<'a> {
    around: &'a dyn FileSource,
    mounts: &'a [Mount],
}

impl Inside<'_> {
    fn outside(&self, path: &str) -> Option<String> {
        let mounts = self.mounts.iter().filter(|mount| !mount.source.is_empty());
        mounts.into_iter().find_map(|mount| moved(path, &mount.target, &mount.source))
    }
}

impl Mount {
    fn volume(target: &str, read_only: bool) -> Self {
        Mount { source: String::new(), target: tidy(&format!("/{target}")), read_only }
    }
}

impl FileSource for Inside<'_> {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
        match self.outside(path) {
            Some(path) => self.around.script(&path, max),
            None => Err(ReadError::Unreadable(format!("{path} belongs to the image of the container"))),
        }
    }

    fn folder(&self, path: &str) -> Option<bool> {
        self.outside(path).and_then(|path| self.around.folder(&path))
    }

    fn is_missing(&self, path: &str) -> bool {
        self.outside(path).is_some_and(|path| self.around.is_missing(&path))
    }

    fn names(&self, path: &str) -> Option<Names> {
        self.outside(path).and_then(|path| self.around.names(&path))
    }
}

/// A path below one folder, as the same path below another.
fn moved(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", to.trim_end_matches('/')))
}

impl Shell<'_> {
    /// Notes which of the effects since `from` are those of a confined container. What a container gets as its input
    /// (`piped`) may be a program.
    pub(super) fn note_contained(
        &mut self,
        program: &str,
        bound: &Bound,
        arguments: &[String],
        (from, piped): (usize, bool),
    ) {
        if !piped && ENGINES.contains(&program) {
            self.own_containers(bound, arguments, from);
        }
        let own = self.reading.effects.get(from..).unwrap_or_default();
        let images = [&ENGINES[..], &["buildah"]].concat();
        let says = |name: &str| bound.subcommands.iter().any(|sub| sub == name);
        let compose = says("compose") || program.ends_with("-compose");
        if compose && says("build") {
            return self.composed_build(bound, program);
        }
        if images.contains(&program)
            && bound.subcommands.last().is_some_and(|sub| matches!(sub.as_str(), "build" | "bud"))
        {
            return self.build_image(bound, arguments);
        }
        if !ENGINES.contains(&program) || !own.iter().any(runs) {
            return;
        }
        let image = bound.arguments.iter().find(|(role, _, _)| is_run(role));
        let attached = |word: &String| word.starts_with("-i") || word.starts_with("-t") || word == "--interactive";
        if self.around.typed() && arguments.iter().any(attached) {
            return;
        }
        let words = image.and_then(|(_, _, at)| arguments.get((*at)? + 1..)).unwrap_or_default().to_vec();
        let mut kept = self.reading.effects.split_off(from);
        let confined = if says("exec") {
            let reaches = kept.iter().any(reaches) || shares_host(arguments);
            self.looks_inside(&words, piped)
                || compose && !piped && !reaches && self.in_service(bound, arguments, &words)
        } else if compose {
            !piped && self.composed(bound, &words)
        } else {
            self.confined(&mut kept, bound, arguments, &words) && !(piped && writes_here(&kept, bound))
        };
        if confined {
            kept.iter_mut().filter(|effect| runs(effect)).for_each(|run| CONFINED.clone_into(&mut run.operation));
        }
        let added = self.reading.effects.split_off(from);
        self.reading.effects.extend(kept.into_iter().chain(added));
    }

    /// Notes the name of a container that this action makes; to remove such a one removes nothing that was there.
    fn own_containers(&mut self, bound: &Bound, arguments: &[String], from: usize) {
        if bound.subcommands.last().is_some_and(|sub| matches!(sub.as_str(), "run" | "create")) {
            let name = arguments.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--name") {
                Some("") => arguments.get(at + 1).cloned(),
                Some(rest) => rest.strip_prefix('=').map(str::to_owned),
                None => None,
            });
            // it fails if there is one of that name; `list` knows what runs only after it has succeeded
            let name = name.filter(|name| !name.contains(UNKNOWN_SPAN));
            if self.state.ends_on_failure && self.tolerant == 0 {
                self.state.containers.extend(name.clone());
            }
            self.created.extend(name);
        }
        let removes = |effect: &Effect| effect.verb == Verb::Container && effect.operation == "delete";
        let own = self.reading.effects.split_off(from);
        let others =
            own.into_iter().filter(|effect| !removes(effect) || !self.state.containers.contains(effect.target.name()));
        let others: Vec<Effect> = others.collect();
        self.reading.effects.extend(others);
    }

    /// Interprets a manifest of Kubernetes: a workload that reaches its node is a container that is not confined.
    pub(super) fn manifest(&mut self, text: &str, how: &str) {
        match kubernetes::reaches(text) {
            Some(found) => self.reach_node(found, how),
            None => self.unknown(Cause::Parse, how, "kubernetes"),
        }
    }

    /// Adds what the templates of a chart of the project ask for. `words`: the arguments of helm.
    pub(in crate::shell) fn chart(&mut self, bound: &Bound, words: &[String]) {
        let applies = bound.subcommands.last().is_some_and(|sub| matches!(sub.as_str(), "install" | "upgrade"));
        if !applies || words.iter().any(|word| word.starts_with("--dry-run")) {
            return;
        }
        let charts: Vec<String> = words.iter().map(|word| self.path(word)).collect();
        for chart in charts.into_iter().filter(|chart| !self.around.is_missing(&format!("{chart}/Chart.yaml"))) {
            let folder = format!("{chart}/templates");
            let names = self.file_names(&folder);
            for name in names.iter().filter(|name| name.ends_with(".yaml") || name.ends_with(".yml")).take(TEMPLATES) {
                let path = format!("{folder}/{name}");
                for content in self.read_contents(&path).unwrap_or_default() {
                    self.reach_node(kubernetes::template_reaches(&String::from_utf8_lossy(&content)), &path);
                }
            }
        }
    }

    fn reach_node(&mut self, found: Vec<String>, how: &str) {
        for what in found {
            let mut effect = Effect::new(Verb::Container, Target::Named(Kind::Container, what), how);
            "node".clone_into(&mut effect.operation);
            self.add(effect);
        }
    }

    /// Whether a new container is confined; adds what it does to the project.
    fn confined(&mut self, kept: &mut Vec<Effect>, bound: &Bound, arguments: &[String], words: &[String]) -> bool {
        let mounted = bound.arguments.iter().filter(|(role, _, _)| matches!(role, Role::Act { verb: Verb::Mount, .. }));
        let Some(mounts) = mounted.map(|(_, value, _)| self.mount(value)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        if kept.iter().any(reaches) || shares_host(arguments) {
            return false;
        }
        kept.retain(|effect| effect.verb != Verb::Mount);
        for mount in mounts.iter().filter(|mount| !mount.source.is_empty()) {
            let verb = if mount.read_only { Verb::Read } else { Verb::Write };
            let mut effect = Effect::new(verb, Target::Path(mount.source.clone()), "container");
            effect.recursive = true;
            self.add(effect);
        }
        // an image with a part of the project: what it runs is known only from its command
        let other = arguments.iter().any(|word| word.starts_with("--entrypoint"));
        match words {
            _ if mounts.iter().all(|mount| mount.read_only) => true,
            // arguments of the program that the image starts
            [option, ..] if option.starts_with('-') => true,
            [] => mounts.iter().all(|mount| mount.read_only || mount.source.is_empty()),
            words => !other && self.inside(self.read_inside(words, folder_of(arguments), &mounts), &mounts),
        }
    }

    /// The mount that an option names: `SOURCE:TARGET[:ro]`, `type=bind,source=...`; `None` if it is neither a volume nor a
    /// folder of the project.
    fn mount(&self, value: &str) -> Option<Mount> {
        let parts: Vec<&str> = value.split(',').collect();
        let field = |names: &[&str]| {
            parts.iter().find_map(|part| part.split_once('=').filter(|(name, _)| names.contains(name)))
        };
        // options of a volume can make it a folder of this machine
        if parts.iter().any(|part| part.starts_with("volume-opt") || part.starts_with("volume-driver")) {
            return None;
        }
        if let Some((_, kind)) = field(&["type"]) {
            let source = field(&["source", "src"]).map(|(_, value)| value.to_owned());
            let target = field(&["target", "dst", "destination"]).map(|(_, value)| value.to_owned())?;
            let read_only = parts.iter().any(|part| matches!(*part, "readonly" | "ro"));
            return match kind {
                "volume" | "tmpfs" => Some(Mount::volume(&target, read_only)),
                "bind" => self.own_mount(&source?, &target, read_only),
                _ => None,
            };
        }
        let parts: Vec<&str> = value.split(':').collect();
        let read_only = parts.get(2).is_some_and(|options| options.split(',').any(|option| option == "ro"));
        match parts.as_slice() {
            [target] => Some(Mount::volume(target, false)),
            [name, target, ..] if is_volume(name) => Some(Mount::volume(target, read_only)),
            [source, target, ..] => self.own_mount(source, target, read_only),
            [] => None,
        }
    }

    /// A mount of a folder of the project that the working folder belongs to, without its own settings of programs.
    pub(super) fn own_mount(&self, written: &str, target: &str, read_only: bool) -> Option<Mount> {
        let source = self.path(written);
        let root = self.project_root();
        let inside = root.is_some_and(|root| moved(&source, &root, "").is_some()) && !written.starts_with('~');
        // a folder for this task, and no link to another place
        let others = [".", "ssh-", "systemd-", "snap"];
        let temporary = source
            .strip_prefix("/tmp/")
            .is_some_and(|rest| !rest.is_empty() && !others.iter().any(|begin| rest.starts_with(begin)))
            && self.around.resolved(&source).map_or_else(|| self.around.is_missing(&source), |real| real == source)
            && ![source.as_str(), target].iter().any(|path| path.trim_end_matches('/').ends_with(".sock"))
            && !self.is_moved(&source);
        ((inside || temporary) && !source.contains([UNKNOWN_SPAN, '$'])).then(|| Mount {
            source,
            target: tidy(&format!("/{target}")),
            read_only,
        })
    }

    /// Whether the action links, moves or copies something to a path, or above it.
    fn is_moved(&self, path: &str) -> bool {
        self.reading.effects.iter().any(|effect| match (&effect.target, effect.verb) {
            (Target::Path(to), Verb::Link | Verb::Move | Verb::Overwrite | Verb::Mount) => {
                let begin = to.split(UNKNOWN_SPAN).next().unwrap_or_default().trim_end_matches('/');
                moved(path, begin, "").is_some() || to.contains(UNKNOWN_SPAN) && path.starts_with(begin)
            }
            _ => false,
        })
    }

    /// What a command does in the root of a container.
    fn read_inside(&self, words: &[String], folder: Option<&str>, mounts: &[Mount]) -> Reading {
        let around = Inside { around: self.around, mounts };
        super::extract_effects(&quote_all(words), "root", "/root", folder.unwrap_or("/"), &around)
    }

    /// Adds what a command in a container does to the mounts. Returns whether it spares the volumes.
    fn inside(&mut self, reading: Reading, mounts: &[Mount]) -> bool {
        let below = |path: &str, volume: bool| {
            let mounts = mounts.iter().filter(|mount| mount.source.is_empty() == volume);
            // deleting a folder deletes the mounts below it, too
            mounts.into_iter().find_map(|mount| {
                let around = || moved(&mount.target, path, "").map(|_| mount.source.clone());
                moved(path, &mount.target, &mount.source).or_else(around)
            })
        };
        let loses =
            |effect: &Effect| matches!(effect.verb, Verb::Delete | Verb::Move | Verb::Overwrite | Verb::Encrypt);
        if reading.effects.iter().any(|effect| loses(effect) && below(effect.target.name(), true).is_some()) {
            return false;
        }
        for mut effect in reading.effects {
            let target = match (below(effect.target.name(), false), &effect.target) {
                (Some(path), Target::Path(_)) if effect.verb == Verb::Unknown => {
                    // a program of the image gets a path of the project
                    effect.verb = Verb::Read;
                    effect.operation.clear();
                    effect.detail = Detail::None;
                    Target::Path(path)
                }
                (Some(path), Target::Path(_)) => Target::Path(path),
                (Some(path), Target::Named(Kind::Script, _)) => Target::Named(Kind::Script, path),
                // a program of the image, or options of one: it reaches the mounts, which is an effect of its own
                _ if effect.verb == Verb::Unknown && is_of_image(&effect) => continue,
                (_, target) if matches!(effect.verb, Verb::Unknown | Verb::Connect | Verb::Send) => target.clone(),
                // the rest happens to the container
                _ => continue,
            };
            self.add(Effect { target, ..effect });
        }
        self.reading.scripts.extend(reading.scripts);
        true
    }

    /// Whether a command in a running container only looks at it; with an input, by what that says.
    fn looks_inside(&mut self, words: &[String], piped: bool) -> bool {
        // `kubectl exec POD -c NAME -- COMMAND`
        let from = words.iter().position(|word| word == "--").map_or(0, |at| at + 1);
        let words = words.get(from..).unwrap_or_default();
        if words.is_empty() {
            return false;
        }
        let mut line = quote_all(words);
        if piped {
            let Some(text) = self.stdin.text.as_deref().filter(|text| !text.contains([UNKNOWN_SPAN, '\0'])) else {
                return false;
            };
            line = format!("printf %s {} | {line}", quote_all(&[text.to_owned()]));
        }
        let around = Inside { around: self.around, mounts: &[] };
        let reading = super::extract_effects(&line, "root", "/root", "/", &around);
        let looks = |effect: &Effect| match effect.verb {
            Verb::Read | Verb::List | Verb::Select => true,
            Verb::Data => effect.operation == "select",
            // a server in the same container, or beside it
            Verb::Connect => !effect.target.name().contains('.'),
            _ => false,
        };
        if !reading.effects.iter().all(looks) {
            return false;
        }
        // a secret is one wherever it is
        reading.effects.into_iter().for_each(|effect| self.push(effect));
        true
    }

    /// The compose files of a command: those that it names, or those of the nearest folder above.
    fn compose_files(&self, bound: &Bound) -> Vec<String> {
        let named = bound.arguments.iter().filter(|(role, _, _)| matches!(role, Role::Act { verb: Verb::Read, .. }));
        let files: Vec<String> = named.map(|(_, path, _)| self.path(path)).collect();
        if !files.is_empty() {
            return files;
        }
        let there = |path: &String| !self.read_contents(path).is_err_and(|unread| unread.is_missing());
        let above = |folder: &String| folder.rsplit_once('/').map(|(above, _)| above.to_owned());
        std::iter::successors(Some(self.path(".")), above)
            .map(|folder| {
                let first = COMPOSE.iter().map(|name| tidy(&format!("{folder}/{name}"))).find(there);
                let more = OVERRIDES.iter().map(|name| tidy(&format!("{folder}/{name}"))).filter(there);
                first.into_iter().chain(more).collect::<Vec<String>>()
            })
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// Adds what the builds of a compose file get of this machine beyond the project.
    fn composed_build(&mut self, bound: &Bound, program: &str) {
        for file in self.compose_files(bound) {
            let is_own = |content: &Vec<u8>| {
                content.len() <= LONGEST && std::str::from_utf8(content).is_ok_and(compose::builds_from_project)
            };
            if !self.read_contents(&file).is_ok_and(|contents| contents.iter().all(is_own)) {
                let mut effect =
                    Effect::new(Verb::Container, Target::Named(Kind::Container, "compose".to_owned()), program);
                "run".clone_into(&mut effect.operation);
                self.add(effect);
            }
        }
    }

    /// The services of the compose files of a command; `None` if a file cannot be read completely.
    fn services_of(&mut self, files: &[String]) -> Option<Vec<Service>> {
        let mut all = Vec::new();
        for file in files {
            for content in &self.read_contents(file).ok()? {
                let digest = super::file::digest(content);
                let mut effect = Effect::new(Verb::Execute, Target::Path(file.clone()), "compose");
                "source".clone_into(&mut effect.operation);
                effect.detail = Detail::Digest(digest.clone());
                self.reading.scripts.push((file.clone(), digest));
                self.add(effect);
                let text = if content.len() <= LONGEST { std::str::from_utf8(content).ok() } else { None };
                all.extend(text.and_then(services)?);
            }
        }
        Some(all)
    }

    /// Adds the effects of a command in a service's container on its mounts. Returns whether the service is confined, has
    /// no volumes, and the command deletes, connects and hides nothing.
    fn in_service(&mut self, bound: &Bound, arguments: &[String], words: &[String]) -> bool {
        // the container of another project, or on another machine, may have anything
        let other = ["-H", "--host", "-c", "--context", "-p", "--project"];
        let set = ["COMPOSE_FILE", "COMPOSE_PROJECT_NAME", "DOCKER_CONTEXT", "DOCKER_HOST"];
        let before = arguments.get(..arguments.len().saturating_sub(words.len())).unwrap_or(arguments);
        if before.iter().any(|word| other.iter().any(|option| word.starts_with(option)))
            || set.iter().any(|name| self.state.variables.contains_key(*name))
        {
            return false;
        }
        let files = self.compose_files(bound);
        let Some(all) = self.services_of(&files) else { return false };
        let named: Vec<&str> =
            bound.arguments.iter().filter(|(role, ..)| is_run(role)).map(|(_, name, _)| name.as_str()).collect();
        let services: Vec<&Service> = all.iter().filter(|service| named.contains(&service.name.as_str())).collect();
        let spares = |service: &&Service| {
            self.is_confined(service) && !service.mounts.iter().any(|mount| is_volume(&mount.source))
        };
        if services.is_empty() || words.is_empty() || !services.iter().all(spares) {
            return false;
        }
        let mounts: Option<Vec<Mount>> = services
            .iter()
            .flat_map(|service| &service.mounts)
            .map(|mount| self.own_mount(&mount.source, &mount.target, mount.read_only))
            .collect();
        let Some(mounts) = mounts else { return false };
        let reading = self.read_inside(words, folder_of(arguments), &mounts);
        let loses = |effect: &Effect| match effect.verb {
            Verb::Delete | Verb::Move | Verb::Overwrite | Verb::Encrypt | Verb::Connect | Verb::Send => {
                !matches!(effect.target, Target::Named(Kind::Table | Kind::Column, _))
            }
            Verb::Unknown => !is_of_image(effect),
            _ => false,
        };
        if reading.effects.iter().any(loses) {
            return false;
        }
        // changes to a database count wherever it runs
        let is_data =
            |effect: &Effect| matches!(effect.target, Target::Named(Kind::Database | Kind::Table | Kind::Column, _));
        reading.effects.iter().filter(|effect| is_data(effect)).for_each(|effect| self.add(effect.clone()));
        self.inside(reading, &mounts)
    }

    /// Whether all services of the compose file are confined.
    fn composed(&mut self, bound: &Bound, words: &[String]) -> bool {
        let files = self.compose_files(bound);
        // without a file there are no services
        if files.is_empty() {
            return bound.arguments.iter().all(|(role, _, _)| !matches!(role, Role::Act { verb: Verb::Connect, .. }));
        }
        let Some(all) = self.services_of(&files) else { return false };
        // `docker compose run SERVICE COMMAND` hands the service a command of its own
        let plain = words.iter().all(|word| !word.contains(UNKNOWN_SPAN));
        let named = bound.arguments.iter().filter(|(role, _, _)| is_run(role)).map(|(_, name, _)| name.as_str());
        let started = started(&all, named.collect());
        !all.is_empty() && plain && started.iter().all(|service| self.is_confined(service))
    }

    fn is_confined(&self, service: &Service) -> bool {
        let own = |volume: &Mount| {
            is_volume(&volume.source) || self.own_mount(&volume.source, &volume.target, volume.read_only).is_some()
        };
        !service.reaches && service.mounts.iter().all(own)
    }
}

/// The services that start if these are named, with those that they need; without names, all.
fn started<'s>(all: &'s [Service], named: Vec<&'s str>) -> Vec<&'s Service> {
    let mut open = named;
    if open.is_empty() {
        return all.iter().collect();
    }
    let mut found: Vec<&Service> = Vec::new();
    while let Some(name) = open.pop() {
        // a file that overrides another one may name a service again
        let new: Vec<&Service> = all
            .iter()
            .filter(|one| one.name == name && !found.iter().any(|known| std::ptr::eq(*known, *one)))
            .collect();
        open.extend(new.iter().flat_map(|service| service.needs.iter().map(String::as_str)));
        found.extend(new);
    }
    found
}

/// Whether the source of a mount is a volume of the container service, not a path.
fn is_volume(source: &str) -> bool {
    !source.is_empty() && source.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Whether a container has a folder of this machine to which it may write.
fn writes_here(kept: &[Effect], bound: &Bound) -> bool {
    let mounts = bound.arguments.iter().any(|(role, _, _)| matches!(role, Role::Act { verb: Verb::Mount, .. }));
    mounts || kept.iter().any(|effect| effect.verb == Verb::Mount)
}

/// Whether an unknown effect is that of a program, a script or a language of the image.
fn is_of_image(effect: &Effect) -> bool {
    let causes = [Cause::Program, Cause::Arguments, Cause::Option, Cause::Language, Cause::Script];
    causes.iter().any(|cause| effect.operation == cause.as_str()) && effect.detail != Detail::Network
}

/// Whether an effect gives a container a part of the host.
fn reaches(effect: &Effect) -> bool {
    matches!(effect.verb, Verb::Device | Verb::Privilege | Verb::Execute | Verb::Unknown)
}

fn runs(effect: &Effect) -> bool {
    effect.verb == Verb::Container && effect.operation == "run"
}

fn is_run(role: &Role) -> bool {
    matches!(role, Role::Act { verb: Verb::Container, operation, kind: Kind::Container } if operation == "run")
}

/// Whether options give a container a namespace of the host, or of another container.
fn shares_host(arguments: &[String]) -> bool {
    let names = ["--network", "--net", "--ipc", "--uts", "--cgroupns", "--cgroup-parent", "--device-cgroup-rule"];
    let shared = |value: &str| value == "host" || value.starts_with("container:") || value.starts_with("ns:");
    arguments.iter().enumerate().any(|(at, word)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), arguments.get(at + 1).map(String::as_str)),
        };
        name == "--device-cgroup-rule" || name == "--volumes-from" || names.contains(&name) && value.is_some_and(shared)
    })
}

/// The working folder that an option gives a container.
fn folder_of(arguments: &[String]) -> Option<&str> {
    arguments.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--workdir", folder)) => Some(folder),
        None if matches!(word.as_str(), "-w" | "--workdir") => arguments.get(at + 1).map(String::as_str),
        _ => None,
    })
}
