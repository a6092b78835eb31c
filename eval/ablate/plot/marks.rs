//! The line styles and markers of arms, and the whiskers of an interval.

use super::{Area, colour};
use anyhow::Result;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

/// A dashed path, in pixels.
pub type Dashed = DashedPathElement<std::vec::IntoIter<(i32, i32)>, i32>;

/// Draws a vertical line with caps, or nothing if its length is zero.
pub fn whisker(area: &Area<'_>, low: (i32, i32), high: (i32, i32)) -> Result<()> {
    if low == high {
        return Ok(());
    }
    area.draw(&PathElement::new(vec![low, high], BLACK.stroke_width(1)))?;
    for (x, y) in [low, high] {
        area.draw(&PathElement::new(vec![(x - 5, y), (x + 5, y)], BLACK.stroke_width(1)))?;
    }
    Ok(())
}

/// The line of an arm; the first arm's line is solid.
pub fn stroke(place: usize, path: Vec<(i32, i32)>) -> Dashed {
    let (dash, gap) = [(4000, 0), (9, 5), (3, 4), (16, 5)].get(place % 4).copied().unwrap_or((4000, 0));
    DashedPathElement::new(path, dash, gap, colour(place).stroke_width(2))
}

/// Draws the marker of an arm.
pub fn marker(area: &Area<'_>, place: usize, at: (i32, i32)) -> Result<()> {
    let (x, y) = at;
    let (fill, edge) = (colour(place).filled(), colour(place).stroke_width(2));
    match place % 5 {
        0 => area.draw(&Circle::new(at, 4, fill))?,
        1 => area.draw(&TriangleMarker::new(at, 6, fill))?,
        2 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], fill))?,
        3 => area.draw(&Cross::new(at, 4, edge))?,
        _ => {
            area.draw(&Circle::new(at, 4, WHITE.filled()))?;
            area.draw(&Circle::new(at, 4, edge))?;
        }
    }
    Ok(())
}
