//! The value of `$((...))`, if it is constant: whole numbers, variables, `+ - * / %` and parentheses.

use super::Shell;

/// Deepest nesting of parentheses and signs.
const DEEPEST: usize = 16;

impl Shell<'_> {
    /// The value of an expression that assigns nothing.
    pub(super) fn number(&self, text: &str) -> Option<i64> {
        let mut reader = Reader { shell: self, rest: text, depth: 0 };
        let value = reader.sum()?;
        reader.rest.trim_start().is_empty().then_some(value)
    }
}

struct Reader<'r, 's> {
    shell: &'r Shell<'s>,
    rest: &'r str,
    depth: usize,
}

impl Reader<'_, '_> {
    fn take(&mut self, marks: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let mark = rest.chars().next().filter(|c| marks.contains(c))?;
        let after = rest.get(1..)?;
        // `++`, `+=`, `**`
        if after.starts_with(['=', mark]) {
            return None;
        }
        self.rest = after;
        Some(mark)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(mark) = self.take(&['+', '-']) {
            let other = self.product()?;
            value = if mark == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        while let Some(mark) = self.take(&['*', '/', '%']) {
            let other = self.factor()?;
            value = match mark {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<i64> {
        if let Some(mark) = self.take(&['-', '(']) {
            self.depth += 1;
            let value = match mark {
                _ if self.depth > DEEPEST => return None,
                '-' => self.factor()?.checked_neg()?,
                _ => {
                    let value = self.sum()?;
                    self.rest = self.rest.trim_start().strip_prefix(')')?;
                    value
                }
            };
            self.depth -= 1;
            return Some(value);
        }
        let rest = self.rest.trim_start().trim_start_matches('$');
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end)?;
        self.rest = after;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            // a leading zero is octal
            return word.parse().ok().filter(|_| word.len() == 1 || !word.starts_with('0'));
        }
        match self.shell.state.variables.get(word).filter(|_| !word.is_empty())?.as_slice() {
            [value] if value.len() == 1 || !value.starts_with('0') => value.parse().ok(),
            _ => None,
        }
    }
}
