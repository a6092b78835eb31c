//! Redirections and heredocs: the input of a command, and the effects of its output.

use super::parameter::spread;
use super::syntax::join;
use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::tree::Node;
use crate::{Cause, Detail, Effect, Target, Verb};

/// Syntax nodes that can follow a heredoc on its line.
const AFTER: [&str; 7] =
    ["pipeline", "list", "command", "redirected_statement", "file_redirect", "subshell", "compound_statement"];

/// Most redirections of one command.
const MAX_REDIRECTS: usize = 256;

impl Shell<'_> {
    /// Interprets a command or several with redirections. The redirections of input come first.
    pub(super) fn redirected(&mut self, node: Node<'_>, source: &str, mut stdin: Output) -> Output {
        let outer = stdin.clone();
        let start = self.reading.effects.len();
        let mut redirects: Vec<Node<'_>> =
            children(node).into_iter().filter(|c| c.kind().ends_with("_redirect")).collect();
        if redirects.len() > MAX_REDIRECTS {
            self.unknown(Cause::Budget, "too many redirections", "shell");
            redirects.truncate(MAX_REDIRECTS);
        }
        let mut after: Vec<Node<'_>> = Vec::new();
        for redirect in &redirects {
            match redirect.kind() {
                "heredoc_redirect" => {
                    stdin = self.heredoc(*redirect, source);
                    // `cat <<EOF | sh`, `cat <<EOF > file`: the rest of the line is a child of the redirect
                    after.extend(children(*redirect).into_iter().filter(|child| AFTER.contains(&child.kind())));
                }
                _ if self.is_input(*redirect, source) => {
                    stdin = self.redirect(*redirect, source, &Output::default(), true)
                }
                _ => {}
            }
        }
        let mut output = self.redirected_parts(node, source, &redirects, &stdin).unwrap_or(stdin);
        let own = redirects.into_iter().filter(|r| r.kind() == "file_redirect");
        let mut after: Vec<Node<'_>> = own.chain(after).collect();
        // a redirection of the command itself applies before its output is piped
        after.sort_by_key(|rest| rest.kind() != "file_redirect");
        for rest in after {
            if rest.kind() == "file_redirect" {
                if !self.is_input(rest, source) {
                    self.redirect(rest, source, &output, false);
                    self.empty_what_is_read(node, source, start);
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

    /// Notes that a redirection empties a file that its own command, or one before it in a pipeline, has yet to read. What
    /// a substitution reads is read before, and so is what another command of a list reads.
    /// `start`: the number of effects before the command.
    fn empty_what_is_read(&mut self, node: Node<'_>, source: &str, start: usize) {
        let whole = node.parent().filter(|parent| parent.kind() == "pipeline");
        // the parser gives the redirection of the last part to the whole list
        let list = children(node).iter().any(|child| child.kind() == "list");
        let start = match whole {
            Some(_) => self.pipeline.unwrap_or(start),
            None if list => self.part,
            None => start,
        };
        let text = whole.unwrap_or(node).utf8_text(source.as_bytes()).unwrap_or_default();
        if text.contains(['`', '(']) {
            return;
        }
        let Some((last, before)) = self.reading.effects.get_mut(start..).and_then(<[Effect]>::split_last_mut) else {
            return;
        };
        let reads = |effect: &Effect| effect.verb == Verb::Read && effect.target == last.target;
        if last.verb == Verb::Write
            && last.program == "shell"
            && last.detail == Detail::None
            && before.iter().any(reads)
        {
            last.detail = Detail::Emptied;
        }
    }

    /// Interprets the commands to which redirections belong. `None` if there are only redirections.
    fn redirected_parts(
        &mut self,
        node: Node<'_>,
        source: &str,
        redirects: &[Node<'_>],
        stdin: &Output,
    ) -> Option<Output> {
        let mut output = None;
        let mut parts = children(node).into_iter().peekable();
        while let Some(child) = parts.next() {
            // the parser leaves out a `-` before a redirection: `make -f - <<E`
            let gap = parts.peek().and_then(|next| source.get(child.end_byte()..next.start_byte())).unwrap_or_default();
            match gap.trim() {
                "" | "\\" => {}
                "-" => match last_command(child) {
                    Some(command) => self.last_word = Some((command.id(), "-".to_owned())),
                    None => self.unknown(Cause::Parse, "-", "shell"),
                },
                left_out => self.unknown(Cause::Parse, left_out, "shell"),
            }
            if child.is_named() && !child.kind().ends_with("_redirect") {
                let first = child.utf8_text(source.as_bytes()).unwrap_or_default().split_whitespace().next();
                if first == Some("exec") && stdin.piped && child.named_child_count() <= 1 {
                    self.unknown(Cause::Dynamic, "the input of later commands", "exec");
                }
                if first.is_some_and(super::command::is_shell) && redirects.iter().any(|r| connects(*r, source)) {
                    self.remote_shell(first.unwrap_or_default());
                }
                let own = Output { private: !redirects.is_empty() && stdin.piped, ..stdin.clone() };
                output = Some(self.statement(child, source, own));
            }
        }
        output
    }

    pub(super) fn is_input(&self, node: Node<'_>, source: &str) -> bool {
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
    pub(super) fn redirect(&mut self, node: Node<'_>, source: &str, output: &Output, input: bool) -> Output {
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
                effect.detail = Detail::Network;
            }
            if verb != Verb::Read {
                self.put_output(effect.target.name(), output, verb, "shell");
            }
            self.push(effect);
        }
        // /dev/null is empty
        let text = match path.as_str() {
            "/dev/null" => Some(String::new()),
            _ => self.short_text(&path).map(|text| format!("{text}\n")),
        };
        let only = input && paths.len() == 1;
        let file = (only && verb == Verb::Read && !path.starts_with("/dev/")).then(|| self.path(&path));
        let endless = only && super::amount::SOURCES.contains(&path.as_str());
        Output { piped: input, text: text.filter(|_| only), file, endless, ..Output::default() }
    }
}

/// The last command of a statement.
fn last_command(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "command" => Some(node),
        "list" | "pipeline" | "redirected_statement" => last_command(
            children(node).into_iter().rfind(|child| child.is_named() && !child.kind().ends_with("_redirect"))?,
        ),
        _ => None,
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
