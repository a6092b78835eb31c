//! The walk over the syntax tree, in the order of execution.

use super::lines::parse_lines;
use super::respell::{end_assignments, end_compounds, loop_over_arguments, plainer};
use super::state::State;
use super::word::children;
use super::{MAX_DEPTH, MAX_SOURCE, MAX_STEPS, Output, Shell, UNKNOWN_SPAN};
use crate::Cause;
use crate::budget;
use crate::tree::{self, Grammar};
use crate::tree::{Node, Tree};
use foldhash::HashSet;

/// Most here-documents times bytes of the text.
const HEREDOCS: usize = 128 << 20;

/// Parses shell source.
pub(super) fn parse(source: &str) -> Option<Tree> {
    tree::parse(Grammar::Bash, source)
}

/// Whether the parser would look for the ends of so many here-documents, each to the end of the text, that it takes long.
fn has_many_heredocs(source: &str) -> bool {
    source.matches("<<").count().saturating_mul(source.len()) > HEREDOCS
}

/// Another spelling of the text that parses without a problem, and its tree.
fn respelt(text: &str) -> Option<(String, Tree)> {
    let looped = loop_over_arguments(text);
    let both = looped.as_deref().and_then(plainer);
    [looped, plainer(text), both, end_compounds(text)]
        .into_iter()
        .flatten()
        .find_map(|other| parse_lines(other).filter(|(_, tree)| problem(tree.root_node()).is_none()))
}

