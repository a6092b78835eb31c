//! The normal form of a command line: options with their full names, so that two spellings of a command become equal.
//!
//! 1. A short option that a row lists directly before a long one with the same initial (`-f --force`) is written as the
//!    long one. Bundled flags are separated. The value of an option becomes the argument after it.
//! 2. The order is kept unless the row says that it does not count (`unordered.rs`), and so is everything that the row
//!    does not list: two command lines with the same normal form do the same.

use super::Table;
use super::row::{Opt, Pattern, Row, Style};
use crate::role::Role;

impl Row {
    /// The normal form of the arguments, without the program's name.
    #[must_use]
    pub fn normal(&self, arguments: &[String]) -> Vec<String> {
        if let Some(form) = Some(arguments).filter(|_| self.unordered).and_then(|arguments| self.unordered(arguments)) {
            return form;
        }
        let mut out = Vec::with_capacity(arguments.len());
        self.normal_from(arguments, &[], &mut out);
        out
    }

    fn normal_from(&self, arguments: &[String], parents: &[&Self], out: &mut Vec<String>) {
        let stop_after = self.run_position();
        let (mut rest, mut operands) = (arguments, 0);
        let mut only = None;
        while let Some((argument, after)) = rest.split_first() {
            let option = argument.starts_with('-') && argument.len() > 1;
            if self.style != Style::Gnu || argument == "--" {
                return out.extend(rest.iter().cloned());
            }
            rest = after;
            if option {
                let used = if self.is_long(argument, parents) {
                    self.long(argument, after, parents, out)
                } else {
                    self.bundle(argument, after, parents, out)
                };
                rest = rest.get(used..).unwrap_or_default();
                continue;
            }
            only = (operands == 0).then_some(out.len());
            out.push(self.plain(argument, parents).to_owned());
            let sub = self.subs.iter().find(|sub| operands == 0 && sub.names.contains(argument));
            if let Some(sub) = sub {
                return sub.normal_from(rest, &[parents, &[self]].concat(), out);
            }
            operands += 1;
            // the command that it runs has its own options
            if stop_after.is_some_and(|most| operands >= most) {
                return out.extend(self.inner(argument, rest));
            }
        }
        let pair = only.and_then(|at| Some((at, self.pair(out.get(at)?)?)));
        if let Some((at, parts)) = pair.map(|(at, (kind, name))| (at, [kind.to_owned(), name.to_owned()])) {
            out.splice(at..=at, parts);
        }
    }

