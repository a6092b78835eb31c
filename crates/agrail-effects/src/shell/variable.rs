//! Variables: their values, and which are exported, read-only or local to a function.

use super::parameter::spread;
use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::tree::Node;
use crate::{Cause, Detail, Effect, Target, Verb};

/// Variables that change which programs run, or what programs load.
const LOADS: [&str; 30] = [
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PROMPT_COMMAND",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "NODE_OPTIONS",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "TAR_OPTIONS",
    "MAKEFILES",
    "MAKEFLAGS",
    "GOFLAGS",
    "PERL5DB",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "FZF_DEFAULT_COMMAND",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
];
/// Beginnings and ends of the names of such variables.
const LOADS_BEGIN: [&str; 4] = ["AGRAIL_", "LD_", "GIT_", "DYLD_"];
const LOADS_END: [&str; 3] = ["_WRAPPER", "_RSH", "_PAGER"];

impl Shell<'_> {
    /// Interprets `export`, `local`, `declare`, `readonly` and similar builtins.
    pub(super) fn declaration(&mut self, node: Node<'_>, source: &str) -> Output {
        self.handed_on(node, source);
        let mut output = Output::default();
        let words = node.utf8_text(source.as_bytes()).unwrap_or_default();
        let options: String = words.split_whitespace().skip(1).take_while(|w| w.starts_with('-')).collect();
        let kind = words.split_whitespace().next().unwrap_or_default();
        // attributes change what a later assignment means
        self.unsettled |= options.contains(['a', 'A', 'c', 'i', 'l', 'n', 'u']);
        if options.contains('n') && kind != "export" {
            self.unknown(Cause::Dynamic, "one variable stands for another", "shell");
        }
        for child in children(node) {
            let named = child.child_by_field_name("name").unwrap_or(child);
            let name = named.utf8_text(source.as_bytes()).unwrap_or_default().to_owned();
            if !options.contains('g') && matches!(kind, "local" | "declare" | "typeset") {
                let old = self.state.variables.get(&name).cloned();
                if let Some(locals) = self.state.locals.last_mut() {
                    locals.entry(name.clone()).or_insert(old);
                }
            }
            if options.contains('i') {
                let text = self.text(child, source);
                self.evaluated(&text);
                self.named_values(&text);
            }
            match child.kind() {
                "variable_assignment" => {
                    self.assignment(child, source);
                    // without a value it may print existing variables
                    output = Output::silent();
                }
                "string" | "raw_string" | "concatenation" | "word" => {
                    let text = self.marked(child, source);
                    self.evaluated(&text);
                    if let Some((name, value)) = text.split_once('=') {
                        self.assign(name, vec![value.to_owned()]);
                    }
                }
                _ => self.walk_substitutions(child, source),
            }
        }
        if kind == "readonly" || options.contains('r') {
            for child in children(node) {
                let named = child.child_by_field_name("name").unwrap_or(child);
                self.state.readonly.insert(named.utf8_text(source.as_bytes()).unwrap_or_default().to_owned());
            }
        }
        output
    }

    pub(crate) fn assignment(&mut self, node: Node<'_>, source: &str) {
        if node.kind() == "variable_assignments" {
            for child in children(node) {
                if child.kind() == "variable_assignment" {
                    self.assignment(child, source);
                }
            }
            return;
        }
        let name = node
            .child_by_field_name("name")
            .and_then(|n| n.utf8_text(source.as_bytes()).ok())
            .unwrap_or_default()
            .to_owned();
        let raw = node.utf8_text(source.as_bytes()).unwrap_or_default();
        let values = match node.child_by_field_name("value") {
            Some(value) if value.kind() == "array" => {
                children(value).into_iter().filter(Node::is_named).flat_map(|c| self.fields(c, source)).collect()
            }
            Some(value) => vec![self.marked(value, source)],
            None => vec![String::new()],
        };
        if let Some(value) = node.child_by_field_name("value") {
            let flow = self.flow_of(value, source, &values);
            self.holds(name.split('[').next().unwrap_or(&name), &flow);
        }
        if let Some((base, index)) = name.split_once('[') {
            // the index selects one of several values
            self.evaluated(index);
            self.assign(base, vec![UNKNOWN_SPAN.to_string()]);
            return;
        }
        let array = node.child_by_field_name("value").is_some_and(|value| value.kind() == "array");
        let appends = raw.get(name.len()..).is_some_and(|rest| rest.starts_with("+="));
        let values = if appends && array {
            self.state
                .variables
                .get(&name)
                .cloned()
                .unwrap_or_else(|| vec![UNKNOWN_SPAN.to_string()])
                .into_iter()
                .chain(values)
                .collect()
        } else if appends {
            match self.state.variables.get(&name).and_then(|v| v.first()) {
                Some(old) => vec![format!("{old}{}", values.concat())],
                None => vec![UNKNOWN_SPAN.to_string()],
            }
        } else {
            values
        };
        self.assign(&name, values);
    }

    /// Notes the exports of `export` and similar builtins.
    fn handed_on(&mut self, node: Node<'_>, source: &str) {
        let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
        let mut words = text.split_whitespace();
        let export = words.next() == Some("export");
        let options: String = words.take_while(|word| word.starts_with(['-', '+'])).collect();
        self.state.exports_functions |= options.contains('f') && (export || options.contains('x'));
        if export || options.contains('x') {
            let off = options.contains('+') || export && options.contains('n');
            for child in children(node) {
                let named = child.child_by_field_name("name").unwrap_or(child);
                if named.kind() == "variable_name" {
                    self.export(named.utf8_text(source.as_bytes()).unwrap_or_default(), !off);
                }
            }
        }
    }

    /// Exports a variable to children of the shell, or stops exporting it.
    pub(crate) fn export(&mut self, name: &str, on: bool) {
        if on {
            self.state.exported.insert(name.to_owned());
        } else {
            self.state.exported.remove(name);
        }
    }

    /// Sets a variable; some names change which programs run.
    pub(crate) fn assign(&mut self, name: &str, values: Vec<String>) {
        if changes_programs(name) {
            let mut effect =
                Effect::new(Verb::Variable, Target::Named(crate::Kind::Variable, name.to_owned()), "shell");
            effect.detail = Detail::Value(values.iter().flat_map(|value| spread(value)).collect::<Vec<_>>().join(" "));
            self.add(effect);
        }
        let first = values.first().map(|value| spread(value)).unwrap_or_default();
        first.iter().for_each(|value| self.environment(name, value));
        self.state.plain.remove(name);
        match name {
            "PS4" | "PS0" => values.iter().for_each(|value| self.evaluated(value)),
            "HOME" => {
                self.state.home = match spread(&values.concat()).as_slice() {
                    [one] => one.clone(),
                    _ => UNKNOWN_SPAN.to_string(),
                };
            }
            _ => {}
        }
        // a read-only variable keeps its value
        let values = match self.state.variables.get(name) {
            Some(old) if self.state.readonly.contains(name) => {
                vec![super::parameter::either(&[old.join(" "), values.join(" ")])]
            }
            _ => values,
        };
        self.state.variables.insert(name.to_owned(), values);
    }

    /// Evaluates the words of a condition: `-v` and numeric operators evaluate their operands.
    pub(super) fn evaluate_words(&mut self, node: Node<'_>, source: &str) {
        for child in children(node) {
            match child.kind() {
                "raw_string" | "string" | "word" => {
                    let text = self.text(child, source);
                    self.evaluated(&text);
                }
                "simple_expansion" | "expansion" => {
                    let text = self.text(child, source);
                    self.evaluated(&text);
                }
                "command_substitution" | "process_substitution" => {}
                _ => self.evaluate_words(child, source),
            }
        }
    }
}

/// Whether a variable with this name changes which programs run, or what programs load.
fn changes_programs(name: &str) -> bool {
    LOADS.contains(&name)
        || LOADS_BEGIN.iter().any(|begin| name.starts_with(begin))
        || LOADS_END.iter().any(|end| name.ends_with(end))
        || name.to_ascii_lowercase().starts_with("npm_config_")
}
