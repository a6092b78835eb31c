//! HTTP requests, sessions and sockets.

use super::{Invocation, address, vague};
use crate::Detail;
use crate::python::Reader;
use crate::python::row::Special;
use crate::python::values::{self, Value, list};

impl Reader<'_> {
    /// Calls that talk to another host.
    pub(super) fn network_call(&mut self, special: Special, call: &Invocation<'_>) -> Option<Value> {
        let args = call.args;
        Some(match special {
            Special::Http => self.http(call),
            Special::Request => {
                let method = args.get(0, "method").unwrap_or(Value::Hole).show().to_uppercase();
                let verb = if matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS") { "connect" } else { "send" };
                let (role, target) = match call.receiver {
                    Some(Value::Object(kind, host)) if kind.starts_with("http.client") => {
                        (verb.to_string(), (**host).clone())
                    }
                    _ => (format!("{verb}:url"), args.get(1, "url").unwrap_or(Value::Hole)),
                };
                self.emit(&role, &target, false, Detail::None, call.via);
                Value::Hole
            }
            Special::MakeRequest => {
                let posts = !matches!(args.get(1, "data"), None | Some(Value::None))
                    || args.keyword("method").is_some_and(|m| m.show() != "GET");
                let kind = if posts { "urllib.request.Request post" } else { "urllib.request.Request" };
                values::object(kind, args.get(0, "url").unwrap_or(Value::Hole))
            }
            Special::Session => values::object(call.via, Value::None),
            Special::Address => {
                let at = if call.via == "socket.socket.sendto" { args.pos.len().saturating_sub(1) } else { 0 };
                let target = address(&args.at(at));
                self.emit(&call.row.role, &target, false, Detail::None, call.via);
                self.escape(args, call.via);
                self.returns(call.row, target)
            }
            Special::Accept => list(vec![values::object("socket.socket", Value::Hole), Value::Hole]),
            _ => return None,
        })
    }

    /// A request whose verb follows from the function and its arguments.
    fn http(&mut self, call: &Invocation<'_>) -> Value {
        let args = call.args;
        let url = args.get(0, "url").unwrap_or(Value::Hole);
        let (url, posts) = match &url {
            Value::Object(kind, u) => ((**u).clone(), &**kind == "urllib.request.Request post"),
            v => (v.clone(), false),
        };
        let carries = |v: Value| !matches!(v, Value::None) && vague(&v);
        let data = call.via.contains("urlopen") && !matches!(args.get(1, "data"), None | Some(Value::None));
        let sends = posts
            || data
            || args.keyword("params").is_some_and(carries)
            || ["data", "json", "files"].iter().any(|k| args.keyword(k).is_some());
        self.emit(if sends { "send:url" } else { "connect:url" }, &url, false, Detail::None, call.via);
        Value::Hole
    }
}
