//! Files, archives, folders and patterns.

use super::{Invocation, as_path};
use crate::Detail;
use crate::python::Reader;
use crate::python::row::Special;
use crate::python::values::{self, UNKNOWN_SPAN, Value, hole_text, lift, list, many, text};

/// Length from which a file that is set to it exhausts the disk, in bytes.
pub(super) const EXHAUSTING: i128 = 100_000_000_000;
/// The mode of a file that is opened with unknown flags.
const HOLE_MODE: &str = "\u{FFFC}";

impl Reader<'_> {
    /// Calls on one file.
    pub(super) fn file_call(&mut self, special: Special, call: &Invocation<'_>) -> Option<Value> {
        let args = call.args;
        let first = args.at(0);
        match special {
            Special::Open => {
                let of_path = call.receiver.is_some();
                let target = call.receiver.cloned().unwrap_or_else(|| args.get(0, "file").unwrap_or(Value::Hole));
                let mode = args.get(usize::from(!of_path), "mode").map_or("r".into(), |m| m.show());
                Some(self.open(target, &mode, call.via))
            }
            Special::OsOpen => {
                let mode = mode_of(args.get(1, "flags").and_then(|f| f.int()));
                Some(self.open(first, mode, call.via))
            }
            Special::Archive => Some(self.open_archive(call)),
            Special::Extract => {
                let at = usize::from(call.via.ends_with("extract"));
                let into = args.get(at, "path").filter(|v| !matches!(v, Value::None)).unwrap_or_else(|| text("."));
                self.emit("overwrite", &into, false, Detail::None, call.via);
                Some(Value::Hole)
            }
            Special::Added => matches!(first, Value::None).then_some(Value::Hole),
            Special::Truncate => {
                if args.at(1).int().is_some_and(|n| n >= EXHAUSTING) {
                    self.exhaust("disk")
                }
                None
            }
            Special::Grow => {
                self.grow("disk", first.size());
                None
            }
            Special::Content => {
                let path = call.receiver.cloned().unwrap_or(Value::Hole);
                let content = self.content(&path)?;
                self.emit("read", &path, false, Detail::None, call.via);
                Some(content)
            }
            Special::ReadFileOrUrl => {
                let role = if first.show().contains("://") { "connect:url" } else { "read" };
                if !matches!(first, Value::Object(..)) {
                    self.emit(role, &first, false, Detail::None, call.via)
                }
                Some(Value::Local)
            }
            _ => None,
        }
    }

    fn open(&mut self, target: Value, mode: &str, via: &str) -> Value {
        if matches!(target, Value::Int(_) | Value::Object(..)) {
            return values::object("file", Value::Hole);
        }
        let roles: &[&str] = if mode.contains(UNKNOWN_SPAN) {
            &["read", "write"]
        } else if mode.contains('x') {
            &["create"]
        } else if mode.contains('a') {
            &["append"]
        } else if mode.contains('w') {
            &["write"]
        } else if mode.contains('+') {
            &["read", "write"]
        } else {
            &["read"]
        };
        for role in roles {
            self.emit(role, &target, false, Detail::None, via)
        }
        values::object("file", target)
    }

    fn open_archive(&mut self, call: &Invocation<'_>) -> Value {
        let target = call.first_or(&["file", "name", "fileobj"]);
        if matches!(target, Value::Object(..)) {
            return values::object("archive", Value::Hole);
        }
        let mode = call.args.get(1, "mode").map_or("r".into(), |m| m.show());
        self.open(target.clone(), mode.split([':', '|']).next().unwrap_or("r"), call.via);
        let several = call.via.starts_with("zip") || call.via.starts_with("tar");
        values::object(if several { "archive" } else { "file" }, target)
    }

    /// Calls on folders and on many files.
    pub(super) fn folder_call(&mut self, special: Special, call: &Invocation<'_>) -> Option<Value> {
        let args = call.args;
        Some(match special {
            Special::ListDir => {
                let given = || args.get(0, "path").filter(|v| !matches!(v, Value::None));
                let folder = call.receiver.cloned().unwrap_or_else(|| given().unwrap_or_else(|| text(".")));
                self.emit("list", &folder, false, Detail::None, call.via);
                many(if call.via.ends_with("os.listdir") { hole_text() } else { as_path(&inside(&folder)) })
            }
            Special::Walk => {
                let top = args.get(0, "top").unwrap_or_else(|| text("."));
                self.emit("list", &top, true, Detail::None, call.via);
                let names = || many(hole_text());
                many(list(vec![lift(&top, &Value::None, |t, _| text(t.show())), names(), names()]))
            }
            Special::Glob => {
                let pattern = lift(&args.at(0), &Value::None, |p, _| text(holes_for_wildcards(&p.show())));
                let full = match call.receiver {
                    Some(folder) => lift(folder, &pattern, |f, p| text(values::join(&f.show(), &p.show()))),
                    None => pattern,
                };
                self.emit("list", call.receiver.unwrap_or(&full), call.row.recursive, Detail::None, call.via);
                many(if call.receiver.is_some() { as_path(&full) } else { full })
            }
            Special::Chdir => {
                let to = args.at(0).choices();
                let to = if let [one] = to.as_slice() { one.show() } else { UNKNOWN_SPAN.to_string() };
                self.cwd = Some(match &self.cwd {
                    Some(cwd) => values::join(cwd, &to),
                    None => to,
                });
                Value::None
            }
            Special::FileInput => {
                let files = args.get(0, "files").unwrap_or(Value::Hole);
                for file in files.elements().filter(|_| !files.is_text()).unwrap_or_else(|| vec![files.clone()]) {
                    self.emit("read", &file, false, Detail::None, call.via);
                    if args.keyword("inplace").is_some() {
                        self.emit("write", &file, false, Detail::None, call.via)
                    }
                }
                many(hole_text())
            }
            Special::Pack => self.pack(call),
            Special::Temporary => {
                let given = args.keyword("dir").filter(|d| !matches!(d, Value::None));
                let name = inside(&given.unwrap_or_else(|| text("/tmp")));
                self.emit("create", &name, false, Detail::None, call.via);
                if call.via == "tempfile.TemporaryDirectory" {
                    // at its end it removes what is in it
                    self.emit("delete", &name, true, Detail::None, call.via);
                }
                match call.via {
                    "tempfile.mkstemp" => list(vec![Value::Local, name]),
                    "tempfile.NamedTemporaryFile" => values::object("file", name),
                    "tempfile.TemporaryDirectory" => values::object(call.via, name),
                    _ => name,
                }
            }
            _ => return None,
        })
    }
}

