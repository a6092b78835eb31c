//! `ssh` and programs that copy over it: commands on another machine, or on this machine by way of a connection.
//!
//! 1. Options are parsed if they run something here, forward a port or name another host.
//! 2. A host that is this machine (by its address, its own name, or an alias in the ssh configuration) is not remote:
//!    the command or the standard input is interpreted like in a local shell, and also judged as a remote command.
//! 3. A command on another machine is judged for that machine: known verbs, unknown facts.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::local::{is_loopback, own_names};
use crate::{Detail, Effect, Target, Verb};

/// Longest file of host names or ssh configuration that is read, in bytes.
const LONGEST: usize = 256 * 1024;

/// The parsed options of a command line.
#[derive(Default)]
struct Line {
    host: String,
    user: Option<String>,
    /// The real host, if an option names one.
    hostname: Option<String>,
    command: Vec<String>,
    /// Whether nothing can be typed: it only forwards ports, goes to the background, or connects to another ssh.
    idle: bool,
}

impl Shell<'_> {
    /// Interprets `ssh [OPTIONS] HOST [COMMAND]`.
    pub(super) fn ssh(&mut self, words: &[String], stdin: &Output) -> Output {
        let Some(line) = self.ssh_line(words) else { return Output::default() };
        let host = line.hostname.clone().unwrap_or_else(|| line.host.clone());
        self.named(Verb::Connect, &host, "ssh");
        let command = line.command.join(" ");
        if command.is_empty() && !stdin.piped {
            if !line.idle {
                self.waits("ssh", stdin);
            }
            return Output { network: true, ..Output::default() };
        }
        let mut effect = Effect::new(Verb::Remote, Target::Named(Kind::Remote, host.clone()), "ssh");
        effect.detail = Detail::Command(command.clone());
        let (mark, files) = (self.reading.effects.len(), self.files.clone());
        let here = self.is_here(&host);
        if here {
            self.ssh_here(&line, &command, stdin);
        } else {
            let how = format!("ssh {host}");
            self.child(&how, |shell| shell.told(&how, &command, stdin));
            self.files = files;
        }
        let there = self.reading.effects.get(mark..).unwrap_or_default();
        let changes = there.iter().any(|e| !matches!(e.verb, Verb::Read | Verb::List));
        let grave = there.iter().any(|e| {
            matches!(e.verb, Verb::Exhaust | Verb::Service | Verb::Account | Verb::Device | Verb::Unknown)
                || (e.verb == Verb::Delete && e.recursive)
                || e.verb == Verb::Drop
                || (e.verb == Verb::Data && e.operation == "drop")
        });
        effect.operation = if grave {
            "delete"
        } else if changes {
            "change"
        } else {
            "read"
        }
        .to_owned();
        // effects on another machine are not effects here: it only counts whether there are any changes
        if !here {
            self.reading.effects.truncate(mark);
        }
        self.add(effect);
        Output { network: true, ..Output::default() }
    }

    /// Interprets a login on this machine over ssh.
    fn ssh_here(&mut self, line: &Line, command: &str, stdin: &Output) {
        self.step(|| "ssh leads to this machine".to_owned());
        let how = format!("ssh {}", line.host);
        self.child(&how, |shell| {
            let root = line.user.as_deref() == Some("root");
            shell.state.privileged |= root;
            // a login starts in the home folder
            let home = if root { "/root".to_owned() } else { shell.state.home.clone() };
            shell.state.cwd = shell.state.cwd.as_ref().map(|_| home);
            shell.told(&how, command, stdin)
        });
    }

    /// Interprets a shell that runs a command or its standard input.
    fn told(&mut self, how: &str, command: &str, stdin: &Output) -> Output {
        if command.is_empty() {
            if stdin.piped {
                self.run_input("bash", how, &[], stdin);
            }
            return Output::default();
        }
        self.nested(how, command, stdin.clone())
    }

    /// Parses the options and adds the effects of commands and forwarded ports. `None` if no host is named.
    fn ssh_line(&mut self, words: &[String]) -> Option<Line> {
        let (mut line, mut at) = (Line::default(), 0);
        // options may precede or follow the host
        loop {
            let options = self.options("ssh", words.get(at..).unwrap_or_default());
            at += options.used;
            line.idle |= options.has(&["-N", "-f", "-O"]);
            for given in &options.given {
                self.ssh_option(&given.name, given.value.as_deref().unwrap_or_default(), &mut line);
            }
            match words.get(at) {
                Some(word) if line.host.is_empty() => {
                    let (user, host) = destination(word);
                    line.user = line.user.or(user);
                    line.host = host;
                    at += 1;
                }
                _ => break,
            }
        }
        line.command = words.get(at..).unwrap_or_default().to_vec();
        (!line.host.is_empty()).then_some(line)
    }

    fn ssh_option(&mut self, name: &str, value: &str, line: &mut Line) {
        match name {
            "-l" => line.user = Some(value.to_owned()),
            // `-o Name=value` or `-o 'Name value'`
            "-o" => {
                let (name, value) = value.split_once(['=', ' ']).unwrap_or((value, ""));
                let value = value.trim_matches(['"', ' ']);
                match name.trim().to_ascii_lowercase().as_str() {
                    "hostname" => line.hostname = Some(value.to_owned()),
                    "user" => line.user = Some(value.to_owned()),
                    "localforward" | "remoteforward" => self.forwards(&value.replace(' ', ":")),
                    name if name.contains("command") => drop(self.nested("ssh -o", value, Output::default())),
                    _ => {}
                }
            }
            "-L" | "-R" | "-W" => self.forwards(value),
            _ => {}
        }
    }

    /// A forwarded port is a connection to its destination: `[PORT:]HOST:PORT`.
    fn forwards(&mut self, value: &str) {
        // with a port alone, the other side reaches everything that this machine can reach
        if !value.contains(':') {
            return self.named(Verb::Connect, "localhost:", "ssh");
        }
        let (before, port) = value.rsplit_once(':').unwrap_or_default();
        let host = match before.find('[') {
            Some(at) => before.get(at..).unwrap_or_default(),
            None => before.rsplit(':').next().unwrap_or_default(),
        };
        if !host.is_empty() && self.is_here(host) {
            self.named(Verb::Connect, &format!("{host}:{port}"), "ssh");
        }
    }

    /// Whether a host is this machine.
    pub(crate) fn is_here(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // a host that is not constant may be this machine
        if is_loopback(&host) || host == UNKNOWN_SPAN.to_string() {
            return true;
        }
        let text = |path: &str| {
            let content = self.around.script(path, LONGEST).unwrap_or_default();
            String::from_utf8_lossy(&content).into_owned()
        };
        let names = own_names(&text("/etc/hostname"), &text("/etc/hosts"));
        if names.contains(&host) {
            return true;
        }
        let settings = text(&format!("{}/.ssh/config", self.state.home));
        alias(&settings, &host).is_some_and(|real| is_loopback(&real) || names.contains(&real.to_ascii_lowercase()))
    }
}