impl Shell<'_> {
    /// Interprets source text with this standard input.
    pub(crate) fn source(&mut self, source: &str, stdin: Output) -> Output {
        if source.len() > MAX_SOURCE || self.depth >= MAX_DEPTH {
            self.unknown(Cause::Budget, "script too long or nested too deep", "shell");
            return Output::default();
        }
        if has_many_heredocs(source) {
            self.unknown(Cause::Budget, "too many here-documents", "shell");
            return Output::default();
        }
        // a copied prompt: a shell would find no program `$`, so that the rest is more than would run
        let source = source.trim_start().strip_prefix("$ ").unwrap_or(source);
        // tree-sitter parses a trailing comment or heredoc only with a line end
        let text = if source.ends_with('\n') { source.to_owned() } else { format!("{source}\n") };
        let text = end_assignments(&text).unwrap_or(text);
        let Some((mut text, mut tree)) = parse_lines(text) else {
            self.unknown(Cause::Parse, "the shell parser gave up", "shell");
            return Output::default();
        };
        if problem(tree.root_node()).is_some()
            && let Some((other, parsed)) = respelt(&text)
        {
            self.step(|| "spelt in another way that the parser knows".to_owned());
            (text, tree) = (other, parsed);
        }
        self.depth += 1;
        self.texts += 1;
        let outer = std::mem::replace(&mut self.text, self.texts);
        self.unsettle_by(&text);
        if let Some(problem) = problem(tree.root_node()) {
            let near: String = text.get(problem..).unwrap_or_default().chars().take(30).collect();
            self.unknown(Cause::Parse, near.trim(), "shell");
        }
        self.seen.push(HashSet::default());
        let output = self.block(tree.root_node(), &text, stdin);
        self.left_out(tree.root_node(), &text);
        self.seen.pop();
        self.text = outer;
        self.depth -= 1;
        output
    }

    /// Notes that a node is being interpreted.
    pub(super) fn see(&mut self, node: Node<'_>) {
        if let Some(seen) = self.seen.last_mut() {
            seen.insert(node.id());
        }
    }

    /// Notes that a node and all below it do not run.
    pub(super) fn skip(&mut self, node: Node<'_>) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            self.see(node);
            open.extend(children(node));
        }
    }

    /// Interprets commands and substitutions that no other function has reached: they run all the same. There,
    /// variables and the working directory are unknown. The body of a function runs where the function is called.
    fn left_out(&mut self, root: Node<'_>, source: &str) {
        let mut work = vec![root];
        while let Some(node) = work.pop() {
            let runs = matches!(node.kind(), "command" | "command_substitution" | "process_substitution");
            let seen = self.seen.last().is_some_and(|seen| seen.contains(&node.id()));
            if runs && !seen {
                self.step(|| format!("a {} in an unusual place", node.kind().replace('_', " ")));
                self.scoped(|shell| {
                    shell.state.cwd = None;
                    shell.state.variables.values_mut().for_each(|values| *values = vec![UNKNOWN_SPAN.to_string()]);
                    shell.statement(node, source, Output::default())
                });
            } else if node.kind() != "function_definition" {
                work.extend(children(node));
            }
        }
    }

    /// Interprets one statement.
    pub(crate) fn statement(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.depth > MAX_DEPTH || budget::is_spent() {
            self.unknown(Cause::Budget, "too many commands or nested too deep", "shell");
            return Output::default();
        }
        self.depth += 1;
        let output = if self.state.elsewhere.is_empty() {
            self.dispatch(node, source, stdin)
        } else {
            self.in_each_folder(node, source, &stdin)
        };
        self.depth -= 1;
        output
    }

    /// Interprets a statement in each of the folders that may be the working folder.
    fn in_each_folder(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let before = self.state.fork();
        let folders: Vec<String> = before.cwd.iter().chain(&before.elsewhere).cloned().collect();
        let runs = folders.into_iter().map(|folder| {
            let mut state = before.fork();
            (state.cwd, state.elsewhere) = (Some(folder), Vec::new());
            state
        });
        self.each_way(runs.collect(), |shell| shell.dispatch(node, source, stdin.clone()))
    }

    /// Runs in each of several possible states, and goes on in any state to which they lead.
    pub(super) fn each_way(&mut self, starts: Vec<State>, mut run: impl FnMut(&mut Self) -> Output) -> Output {
        let (mut ends, mut outputs) = (Vec::new(), Vec::new());
        for start in starts {
            self.state = start;
            outputs.push(run(self));
            ends.push(self.state.fork());
        }
        self.resume(ends);
        either_output(outputs)
    }

    fn dispatch(&mut self, node: Node<'_>, source: &str, mut stdin: Output) -> Output {
        stdin.private &= node.kind() == "command";
        match node.kind() {
            "command" => self.command(node, source, stdin),
            "variable_assignment" | "variable_assignments" => {
                self.assignment(node, source);
                self.note_plain(node, source);
                Output::silent()
            }
            "unset_command" => self.unset(node, source),
            "declaration_command" => self.declaration(node, source),
            "pipeline" => self.pipeline(node, source, stdin),
            "redirected_statement" => self.redirected(node, source, stdin),
            "subshell" => self.scoped(|s| s.block(node, source, stdin)),
            "function_definition" => self.define(node, source),
            "for_statement" => self.for_loop(node, source, stdin),
            "while_statement" | "c_style_for_statement" => self.while_loop(node, source, stdin),
            "test_command" => {
                let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
                let compares = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"].iter().any(|sign| text.contains(sign));
                if compares && text.starts_with("[[") {
                    self.arithmetic(text)
                } else {
                    self.named_values(text)
                }
                self.walk_substitutions(node, source);
                self.evaluate_words(node, source);
                Output::silent()
            }
            "heredoc_body" | "comment" => Output::silent(),
            "file_redirect" | "herestring_redirect" => {
                let input = self.is_input(node, source);
                self.redirect(node, source, &Output::default(), input)
            }
            "ERROR" => self.block(node, source, stdin),
            "case_statement" => self.case(node, source, &stdin),
            "if_statement" => self.conditional(node, source, &stdin),
            "list" => self.list(node, source, &stdin),
            "case_item" | "elif_clause" | "else_clause" | "do_group" | "compound_statement" | "negated_command"
            | "program" => {
                let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
                if text.starts_with("((") {
                    self.arithmetic(text);
                }
                self.block(node, source, stdin)
            }
            _ => {
                self.walk_substitutions(node, source);
                Output::default()
            }
        }
    }

    /// Interprets `unset NAME...`.
    fn unset(&mut self, node: Node<'_>, source: &str) -> Output {
        let variables = node.utf8_text(source.as_bytes()).is_ok_and(|t| t.contains(" -v"));
        for child in children(node).into_iter().filter(Node::is_named) {
            let name = self.text(child, source);
            self.evaluated(&name);
            if !variables {
                self.state.functions.remove(&name);
            }
            self.state.exported.remove(&name);
            self.assign(&name, vec![String::new()]);
            // without it, the shell splits at blanks
            if name == "IFS" {
                self.state.variables.remove("IFS");
            }
        }
        Output::silent()
    }

    /// Notes the body of a function; it runs where the function is called.
    fn define(&mut self, node: Node<'_>, source: &str) -> Output {
        let name = node.child_by_field_name("name").and_then(|n| n.utf8_text(source.as_bytes()).ok());
        // a redirection of the definition applies to each call
        let body = node.child_by_field_name("body").and_then(|n| source.get(n.start_byte()..node.end_byte()));
        if let (Some(name), Some(body)) = (name, body) {
            self.state.functions.insert(name.to_owned(), body.to_owned());
            if self.state.maybe_defined_functions.contains(name) {
                self.state.maybe_defined_functions.remove(name);
            }
        }
        Output::silent()
    }

    /// Interprets all statements of a node, including both branches of a choice.
    pub(super) fn block(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let mut output = Output::silent();
        let all = children(node);
        for (i, child) in all.iter().enumerate() {
            if !child.is_named()
                || matches!(
                    child.kind(),
                    "word" | "string" | "raw_string" | "concatenation" | "variable_name" | "number"
                )
            {
                continue;
            }
            let before = self.background;
            if all.get(i + 1).is_some_and(|n| n.kind() == "&") {
                // it runs in a separate shell
                self.background = true;
                output = join(output, self.scoped(|s| s.statement(*child, source, stdin.clone())));
            } else {
                output = join(output, self.statement(*child, source, stdin.clone()));
            }
            self.background = before;
        }
        output
    }

    /// Interprets code whose changes to the shell's state are forgotten afterwards, like those of a subshell.
    pub(crate) fn scoped(&mut self, run: impl FnOnce(&mut Self) -> Output) -> Output {
        let before = self.state.fork();
        let output = run(self);
        self.state = before;
        output
    }

    fn pipeline(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let mut output = stdin;
        let before = std::mem::replace(&mut self.background, true);
        // after a heredoc, the rest of the line begins with the `|` into which the heredoc goes
        output.piped |= children(node).first().is_some_and(|first| matches!(first.kind(), "|" | "|&"));
        let parts: Vec<Node<'_>> = children(node).into_iter().filter(Node::is_named).collect();
        let outer = (self.piped, self.pipeline.replace(self.reading.effects.len()));
        for (place, child) in parts.iter().enumerate() {
            self.piped = outer.0 || place + 1 < parts.len();
            output.private = place > 0;
            output = self.scoped(|s| s.statement(*child, source, output.clone()));
            output.piped = true;
            output.file = None;
        }
        (self.background, (self.piped, self.pipeline)) = (before, outer);
        output
    }
}

