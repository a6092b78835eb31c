//! The walk over the syntax tree, in the order of execution.

use super::parameter::spread;
use super::word::{children, range_length};
use super::{MAX_DEPTH, MAX_SOURCE, MAX_STEPS, Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::{Cause, Effect, Target, Verb};
use std::cell::RefCell;
use std::collections::HashSet;
use tree_sitter::{Node, Parser, Tree};

/// Most words of a loop that are interpreted one by one.
const MAX_ROUNDS: usize = 48;

/// Parses shell source.
pub(super) fn parse(source: &str) -> Option<Tree> {
    thread_local! {
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
        parser.reset();
        parser.parse(source, None)
    })
}

/// The text without two things that the shell takes literally and the parser does not: a `$` that begins nothing, and a
/// final `\` (dropped here, so that the command has one argument less). `None` if there is neither.
fn plainer(text: &str) -> Option<String> {
    let body = text.trim_end_matches('\n');
    let slashes = body.len() - body.trim_end_matches('\\').len();
    let body = if slashes % 2 == 1 { body.get(..body.len() - 1)? } else { body };
    let mut out = String::with_capacity(body.len() + 8);
    let (mut single, mut escaped) = (false, false);
    let mut rest = body.chars().peekable();
    while let Some(c) = rest.next() {
        let begins = |n: &char| n.is_ascii_alphanumeric() || "_{('\"#?$!*@-".contains(*n);
        if c == '\'' && !escaped {
            single = !single;
        }
        if c == '$' && !single && !escaped && !rest.peek().is_some_and(begins) {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped && !single;
        out.push(c);
    }
    out.push('\n');
    (out != text).then_some(out)
}

impl Shell<'_> {
    /// Interprets source text with this standard input.
    pub(crate) fn source(&mut self, source: &str, stdin: Output) -> Output {
        if source.len() > MAX_SOURCE || self.depth >= MAX_DEPTH {
            self.unknown(Cause::Budget, "script too long or nested too deep", "shell");
            return Output::default();
        }
        // a copied prompt: a shell would find no program `$`, so that the rest is more than would run
        let source = source.trim_start().strip_prefix("$ ").unwrap_or(source);
        // tree-sitter parses a trailing comment or heredoc only with a line end
        let text = if source.ends_with('\n') { source.to_owned() } else { format!("{source}\n") };
        let Some(mut tree) = parse(&text) else {
            self.unknown(Cause::Parse, "the shell parser gave up", "shell");
            return Output::default();
        };
        let mut text = text;
        if problem(tree.root_node()).is_some()
            && let Some(plainer) = plainer(&text)
            && let Some(other) = parse(&plainer).filter(|t| problem(t.root_node()).is_none())
        {
            self.step(|| "read with a bare $ or a last \\ taken literally, as the shell does".to_owned());
            (text, tree) = (plainer, other);
        }
        self.depth += 1;
        if let Some(problem) = problem(tree.root_node()) {
            let near: String = text.get(problem..).unwrap_or_default().chars().take(30).collect();
            self.unknown(Cause::Parse, near.trim(), "shell");
        }
        self.seen.push(HashSet::new());
        let output = self.block(tree.root_node(), &text, stdin);
        self.left_out(tree.root_node(), &text);
        self.seen.pop();
        self.depth -= 1;
        output
    }

    /// Notes that a node is being interpreted.
    pub(super) fn see(&mut self, node: Node<'_>) {
        if let Some(seen) = self.seen.last_mut() {
            seen.insert(node.id());
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
                    shell.cwd = None;
                    shell.variables.values_mut().for_each(|values| *values = vec![UNKNOWN_SPAN.to_string()]);
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
        if self.steps > MAX_STEPS || self.depth > MAX_DEPTH {
            self.unknown(Cause::Budget, "too many commands or nested too deep", "shell");
            return Output::default();
        }
        self.depth += 1;
        let output = self.dispatch(node, source, stdin);
        self.depth -= 1;
        output
    }

    fn dispatch(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        match node.kind() {
            "command" => self.command(node, source, stdin),
            "variable_assignment" | "variable_assignments" => {
                self.assignment(node, source);
                Output::silent()
            }
            "unset_command" => {
                let variables = node.utf8_text(source.as_bytes()).is_ok_and(|t| t.contains(" -v"));
                for child in children(node).into_iter().filter(Node::is_named) {
                    let name = self.text(child, source);
                    self.evaluated(&name);
                    if !variables {
                        self.functions.remove(&name);
                    }
                    self.exported.remove(&name);
                    self.assign(&name, vec![String::new()]);
                }
                Output::silent()
            }
            "declaration_command" => self.declaration(node, source),
            "pipeline" => self.pipeline(node, source, stdin),
            "redirected_statement" => self.redirected(node, source, stdin),
            "subshell" => self.scoped(|s| s.block(node, source, stdin)),
            "function_definition" => {
                let name = node.child_by_field_name("name").and_then(|n| n.utf8_text(source.as_bytes()).ok());
                // a redirection of the definition applies to each call
                let body = node.child_by_field_name("body").and_then(|n| source.get(n.start_byte()..node.end_byte()));
                if let (Some(name), Some(body)) = (name, body) {
                    self.functions.insert(name.to_owned(), body.to_owned());
                }
                Output::silent()
            }
            "for_statement" => self.for_loop(node, source, stdin),
            "while_statement" | "c_style_for_statement" => self.while_loop(node, source, stdin),
            "test_command" => {
                self.named_values(node.utf8_text(source.as_bytes()).unwrap_or_default());
                self.walk_substitutions(node, source);
                self.evaluate_words(node, source);
                Output::silent()
            }
            "heredoc_body" | "comment" | "ERROR" | "file_redirect" | "herestring_redirect"
                if node.kind() != "ERROR" =>
            {
                if matches!(node.kind(), "file_redirect" | "herestring_redirect") {
                    self.redirect(node, source, &Output::default(), false)
                } else {
                    Output::silent()
                }
            }
            "ERROR" => self.block(node, source, stdin),
            "case_statement" => {
                if let Some(value) = node.child_by_field_name("value") {
                    self.walk_substitutions(value, source);
                }
                self.choice(node, source, &stdin)
            }
            "if_statement" => self.choice(node, source, &stdin),
            "list" => self.list(node, source, &stdin),
            "case_item" | "elif_clause" | "else_clause" | "do_group" | "compound_statement" | "negated_command"
            | "program" => {
                let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
                if text.starts_with("((") {
                    self.named_values(text);
                }
                self.block(node, source, stdin)
            }
            _ => {
                self.walk_substitutions(node, source);
                Output::default()
            }
        }
    }

    /// Interprets all statements of a node, including both branches of a choice.
    fn block(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
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
        let (before, exports) = (self.state(), self.exports_functions);
        let output = run(self);
        self.restore(before);
        self.exports_functions = exports;
        output
    }

    fn pipeline(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let mut output = stdin;
        let before = std::mem::replace(&mut self.background, true);
        // after a heredoc, the rest of the line begins with the `|` into which the heredoc goes
        output.piped |= children(node).first().is_some_and(|first| matches!(first.kind(), "|" | "|&"));
        let parts: Vec<Node<'_>> = children(node).into_iter().filter(Node::is_named).collect();
        let outer = self.piped;
        for (place, child) in parts.iter().enumerate() {
            self.piped = outer || place + 1 < parts.len();
            output = self.scoped(|s| s.statement(*child, source, output.clone()));
            output.piped = true;
        }
        (self.background, self.piped) = (before, outer);
        output
    }

    /// Interprets a command or several with redirections. The redirections of input come first.
    fn redirected(&mut self, node: Node<'_>, source: &str, mut stdin: Output) -> Output {
        let outer = stdin.clone();
        let redirects: Vec<Node<'_>> = children(node).into_iter().filter(|c| c.kind().ends_with("_redirect")).collect();
        let mut after: Vec<Node<'_>> = Vec::new();
        for redirect in &redirects {
            match redirect.kind() {
                "heredoc_redirect" => {
                    stdin = self.heredoc(*redirect, source);
                    // `cat <<EOF | sh`, `cat <<EOF > file`: the rest of the line is a child of the redirect
                    after.extend(children(*redirect).into_iter().filter(|c| {
                        matches!(
                            c.kind(),
                            "pipeline"
                                | "list"
                                | "command"
                                | "redirected_statement"
                                | "file_redirect"
                                | "subshell"
                                | "compound_statement"
                        )
                    }));
                }
                _ if self.is_input(*redirect, source) => {
                    stdin = self.redirect(*redirect, source, &Output::default(), true)
                }
                _ => {}
            }
        }
        let mut output = Output::default();
        let mut ran = false;
        let mut parts = children(node).into_iter().peekable();
        while let Some(child) = parts.next() {
            // the parser leaves out a `-` before a redirection: `make -f - <<E`
            let gap = parts.peek().and_then(|next| source.get(child.end_byte()..next.start_byte())).unwrap_or_default();
            match gap.trim() {
                "" | "\\" => {}
                "-" if child.kind() == "command" => self.last_word = Some("-".to_owned()),
                left_out => self.unknown(Cause::Parse, left_out, "shell"),
            }
            if child.is_named() && !child.kind().ends_with("_redirect") {
                let first = child.utf8_text(source.as_bytes()).unwrap_or_default().split_whitespace().next();
                if first == Some("exec") && stdin.piped && child.named_child_count() <= 1 {
                    self.unknown(Cause::Dynamic, "what later commands read", "exec");
                }
                if first.is_some_and(super::command::is_shell) && redirects.iter().any(|r| connects(*r, source)) {
                    self.remote_shell(first.unwrap_or_default());
                }
                output = self.statement(child, source, stdin.clone());
                ran = true;
            }
        }
        if !ran {
            output = stdin;
        }
        let own = redirects.into_iter().filter(|r| r.kind() == "file_redirect");
        let mut after: Vec<Node<'_>> = own.chain(after).collect();
        // a redirection of the command itself applies before its output is piped
        after.sort_by_key(|rest| rest.kind() != "file_redirect");
        for rest in after {
            if rest.kind() == "file_redirect" {
                if !self.is_input(rest, source) {
                    self.redirect(rest, source, &output, false);
                    if takes_output(rest, source) {
                        output = Output::silent();
                    }
                }
            } else if rest.kind() == "pipeline" && children(rest).first().is_some_and(|first| !first.is_named()) {
                output = self.statement(rest, source, output);
            } else {
                // after `&&` or `||`: the command does not read the output of the one before it
                output = join(output, self.statement(rest, source, outer.clone()));
            }
        }
        output
    }

    fn is_input(&self, node: Node<'_>, source: &str) -> bool {
        if node.kind() == "herestring_redirect" {
            return true;
        }
        let text =
            node.utf8_text(source.as_bytes()).unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_digit());
        text.starts_with('<') && !text.starts_with("<>")
    }

    fn heredoc(&mut self, node: Node<'_>, source: &str) -> Output {
        let all = children(node);
        let quoted = all.iter().any(|c| {
            c.kind() == "heredoc_start" && c.utf8_text(source.as_bytes()).is_ok_and(|t| t.contains(['\'', '"', '\\']))
        });
        if let Some(text) = misread_body(&all, source) {
            if !quoted && text.contains(['$', '`']) {
                self.unknown(Cause::Parse, "a heredoc", "shell");
            }
            return Output { text: Some(text), piped: true, ..Output::default() };
        }
        let Some(body) = all.into_iter().find(|c| c.kind() == "heredoc_body") else { return Output::default() };
        let text = if quoted || body.named_child_count() == 0 {
            body.utf8_text(source.as_bytes()).unwrap_or_default().to_owned()
        } else {
            let mut text = String::new();
            let mut end = body.start_byte();
            for child in children(body) {
                text.push_str(source.get(end..child.start_byte()).unwrap_or_default());
                if child.kind() == "heredoc_content" {
                    text.push_str(child.utf8_text(source.as_bytes()).unwrap_or_default());
                } else {
                    text.push_str(&self.text(child, source));
                }
                end = child.end_byte();
            }
            text.push_str(source.get(end..body.end_byte()).unwrap_or_default());
            text
        };
        Output { text: Some(text), piped: true, ..Output::default() }
    }

    /// Interprets one redirection: returns the input, adds an effect for the output.
    fn redirect(&mut self, node: Node<'_>, source: &str, output: &Output, input: bool) -> Output {
        let raw = node.utf8_text(source.as_bytes()).unwrap_or_default();
        if node.kind() == "herestring_redirect" {
            let text =
                children(node).into_iter().filter(Node::is_named).map(|c| self.text(c, source)).collect::<String>();
            return Output {
                text: (!text.contains(UNKNOWN_SPAN)).then(|| format!("{text}\n")),
                piped: true,
                ..Output::default()
            };
        }
        let operator: String =
            raw.chars().skip_while(char::is_ascii_digit).take_while(|c| "<>&|".contains(*c)).collect();
        let Some(destination) = node.child_by_field_name("destination") else { return Output::default() };
        if destination.kind() == "process_substitution" {
            let inside = self.process(destination, source, Output { piped: true, ..output.clone() });
            return Output { piped: input, ..inside };
        }
        let marked = self.marked(destination, source);
        let paths = spread(&marked);
        let path = paths.first().cloned().unwrap_or_default();
        let is_number = path == "-" || (!path.is_empty() && path.chars().all(|c| c.is_ascii_digit()));
        if operator.ends_with('&') && is_number {
            return Output::default();
        }
        if let Some(rest) = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/")) {
            let (host, port) = rest.split_once('/').unwrap_or((rest, ""));
            let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
            self.add(Effect::new(Verb::Send, Target::Named(Kind::Host, place), "shell"));
            return Output { network: true, piped: true, ..Output::default() };
        }
        let verb = match operator.as_str() {
            "<" => Verb::Read,
            ">>" | "&>>" => Verb::Append,
            "<>" => Verb::Append,
            _ => Verb::Write,
        };
        if output.endless && verb != Verb::Read && !path.starts_with("/dev/") {
            self.exhaust("disk", "shell");
        }
        for path in &paths {
            let mut effect = self.at(verb, path, "shell");
            if output.network {
                "network".clone_into(&mut effect.detail);
            }
            if verb != Verb::Read {
                self.put_output(effect.target.name(), output, verb, "shell");
            }
            self.push(effect);
        }
        // /dev/null is empty
        let text = (input && path == "/dev/null").then(String::new);
        Output { piped: input, text, ..Output::default() }
    }

    fn for_loop(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let name = node
            .child_by_field_name("variable")
            .and_then(|n| n.utf8_text(source.as_bytes()).ok())
            .unwrap_or_default()
            .to_owned();
        let body = node.child_by_field_name("body");
        let mut values: Vec<String> = Vec::new();
        let mut rounds = 0_u64;
        for child in children(node) {
            if !child.is_named() || Some(child.id()) == body.map(|b| b.id()) || child.kind() == "variable_name" {
                continue;
            }
            let raw = child.utf8_text(source.as_bytes()).unwrap_or_default();
            let fields = self.fields(child, source);
            rounds = rounds
                .saturating_add(range_length(raw).or_else(|| sequence_length(raw)).unwrap_or(fields.len() as u64));
            values.extend(fields);
        }
        if values.len() > MAX_ROUNDS {
            self.unknown(Cause::Budget, "a loop over too many words", "shell");
        }
        if values.is_empty() || values.len() > MAX_ROUNDS {
            values = vec![UNKNOWN_SPAN.to_string()];
        }
        let Some(body) = body else { return Output::default() };
        let saved = self.repeat;
        self.repeat = saved.saturating_mul(rounds.max(1));
        let output = match values.as_slice() {
            [value] if value.contains(UNKNOWN_SPAN) => self.rounds(|s| {
                s.variables.insert(name.clone(), vec![value.clone()]);
                s.statement(body, source, stdin.clone())
            }),
            _ => {
                let mut output = Output::silent();
                for value in values {
                    self.variables.insert(name.clone(), vec![value]);
                    output = join(output, self.statement(body, source, stdin.clone()));
                }
                output
            }
        };
        self.repeat = saved;
        output
    }

    fn while_loop(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let endless = self.forget_and_see_end(node, source);
        let saved = (self.endless, self.repeat);
        self.endless |= endless;
        if let Some(n) = counted(node.utf8_text(source.as_bytes()).unwrap_or_default()) {
            self.repeat = self.repeat.saturating_mul(n);
        }
        let output = self.rounds(|s| s.block(node, source, stdin.clone()));
        (self.endless, self.repeat) = saved;
        output
    }

    /// Makes the variables that the loop sets unknown. Returns whether the loop never ends.
    fn forget_and_see_end(&mut self, node: Node<'_>, source: &str) -> bool {
        let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
        let head: String = head_of(text).split_whitespace().collect::<Vec<_>>().join(" ");
        for name in self.variables.keys().cloned().collect::<Vec<_>>() {
            if text.contains(&format!("{name}=")) || text.contains(&format!("{name}+")) {
                self.variables.insert(name, vec![UNKNOWN_SPAN.to_string()]);
            }
        }
        let always = [
            "while true;",
            "while :;",
            "while true",
            "while :",
            "while [ 1 ];",
            "while ((1));",
            "until false;",
            "for ((;;));",
            "for (( ; ; ));",
            "for ((;;))",
            "while [ true ];",
            "while 1;",
        ];
        always.contains(&head.trim()) && !["break", "exit", "return", "read "].iter().any(|w| text.contains(w))
    }
}

