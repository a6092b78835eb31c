//! The legend, in rows above the plot so that it never covers data.

use super::{Area, FONT, SIZE};
use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Height of a row, and font size; pixels.
const ROW: i32 = 24;
const SIZE_PX: i32 = 17;
/// Width of the sample before a name, and of the gap after it; pixels.
const SAMPLE: i32 = 40;
const GAP: i32 = 22;

/// Estimated width of a text, pixels.
pub fn width(text: &str, size: i32) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / size) * size * 47 / 100
}

/// Wraps `text` at spaces into lines of at most `most` characters; a longer word is split anywhere.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let letters: Vec<Vec<char>> = text.split_whitespace().map(|word| word.chars().collect()).collect();
    for word in letters.iter().flat_map(|word| word.chunks(most.max(1))).map(String::from_iter) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Draws text at a point of an area.
pub fn text(area: &Area<'_>, text: &str, at: (i32, i32), size: i32, anchor: (HPos, VPos)) -> Result<()> {
    let style = (FONT, size).into_text_style(area).pos(Pos::new(anchor.0, anchor.1));
    area.draw(&Text::new(text.to_owned(), at, style))?;
    Ok(())
}

/// Draws each of `names` with a sample, from left to right in as many rows as needed. Returns the rest of the area.
pub fn legend<'a>(
    area: &Area<'a>,
    names: &[&str],
    sample: impl Fn(&Area<'a>, usize, (i32, i32)) -> Result<()>,
) -> Result<Area<'a>> {
    let right = i32::try_from(SIZE.0).unwrap_or(0) - 40;
    let (mut x, mut row) = (56, 0);
    for (place, name) in names.iter().enumerate() {
        let wide = SAMPLE + width(name, SIZE_PX);
        if x > 56 && x + wide > right {
            (x, row) = (56, row + 1);
        }
        let y = row * ROW + ROW / 2;
        sample(area, place, (x, y))?;
        text(area, name, (x + SAMPLE, y), SIZE_PX, (HPos::Left, VPos::Center))?;
        x += wide + GAP;
    }
    Ok(area.split_vertically((row + 1) * ROW + 4).1)
}
