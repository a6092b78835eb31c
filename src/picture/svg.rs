//! A verdict as SVG: the action, its effects, and what was found, in three columns.

use super::{Branch, Mark, Tree};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Width of the picture and positions of its columns, in pixels.
const WIDE: usize = 1000;
const EFFECTS: usize = 190;
const FINDINGS: usize = 580;
const GAP: usize = 34;
/// Height of a line of text, and the space between boxes.
const LINE: usize = 16;
const SPACE: usize = 12;
/// Characters that fit into a line of each column, and lines of each box.
const LETTERS: (usize, usize, usize) = (20, 48, 54);
const LINES: usize = 4;
/// Colours on white, and on black; each has a contrast of 4.5 and more.
const STYLE: &str = "\
.tree{font:12px/1.3 ui-monospace,Menlo,Consolas,monospace;--pass:#1a7f37;--unknown:#805b00;--asks:#805b00;--denies:#b3222e;--ink:#1f2328;--soft:#57606a;--paper:#fff}\
@media(prefers-color-scheme:dark){.tree{--pass:#4ac26b;--unknown:#d4a72c;--asks:#d4a72c;--denies:#ff8182;--ink:#e6edf3;--soft:#9da7b3;--paper:#0d1117}}\
.tree text{fill:var(--ink)}.tree .soft{fill:var(--soft)}.tree rect{fill:var(--paper);stroke-width:1.5}.tree path{fill:none;stroke-width:1.5}\
.tree .pass{stroke:var(--pass)}.tree .unknown{stroke:var(--unknown);stroke-dasharray:5 3}.tree .asks{stroke:var(--asks)}.tree .denies{stroke:var(--denies);stroke-width:2.5}";
const PAGE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1f2328;background:#fff}\
svg{width:100%;height:auto}code{overflow-wrap:anywhere}footer{color:#57606a;font-size:.85rem;margin-top:2rem}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}footer{color:#9da7b3}}";

/// A line of a box, and whether it is less important.
type Line = (bool, String);

/// An effect with its position.
struct Placed<'a> {
    branch: &'a Branch,
    top: usize,
    lines: Vec<Line>,
    /// The findings: weight, top, lines.
    leaves: Vec<(Mark, usize, Vec<Line>)>,
}

/// The tree as SVG. Colours are classes, which the page that holds it defines ([`page`] and the console do).
#[must_use]
pub fn svg(tree: &Tree) -> String {
    drawn(tree).into_string()
}

/// A page with the picture that needs no other file. `about`: what was judged, such as a command; `note`: version and time.
#[must_use]
pub fn page(tree: &Tree, about: &str, note: &str) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { "agrail: " (tree.decision) }
                style { (PreEscaped(PAGE)) (PreEscaped(STYLE)) }
            }
            body {
                h1 { (tree.decision) }
                p { code { (crate::untrusted::visible(about)) } }
                p { (tree.reason) }
                @if let Some(advice) = &tree.advice { p { "Instead: " (advice) } }
                (drawn(tree))
                footer { (note) }
            }
        }
    }
    .into_string()
}

fn drawn(tree: &Tree) -> Markup {
    let (placed, bottom) = placed(tree);
    let middle = bottom / 2;
    let root = wrapped(&format!("{}: {}", tree.decision, tree.reason), LETTERS.0, 7);
    let about = format!("{}: {}; {} effects", tree.decision, tree.reason, tree.branches.len() + tree.left_out);
    let worst = tree.branches.iter().map(Branch::mark).max().unwrap_or(Mark::Pass);
    let root_height = root.len() * LINE + SPACE;
    let bottom = bottom.max(root_height + 2 * SPACE);
    let root_top = middle.saturating_sub(root_height / 2).max(1);
    html! {
        svg.tree xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDE) " " (bottom) } role="img" aria-label=(about) {
            @for one in &placed {
                (line((EFFECTS - GAP, root_top + root_height / 2), (EFFECTS, one.top + height(&one.lines) / 2), one.branch.mark()))
                @for (mark, top, lines) in &one.leaves {
                    (line((FINDINGS - GAP, one.top + height(&one.lines) / 2), (FINDINGS, top + height(lines) / 2), *mark))
                }
            }
            (boxed(1, root_top, EFFECTS - GAP - 1, &root.into_iter().map(|line| (false, line)).collect::<Vec<_>>(), worst))
            @for one in &placed {
                (boxed(EFFECTS, one.top, FINDINGS - GAP - EFFECTS, &one.lines, one.branch.mark()))
                @for (mark, top, lines) in &one.leaves {
                    (boxed(FINDINGS, *top, WIDE - FINDINGS - 2, lines, *mark))
                }
            }
            @if tree.left_out > 0 {
                text.soft x=(EFFECTS) y=(bottom - 4) { "and " (tree.left_out) " more effects" }
            }
        }
    }
}

