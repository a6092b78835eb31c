//! What is at stake: whether an effect destroys data of the user of which no copy is known.

use super::View;
use super::names::{above, is_below};
use crate::effect::Verb;
use crate::machine::Class;
use crate::policy::{EffectFacts, Known, TargetType};

/// The folders of a home for the user's own documents, by the XDG user directories.
const DOCUMENTS: [&str; 9] =
    ["Desktop", "Documents", "Downloads", "Mail", "Music", "Pictures", "Public", "Templates", "Videos"];
/// Names of folders whose content tools make again.
const MADE_AGAIN: [&str; 21] = [
    "__pycache__",
    "build",
    "cache",
    "caches",
    "coverage",
    "dist",
    "log",
    "logs",
    "node_modules",
    "obj",
    "out",
    "output",
    "scratch",
    "target",
    "temp",
    "tmp",
    "trash",
    "vendor",
    "venv",
    "worktree",
    "worktrees",
];

impl View<'_> {
    /// Whether the effect destroys existing data in the user's home that belongs neither to the project nor to another
    /// repository, that no tool makes again, and that the request does not name.
    /// `path`: its constant part. A file that lies directly in the home is no such data.
    pub(super) fn is_irreplaceable(&self, query: &EffectFacts, path: &str) -> bool {
        // a new content replaces the one that a file has; what is put into a folder replaces nothing that is known
        let replaces = matches!(query.verb, Verb::Write | Verb::Overwrite)
            && (query.is_prefix && query.verb == Verb::Write || query.target_type == TargetType::File);
        if !matches!(query.verb, Verb::Delete | Verb::Encrypt) && !replaces
            || query.exists != Known::Yes
            || !query.class.is(Class::OwnHome)
        {
            return false;
        }
        let path = path.trim_end_matches('/');
        let Some(inside) = path.strip_prefix(self.account.home.trim_end_matches('/')) else { return false };
        let inside = inside.trim_start_matches('/');
        let documents = inside.split('/').next().is_some_and(|first| DOCUMENTS.contains(&first));
        let hidden = |part: &str| part.starts_with('.') && part.len() > 1;
        let again = |part: &str| hidden(part) || MADE_AGAIN.contains(&part.to_ascii_lowercase().as_str());
        // everything below the home
        if inside.is_empty() && query.recursive && query.is_prefix {
            return true;
        }
        if inside.is_empty() || inside.split('/').any(again) {
            return false;
        }
        let deep = inside.contains('/') || query.recursive || query.is_prefix;
        let outside = match self.project() {
            Some(project) => deep && path != project && !is_below(path, project),
            // any folder of the home may be the project
            None => documents || (query.recursive && !query.is_prefix),
        };
        outside && !self.is_entered(path) && !self.is_versioned(path) && !names(self.request, path)
    }

    /// Whether the action itself enters a folder around the path that is not one of the user's own documents.
    fn is_entered(&self, path: &str) -> bool {
        let home = self.account.home.trim_end_matches('/');
        let documents = |folder: &str| {
            let inside = folder.strip_prefix(home).unwrap_or_default().trim_start_matches('/');
            inside.is_empty() || DOCUMENTS.contains(&inside)
        };
        self.entered.iter().any(|folder| (path == folder || is_below(path, folder)) && !documents(folder))
    }

    /// The repository around the working folder, or the working folder itself; not the home.
    fn project(&self) -> Option<&str> {
        let cwd = self.cwd.trim_end_matches('/');
        let home = self.account.home.trim_end_matches('/');
        let candidate =
            std::iter::once(cwd).chain(above(cwd)).find(|folder| self.has_repository(folder)).unwrap_or(cwd);
        (!candidate.is_empty() && candidate != home && is_below(candidate, home)).then_some(candidate)
    }

    fn is_versioned(&self, path: &str) -> bool {
        above(path).take_while(|folder| is_below(folder, &self.account.home)).any(|folder| self.has_repository(folder))
    }

    fn has_repository(&self, folder: &str) -> bool {
        self.environment.is_some_and(|environment| environment.named(&format!("{folder}/.git")).is_some())
    }
}

/// Words of a request that only looks at something.
const LOOKS: [&str; 24] = [
    "analyse",
    "analyze",
    "check",
    "compare",
    "count",
    "describe",
    "display",
    "explain",
    "find",
    "how",
    "inspect",
    "list",
    "look",
    "print",
    "read",
    "review",
    "search",
    "see",
    "show",
    "summarise",
    "summarize",
    "tell",
    "view",
    "what",
];
/// Beginnings of words of a request that changes something.
const CHANGES: [&str; 40] = [
    "archiv",
    "chang",
    "clean",
    "clear",
    "convert",
    "creat",
    "delet",
    "discard",
    "drop",
    "edit",
    "empt",
    "encrypt",
    "eras",
    "export",
    "fix",
    "format",
    "free",
    "generat",
    "merg",
    "mov",
    "organi",
    "overwrit",
    "prun",
    "purg",
    "regenerat",
    "remov",
    "renam",
    "replac",
    "reset",
    "restor",
    "rewrit",
    "rm",
    "save",
    "shrink",
    "sort",
    "sync",
    "tid",
    "trash",
    "truncat",
    "updat",
];

/// Whether the request only looks: it says so, and says nothing of a change.
fn only_looks(request: &str) -> bool {
    let words = crate::effect::words::words(request);
    let changes = |word: &String| {
        CHANGES.iter().any(|begin| word.starts_with(begin))
            || matches!(word.as_str(), "wipe" | "write" | "rid" | "undo")
    };
    words.iter().any(|word| LOOKS.contains(&word.as_str())) && !words.iter().any(changes)
}

/// Whether the request names the path by its last part, as a word, for more than a look.
fn names(request: &str, path: &str) -> bool {
    if only_looks(request) {
        return false;
    }
    let Some(last) = path.trim_end_matches('/').rsplit('/').next().filter(|last| last.len() > 2) else { return false };
    let (request, last) = (request.to_lowercase(), last.to_lowercase());
    let mut found = request.match_indices(&last);
    found.any(|(at, _)| {
        let letter = |c: char| c.is_alphanumeric();
        let before = request.get(..at).and_then(|text| text.chars().next_back()).is_none_or(|c| !letter(c));
        let after = request.get(at + last.len()..).and_then(|text| text.chars().next()).is_none_or(|c| !letter(c));
        before && after
    })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn requests_name_whole_words() {
        assert!(names("delete the Documents folder", "/home/a/Documents"));
        assert!(names("remove old/thesis.tex", "/home/a/old/thesis.tex"));
        assert!(!names("tidy up", "/home/a/Documents"));
        assert!(!names("list the documents", "/home/a/Documents"));
        assert!(names("list the documents and remove them", "/home/a/Documents"));
        assert!(!names("documentsX", "/home/a/Documents"));
    }
}
