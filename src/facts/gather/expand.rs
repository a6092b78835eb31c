//! The paths that a pattern matches, the names that a copy creates inside a folder, and the mounts in it.

use super::names::{constant_folder, may_be};
use super::{INCOMING, MATCHES, View};
use crate::effect::{Effect, Target, UNKNOWN_SPAN, Verb, budget};
use crate::machine::{Class, FileKind, class, class_below};
use std::collections::BTreeSet;

impl View<'_> {
    /// The same effect on each path that the pattern matches, if that path may be of another class than the pattern: by
    /// its name, or because it is a link or has other names.
    pub(super) fn matches(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        let special = |part: &str| part.contains(['*', '?', '[', UNKNOWN_SPAN]);
        // deleting or listing does not affect the target of a link
        let touches = !matches!(effect.verb, Verb::List | Verb::Delete | Verb::Move);
        let all = path.ends_with("/*");
        // a name that is not constant may be that of a link, or one that cannot be decoded
        let vague = path.contains(UNKNOWN_SPAN);
        let in_folder = path.rsplit_once('/').is_some_and(|(folder, _)| !special(folder));
        if !path.starts_with('/') || !special(path) || (all || vague) && !touches || vague && !in_folder {
            return Vec::new();
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        // the class of the pattern as a whole
        let folder = constant_folder(path).unwrap_or("/");
        let class = class_below(self.environment, folder, folder, self.account);
        let mut found = vec![String::new()];
        for (place, part) in parts.iter().enumerate() {
            let text = part.replace(UNKNOWN_SPAN, "*");
            let Some(pattern) = glob::Pattern::new(&text).ok().filter(|_| special(part)) else {
                found.iter_mut().for_each(|folder| *folder = format!("{folder}/{part}"));
                continue;
            };
            let last = place + 1 == parts.len();
            let mut next = Vec::new();
            for folder in &found {
                if budget::is_spent() {
                    self.cut.borrow_mut().insert(folder.clone());
                    break;
                }
                let listing = environment.entries(if folder.is_empty() { "/" } else { folder }, last && touches);
                let shown = |name: &str| part.starts_with('.') || !name.starts_with('.');
                let fits = |name: &str| pattern.matches(name) && shown(name);
                let mut unseen = !listing.complete;
                for entry in listing.entries.iter().filter(|entry| fits(&entry.name)) {
                    let inner = entry.leads_to.clone().filter(|_| last);
                    let inner = inner.unwrap_or_else(|| format!("{folder}/{}", entry.name));
                    // an entry that cannot be looked up by its name
                    unseen |= !entry.exact && touches && (entry.link || entry.several || !last);
                    let stands_out = || !vague && self.stands_out(class, &inner);
                    if !last || (entry.link && touches) || (entry.several && touches) || stands_out() {
                        next.push(inner);
                    }
                }
                // a name of which nothing is known is any name of a folder, and not that of a special one
                unseen &= !vague || listing.entries.iter().any(|entry| !entry.exact && fits(&entry.name));
                if (unseen || next.len() > MATCHES) && effect.verb != Verb::List {
                    self.cut.borrow_mut().insert(if folder.is_empty() { "/".to_owned() } else { folder.clone() });
                }
                next.truncate(MATCHES);
            }
            found = next;
        }
        let there = |path: &String| self.look(environment, path).exists != Some(false);
        let on = |path| Effect { target: Target::Path(path), ..effect.clone() };
        found.into_iter().filter(there).map(on).collect()
    }

    /// Whether the path is of another class, by its name alone.
    fn stands_out(&self, than: Class, path: &str) -> bool {
        let Some(environment) = self.environment else { return false };
        let (class, itself) = environment.class(path, self.account);
        itself || class != than || self.guards(path, true)
    }

    /// For a copy into a folder, the same effect on each name inside it.
    pub(super) fn inside(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        let comes = matches!(effect.verb, Verb::Overwrite | Verb::Link) && effect.operation.is_empty();
        if !comes || constant_folder(path).is_some() || !path.starts_with('/') {
            return Vec::new();
        }
        if self.look(environment, path).kind != Some(FileKind::Directory) {
            return Vec::new();
        }
        if effect.incoming.len() > INCOMING {
            self.cut.borrow_mut().insert(path.clone());
        }
        let folder = path.trim_end_matches('/');
        let class = environment.class(&format!("{folder}/x"), self.account).0;
        // a name that is not constant may be that of any protected file in the folder
        let protected: Vec<String> = class::startup_names()
            .map(str::to_owned)
            .filter(|name| environment.class(&format!("{folder}/{name}"), self.account).0 != class)
            .collect();
        let constant = |name: &String| constant_folder(&format!("/{name}")).is_none();
        let mut names: BTreeSet<&String> =
            effect.incoming.iter().take(INCOMING).filter(|name| constant(name)).collect();
        let vague: Vec<&String> = effect.incoming.iter().filter(|name| !constant(name)).collect();
        names.extend(protected.iter().filter(|name| vague.iter().any(|one| may_be(one, name))));
        let on = |name: &String| Effect {
            target: Target::Path(format!("{folder}/{name}")),
            incoming: Vec::new(),
            ..effect.clone()
        };
        names.into_iter().filter(|name| !name.is_empty()).map(on).collect()
    }

    /// For an effect on a folder and everything below it, the same effect on each bind mount in it: `rm -r` and `find` go
    /// into them.
    pub(super) fn mounted(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        // a path that is not constant may be anywhere below its folder
        let (folder, rest) = match path.strip_suffix(UNKNOWN_SPAN).filter(|folder| folder.ends_with('/')) {
            Some(folder) => (folder, format!("/{UNKNOWN_SPAN}")),
            None => (path.strip_suffix("/*").filter(|_| effect.recursive).unwrap_or(path), String::new()),
        };
        let deep = effect.recursive || !rest.is_empty();
        if !deep || effect.verb == Verb::List || !folder.starts_with('/') || constant_folder(folder).is_some() {
            return Vec::new();
        }
        let resolved = self.look(environment, folder).resolved;
        let Some(points) = environment.mounts_inside(if resolved.is_empty() { folder } else { &resolved }) else {
            self.cut.borrow_mut().insert(folder.to_owned());
            return Vec::new();
        };
        let on = |point: String| Effect { target: Target::Path(point + &rest), incoming: Vec::new(), ..effect.clone() };
        points.into_iter().map(on).collect()
    }

    /// The class of a path whose last part is constant, whatever folders its other parts are: `/proc/*/environ`. `None` if
    /// that is the class of its constant part.
    pub(super) fn ends_as(&self, folder: &str, path: &str) -> Option<Class> {
        let special = |part: &str| part.contains(['*', '?', '[', UNKNOWN_SPAN]);
        let parts: Vec<&str> = path.split('/').collect();
        if parts.last().is_none_or(|last| last.is_empty() || special(last)) {
            return None;
        }
        let named: Vec<&str> = parts.iter().map(|part| if special(part) { "x" } else { part }).collect();
        let environment = self.environment?;
        let (class, _) = environment.class(&named.join("/"), self.account);
        let (of_folder, _) = environment.class(folder, self.account);
        (class.weight() > of_folder.weight()).then_some(class)
    }

    /// The most protected class among the files that match a pattern in the last part of a path.
    pub(super) fn matched(&self, folder: &str, path: &str) -> Option<Class> {
        let last = path.strip_prefix(folder)?.trim_start_matches('/');
        if last.contains(['/', UNKNOWN_SPAN]) || matches!(last, "*" | "") {
            return None;
        }
        let pattern = glob::Pattern::new(last).ok()?;
        let listing = self.environment?.entries(folder, false);
        let classes = listing.entries.iter().filter(|entry| pattern.matches(&entry.name)).map(|entry| {
            let path = format!("{}/{}", folder.trim_end_matches('/'), entry.name);
            self.environment.map_or(Class::Ordinary, |e| e.class(&path, self.account).0)
        });
        classes.max_by_key(|class| class.weight())
    }
}
