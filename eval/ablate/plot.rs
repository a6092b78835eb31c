//! SVG plots of an experiment, one file per plot.
//!
//! Arms differ in colour, dash and marker, and bars in brightness, so that a greyscale print is readable. The colours
//! follow Okabe and Ito (2008), so that colour-blind readers can tell them apart. Text is laid out by estimated width,
//! because an SVG does not know the reader's fonts.

mod bars;
mod legend;
mod lines;
mod marks;

use super::Step;
use super::spec::Experiment;
use super::table::Summary;
use anyhow::{Context, Result, bail};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use std::path::{Path, PathBuf};

const SIZE: (u32, u32) = (900, 480);
/// Height of the line below a plot, pixels.
const FOOT: u32 = 24;
const FONT: &str = "sans-serif";

/// Colours of arms; dash and marker also change from arm to arm.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 90, 160),
    RGBColor(213, 94, 0),
    RGBColor(0, 140, 100),
    RGBColor(90, 90, 90),
    RGBColor(190, 90, 150),
    RGBColor(70, 160, 220),
    RGBColor(200, 140, 0),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the plots that the experiment names into `out_dir`, as `NAME.svg`.
///
/// # Errors
/// If a plot cannot be drawn or written; the message names the file.
pub fn draw(experiment: &Experiment, steps: &[Step], summary: &Summary, out_dir: &Path) -> Result<Vec<PathBuf>> {
    let mut drawn = Vec::new();
    for plot in &experiment.plots {
        let path = out_dir.join(format!("{plot}.svg"));
        let text =
            render(plot, experiment, steps, summary).with_context(|| format!("cannot draw {}", path.display()))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        drawn.push(path);
    }
    Ok(drawn)
}

fn render(plot: &str, experiment: &Experiment, steps: &[Step], summary: &Summary) -> Result<String> {
    let mut text = String::new();
    {
        let page = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        page.fill(&WHITE)?;
        let (upper, foot) = page.split_vertically(SIZE.1.saturating_sub(FOOT));
        let area = upper.margin(8, 0, 8, 12);
        let middle = i32::try_from(FOOT / 2).unwrap_or(0);
        legend::text(&foot, &about(plot, experiment, summary), (16, middle), 13, (HPos::Left, VPos::Center))?;
        match plot {
            "learning-curve" => lines::learning_curve(&area, experiment, steps)?,
            "cost" => lines::cost(&area, experiment, steps)?,
            "threshold" => lines::threshold(&area, experiment, summary)?,
            "accuracy" => bars::accuracy(&area, summary)?,
            "safety" => bars::safety(&area, summary)?,
            other => bail!("there is no plot \"{other}\""),
        }
        page.present()?;
    }
    Ok(text)
}

/// What a plot shows: how many arms, seeds and checks, and what its bands or whiskers are.
fn about(plot: &str, experiment: &Experiment, summary: &Summary) -> String {
    let many = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let (least, most) =
        summary.arms.iter().fold((usize::MAX, 0), |(least, most), row| (least.min(row.n), most.max(row.n)));
    let checks = if least < most { format!("{least} to {most}") } else { most.to_string() };
    let spread = match plot {
        "learning-curve" => "band: \u{b1} 1 standard deviation over the seeds",
        "cost" => "mean over the seeds, no band",
        "threshold" => "whiskers as in the legend",
        _ => "whiskers: Wilson 95 %",
    };
    format!(
        "{}, {}, n = {checks} checks per arm; {spread}",
        many(summary.arms.len(), "arm"),
        many(experiment.seeds.len(), "seed")
    )
}

fn colour(place: usize) -> RGBColor {
    COLOURS.get(place % COLOURS.len()).copied().unwrap_or(BLACK)
}

/// The smallest round number (1, 2, 2.5 or 5 times a power of ten) that is not below `value`.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 2.5, 5.0].into_iter().map(|step| step * power).find(|n| *n >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests;
