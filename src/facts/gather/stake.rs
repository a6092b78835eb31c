//! What is at stake: whether an effect destroys data of the user of which no copy is known.

use super::View;
use super::asked::{asks_to_delete_files, asks_to_mirror, names};
use super::names::{above, is_below};
use super::recovery::is_made_again;
use crate::effect::{UNKNOWN_SPAN, Verb};
use crate::machine::Class;
use crate::policy::{EffectFacts, Known, TargetType};

/// The folders of a home for the user's own documents, by the XDG user directories.
const DOCUMENTS: [&str; 9] =
    ["Desktop", "Documents", "Downloads", "Mail", "Music", "Pictures", "Public", "Templates", "Videos"];
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
        let again = |part: &str| hidden(part) || is_made_again(part);
        // everything below the home
        if inside.is_empty() && query.recursive && query.is_prefix {
            return true;
        }
        // files of a kind, at any depth
        if inside.is_empty() && query.verb == Verb::Delete && query.name.contains(&format!("/{UNKNOWN_SPAN}")) {
            return !query.name.rsplit('/').next().is_some_and(is_made_again) && !asks_to_delete_files(self.request);
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
        // a request for a copy does not ask for deletions
        let named = names(self.request, path) && (query.operation != "mirror" || asks_to_mirror(self.request));
        outside && !self.is_entered(path) && !self.is_versioned(path) && !named
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
