//! What the view shows, and what keys do.

use agrail::approvals::{Answer, PendingApproval};
use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use std::collections::BTreeSet;

/// What a key asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Do {
    Nothing,
    End,
    Answer(String, Answer),
    Explain(String),
    /// Show the arguments that could be opened.
    Arguments(String),
    /// Count what a widening would let pass.
    Preview(String, BTreeSet<usize>),
    Widen(String, BTreeSet<usize>),
}

/// An argument of an action.
#[derive(Debug)]
pub struct Argument {
    /// From 1.
    pub number: usize,
    pub value: String,
    /// Whether it may have another value.
    pub opens: bool,
}

/// What is shown beside the list. Each is about one question, by its id: the list may change meanwhile.
#[derive(Debug, Default)]
pub enum Pane {
    /// The question itself.
    #[default]
    Question,
    /// A key was pressed that answers; another has to confirm it.
    Sure(String, Answer),
    Explained(String, Vec<String>, u16),
    Widening {
        id: String,
        arguments: Vec<Argument>,
        opened: BTreeSet<usize>,
        /// How many recorded decisions it would let pass, of how many.
        passes: (usize, usize),
    },
}

/// The state of the view.
#[derive(Debug, Default)]
pub struct Desk {
    pub waiting: Vec<PendingApproval>,
    chosen: Option<String>,
    pub pane: Pane,
    /// What happened last.
    pub note: String,
}

impl Desk {
    /// Takes the pending questions as they are now. The same one stays chosen; if it is gone, so is what was begun with it.
    pub fn update(&mut self, waiting: Vec<PendingApproval>) {
        let place = self.place();
        self.waiting = waiting;
        let is_there = |id: &String| self.waiting.iter().any(|one| one.id == *id);
        if self.chosen.as_ref().is_none_or(|id| !is_there(id)) {
            if self.begun().is_some() {
                self.pane = Pane::Question;
                self.say("that question was answered elsewhere, or has expired".to_owned());
            }
            let nearest = self.waiting.get(place.min(self.waiting.len().saturating_sub(1)));
            self.chosen = nearest.map(|one| one.id.clone());
        }
    }

    /// The position of the chosen question.
    pub fn place(&self) -> usize {
        self.waiting.iter().position(|one| Some(&one.id) == self.chosen.as_ref()).unwrap_or_default()
    }

    /// The chosen question.
    pub fn question(&self) -> Option<&PendingApproval> {
        self.waiting.iter().find(|one| Some(&one.id) == self.chosen.as_ref())
    }

    /// The question that a pane is about.
    fn begun(&self) -> Option<&str> {
        match &self.pane {
            Pane::Question => None,
            Pane::Sure(id, _) | Pane::Explained(id, ..) | Pane::Widening { id, .. } => Some(id),
        }
    }

    pub fn say(&mut self, note: String) {
        self.note = note;
    }

    pub fn explain(&mut self, id: &str, lines: Vec<String>) {
        self.pane = Pane::Explained(id.to_owned(), lines, 0);
    }

    pub fn choose_arguments(&mut self, id: &str, arguments: Vec<Argument>) {
        self.pane = Pane::Widening { id: id.to_owned(), arguments, opened: BTreeSet::new(), passes: (0, 0) };
    }

    pub fn preview(&mut self, of: &str, count: usize, all: usize) {
        if let Pane::Widening { id, passes, .. } = &mut self.pane
            && id == of
        {
            *passes = (count, all);
        }
    }

    /// What a key does.
    pub fn press(&mut self, key: KeyCode, with: KeyModifiers) -> Do {
        self.note.clear();
        if with.contains(KeyModifiers::CONTROL) {
            return if key == KeyCode::Char('c') { Do::End } else { Do::Nothing };
        }
        match (&mut self.pane, key) {
            (Pane::Question, _) => self.in_list(key),
            (Pane::Sure(id, answer), KeyCode::Char('y')) => {
                let wanted = Do::Answer(id.clone(), *answer);
                self.pane = Pane::Question;
                wanted
            }
            (Pane::Explained(_, lines, line), KeyCode::Down | KeyCode::Char('j')) => {
                let last = u16::try_from(lines.len().saturating_sub(1)).unwrap_or(u16::MAX);
                *line = line.saturating_add(1).min(last);
                Do::Nothing
            }
            (Pane::Explained(_, _, line), KeyCode::Up | KeyCode::Char('k')) => {
                *line = line.saturating_sub(1);
                Do::Nothing
            }
            (Pane::Widening { id, arguments, opened, .. }, KeyCode::Char(digit)) if digit.is_ascii_digit() => {
                let number = digit.to_digit(10).and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
                if !arguments.iter().any(|argument| argument.number == number && argument.opens) {
                    return Do::Nothing;
                }
                if !opened.remove(&number) {
                    opened.insert(number);
                }
                Do::Preview(id.clone(), opened.clone())
            }
            (Pane::Widening { id, opened, .. }, KeyCode::Enter) if !opened.is_empty() => {
                let wanted = Do::Widen(id.clone(), opened.clone());
                self.pane = Pane::Question;
                wanted
            }
            // any other key leaves what was begun
            (_, KeyCode::Char(_) | KeyCode::Esc) => {
                self.pane = Pane::Question;
                Do::Nothing
            }
            _ => Do::Nothing,
        }
    }