impl Reader<'_> {
    /// A folder becomes an archive.
    fn pack(&mut self, call: &Invocation<'_>) -> Value {
        let args = call.args;
        let packed = args.get(2, "root_dir").filter(|v| !matches!(v, Value::None)).unwrap_or_else(|| text("."));
        self.emit("read", &packed, true, Detail::None, call.via);
        let base = args.get(0, "base_name").unwrap_or(Value::Hole);
        let ending = args.get(1, "format").map_or_else(hole_text, |format| text(ending_of(&format.show())));
        let archive = values::binary("+", &base, &ending);
        self.emit("write", &archive, false, Detail::None, call.via);
        archive
    }
}

/// The mode of `open` that corresponds to the flags of `os.open`.
fn mode_of(flags: Option<i128>) -> &'static str {
    match flags {
        Some(f) if f & 3 == 0 => "r",
        Some(f) if f & 1024 != 0 => "a",
        Some(f) if f & 3 == 2 => "r+",
        Some(f) if f & 192 == 192 => "x",
        Some(_) => "w",
        None => HOLE_MODE,
    }
}

/// The ending that `shutil.make_archive` adds for a format.
fn ending_of(format: &str) -> &'static str {
    match format {
        "zip" => ".zip",
        "tar" => ".tar",
        "gztar" => ".tar.gz",
        "bztar" => ".tar.bz2",
        "xztar" => ".tar.xz",
        _ => HOLE_MODE,
    }
}

/// A path inside a folder whose name is not known.
fn inside(folder: &Value) -> Value {
    lift(folder, &Value::None, |f, _| text(values::join(&f.show(), &UNKNOWN_SPAN.to_string())))
}

/// Replaces each wildcard of a glob pattern by [`UNKNOWN_SPAN`].
fn holes_for_wildcards(pattern: &str) -> String {
    let (mut out, mut in_class) = (String::new(), false);
    for c in pattern.chars() {
        match c {
            '[' => in_class = true,
            ']' if in_class => {
                in_class = false;
                out.push(UNKNOWN_SPAN)
            }
            _ if in_class => {}
            '*' | '?' => {
                if !out.ends_with(UNKNOWN_SPAN) {
                    out.push(UNKNOWN_SPAN)
                }
            }
            '/' if out.ends_with(&format!("/{UNKNOWN_SPAN}")) && pattern.contains("**/") => {}
            c => out.push(c),
        }
    }
    out
}
