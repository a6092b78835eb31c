//! Plots over steps and over thresholds: lines with bands or whiskers.

use super::super::Step;
use super::super::spec::Experiment;
use super::super::table::{Course, Row, Spread, Summary};
use super::legend::legend;
use super::marks::{marker, stroke, whisker};
use super::{Area, FONT, colour, round_up};
use anyhow::Result;
use plotters::prelude::*;

/// Number of steps over which the cost is averaged, because single actions differ more than arms do.
const WINDOW: usize = 5;

/// A point of a line, with the bounds of its band or whisker.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
    low: f64,
    high: f64,
}

/// A line; `place` determines its style.
struct Line {
    place: usize,
    points: Vec<Point>,
}

/// One panel.
struct Panel {
    below: String,
    left: String,
    x: std::ops::Range<f64>,
    top: f64,
    /// Draw whiskers and markers at every point instead of bands and occasional markers.
    whiskers: bool,
}

/// A value of an arm, with the ends of its whisker.
type Bounds = fn(&Row) -> Option<(f64, f64, f64)>;

/// Plots similarity over steps, by embedding and by words.
pub fn learning_curve(area: &Area<'_>, experiment: &Experiment, steps: &[Step]) -> Result<()> {
    type Measure = (&'static str, fn(&Step) -> Option<f64>);
    let measures: [Measure; 2] = [("cosine", |s| s.cosine), ("TF-IDF cosine", |s| s.tfidf)];
    let panels = measures.map(|(name, of)| {
        let lines = over_steps(experiment, steps, |course, step| course.known(step, of));
        (format!("similarity to ground truth ({name}, 0 to 1)"), "step (actions checked)".to_owned(), Some(1.0), lines)
    });
    over(area, experiment, panels)
}

/// Plots tokens and calls per check over steps.
pub fn cost(area: &Area<'_>, experiment: &Experiment, steps: &[Step]) -> Result<()> {
    type Measure = (&'static str, fn(&Step) -> f64);
    let measures: [Measure; 2] = [
        ("tokens per check (in and out)", |s| (s.tokens_in + s.tokens_out) as f64),
        ("model calls per check", |s| s.model_calls as f64),
    ];
    let panels = measures.map(|(label, of)| {
        let mean = |course: &Course<'_>, step: usize| course.mean((step + 1).saturating_sub(WINDOW), step, of);
        let mut lines = over_steps(experiment, steps, mean);
        for point in lines.iter_mut().flat_map(|line| &mut line.points) {
            (point.low, point.high) = (point.y, point.y);
        }
        (label.to_owned(), format!("step (actions checked; mean of the last {WINDOW})"), None, lines)
    });
    over(area, experiment, panels)
}

type Content = (String, String, Option<f64>, Vec<Line>);

fn over(area: &Area<'_>, experiment: &Experiment, panels: [Content; 2]) -> Result<()> {
    let names: Vec<&str> = experiment.arms.iter().map(|arm| arm.name.as_str()).collect();
    let rest = legend(area, &names, |area, place, (x, y)| {
        area.draw(&stroke(place, vec![(x, y), (x + 32, y)]))?;
        marker(area, place, (x + 16, y))
    })?;
    for (place, (part, (left, below, top, lines))) in rest.split_evenly((1, 2)).iter().zip(panels).enumerate() {
        let top = top.unwrap_or_else(|| round_up(highest(&lines) * 1.05));
        let end = lines.iter().flat_map(|line| &line.points).map(|point| point.x).fold(2.0, f64::max);
        // room for the last label of the first panel
        let part = if place == 0 { part.margin(0, 0, 0, 10) } else { part.margin(0, 0, 4, 0) };
        panel(&part, &Panel { below, left, x: 1.0..end, top, whiskers: false }, &lines)?;
    }
    Ok(())
}

fn over_steps(experiment: &Experiment, steps: &[Step], of: impl Fn(&Course<'_>, usize) -> Option<Spread>) -> Vec<Line> {
    let arms = experiment.arms.iter().enumerate().map(|(place, arm)| {
        let course = Course::of(steps, &arm.name);
        let point = |step: usize| {
            let Spread { mean, sd, .. } = of(&course, step)?;
            let sd = sd.unwrap_or(0.0);
            Some(Point { x: step as f64 + 1.0, y: mean, low: mean - sd, high: mean + sd })
        };
        let points = course.last().map_or(0..0, |last| 0..last + 1).filter_map(point).collect();
        Line { place, points }
    });
    arms.collect()
}

/// Plots accuracy and memory entries over the arms' similarity thresholds.
pub fn threshold(area: &Area<'_>, experiment: &Experiment, summary: &Summary) -> Result<()> {
    let line = |place: usize, of: Bounds| {
        let arms = experiment.arms.iter().zip(&summary.arms);
        let mut points: Vec<Point> = arms
            .filter_map(|(arm, row)| of(row).map(|(y, low, high)| Point { x: arm.similarity.into(), y, low, high }))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        vec![Line { place, points }]
    };
    let accuracy = line(0, |row| row.accuracy.map(|s| (100.0 * s.value, 100.0 * s.low, 100.0 * s.high)));
    let entries =
        line(1, |row| row.entries.map(|s| (s.mean, s.mean - s.sd.unwrap_or(0.0), s.mean + s.sd.unwrap_or(0.0))));
    let names = ["accuracy (whiskers: Wilson 95 %)", "memory entries (whiskers: ± standard deviation)"];
    let rest = legend(area, &names, |area, place, (x, y)| {
        area.draw(&stroke(place, vec![(x, y), (x + 32, y)]))?;
        marker(area, place, (x + 16, y))
    })?;
    let similarities = experiment.arms.iter().map(|arm| f64::from(arm.similarity));
    let (low, high) = similarities.fold((1.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let below = "similarity threshold of the arm (cosine, 0 to 1)".to_owned();
    let top = round_up(highest(&entries) * 1.05);
    let panels = [("accuracy (per cent)", 100.0, accuracy), ("entries in memory at the end (count)", top, entries)];
    for (part, (left, top, lines)) in rest.split_evenly((1, 2)).iter().zip(panels) {
        let (below, left, x) = (below.clone(), left.to_owned(), low - 0.05..high + 0.05);
        panel(&part.margin(0, 0, 0, 8), &Panel { below, left, x, top, whiskers: true }, &lines)?;
    }
    Ok(())
}

fn highest(lines: &[Line]) -> f64 {
    lines.iter().flat_map(|line| &line.points).map(|point| point.high).fold(0.0, f64::max)
}

fn panel(area: &Area<'_>, panel: &Panel, lines: &[Line]) -> Result<()> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(6)
        .x_label_area_size(48)
        .y_label_area_size(62)
        .build_cartesian_2d(panel.x.clone(), 0.0..panel.top)?;
    let number = |y: &f64| match panel.top {
        top if top > 2000.0 && *y > 0.0 => format!("{:.1}k", y / 1000.0),
        top if top > 10.0 => format!("{y:.0}"),
        _ => format!("{y:.1}"),
    };
    let place = |x: &f64| if panel.whiskers { format!("{x:.2}") } else { format!("{x:.0}") };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&place)
        .y_label_formatter(&number)
        .x_desc(&panel.below)
        .y_desc(&panel.left)
        .label_style((FONT, 15))
        .axis_desc_style((FONT, 16))
        .draw()?;
    let pixels = chart.plotting_area().strip_coord_spec();
    let origin = chart.plotting_area().get_base_pixel();
    let at = |x: f64, y: f64| {
        let (x, y) = chart.backend_coord(&(x, y.clamp(0.0, panel.top)));
        (x - origin.0, y - origin.1)
    };
    for line in lines.iter().filter(|_| !panel.whiskers) {
        let up = line.points.iter().map(|p| at(p.x, p.high));
        let down = line.points.iter().rev().map(|p| at(p.x, p.low));
        if line.points.iter().any(|p| p.high > p.low) {
            pixels.draw(&Polygon::new(up.chain(down).collect::<Vec<_>>(), colour(line.place).mix(0.16)))?;
        }
    }
    for line in lines {
        let path: Vec<(i32, i32)> = line.points.iter().map(|p| at(p.x, p.y)).collect();
        pixels.draw(&stroke(line.place, path.clone()))?;
        let every = if panel.whiskers { 1 } else { line.points.len().div_ceil(8).max(1) };
        for (number, (point, middle)) in line.points.iter().zip(path).enumerate() {
            if panel.whiskers {
                whisker(&pixels, at(point.x, point.low), at(point.x, point.high))?;
            }
            // shifted from arm to arm, so that the markers of overlapping lines stay apart
            if panel.whiskers || (number + line.place) % every == 0 {
                marker(&pixels, line.place, middle)?;
            }
        }
    }
    Ok(())
}