    fn in_list(&mut self, key: KeyCode) -> Do {
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Do::End,
            KeyCode::Down | KeyCode::Char('j') => self.choose(self.place().saturating_add(1)),
            KeyCode::Up | KeyCode::Char('k') => self.choose(self.place().saturating_sub(1)),
            _ => {}
        }
        let Some(question) = self.question() else { return Do::Nothing };
        let id = question.id.clone();
        match key {
            KeyCode::Char('a') if question.cut => {
                self.say("the action is too long to be shown whole, so it cannot be approved".to_owned());
            }
            KeyCode::Char('a') => self.pane = Pane::Sure(id, Answer::Approved),
            KeyCode::Char('r') => self.pane = Pane::Sure(id, Answer::Rejected),
            KeyCode::Char('w') => return Do::Arguments(id),
            KeyCode::Char('e') => return Do::Explain(id),
            _ => {}
        }
        Do::Nothing
    }

    fn choose(&mut self, place: usize) {
        if let Some(one) = self.waiting.get(place) {
            self.chosen = Some(one.id.clone());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    pub fn question(id: &str) -> PendingApproval {
        PendingApproval {
            id: id.to_owned(),
            effects: vec!["delete /srv/old".to_owned(), "read /srv/new".to_owned()],
            action: "{\"type\":\"shell\",\"command\":\"rm -r /srv/old\"}".to_owned(),
            cut: false,
            reason: "no commit holds it".to_owned(),
            agent: "claude-code".to_owned(),
            identity: "mila".to_owned(),
            asked_ms: 0,
            until_ms: 3_600_000,
        }
    }

    pub fn desk(ids: &[&str]) -> Desk {
        let mut desk = Desk::default();
        desk.update(ids.iter().map(|id| question(id)).collect());
        desk
    }

    fn press(desk: &mut Desk, keys: &str) -> Do {
        let mut last = Do::Nothing;
        for key in keys.chars() {
            let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
            last = desk.press(code, KeyModifiers::NONE);
        }
        last
    }

    #[test]
    fn an_answer_is_about_the_question_that_was_chosen() {
        let mut desk = desk(&["A", "B", "C"]);
        assert_eq!(press(&mut desk, "ja"), Do::Nothing);
        // the list changes between the key and its confirmation
        desk.update(vec![question("0"), question("A"), question("B"), question("C")]);
        assert_eq!(press(&mut desk, "y"), Do::Answer("B".to_owned(), Answer::Approved));
        assert_eq!(press(&mut desk, "ry"), Do::Answer("B".to_owned(), Answer::Rejected));
        // no other key confirms
        assert_eq!(press(&mut desk, "ax"), Do::Nothing);
        assert_eq!(press(&mut desk, "y"), Do::Nothing);
    }

    #[test]
    fn what_was_begun_with_a_question_that_is_gone_is_not_done_to_another() {
        let mut desk = desk(&["A", "B"]);
        press(&mut desk, "a");
        desk.update(vec![question("B")]);
        assert!(desk.note.contains("answered elsewhere"), "{}", desk.note);
        assert_eq!(press(&mut desk, "y"), Do::Nothing);
        assert_eq!(desk.question().unwrap().id, "B");
        desk.update(Vec::new());
        assert_eq!(press(&mut desk, "a"), Do::Nothing);
        assert_eq!(press(&mut desk, "q"), Do::End);
    }

    #[test]
    fn only_arguments_that_can_be_opened_are_opened() {
        let mut desk = desk(&["A"]);
        assert_eq!(press(&mut desk, "w"), Do::Arguments("A".to_owned()));
        let argument = |number, opens| Argument { number, value: "x".to_owned(), opens };
        desk.choose_arguments("A", vec![argument(1, false), argument(2, true)]);
        assert_eq!(press(&mut desk, "1"), Do::Nothing);
        assert_eq!(press(&mut desk, "\n"), Do::Nothing);
        assert_eq!(press(&mut desk, "2"), Do::Preview("A".to_owned(), BTreeSet::from([2])));
        assert_eq!(press(&mut desk, "\n"), Do::Widen("A".to_owned(), BTreeSet::from([2])));
    }

    #[test]
    fn what_is_cut_cannot_be_approved() {
        let mut desk = Desk::default();
        desk.update(vec![PendingApproval { cut: true, ..question("A") }]);
        assert_eq!(press(&mut desk, "ay"), Do::Nothing);
        assert_eq!(press(&mut desk, "ry"), Do::Answer("A".to_owned(), Answer::Rejected));
        assert_eq!(desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL), Do::End);
    }
}
