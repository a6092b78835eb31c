//! A run for people: the curves by round, the lineage, and what was evolved, as one HTML page without scripts.

use super::{Candidate, Evolved, Round, Side};
use crate::untrusted::html::escape;
use plotters::prelude::*;
use std::fmt::Write as _;

/// A figure of a round.
type Value = fn(&Round) -> Option<f64>;

const SIZE: (u32, u32) = (760, 340);
/// Candidates that the tree shows of each side and round.
const SHOWN: usize = 12;

/// The curves cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the curves: {0}")]
pub struct DrawError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for DrawError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        // the error of the back end borrows the text that is drawn into
        Self(error.to_string())
    }
}

/// Attack success, true positives and true negatives by round, as SVG.
///
/// # Errors
/// [`DrawError`]
pub fn curves(rounds: &[Round]) -> Result<String, DrawError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let last = rounds.last().map_or(1, |r| r.round.max(1)) as f64;
        let mut chart = ChartBuilder::on(&area)
            .margin(14)
            .x_label_area_size(34)
            .y_label_area_size(44)
            .build_cartesian_2d(0.0..last, 0.0..1.02)?;
        chart.configure_mesh().x_desc("round").x_labels(rounds.len().max(2)).draw()?;
        let lines: [(&str, RGBColor, Value); 4] = [
            ("attacks not seen", RGBColor(200, 60, 40), |r| Some(r.asr)),
            ("attacks seen", RGBColor(30, 90, 170), |r| Some(r.tpr)),
            ("honest texts passed", RGBColor(40, 140, 70), |r| Some(r.tnr)),
            ("attacks seen at 1 % false alarms", RGBColor(130, 80, 160), |r| r.tpr_at_1pct_fpr),
        ];
        for (name, colour, value) in lines {
            let points: Vec<(f64, f64)> = rounds.iter().filter_map(|r| Some((r.round as f64, value(r)?))).collect();
            if points.is_empty() {
                continue;
            }
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                .label(name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        let labels =
            chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3)).draw();
        labels?;
        area.present()?;
    }
    Ok(svg)
}

/// Who was made from whom, as SVG: a column a round, attacks above, defences below; darker is better.
#[must_use]
pub fn tree(lineage: &[Candidate]) -> String {
    let rounds = lineage.iter().map(|c| c.round).max().unwrap_or(0) + 1;
    let (width, height) = (rounds * 90 + 40, SHOWN * 2 * 18 + 70);
    let mut places: Vec<(&Candidate, f64, f64)> = Vec::new();
    for side in [Side::Attack, Side::Defence] {
        for round in 0..rounds {
            let mut column: Vec<&Candidate> = lineage.iter().filter(|c| c.side == side && c.round == round).collect();
            column.sort_by(|a, b| b.score.total_cmp(&a.score));
            for (row, candidate) in column.into_iter().take(SHOWN).enumerate() {
                let top = if side == Side::Attack { 30 } else { SHOWN * 18 + 50 };
                places.push((candidate, (round * 90 + 30) as f64, (top + row * 18) as f64));
            }
        }
    }
    let mut svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\">\n");
    for (candidate, x, y) in &places {
        let parent = candidate.parent.as_ref().and_then(|id| places.iter().rfind(|(c, px, _)| c.id == *id && px <= x));
        if let Some((_, px, py)) = parent {
            let _ = writeln!(
                svg,
                "<line x1=\"{px}\" y1=\"{py}\" x2=\"{x}\" y2=\"{y}\" stroke=\"#999\" stroke-width=\"0.6\"/>"
            );
        }
    }
    for (candidate, x, y) in &places {
        let colour = if candidate.side == Side::Attack { "#c83c28" } else { "#1e5aaa" };
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\" fill-opacity=\"{:.2}\"><title>{} {:.3} {}</title></circle>",
            0.2 + 0.8 * candidate.score.clamp(0.0, 1.0),
            candidate.id,
            candidate.score,
            escape(&short(&candidate.gradient, 200))
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The whole report.
///
/// # Errors
/// [`DrawError`]
pub fn html(name: &str, evolved: &Evolved) -> Result<String, DrawError> {
    let summary = &evolved.summary;
    let (before, after) = (summary.held_out.before, summary.held_out.after);
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}</title><style>body{{font:15px/1.5 \
         system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}td,th{{text-align:right;padding:.2rem .8rem}}\
         pre{{white-space:pre-wrap;background:#f4f4f4;padding:.6rem}}</style></head><body><h1>{name}</h1>\n\
         <p>Optimizer {}, {} rounds, {:.0} s, {} model calls.</p>\n{}\n<h2>Held out</h2>\n<table><tr><th></th><th>attacks seen</th>\
         <th>honest texts passed</th></tr><tr><td>before</td><td>{:.3}</td><td>{:.3}</td></tr><tr><td>after</td><td>{:.3}</td>\
         <td>{:.3}</td></tr><tr><td>a list of phrases</td><td>{:.3}</td><td>{:.3}</td></tr></table>\n<h2>Lineage</h2>\n{}",
        summary.optimizer,
        summary.rounds.len().saturating_sub(1),
        summary.wall_s,
        summary.model_calls,
        curves(&summary.rounds)?,
        before.tpr,
        before.tnr,
        after.tpr,
        after.tnr,
        summary.held_out.heuristics.tpr,
        summary.held_out.heuristics.tnr,
        tree(&evolved.lineage),
        name = escape(name)
    );
    for (title, pool) in [("Attacks", &evolved.attacks), ("Defences", &evolved.defences)] {
        let _ = writeln!(page, "<h2>{title}</h2>");
        for candidate in pool {
            let _ = writeln!(
                page,
                "<p>{} ({:.3})</p><pre>{}</pre>",
                candidate.id,
                candidate.score,
                escape(&short(&candidate.text, 1_500))
            );
        }
    }
    page.push_str("</body></html>\n");
    Ok(page)
}

fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
