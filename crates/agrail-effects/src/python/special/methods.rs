//! Methods of known objects that have no row: files, paths, processes, connections.

use super::files::EXHAUSTING;
use super::{as_path, target_of};
use crate::Detail;
use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::table::Entry;
use crate::python::values::{self, Value, many, text};

impl Reader<'_> {
    /// Methods of known objects that need no row: writing to a file makes it grow.
    pub(in crate::python) fn plain_method(&mut self, kind: &str, receiver: &Value, name: &str, args: Args) -> Value {
        match (kind, name) {
            ("file", "write" | "writelines") => {
                self.grow("disk", args.size().max(8.0));
                Value::Hole
            }
            ("file", "truncate" | "seek") if args.at(0).int().is_some_and(|n| n >= EXHAUSTING) => {
                self.exhaust("disk");
                Value::Hole
            }
            ("file", "readlines" | "read" | "readline") => match name {
                "readlines" => many(values::hole_text()),
                "read" => self.content(&target_of(receiver)).unwrap_or(Value::Hole),
                _ => Value::Hole,
            },
            ("file", "__enter__") => receiver.clone(),
            ("pathlib.Path", _) => self.path_method(receiver, name, args),
            ("subprocess.Popen" | "own process", _) => {
                self.escape(&args, name);
                Value::Hole
            }
            ("range" | "endless", _) => Value::Hole,
            ("psutil.Process", "children" | "parents") => many(values::object("psutil.Process", Value::Hole)),
            ("psutil.Process", "parent") => values::object("psutil.Process", Value::Hole),
            ("sqlite3.Connection" | "paramiko.SSHClient", "open_sftp") => receiver.clone(),
            ("paramiko.SSHClient", "put") => {
                self.emit("send", &target_of(receiver), false, Detail::None, "paramiko.SFTPClient.put");
                Value::Hole
            }
            ("archive" | "flask.Flask" | "socket.socket" | "sqlite3.Connection", _) => {
                self.escape(&args, name);
                Value::Hole
            }
            _ => match self.find(&format!("{kind}.{name}")) {
                Entry::Harmless => {
                    self.escape(&args, name);
                    Value::Hole
                }
                _ => self.telling(receiver, name, args),
            },
        }
    }

    fn path_method(&mut self, receiver: &Value, name: &str, args: Args) -> Value {
        let path = receiver.show();
        match name {
            "joinpath" => as_path(&text(args.pos.iter().fold(path, |p, a| values::join(&p, &a.show())))),
            "resolve" | "absolute" | "expanduser" | "relative_to" => receiver.clone(),
            "as_posix" | "__str__" | "as_uri" | "__fspath__" => text(path),
            "with_name" | "with_suffix" | "with_stem" => {
                let (dir, base) = path.rsplit_once('/').map_or((None, path.as_str()), |(d, b)| (Some(d), b));
                let stem = base.rsplit_once('.').map_or(base, |(s, _)| s);
                let new = args.at(0).show();
                let new = match name {
                    "with_name" => new,
                    "with_suffix" => format!("{stem}{new}"),
                    _ => format!("{new}{}", base.strip_prefix(stem).unwrap_or_default()),
                };
                as_path(&text(dir.map_or(new.clone(), |d| format!("{d}/{new}"))))
            }
            _ => Value::Hole,
        }
    }
}
