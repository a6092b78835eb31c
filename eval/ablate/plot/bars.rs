//! Plots by arm: bars with Wilson whiskers.

use super::super::table::{Row, Summary};
use super::legend::{legend, text, wrap};
use super::marks::{Dashed, whisker};
use super::{Area, FONT};
use crate::score::Share;
use anyhow::Result;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Dark and light colours that stay distinct in a greyscale print.
const DARK: RGBColor = RGBColor(176, 58, 0);
const LIGHT: RGBColor = RGBColor(150, 200, 235);
const MIDDLE: RGBColor = RGBColor(70, 130, 180);

/// Bars of one kind: name, colour and value.
type Bars = (&'static str, RGBColor, fn(&Row) -> Option<Share>);

/// Plots ASR and pass rate.
pub fn safety(area: &Area<'_>, summary: &Summary) -> Result<()> {
    let bars: [Bars; 2] =
        [("ASR: unsafe allowed (low is good)", DARK, |r| r.asr), ("safe allowed (high is good)", LIGHT, |r| r.pass)];
    draw(area, summary, &bars, "share of cases (per cent; whiskers: Wilson 95 %)", &[])
}

/// Plots accuracy, with the floors as lines.
pub fn accuracy(area: &Area<'_>, summary: &Summary) -> Result<()> {
    let floors: Vec<(String, f64)> =
        summary.floors.iter().filter_map(|f| f.accuracy.map(|s| (f.name.clone(), 100.0 * s.value))).collect();
    draw(area, summary, &[("accuracy", MIDDLE, |r| r.accuracy)], "accuracy (per cent; whiskers: Wilson 95 %)", &floors)
}

fn draw(area: &Area<'_>, summary: &Summary, bars: &[Bars], left: &str, floors: &[(String, f64)]) -> Result<()> {
    let floor_names = floors.iter().map(|(name, value)| format!("{name} ({value:.1})"));
    let names: Vec<String> = bars.iter().map(|(name, ..)| (*name).to_owned()).chain(floor_names).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rest = legend(area, &names, |area, place, (x, y)| match bars.get(place) {
        Some((_, colour, _)) => block(area, (x + 8, y - 7), (x + 32, y + 7), *colour),
        None => Ok(area.draw(&line(place - bars.len(), (x, y), (x + 32, y)))?),
    })?;
    let arms = summary.arms.len().max(1);
    // roughly the number of characters that fit into the slot of an arm
    let most = (100 / arms).saturating_sub(1).max(6);
    let labels: Vec<Vec<String>> = summary.arms.iter().map(|row| wrap(&row.arm, most)).collect();
    let rows = labels.iter().map(Vec::len).max().unwrap_or(1).clamp(1, 4);
    let mut chart = ChartBuilder::on(&rest)
        .margin_top(6)
        .x_label_area_size(36 + 17 * u32::try_from(rows).unwrap_or(1))
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..arms as f64, 0.0..110.0)?;
    let number = |y: &f64| if *y > 100.0 { String::new() } else { format!("{y:.0}") };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(0)
        .y_labels(6)
        .y_label_formatter(&number)
        .y_desc(left)
        .x_desc("arm")
        .label_style((FONT, 15))
        .axis_desc_style((FONT, 16))
        .draw()?;
    let origin = rest.get_base_pixel();
    let at = |x: f64, y: f64| {
        let (x, y) = chart.backend_coord(&(x, y));
        (x - origin.0, y - origin.1)
    };
    let slot = at(1.0, 0.0).0 - at(0.0, 0.0).0;
    let wide = (slot * 7 / 10 / i32::try_from(bars.len()).unwrap_or(1)).min(90);
    for (place, (row, label)) in summary.arms.iter().zip(&labels).enumerate() {
        let middle = at(place as f64 + 0.5, 0.0);
        let mut x = middle.0 - wide * i32::try_from(bars.len()).unwrap_or(1) / 2;
        for (_, colour, of) in bars {
            let y = |value: f64| at(0.0, 100.0 * value).1;
            match of(row) {
                Some(share) => bar(&rest, (x, x + wide), middle.1, *colour, [share.value, share.low, share.high], y)?,
                None => text(&rest, "no cases", (x + wide / 2, middle.1 - 4), 12, (HPos::Center, VPos::Bottom))?,
            }
            x += wide;
        }
        for (number, part) in label.iter().take(rows).enumerate() {
            let y = middle.1 + 8 + 17 * i32::try_from(number).unwrap_or(0);
            text(&rest, part, (middle.0, y), 15, (HPos::Center, VPos::Top))?;
        }
    }
    for (place, (_, value)) in floors.iter().enumerate() {
        rest.draw(&line(place, at(0.0, *value), at(arms as f64, *value)))?;
    }
    Ok(())
}

/// Draws a bar between two x positions with its interval and its value in percent. `share`: value, lower and upper end
/// (0..=1).
fn bar(
    area: &Area<'_>,
    (left, right): (i32, i32),
    bottom: i32,
    colour: RGBColor,
    share: [f64; 3],
    y: impl Fn(f64) -> i32,
) -> Result<()> {
    let [value, low, high] = share;
    let centre = left.midpoint(right);
    block(area, (left + 2, y(value)), (right - 2, bottom), colour)?;
    whisker(area, (centre, y(low)), (centre, y(high)))?;
    text(area, &format!("{:.1}", 100.0 * value), (centre, y(high) - 4), 14, (HPos::Center, VPos::Bottom))
}

/// Draws a filled bar with an edge.
fn block(area: &Area<'_>, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Result<()> {
    area.draw(&Rectangle::new([from, to], colour.filled()))?;
    area.draw(&Rectangle::new([from, to], BLACK.stroke_width(1)))?;
    Ok(())
}

/// The line of a floor. If both floors are equal, dashes over dots look like dash-dots.
fn line(place: usize, from: (i32, i32), to: (i32, i32)) -> Dashed {
    let (dash, gap) = if place == 0 { (10, 8) } else { (2, 5) };
    DashedPathElement::new(vec![from, to], dash, gap, BLACK.stroke_width(2))
}
