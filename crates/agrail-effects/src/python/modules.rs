//! Modules of the project that a program imports: each is interpreted once, with variables of its own.

use super::values::{Class, Function, Value, either, text};
use super::{Reader, Source, statements};
use crate::Cause;
use crate::reading::{Loaded, Loader};
use foldhash::{HashMap, HashSet};
use std::rc::Rc;

/// Modules that run before the program begins: no file of the project takes their place.
const STARTED: [&str; 20] = [
    "sys",
    "os",
    "builtins",
    "io",
    "abc",
    "codecs",
    "site",
    "stat",
    "posix",
    "posixpath",
    "genericpath",
    "encodings",
    "time",
    "marshal",
    "zipimport",
    "errno",
    "signal",
    "_thread",
    "_io",
    "__future__",
];
/// Most modules of a program.
const MAX_MODULES: usize = 128;
/// Decorators that hand the function to nobody.
const OWN: [&str; 6] = ["staticmethod", "classmethod", "abstractmethod", "abc.abstractmethod", "overload", "override"];

/// The modules of a program; the first is the program itself.
pub(super) struct Modules<'t> {
    loader: &'t dyn Loader,
    /// The working folder; empty if it is not known.
    folder: String,
    /// Folders in which modules are looked for, in order.
    roots: Vec<String>,
    known: HashMap<String, usize>,
    all: Vec<Module>,
    /// The module whose variables are those of the first scope.
    pub current: usize,
    /// Classes of which the program makes instances, and those whose instances it hands to where they are not followed.
    pub made: HashSet<*const Class>,
    pub exposed: HashSet<*const Class>,
}

#[derive(Default)]
struct Module {
    /// Its path without ending; empty for source without a file.
    path: String,
    is_package: bool,
    globals: HashMap<String, Value>,
}

impl<'t> Modules<'t> {
    /// `path` is the file of the program; `folder` the working folder.
    pub fn new(path: &str, folder: &str, loader: &'t dyn Loader) -> Self {
        let own = path.rsplit_once('/').map_or("", |(own, _)| own);
        let mut roots = vec![own.to_owned()];
        roots.extend([folder.to_owned(), format!("{folder}/src")].into_iter().filter(|_| !folder.is_empty()));
        roots.dedup();
        let program = Module { path: path.trim_end_matches(".py").to_owned(), ..Module::default() };
        Modules {
            loader,
            folder: folder.to_owned(),
            roots,
            known: HashMap::default(),
            all: vec![program],
            current: 0,
            made: HashSet::default(),
            exposed: HashSet::default(),
        }
    }

    /// The file at a path, which may be relative to the working folder. `None` if that is not known.
    pub fn file(&self, path: &str) -> Option<Loaded> {
        let path = match path.strip_prefix("./").unwrap_or(path) {
            path if path.starts_with('/') => path.to_owned(),
            path if self.folder.is_empty() || path.starts_with('~') => return None,
            path => format!("{}/{path}", self.folder),
        };
        Some(self.loader.load(&crate::shell::tidy(&path)))
    }

    fn path(&self, module: usize) -> &str {
        self.all.get(module).map_or("", |module| module.path.as_str())
    }

    /// Whether one of the files of a module exists.
    fn is_there(&self, path: &str) -> bool {
        let there = |path: String| !matches!(self.loader.load(&path), Loaded::Missing);
        there(format!("{path}.py")) || there(format!("{path}/__init__.py"))
    }
}

