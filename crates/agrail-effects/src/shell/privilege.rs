//! Wrappers that change the account: `sudo`, `su`.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Verb;

impl Shell<'_> {
    pub(super) fn sudo(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        self.scoped(|shell| shell.sudo_scoped(program, words, stdin))
    }

    fn sudo_scoped(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let mut index = 0;
        let mut user = "root".to_owned();
        let (mut shell, mut login, mut elsewhere) = (false, false, None);
        loop {
            let options = self.options(program, words.get(index..).unwrap_or_default());
            index += options.used;
            if options.has(&["--edit"]) {
                return self.edited(program, words.get(index..).unwrap_or_default());
            }
            if options.has(&["--list", "--validate", "--version", "-K", "--remove-timestamp"]) {
                return Output::default();
            }
            login |= options.has(&["-i", "--login"]);
            shell |= login || options.has(&["--shell"]);
            if let Some(name) = options.value(&["--user"]) {
                name.clone_into(&mut user);
            }
            elsewhere = options.value(&["-D", "--chdir"]).map(str::to_owned).or(elsewhere);
            let assigned = words.get(index).filter(|_| !options.ended).and_then(|word| word.split_once('='));
            let Some((name, value)) = assigned.filter(|(name, _)| !name.contains('/')) else { break };
            self.assign(name, vec![value.to_owned()]);
            index += 1;
        }
        let rest = words.get(index..).unwrap_or_default();
        self.state.privileged |= user == "root" || user == "#0" || user.contains(UNKNOWN_SPAN);
        if rest.is_empty() {
            if shell {
                self.named(Verb::Privilege, &format!("a shell as {user}"), program);
            }
            return Output::default();
        }
        if login {
            self.state.cwd = self.home_of(&user);
        }
        if let Some(folder) = elsewhere {
            self.enter(&folder);
        }
        self.wrapped(program, rest, stdin.clone())
    }

    /// `sudo -e FILE...`
    fn edited(&mut self, program: &str, files: &[String]) -> Output {
        for file in files {
            let mut effect = self.at(Verb::Write, file, program);
            effect.privileged = true;
            self.add(effect);
        }
        Output::default()
    }

    pub(super) fn su(&mut self, words: &[String], stdin: &Output) -> Output {
        let (options, operands) = self.permuted("su", words);
        let (mut login, mut operands) = (options.has(&["-i", "--login"]), operands.as_slice());
        if let [first, rest @ ..] = operands
            && first == "-"
        {
            (login, operands) = (true, rest);
        }
        let (user, arguments) = operands.split_first().map_or(("root", operands), |(user, rest)| (user.as_str(), rest));
        self.scoped(|shell| {
            shell.state.privileged |= user == "root" || user.contains(UNKNOWN_SPAN);
            if login {
                shell.state.cwd = shell.home_of(user);
            }
            match options.value(&["--command", "--session-command"]) {
                Some(text) => shell.child("su -c", |shell| shell.nested("su -c", text, stdin.clone())),
                // what follows the account is the shell's
                None if !arguments.is_empty() => shell.child("su", |shell| shell.sh("sh", arguments, stdin)),
                None => {
                    shell.named(Verb::Privilege, &format!("a shell as {user}"), "su");
                    Output::default()
                }
            }
        })
    }

    /// The home folder in which a login of this account starts; `None` if it is unknown.
    fn home_of(&self, user: &str) -> Option<String> {
        match user {
            "root" => Some("/root".to_owned()),
            own if own == self.user => Some(self.state.home.clone()),
            _ => None,
        }
    }
}
