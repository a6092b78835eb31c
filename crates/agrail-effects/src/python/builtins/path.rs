//! Paths, the working folder and the environment.

use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::members::environment;
use crate::python::values::{self, UNKNOWN_SPAN, Value, either, lift, list, text};

impl Reader<'_> {
    /// Computes a path, or a value of the environment in which the program runs.
    pub(super) fn path(&mut self, name: &str, first: &Value, args: &Args) -> Option<Value> {
        Some(match name {
            "os.path.join" => args
                .pos
                .iter()
                .cloned()
                .reduce(|a, b| lift(&a, &b, |a, b| text(values::join(&a.show(), &b.show()))))
                .unwrap_or(Value::Hole),
            "os.path.expanduser" | "os.path.abspath" | "os.path.normpath" | "os.path.realpath" | "os.path.normcase" => {
                text(first.show())
            }
            "os.path.expandvars" => {
                let t = first.show().replace("${HOME}", "~").replace("$HOME", "~");
                text(if t.contains('$') { UNKNOWN_SPAN.to_string() } else { t })
            }
            "os.path.dirname" | "os.path.basename" | "os.path.splitext" => return part(name, &first.show()),
            "os.getenv" | "os.environ.get" => {
                let value = environment(first);
                if args.pos.len() > 1 { either(args.at(1), value) } else { value }
            }
            "os.getcwd" | "os.getcwdb" => text(self.cwd.clone().unwrap_or_else(|| ".".into())),
            "pathlib.Path.cwd" => Value::Path(self.cwd.clone().unwrap_or_else(|| ".".into()).into()),
            "pathlib.Path.home" => Value::Path("~".into()),
            "pathlib.Path" | "pathlib.PurePath" | "pathlib.PurePosixPath" | "path.Path" => {
                let joined = args.pos.iter().map(Value::show).reduce(|a, b| values::join(&a, &b));
                let empty = || if args.open { UNKNOWN_SPAN.to_string() } else { ".".into() };
                Value::Path(joined.unwrap_or_else(empty).into())
            }
            "tempfile.gettempdir" => text("/tmp"),
            "getpass.getuser" | "os.getlogin" => values::hole_text(),
            "os.getpid" => values::object("own process", Value::None),
            _ => return None,
        })
    }
}

/// The folder, the last name, or stem and extension of a path.
fn part(name: &str, path: &str) -> Option<Value> {
    let (folder, last) = path.rsplit_once('/').map_or(("", path), |(d, b)| (if d.is_empty() { "/" } else { d }, b));
    let open = last.contains(UNKNOWN_SPAN) || last.is_empty();
    Some(match name {
        "os.path.dirname" if path == UNKNOWN_SPAN.to_string() => values::hole_text(),
        "os.path.dirname" => text(folder),
        "os.path.basename" if open => values::hole_text(),
        "os.path.basename" => text(last),
        _ => match path.rfind('.').filter(|_| !open) {
            Some(at) => list(vec![text(path.get(..at)?), text(path.get(at..)?)]),
            None => list(vec![text(path), values::hole_text()]),
        },
    })
}