impl Reader<'_> {
    /// Key of a scope that stays the same while other modules are interpreted: the first is that of the current module.
    pub(super) fn key_of(&self, scope: usize) -> usize {
        if scope == 0 { usize::MAX - self.modules.current } else { scope }
    }

    /// The variables of a scope, by its key.
    pub(super) fn variables(&mut self, key: usize) -> Option<&mut HashMap<String, Value>> {
        match usize::MAX - key {
            module if module == self.modules.current => self.scopes.first_mut(),
            module if module < MAX_MODULES => self.modules.all.get_mut(module).map(|module| &mut module.globals),
            _ => self.scopes.get_mut(key),
        }
    }

    pub(super) fn variable(&mut self, (key, name): &(usize, String)) -> Option<Value> {
        self.variables(*key).and_then(|variables| variables.get(name)).cloned()
    }

    /// Makes the variables of a module those of the first scope; returns the module before.
    fn enter(&mut self, module: usize) -> usize {
        let before = std::mem::replace(&mut self.modules.current, module);
        if let Some(first) = self.scopes.first_mut().filter(|_| before != module) {
            for module in [before, module] {
                if let Some(module) = self.modules.all.get_mut(module) {
                    std::mem::swap(first, &mut module.globals);
                }
            }
        }
        before
    }

    /// Interprets something with the variables of a module.
    pub(super) fn within<T>(&mut self, module: usize, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.enter(module);
        let made = run(self);
        self.enter(before);
        made
    }

    /// The module that `import` of a dotted name gives: the first part of it, and the last. `None` if it is not one of
    /// the project; `wanted` is a name that is imported from it.
    pub(super) fn own_module(&mut self, dotted: &str, wanted: Option<&str>) -> Option<(Value, Value)> {
        let first = dotted.split('.').next().unwrap_or_default();
        if STARTED.contains(&first) || first.is_empty() {
            return None;
        }
        self.modules.roots.clone().iter().find_map(|root| self.below(root, dotted, wanted))
    }

    /// The modules of `from .name import x`: dots lead to the packages around the current module.
    pub(super) fn relative_module(&mut self, written: &str, wanted: &str) -> Value {
        let dotted = written.trim_start_matches('.');
        let up = written.len() - dotted.len();
        let module = self.modules.all.get(self.modules.current);
        let mut folder = self.modules.path(self.modules.current).to_owned();
        for _ in usize::from(module.is_some_and(|module| module.is_package))..up {
            folder = folder.rsplit_once('/').map_or(String::new(), |(up, _)| up.to_owned());
        }
        let found = match dotted {
            "" => self.load(&folder, Some(wanted)).map(Value::Module),
            dotted => self.below(&folder, dotted, Some(wanted)).map(|(_, last)| last),
        };
        found.unwrap_or_else(|| Value::Name(format!("module {folder}/{dotted}").into()))
    }

    /// A dotted name below a folder.
    fn below(&mut self, folder: &str, dotted: &str, wanted: Option<&str>) -> Option<(Value, Value)> {
        let parts: Vec<&str> = dotted.split('.').collect();
        let (mut path, mut first, mut last) = (folder.to_owned(), None, None);
        for (at, part) in parts.iter().enumerate() {
            path = if path.is_empty() { (*part).to_owned() } else { format!("{path}/{part}") };
            let next = parts.get(at + 1).copied().or(wanted);
            let Some(module) = self.load(&path, next) else {
                let missing = Value::Name(format!("module {path}").into());
                return first.map(|first| (first, missing));
            };
            if let Some(Value::Module(parent)) = last {
                self.assign_in(usize::MAX - parent, part, Value::Module(module));
            }
            last = Some(Value::Module(module));
            first = first.or_else(|| last.clone());
        }
        first.zip(last)
    }

    /// The module at a path without ending. A folder without `__init__.py` counts if it holds the module `next`.
    fn load(&mut self, path: &str, next: Option<&str>) -> Option<usize> {
        if let Some(known) = self.modules.known.get(path) {
            return Some(*known);
        }
        for (file, is_package) in [(format!("{path}/__init__.py"), true), (format!("{path}.py"), false)] {
            match self.modules.loader.load(&file) {
                Loaded::Missing => {}
                // a module of the language, if no file of the project is known to take its place
                Loaded::Unreadable if self.table.is_module(path.rsplit('/').next().unwrap_or_default()) => {}
                Loaded::Text(source) => {
                    let module = self.add(path, is_package)?;
                    self.run_module(module, &source, &file);
                    return Some(module);
                }
                Loaded::Unreadable => {
                    self.problems.add(Cause::Script, file);
                    return self.add(path, is_package);
                }
            }
        }
        let inner = next.filter(|next| self.modules.is_there(&format!("{path}/{next}")));
        inner.and_then(|_| self.add(path, true))
    }

    fn add(&mut self, path: &str, is_package: bool) -> Option<usize> {
        if self.modules.all.len() >= MAX_MODULES {
            self.problems.add(Cause::Budget, "too many modules");
            return None;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let globals = HashMap::from_iter([("__name__".to_owned(), text(name))]);
        self.modules.all.push(Module { path: path.to_owned(), is_package, globals });
        let module = self.modules.all.len() - 1;
        self.modules.known.insert(path.to_owned(), module);
        Some(module)
    }

    /// Interprets the source of a module, outside of the functions and branches that import it.
    fn run_module(&mut self, module: usize, source: &str, file: &str) {
        let Some(source) = self.parse(source, file) else { return };
        let (frames, scopes) = (std::mem::take(&mut self.frames), self.scopes.split_off(1));
        let (compared, weight) = (std::mem::take(&mut self.compared), std::mem::replace(&mut self.weight, 1.0));
        let (mark, defined) = (self.journal.len(), self.defined.len());
        self.within(module, |reader| {
            reader.assign_name("__file__", text(file));
            reader.module(&source);
        });
        // what a module defines stays, whichever branch imports it
        self.journal.truncate(mark);
        (self.frames, self.compared, self.weight) = (frames, compared, weight);
        self.scopes.extend(scopes);
        let new = self.defined.split_off(defined.min(self.defined.len()));
        self.inner.extend(new);
    }

    /// The variable of a module. One that it does not have may be anything.
    pub(super) fn of_module(&mut self, module: usize, name: &str) -> Value {
        let held = self.variable(&(usize::MAX - module, name.to_owned()));
        let path = self.modules.path(module);
        held.unwrap_or_else(|| Value::Name(format!("module {path}.{name}").into()))
    }

    /// As `from module import name`: a variable of the module, or a module in its folder.
    pub(super) fn import_name(&mut self, module: usize, name: &str) -> Value {
        let has = self.variable(&(usize::MAX - module, name.to_owned())).is_some();
        let path = format!("{}/{name}", self.modules.path(module));
        if !has
            && self.modules.all.get(module).is_some_and(|module| module.is_package)
            && let Some(inner) = self.load(&path, None)
        {
            self.assign_in(usize::MAX - module, name, Value::Module(inner));
        }
        self.of_module(module, name)
    }

    /// As `from module import *`.
    pub(super) fn import_all(&mut self, module: usize) {
        let globals = self.variables(usize::MAX - module).cloned().unwrap_or_default();
        for (name, value) in globals.into_iter().filter(|(name, _)| !name.starts_with("__") && !name.contains('.')) {
            self.assign_name(&name, value);
        }
    }

    pub(super) fn set_in_module(&mut self, module: usize, name: &str, value: Value) {
        let key = (usize::MAX - module, name.to_owned());
        let value = match self.variable(&key) {
            Some(old) => either(old, value),
            None => value,
        };
        self.assign_in(key.0, name, value);
    }

    /// Functions of a module that is handed to where it is not followed may be called there.
    pub(super) fn expose(&mut self, module: usize) {
        for value in self.variables(usize::MAX - module).cloned().unwrap_or_default().into_values() {
            match value {
                Value::Function(function) => self.defined.push((function, None)),
                Value::Class(class) => drop(self.modules.exposed.insert(Rc::as_ptr(&class))),
                _ => {}
            }
        }
    }

    /// Whether a method is read like an attribute.
    pub(super) fn is_property(&self, function: &Function) -> bool {
        let is_one = |source: &Rc<Source>| {
            let all: Vec<&str> = decorators(source, function).collect();
            matches!(all[..], ["property" | "cached_property" | "functools.cached_property"])
        };
        self.sources.get(function.source).is_some_and(is_one)
    }

    /// The functions of imported modules that may be called though the program does not call them: those with a
    /// decorator, methods that the language or a class outside the program calls, and methods of objects that the
    /// program hands on.
    pub(super) fn may_be_called(&self, function: &Function, class: Option<&Rc<Class>>) -> bool {
        let Some(source) = self.sources.get(function.source) else { return false };
        let Some(class) = class else { return is_handed(source, function) };
        if self.modules.exposed.contains(&Rc::as_ptr(class)) {
            return true;
        }
        let language = name_of(source, function).is_some_and(|name| name.starts_with("__") && name != "__init__");
        self.modules.made.contains(&Rc::as_ptr(class))
            && (language || class.base.is_some() || is_handed(source, function))
    }
}

fn name_of<'s>(source: &'s Source, function: &Function) -> Option<&'s str> {
    let node = source.tree.root_node().named_descendant_for_byte_range(function.start, function.end)?;
    statements::field(node, "name").map(|name| source.of(name))
}

/// Whether a decorator gets the function.
fn is_handed(source: &Source, function: &Function) -> bool {
    decorators(source, function).any(|name| !OWN.contains(&name))
}

/// The decorators of a function as they are written.
fn decorators<'s>(source: &'s Source, function: &Function) -> impl Iterator<Item = &'s str> {
    let node = source.tree.root_node().named_descendant_for_byte_range(function.start, function.end);
    let decorated = node.and_then(|node| node.parent()).filter(|parent| parent.kind() == "decorated_definition");
    let decorators = decorated.into_iter().flat_map(statements::named).filter(|node| node.kind() == "decorator");
    decorators.map(|decorator| source.of(decorator).trim_start_matches('@'))
}
