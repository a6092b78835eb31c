//! Draws the view: the list, the question, and what the keys do.

use super::desk::{Desk, Pane};
use crate::short;
use crate::show::plain;
use agrail::approvals::{Answer, PendingApproval};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, List, ListState, Paragraph, Wrap};

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// Most lines of the list.
const LISTED: u16 = 10;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, desk: &Desk) {
    let rows = u16::try_from(desk.waiting.len()).unwrap_or(LISTED).clamp(1, LISTED);
    let [list, pane, note, keys] = Layout::vertical([
        Constraint::Length(rows + 2),
        Constraint::Min(3),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_list(frame, desk, list);
    draw_pane(frame, desk, pane);
    frame.render_widget(Line::styled(plain(&desk.note), BOLD), note);
    frame.render_widget(Line::styled(keys_of(&desk.pane), DIM), keys);
}

fn draw_list(frame: &mut Frame<'_>, desk: &Desk, area: Rect) {
    let title = match desk.waiting.len() {
        0 => " no question is pending ".to_owned(),
        1 => " 1 question ".to_owned(),
        count => format!(" {count} questions "),
    };
    let line = |one: &PendingApproval| {
        let first = one.effects.first().map_or("", String::as_str);
        plain(&format!("{}  {} for {}  {first}", short::shown(&one.id), one.agent, one.identity))
    };
    let list = List::new(desk.waiting.iter().map(line))
        .block(Block::bordered().title(title))
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = ListState::default().with_selected(desk.question().map(|_| desk.place()));
    frame.render_stateful_widget(list, area, &mut state);
}

fn draw_pane(frame: &mut Frame<'_>, desk: &Desk, area: Rect) {
    let Some(question) = desk.question() else { return };
    let (title, lines, from) = match &desk.pane {
        Pane::Question => (" question ".to_owned(), of_question(question), 0),
        Pane::Sure(_, answer) => {
            let word = if *answer == Answer::Approved { "approve" } else { "reject" };
            (format!(" {word} this? y: yes, any other key: no "), of_question(question), 0)
        }
        Pane::Explained(_, lines, from) => {
            (" explanation ".to_owned(), lines.iter().map(|line| Line::raw(plain(line))).collect(), *from)
        }
        Pane::Widening { arguments, opened, passes, .. } => {
            let mut lines = vec![Line::raw("Which of these may have another value of the same kind?"), Line::raw("")];
            lines.extend(arguments.iter().map(|argument| {
                let mark = match (argument.opens, opened.contains(&argument.number)) {
                    (false, _) => "cannot be opened",
                    (true, true) => "any",
                    (true, false) => "as it is",
                };
                Line::raw(plain(&format!("  {}  {}  ({mark})", argument.number, argument.value)))
            }));
            let (count, all) = passes;
            lines.push(Line::raw(""));
            lines.push(Line::raw(format!("Of the last {all} decisions it would have let pass {count} that asked.")));
            (" widen ".to_owned(), lines, 0)
        }
    };
    let text = Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((from, 0));
    frame.render_widget(text.block(Block::bordered().title(title)), area);
}

/// Who asks, why, what would happen, and the whole action.
fn of_question(question: &PendingApproval) -> Vec<Line<'static>> {
    let mut lines = vec![
        Line::raw(plain(&format!("{} for {}", question.agent, question.identity))),
        Line::styled(plain(&question.reason), BOLD),
        Line::raw(""),
    ];
    lines.extend(question.effects.iter().map(|effect| Line::raw(plain(&format!("would {effect}")))));
    let mark = if question.cut { " (cut: it cannot be approved)" } else { "" };
    lines.push(Line::raw(""));
    lines.push(Line::raw(plain(&format!("action{mark} {}", question.action))));
    lines
}

fn keys_of(pane: &Pane) -> &'static str {
    match pane {
        Pane::Question => "up/down choose  a approve  r reject  w widen  e explain  q end",
        Pane::Sure(..) => "y yes  any other key no",
        Pane::Explained(..) => "up/down scroll  any other key back",
        Pane::Widening { .. } => "1-9 open an argument  enter widen and approve  any other key back",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::desk::tests::{desk, question};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyModifiers};

    fn drawn(desk: &Desk, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, desk)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_question_is_shown_with_all_that_is_needed_to_answer_it() {
        let mut desk = desk(&["01M8JKF48MFW0G68581CB6SB10"]);
        let text = drawn(&desk, 80, 20);
        for part in [
            "1 question",
            "1CB6SB10",
            "claude-code for mila",
            "no commit holds it",
            "would delete /srv/old",
            "rm -r /srv/old",
            "a approve",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        desk.press(KeyCode::Char('a'), KeyModifiers::NONE);
        assert!(drawn(&desk, 80, 20).contains("approve this? y: yes"), "{}", drawn(&desk, 80, 20));
    }

    #[test]
    fn hostile_text_and_small_windows_draw() {
        let mut desk = Desk::default();
        let mut hostile = question("01M8JKF48MFW0G68581CB6SB10");
        hostile.reason = "\u{1b}[2J\u{202e}gnorw\u{7}".to_owned();
        hostile.effects = vec!["x".repeat(10_000); 300];
        desk.update(vec![hostile; 200]);
        for (width, height) in [(1, 1), (20, 5), (80, 24), (300, 100)] {
            let text = drawn(&desk, width, height);
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{width}x{height}");
        }
        assert!(drawn(&Desk::default(), 80, 24).contains("no question is pending"));
    }
}
