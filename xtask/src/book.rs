//! The documentation as a book: `docs/` as HTML in `target/book`.

use anyhow::{Context as _, Result, bail};
use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use std::path::{Path, PathBuf};

/// Options of `xtask book`.
#[derive(clap::Args)]
pub struct Options {
    /// Folder with `book.toml`
    #[arg(default_value = "docs")]
    folder: PathBuf,
}

/// Builds the book.
///
/// # Errors
/// If a chapter is missing or the book cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let book = MDBook::load(&options.folder).context("the book cannot be read")?;
    let out = book.build_dir_for("html");
    book.build().context("the book cannot be built")?;
    let chapters: Vec<PathBuf> = book.iter().filter_map(chapter).map(|path| page(&out, &path)).collect();
    if let Some(missing) = chapters.iter().find(|page| !page.is_file()) {
        bail!("the book has no {}", missing.display());
    }
    println!("{} chapters in {}", chapters.len(), out.canonicalize().context("the book was not written")?.display());
    Ok(())
}

fn chapter(item: &BookItem) -> Option<PathBuf> {
    match item {
        BookItem::Chapter(chapter) => chapter.path.clone(),
        _ => None,
    }
}

fn page(out: &Path, path: &Path) -> PathBuf {
    out.join(path.with_extension("html"))
}