/// The body of a heredoc whose first line the parser took for words of the command, which happens if that line begins
/// with a `\`. `None` if it did not.
fn misread_body(parts: &[Node<'_>], source: &str) -> Option<String> {
    let start = parts.iter().find(|part| part.kind() == "heredoc_start")?.end_byte();
    let line = start + source.get(start..)?.find('\n')? + 1;
    let end = parts.iter().find(|part| part.kind() == "heredoc_end")?.start_byte();
    let body = |part: &Node<'_>| matches!(part.kind(), "heredoc_body" | "heredoc_end");
    let misplaced = parts.iter().any(|part| !body(part) && part.start_byte() > start && part.end_byte() > line);
    if misplaced { source.get(line..end).map(str::to_owned) } else { None }
}

/// Whether a redirection takes the standard output, instead of only errors or another stream.
fn takes_output(redirect: Node<'_>, source: &str) -> bool {
    let text = redirect.utf8_text(source.as_bytes()).unwrap_or_default();
    let text = text.strip_prefix('1').unwrap_or(text);
    text.starts_with("&>") || text.starts_with('>') && !text.starts_with(">&")
}

/// Whether a redirection reads from or writes to the network.
fn connects(redirect: Node<'_>, source: &str) -> bool {
    redirect.utf8_text(source.as_bytes()).is_ok_and(|t| t.contains("/dev/tcp/") || t.contains("/dev/udp/"))
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
        network: first.network || second.network,
        endless: first.endless || second.endless,
        decoded: first.decoded || second.decoded,
        piped: first.piped || second.piped,
    }
}

