//! Scripts with which a framework starts: `manage.py`, `artisan`, `bin/rails`.
//!
//! Such a script loads the project and hands its arguments to the framework, so a command like `manage.py migrate` is that
//! of the framework's own program. What the script certainly does besides counts.

use crate::shell::{Output, Shell};
use crate::{Effect, Target, Verb};

/// Ends of their paths, a part of their text, their language, and the program that they are.
const ENTRIES: [(&str, &str, &str, &str); 8] = [
    ("/manage.py", "execute_from_command_line", "python", "django-admin"),
    ("/artisan", "autoload.php", "php", "artisan"),
    ("/bin/rails", "rails/commands", "ruby", "rails"),
    ("/bin/rake", "rake", "ruby", "rake"),
    ("/bin/rspec", "rspec", "ruby", "rspec"),
    ("/bin/bundle", "bundler", "ruby", "bundle"),
    ("/bin/rubocop", "rubocop", "ruby", "rubocop"),
    ("/bin/console", "Symfony", "php", "console"),
];

impl Shell<'_> {
    /// Interprets the script of a framework at a path. `None` if it is no such script of the project, or something in this
    /// action writes it.
    pub(in crate::shell) fn entry_script(&mut self, path: &str, arguments: &[String]) -> Option<Output> {
        let (_, mark, language, program) = ENTRIES.iter().find(|(end, ..)| path.ends_with(end))?;
        let text = self.own_text(path).filter(|text| self.is_own_file(path) && text.contains(mark))?;
        crate::table::Table::shipped().row(program)?;
        self.step(|| format!("{path}: starts {program}"));
        self.add(Effect::new(Verb::Execute, Target::Path(path.to_owned()), program));
        self.certain(|shell| drop(shell.script(language, &text, path)));
        let words: Vec<String> = std::iter::once((*program).to_owned()).chain(arguments.iter().cloned()).collect();
        Some(self.simple(&words, Output::default()))
    }
}
