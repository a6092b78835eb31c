//! Counts over time, as stacked bars.

use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 300);
/// What each series is drawn in. A page replaces these colours by those of its theme (`[fill="#1A7F37"]` in its style sheet).
const COLOURS: [RGBColor; 3] = [RGBColor(26, 127, 55), RGBColor(154, 103, 0), RGBColor(207, 34, 46)];

/// The counts of one interval: allowed, asked, denied.
pub(crate) type Counts = [usize; 3];

/// The plot cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the plot: {0}")]
pub(crate) struct PlotError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for PlotError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        // the error borrows the buffer of the drawing
        Self(error.to_string())
    }
}

/// A bar for each interval, oldest first, as SVG. `label`: the label of the time axis at the beginning of an interval.
///
/// # Errors
/// [`PlotError`]
pub(crate) fn over_time(bars: &[Counts], below: &str, label: impl Fn(usize) -> String) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let most = bars.iter().map(|counts| counts.iter().sum::<usize>()).max().unwrap_or(0).max(4);
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(58)
            .build_cartesian_2d(0.0..bars.len().max(1) as f64, 0.0..most as f64 * 1.05)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(128, 128, 128).mix(0.35))
            .x_labels(7)
            .y_labels(5)
            .x_label_formatter(&|at| label(at.round() as usize))
            .y_label_formatter(&|count| format!("{count:.0}"))
            .x_desc(below)
            .y_desc("decisions")
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        for (place, counts) in bars.iter().enumerate() {
            let (left, mut foot) = (place as f64, 0.0);
            for (count, colour) in counts.iter().zip(COLOURS) {
                let top = foot + *count as f64;
                chart.draw_series([Rectangle::new([(left + 0.1, foot), (left + 0.9, top)], colour.filled())])?;
                foot = top;
            }
        }
        area.present()?;
    }
    Ok(svg)
}