/// The number of lines of `$(seq 1 100000)`.
fn sequence_length(raw: &str) -> Option<u64> {
    let inner = raw.trim_start_matches("$(").trim_start_matches('`').trim_end_matches([')', '`']);
    let mut words = inner.split_whitespace();
    if words.next()? != "seq" {
        return None;
    }
    let numbers: Vec<i64> = words.filter_map(|w| w.parse().ok()).collect();
    let span = match numbers.as_slice() {
        [last] => *last,
        [first, last] => last.saturating_sub(*first),
        [first, step, last] => last.saturating_sub(*first).checked_div(*step)?,
        _ => return None,
    };
    Some(span.unsigned_abs().saturating_add(1))
}

/// The head of a loop: its text before the word `do`.
fn head_of(text: &str) -> &str {
    let stands_alone = |at: usize| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + 2..).and_then(|text| text.chars().next());
        before.is_none_or(|c| c.is_whitespace() || c == ';') && after.is_none_or(char::is_whitespace)
    };
    let end = text.match_indices("do").map(|(at, _)| at).find(|at| stands_alone(*at));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The approximate number of rounds of `for ((i=0; i<100000; i++))` or `while [ $i -lt 100000 ]`.
fn counted(text: &str) -> Option<u64> {
    let head = head_of(text);
    let marks = ["-lt", "-le", "<=", "<"];
    let rest = marks.iter().find_map(|m| head.split_once(m).map(|(_, r)| r))?;
    rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
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