/// User and host of `user@host`, `ssh://user@host:port`.
pub(super) fn destination(word: &str) -> (Option<String>, String) {
    let rest = word.strip_prefix("ssh://").map_or(word, |rest| rest.split('/').next().unwrap_or_default());
    let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user.to_owned()), host));
    let host = match host.find(']') {
        Some(end) => host.get(..=end).unwrap_or(host),
        // an IPv6 address without brackets has several colons
        None if host.matches(':').count() == 1 => host.split(':').next().unwrap_or_default(),
        None => host,
    };
    (user, host.to_owned())
}

/// The `HostName` of an alias in the ssh configuration.
fn alias(settings: &str, host: &str) -> Option<String> {
    let mut applies = false;
    for line in settings.lines() {
        let (key, value) = line.trim().split_once([' ', '\t', '=']).unwrap_or_default();
        let value = value.trim_matches([' ', '\t', '=', '"']);
        if key.eq_ignore_ascii_case("host") {
            let fits = |pattern: &str| {
                glob::Pattern::new(&pattern.to_ascii_lowercase()).is_ok_and(|pattern| pattern.matches(host))
            };
            applies = value.split_whitespace().any(fits);
        } else if key.eq_ignore_ascii_case("hostname") && applies {
            return Some(value.to_owned());
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_parsed_in_every_form() {
        for (word, user, host) in [
            ("h", None, "h"),
            ("me@h", Some("me"), "h"),
            ("ssh://me@h:22", Some("me"), "h"),
            ("[::1]", None, "[::1]"),
            ("me@::1", Some("me"), "::1"),
            ("h:22", None, "h"),
        ] {
            assert_eq!(destination(word), (user.map(str::to_owned), host.to_owned()), "{word}");
        }
    }

    #[test]
    fn alias_in_the_ssh_config_is_followed() {
        let settings = "Host box *.dev\n  HostName 127.0.0.1\nHost git\n  HostName git.example.org\n";
        assert_eq!(alias(settings, "box").unwrap(), "127.0.0.1");
        assert_eq!(alias(settings, "a.dev").unwrap(), "127.0.0.1");
        assert_eq!(alias(settings, "git").unwrap(), "git.example.org");
        assert_eq!(alias(settings, "other"), None);
    }
}