/// Combines the outputs of two commands in the same stream.
pub(super) fn join(first: Output, second: Output) -> Output {
    let quiet = (first.is_silent(), second.is_silent());
    Output {
        names: match (first.names, second.names) {
            (Some(a), Some(b)) => Some(a.into_iter().chain(b).collect()),
            (Some(names), None) if quiet.1 => Some(names),
            (None, Some(names)) if quiet.0 => Some(names),
            _ => None,
        },
        text: first.text.zip(second.text).map(|(a, b)| a + &b),
        file: None,
        network: first.network || second.network,
        endless: first.endless || second.endless,
        many: first.many || second.many,
        decoded: first.decoded || second.decoded,
        piped: first.piped || second.piped,
        private: false,
    }
}

/// One of several possible outputs.
fn either_output(outputs: Vec<Output>) -> Output {
    outputs
        .into_iter()
        .reduce(|a, b| Output {
            text: a.text.filter(|text| b.text.as_ref() == Some(text)),
            names: a.names.filter(|names| b.names.as_ref() == Some(names)),
            file: None,
            network: a.network || b.network,
            endless: a.endless || b.endless,
            many: a.many || b.many,
            decoded: a.decoded || b.decoded,
            piped: a.piped || b.piped,
            private: false,
        })
        .unwrap_or_default()
}

/// First byte of the text that does not parse. Wide trees are cheap: only branches with an error are visited.
pub(super) fn problem(root: Node<'_>) -> Option<usize> {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if node.is_error() || node.is_missing() {
            return Some(node.start_byte());
        }
        if node.has_error() {
            stack.extend(children(node).into_iter().rev());
        }
    }
    None
}
