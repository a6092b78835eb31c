//! Functions that are passed to code outside the program, which may call them.

use super::Reader;
use super::arguments::{OLDER, PARSER};
use super::calls::{Args, acts};
use super::values::Value;

/// Most items for which a callback is interpreted one by one.
const MAX_ITEMS: usize = 64;
/// Functions that call their first argument for each item of the second.
const EACH: [&str; 9] =
    ["map", "imap", "imap_unordered", "starmap", "filter", "map_async", "apply", "reduce", "foreach"];
/// Modules with functions that have effects: code that gets such a module can do anything.
const POWERFUL: [&str; 8] = ["os", "subprocess", "shutil", "builtins", "ctypes", "socket", "pty", ""];
/// Functions that only look at a module that they are given.
const LOOKING: [&str; 12] =
    ["print", "help", "dir", "reload", "id", "str", "repr", "type", "hasattr", "isinstance", "vars", "getattr"];

impl Args {
    /// Arguments of which nothing is known.
    pub fn unknown() -> Self {
        Args { pos: vec![], kw: vec![], open: true }
    }
}

impl Reader<'_> {
    /// A function that is passed to code outside the program may be called there.
    pub(super) fn escape(&mut self, args: &Args, to: &str) {
        let last = to.rsplit('.').next().unwrap_or_default();
        for value in args.values() {
            match value {
                Value::Module(module) if !LOOKING.contains(&last) => self.expose(*module),
                Value::Object(kind, _) if [PARSER, OLDER].contains(&&**kind) && !LOOKING.contains(&last) => {
                    self.forget_parsed();
                }
                Value::Instance(class, _) | Value::Class(class) => {
                    self.modules.exposed.insert(std::rc::Rc::as_ptr(class));
                }
                _ => {}
            }
        }
        for (i, value) in args.pos.iter().enumerate().filter(|(_, value)| value.callable()) {
            match value {
                Value::Name(n) if self.table.is_module(n) || !acts(self.find(n)) => {
                    if self.table.is_module(n) && POWERFUL.contains(&&**n) && !LOOKING.contains(&last) {
                        self.unknown(&format!("{to}({n})"));
                    }
                }
                _ => self.call_back(value, last, args.skip(i + 1)),
            }
        }
        for (key, value) in &args.kw {
            if value.callable() && !matches!(value, Value::Name(n) if !acts(self.find(n))) {
                self.call_back_by_keyword(key, value, args);
            }
        }
    }

    /// Calls a function as the function named `last` would, which gets `rest` after it.
    fn call_back(&mut self, function: &Value, last: &str, rest: Args) {
        match rest.pos.first().map(|v| (v, v.elements())) {
            Some((over, items)) if EACH.contains(&last) => {
                for item in items.unwrap_or_else(|| vec![over.element()]).into_iter().take(MAX_ITEMS) {
                    let spread = if matches!(last, "starmap" | "apply") { item.elements() } else { None };
                    self.call_value(function, spread.unwrap_or_else(|| vec![item]).into(), "");
                }
            }
            Some((_, Some(given))) if last == "Timer" => {
                self.call_value(function, given.into(), "");
            }
            Some(_) => {
                self.call_value(function, rest, "");
            }
            None => {
                self.call_value(function, Args::unknown(), "");
            }
        }
    }

    /// Calls a function that is given as a keyword argument, as `threading.Thread(target=f, args=(1,))` does.
    fn call_back_by_keyword(&mut self, key: &str, function: &Value, args: &Args) {
        let given = if matches!(key, "target" | "func" | "function") {
            args.keyword("args").and_then(|a| a.elements())
        } else {
            None
        };
        let open = given.is_none() && key != "target";
        let kw = match args.keyword("kwargs") {
            Some(Value::Dict(d)) if key == "target" => {
                d.items.chunks(2).filter_map(|p| Some((p.first()?.show(), p.get(1)?.clone()))).collect()
            }
            _ => vec![],
        };
        self.call_value(function, Args { pos: given.unwrap_or_default(), kw, open }, "");
    }
}
