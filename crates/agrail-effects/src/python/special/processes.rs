//! Processes, signals and environment variables.

use super::{Invocation, target_of, vague};
use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::row::Special;
use crate::python::values::{self, UNKNOWN_SPAN, Value, many};
use crate::{Attribute, Detail};

impl Reader<'_> {
    /// Calls on processes and their environment.
    pub(super) fn process_call(&mut self, special: Special, call: &Invocation<'_>) -> Option<Value> {
        let args = call.args;
        match special {
            Special::Kill => Some(self.kill(call.via, call.receiver, args)),
            Special::Fork => {
                self.forks += 1;
                self.grow("process", 1.0);
                None
            }
            Special::Start => {
                self.forks += 1;
                self.grow("process", 0.05);
                Some(Value::None)
            }
            Special::Thread => {
                let forks = self.forks;
                self.forks += 1;
                self.escape(args, call.via);
                self.forks = forks;
                Some(values::object("own process", Value::None))
            }
            Special::ProcessIter => {
                self.all_processes = true;
                Some(many(values::object("psutil.Process", Value::Hole)))
            }
            Special::Process => Some(match args.get(0, "pid").unwrap_or(Value::None) {
                Value::None => values::object("own process", Value::None),
                pid => values::object("psutil.Process", pid),
            }),
            Special::WithArgument => (args.pos.is_empty() && args.kw.is_empty()).then_some(Value::Hole),
            Special::Variable => {
                let (first, value) =
                    (args.at(0), args.pos.get(1).map_or(Detail::None, |value| Detail::Value(value.show())));
                let names = if let Value::Dict(_) = first { first.elements().unwrap_or_default() } else { vec![first] };
                for name in names {
                    self.emit("variable", &name, false, value.clone(), call.via)
                }
                Some(Value::Hole)
            }
            _ => None,
        }
    }

    /// Whether the program has listed all processes.
    fn lists_processes(&self) -> bool {
        self.all_processes || self.calls.iter().any(|call| call.role == "list" && call.target == "/proc")
    }

    fn kill(&mut self, via: &str, receiver: Option<&Value>, args: &Args) -> Value {
        let target = match receiver {
            Some(v) => target_of(v),
            None => args.at(0),
        };
        let target = if let Value::Object(kind, inner) = &target {
            if matches!(&**kind, "own process" | "subprocess.Popen") {
                return Value::None;
            }
            (**inner).clone()
        } else {
            target
        };
        let signal = if receiver.is_some() {
            if via.ends_with("send_signal") { Some(args.at(0)) } else { None }
        } else {
            Some(args.at(1))
        };
        if matches!(signal, Some(Value::Int(0))) {
            return Value::None;
        }
        let signal = match signal {
            Some(signal) => signal.show(),
            None if via.ends_with("terminate") => "SIGTERM".to_owned(),
            None if via.ends_with("suspend") => "SIGSTOP".to_owned(),
            None => "SIGKILL".to_owned(),
        };
        let detail = Detail::Attributes(vec![Attribute::Signal(signal)]);
        let target = if vague(&target) && !self.compared.is_empty() { self.compared_names() } else { target };
        if vague(&target) && self.lists_processes() {
            self.emit("kill/every:process", &super::text("all"), false, detail, via);
            return Value::None;
        }
        for choice in target.choices() {
            let by_name = matches!(&choice, Value::Text(t) if !t.contains(UNKNOWN_SPAN) && t.parse::<i64>().is_err());
            self.emit(if by_name { "kill:process" } else { "kill" }, &choice, false, detail.clone(), via);
        }
        Value::None
    }
}
