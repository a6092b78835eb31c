//! Writes observations into rows, and counts them.

use super::super::file::RowFile;
use super::Observation;
use std::collections::{BTreeMap, BTreeSet};
use toml_edit::{Item, Table, value};

/// What stands for all examples in a list of options.
const EXAMPLES: &str = "examples";

/// Counts over all rows.
#[derive(Default)]
pub struct Totals {
    /// Rows with an example whose effects were all seen.
    rows: usize,
    examples: (usize, usize),
    options: (usize, usize),
    /// How often an effect was not seen, by reason.
    reasons: BTreeMap<String, usize>,
}

impl Totals {
    /// Counts the observations of a row and enters them into its document. Prints each change that no effect claims: file,
    /// command line, change.
    pub fn add(&mut self, row: &mut RowFile, version: &str, observed: Vec<Observation>) {
        let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut seen = false;
        for observation in observed {
            let line = &observation.line;
            for event in &observation.beyond {
                let change = format!("{:?} {}", event.deed, event.target);
                println!("{}\t{}\t{change}", row.path.display(), line.command);
            }
            let (count, name) = match &line.option {
                // harmless options have nothing to be seen
                Some(added) if added.adds.is_empty() => continue,
                Some(added) => (&mut self.options, Some(added.names.clone())),
                None => (&mut self.examples, None),
            };
            count.1 += 1;
            match observation.missing {
                None => {
                    count.0 += 1;
                    seen |= name.is_none();
                }
                Some(reason) => {
                    *self.reasons.entry(reason.clone()).or_default() += 1;
                    missing.entry(reason).or_default().push(name.unwrap_or_else(|| EXAMPLES.to_owned()));
                }
            }
        }
        let table = row.document.as_table_mut();
        table.remove("observed");
        table.remove("unobserved");
        if seen {
            // an example that was not seen does not matter beside one that was
            missing.values_mut().for_each(|names| names.retain(|name| name != EXAMPLES));
            self.rows += 1;
            table.insert("observed", value(version));
        }
        let mut unobserved = Table::new();
        unobserved.set_dotted(true);
        for (reason, options) in missing.into_iter().filter(|(_, options)| !options.is_empty()) {
            let options: BTreeSet<String> = options.into_iter().collect();
            unobserved.insert(&reason, value(options.into_iter().collect::<Vec<_>>().join(", ")));
        }
        if !unobserved.is_empty() {
            table.insert("unobserved", Item::Table(unobserved));
        }
    }

    /// Prints the counts.
    pub fn print(&self, installed: usize) {
        println!("{} of {installed} installed rows have an observed example", self.rows);
        println!(
            "{} of {} examples and {} of {} options with an effect were observed",
            self.examples.0, self.examples.1, self.options.0, self.options.1
        );
        for (reason, times) in &self.reasons {
            println!("{times:6} {reason}");
        }
    }
}