/// Where everything goes, and the height of the picture.
fn placed(tree: &Tree) -> (Vec<Placed<'_>>, usize) {
    let mut top = SPACE;
    let mut all = Vec::new();
    for branch in &tree.branches {
        let mut lines: Vec<Line> = texts(&branch.effect, LETTERS.1, false);
        lines.extend(branch.facts.iter().take(2).flat_map(|fact| texts(fact, LETTERS.1, true)));
        let mut below = top;
        let mut leaves = Vec::new();
        for leaf in &branch.leaves {
            let mut lines = vec![(false, format!("{}  {}", leaf.mark.as_str(), leaf.by))];
            lines.extend(texts(&leaf.reason, LETTERS.2, true));
            let tall = height(&lines);
            leaves.push((leaf.mark, below, lines));
            below += tall + SPACE;
        }
        let next = (top + height(&lines) + SPACE).max(below);
        all.push(Placed { branch, top, lines, leaves });
        top = next;
    }
    (all, top + if tree.left_out > 0 { LINE } else { 0 })
}

fn height(lines: &[Line]) -> usize {
    lines.len() * LINE + SPACE
}

fn texts(text: &str, most: usize, soft: bool) -> Vec<Line> {
    wrapped(text, most, LINES).into_iter().map(|line| (soft, line)).collect()
}

/// Lines of at most `letters` characters, cut at spaces where there are any.
fn wrapped(text: &str, letters: usize, lines: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        while let Some(line) = all.last_mut() {
            let used = line.chars().count();
            let room = letters.saturating_sub(used + usize::from(used > 0));
            if rest.len() <= room {
                if used > 0 {
                    line.push(' ');
                }
                line.extend(rest);
                break;
            }
            if used == 0 {
                line.extend(rest.drain(..letters.min(rest.len())));
            }
            all.push(String::new());
        }
    }
    if all.len() > lines {
        all.truncate(lines);
        if let Some(last) = all.last_mut() {
            *last = last.chars().take(letters - 1).chain(['…']).collect();
        }
    }
    all
}

fn line((x, y): (usize, usize), (to_x, to_y): (usize, usize), mark: Mark) -> Markup {
    let middle = x.midpoint(to_x);
    html! { path class=(mark.as_str()) d={ "M" (x) " " (y) " C" (middle) " " (y) " " (middle) " " (to_y) " " (to_x) " " (to_y) } {} }
}

fn boxed(x: usize, y: usize, wide: usize, lines: &[Line], mark: Mark) -> Markup {
    html! {
        rect class=(mark.as_str()) x=(x) y=(y) width=(wide) height=(height(lines)) rx="5" {}
        @for (number, (soft, line)) in lines.iter().enumerate() {
            text class=[soft.then_some("soft")] x=(x + 8) y=(y + SPACE / 2 + LINE * number + 12) { (line) }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_are_cut_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrapped("delete /srv/a b", 11, 4), ["delete", "/srv/a b"]);
        assert_eq!(wrapped("abcdefgh", 3, 4), ["abc", "def", "gh"]);
        assert_eq!(wrapped("abcdefgh", 3, 2), ["abc", "de…"]);
        assert_eq!(wrapped("", 3, 2), [""]);
    }

    #[test]
    fn markup_in_a_verdict_is_text_in_the_picture() {
        let hostile = "</text><script>alert(1)</script>";
        let verdict = json!({
            "decision": "ask", "reason": hostile, "effects": [{"verb": "read", "target": hostile}],
            "findings": [{"outcome": "unknown", "by": hostile, "reason": hostile, "evidence": [{"about": hostile, "says": hostile}]}],
        });
        let tree = Tree::of(&verdict, |_| false);
        for text in [svg(&tree), page(&tree, hostile, hostile)] {
            assert!(!text.contains("<script") && text.contains("&lt;/text&gt;"), "{text}");
        }
        assert!(svg(&Tree::of(&serde_json::Value::Null, |_| false)).contains("<svg"));
    }
}