    /// An operand without the ending that may be left out.
    pub(super) fn plain<'o>(&self, operand: &'o str, parents: &[&Self]) -> &'o str {
        let rows = std::iter::once(&self).chain(parents);
        let ending = rows.map(|row| row.ending.as_str()).find(|ending| !ending.is_empty());
        ending.and_then(|ending| operand.strip_suffix(ending)).filter(|name| !name.is_empty()).unwrap_or(operand)
    }

    /// The arguments of a command that the program runs, in the normal form of that command's own row.
    pub(super) fn inner(&self, program: &str, arguments: &[String]) -> Vec<String> {
        let runs =
            |pattern: &Pattern| pattern.before.iter().chain(&pattern.repeated).any(|slot| slot.role == Role::Run);
        let row = Table::shipped().row(program).filter(|row| row.run_position().is_none());
        match row.filter(|_| self.operands.as_ref().is_some_and(runs)) {
            Some(row) => row.normal(arguments),
            None => arguments.to_vec(),
        }
    }

    /// How many words at the beginning of a normal form select what is done: the subcommands, and after them the kind of
    /// object (`pod`). The words after them are operands. `None` if this is not known, or if the words may be another
    /// command.
    #[must_use]
    pub fn leading(&self, words: &[String]) -> Option<usize> {
        let runs = self.run_position().is_some() || self.stdin.is_some();
        if runs || self.special.as_deref().is_some_and(|special| special != "git") {
            return None;
        }
        let (first, rest) = words.split_first()?;
        match self.subs.iter().find(|sub| sub.names.contains(first)) {
            Some(sub) => Some(1 + sub.leading(rest)?),
            None => self.subs.is_empty().then_some(usize::from(self.pairs)),
        }
    }

    /// The parts of an operand `KIND/NAME` that stands for two.
    pub(super) fn pair<'o>(&self, operand: &'o str) -> Option<(&'o str, &'o str)> {
        let (kind, name) = operand.split_once('/').filter(|_| self.pairs)?;
        (!kind.is_empty() && !name.is_empty() && !name.contains('/')).then_some((kind, name))
    }

    /// `--name`, `--name=value`, `--name value`; returns how many further arguments it consumed.
    pub(super) fn long(&self, argument: &str, after: &[String], parents: &[&Self], out: &mut Vec<String>) -> usize {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument, None),
        };
        match (self.takes_value(name, parents), value) {
            (Some(true), Some(value)) => {
                out.extend([name.to_owned(), value.to_owned()]);
                0
            }
            (Some(true), None) => {
                out.push(name.to_owned());
                out.extend(after.first().cloned());
                1
            }
            _ => {
                out.push(argument.to_owned());
                0
            }
        }
    }

    /// `-abc`, `-o value`, `-ovalue`. A bundle is kept unchanged if it contains a letter that no row lists, or one that
    /// may take the rest as its value. Returns how many further arguments it consumed.
    pub(super) fn bundle(&self, argument: &str, after: &[String], parents: &[&Self], out: &mut Vec<String>) -> usize {
        let mut found = Vec::new();
        let mut letters = argument.trim_start_matches('-').chars();
        while let Some(letter) = letters.next() {
            let name = format!("-{letter}");
            let optional = matches!(self.lookup(parents, &name), Some(Opt::Optional));
            match self.takes_value(&name, parents).filter(|_| !optional || letters.as_str().is_empty()) {
                Some(false) => found.push(self.full_name(&name, parents)),
                Some(true) => {
                    found.push(self.full_name(&name, parents));
                    let inline = letters.as_str();
                    let separate = inline.is_empty();
                    found.extend(if separate { after.first().cloned() } else { Some(inline.to_owned()) });
                    out.append(&mut found);
                    return usize::from(separate);
                }
                None => {
                    out.push(argument.to_owned());
                    return 0;
                }
            }
        }
        out.append(&mut found);
        0
    }

    /// Whether an option takes a value; `None` if no row lists it.
    pub(super) fn takes_value(&self, name: &str, parents: &[&Self]) -> Option<bool> {
        match self.lookup(parents, name) {
            Some(option) => Some(option.takes_value()),
            None => {
                let listed = |row: &&Self| row.variants.iter().any(|variant| variant.flags.iter().any(|f| f == name));
                std::iter::once(&self).chain(parents).any(listed).then_some(false)
            }
        }
    }

    fn full_name(&self, name: &str, parents: &[&Self]) -> String {
        let full = |row: &Self| row.aliases.get(name).cloned();
        full(self).or_else(|| parents.iter().rev().find_map(|row| full(row))).unwrap_or_else(|| name.to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Table;

    fn normal(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (program, arguments) = words.split_first().unwrap();
        Table::shipped().row(program).unwrap().normal(arguments)
    }

    #[test]
    fn spellings_share_one_normal_form() {
        for (one, other) in [
            ("git push -f origin main", "git push --force origin main"),
            ("rm -rf a", "rm -r -f a"),
            ("rm -r a", "rm -r a"),
            ("cp -t d a", "cp --target-directory=d a"),
            ("cp --target-directory d a", "cp --target-directory=d a"),
            ("kubectl delete pod web-1", "kubectl delete pod/web-1"),
            ("kubectl delete pod/web-1 --namespace x", "kubectl delete pod web-1 --namespace x"),
            ("kubectl -n x delete pod web-1", "kubectl delete pod/web-1 -n x"),
            ("kubectl -n x --context=c delete pod w", "kubectl delete --context c pod w -n x"),
            ("git push --delete origin x", "git push origin --delete x"),
            ("git -C d push -f origin x", "git -C d push origin x --force"),
            ("rm -fr a b", "rm a -rf b"),
            ("docker run --rm -i -t img sh -c x", "docker run -t -i --rm img sh -c x"),
            ("sudo systemctl restart web", "sudo systemctl restart web.service"),
            ("sudo git push -f origin x", "sudo git push origin x --force"),
            ("docker run -e A=1 -v a:b img", "docker run -v a:b -e A=1 img"),
        ] {
            assert_eq!(normal(one), normal(other), "{one} | {other}");
        }
    }

    #[test]
    fn different_commands_keep_different_forms() {
        for (one, other) in [
            ("kubectl delete pod/a svc/b", "kubectl delete pod a svc b"),
            ("kubectl delete pod a b", "kubectl delete pod/a b"),
            ("git push -f origin main", "git push origin main"),
            ("git push -f origin main", "git push --force-with-lease origin main"),
            ("git push origin -- -f", "git push origin -f"),
            ("rm -r a", "rm -R -f a"),
            ("rm a b", "rm b a"),
            ("sudo git push -f", "sudo git push"),
            ("cp a b", "cp b a"),
            ("xargs -ipr rm p", "xargs -i -p -r rm p"),
            ("cp --unlisted=x a b", "cp --unlisted x a b"),
            ("sudo systemctl restart web", "sudo systemctl restart web.timer"),
            ("sudo systemctl restart web", "systemctl restart web"),
            (
                "kubectl delete pod a --dry-run=none --dry-run=client",
                "kubectl delete pod a --dry-run=client --dry-run=none",
            ),
            (
                "git push --force-with-lease=a --no-force-with-lease o a",
                "git push --no-force-with-lease --force-with-lease=a o a",
            ),
            ("terraform apply -var-file a -var b=c", "terraform apply -var b=c -var-file a"),
            ("terraform apply -target=a -target=b", "terraform apply -target=b -target=a"),
            ("find . -name a -delete", "find . -delete -name a"),
            ("docker run img -it", "docker run -it img"),
            ("docker run --rm img sh", "docker run img --rm sh"),
            ("kubectl -n x -n y get pods", "kubectl -n y -n x get pods"),
            ("rm -i -f a", "rm -f -i a"),
            ("rm -r -I -f a", "rm -r -f -I a"),
            ("git push --force --no-force o x", "git push --no-force --force o x"),
            ("git push -u o x", "git push o x y -u"),
            ("git checkout -- -f", "git checkout -f"),
            ("git checkout a -- b", "git checkout a b"),
            ("git log --all --not a", "git log --not --all a"),
            ("docker run -e A=1 -e A=2 img", "docker run -e A=2 -e A=1 img"),
            ("kubectl exec p -- rm -r x", "kubectl exec p -r -- rm x"),
            ("git push --unlisted o x", "git push o --unlisted x"),
        ] {
            assert_ne!(normal(one), normal(other), "{one} | {other}");
        }
    }
}
