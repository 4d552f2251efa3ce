//! Collects what the user's text refers to in the editor, the Git repository, and MCP servers,
//! before the request is built: `@diagnostics`, `@quickfix`, `@symbols`, `@diff`, `@buffer:NAME`,
//! and `@server:uri`.

mod listing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chat::references::{ContextSource, DiffScope, Piece};
use futures::future::join_all;
use mcp::configured::Servers;
use platform::paths::canonicalize;
use policy::references::{BufferFile, ContextContent, ContextText, Contexts, MAX_BYTES, Resource};
use tools::{GitDiff, GitProblem, Secrets, git_diff, without_secrets};

use self::listing::{Listing, diagnostics, quickfix, symbols};
use crate::editor::Editor;
use crate::protocol::{BufferId, ReferenceAnswer};

/// The content of a reference, as the editor, Git, or a server returned it.
enum Found {
    /// From Git.
    Diff(Result<GitDiff, GitProblem>),
    /// From the editor.
    Editor(ReferenceAnswer),
    /// From an MCP server.
    Resource(Resource),
    /// Text that only looks like a reference, because no MCP server has that name; with a hint if
    /// there are servers.
    Prose(Option<String>),
    /// Why there is nothing.
    Nothing(String),
}

/// The content of a chat's references. Secrets are still in it.
#[derive(Default)]
pub(super) struct Collected(BTreeMap<ContextSource, Found>);

/// The places in which the references of a chat are looked up.
pub(super) struct ContextPlaces {
    /// The chat's buffer.
    pub(super) buffer: BufferId,
    /// Its editor.
    pub(super) editor: Editor,
    /// The working directory, whose changes `@diff` shows.
    pub(super) folder: PathBuf,
    /// The chat's folder, whose project may configure servers.
    pub(super) chat: PathBuf,
    /// The MCP servers.
    pub(super) servers: Servers,
}

impl ContextPlaces {
    /// Asks the editor, Git, and servers, once for each thing that is named and all at the same time.
    pub(super) async fn collect(&self, pieces: impl Iterator<Item = &Piece>) -> Collected {
        // Two mentions must get the same answer, and Git takes its time.
        let sources: BTreeSet<&ContextSource> = pieces
            .filter_map(|piece| match piece {
                Piece::Context { source, .. } => Some(source),
                _ => None,
            })
            .collect();
        let found = join_all(sources.iter().map(|source| self.find(source))).await;
        let sources = sources.into_iter().cloned();
        Collected(sources.zip(found).collect())
    }

    async fn find(&self, source: &ContextSource) -> Found {
        match source {
            ContextSource::Diff(DiffScope::Unknown(_)) => Found::Nothing(
                "is not a known diff. Write @diff, @diff:staged, or @diff:unstaged; a backslash before \
                 it makes it text."
                    .to_owned(),
            ),
            ContextSource::Diff(scope) => {
                Found::Diff(git_diff(&self.folder, scope, MAX_BYTES).await)
            }
            ContextSource::Diagnostics => self.ask("diagnostics", String::new()).await,
            ContextSource::Quickfix => self.ask("quickfix", String::new()).await,
            ContextSource::Symbols => self.ask("symbols", String::new()).await,
            ContextSource::Buffer(name) => self.ask("buffer", name.clone()).await,
            ContextSource::Resource { server, uri } if !self.servers.knows(server, &self.chat) => {
                let known = self.servers.with_resources().join(", ");
                Found::Prose((!known.is_empty()).then(|| {
                    format!(
                        "@{server}:{uri} is sent as text, because no MCP server has that name. Servers: {known}."
                    )
                }))
            }
            ContextSource::Resource { server, uri } => match self.read(server, uri).await {
                Ok(resource) => Found::Resource(resource),
                Err(why) => Found::Nothing(why),
            },
        }
    }

    /// Reads a resource of an MCP server.
    pub(super) async fn read(&self, server: &str, uri: &str) -> Result<Resource, String> {
        let read = self.servers.read(server, uri).await?;
        Ok(Resource {
            bytes: read.bytes,
            mime: read.mime,
        })
    }

    async fn ask(&self, kind: &'static str, name: String) -> Found {
        if self.editor.is_headless() {
            let why = "exists only in Neovim. Remove it, or send this chat from there; a backslash \
                       before it makes it text.";
            return Found::Nothing(why.to_owned());
        }
        match self
            .editor
            .refer(self.buffer, kind, name, &self.folder)
            .await
        {
            Some(answer) => Found::Editor(answer),
            None => Found::Nothing("is not available, because Neovim did not answer.".to_owned()),
        }
    }
}

impl Collected {
    /// Returns the texts as they are sent, and warnings about what is left out or not found. Blocking.
    pub(super) fn texts(self, folder: &Path, secrets: &Secrets) -> (Contexts, Vec<String>) {
        let mut warnings = Vec::new();
        let texts = self.0.into_iter().map(|(source, found)| {
            let text = match (&source, found) {
                (_, Found::Nothing(why)) => Err(why),
                (_, Found::Prose(hint)) => {
                    warnings.extend(hint);
                    Ok(ContextContent::Prose)
                }
                (_, Found::Diff(Err(why))) => Err(why.to_string()),
                (_, Found::Resource(resource)) => Ok(ContextContent::Resource(resource)),
                (_, Found::Diff(Ok(diff))) => {
                    let text = diff_text(&diff, folder, secrets, &mut warnings);
                    Ok(ContextContent::Text(text))
                }
                (
                    _,
                    Found::Editor(ReferenceAnswer {
                        problem: Some(why), ..
                    }),
                ) => Err(why),
                (ContextSource::Buffer(_), Found::Editor(answer)) => {
                    buffer(answer, secrets).map(ContextContent::Text)
                }
                (ContextSource::Quickfix, Found::Editor(answer)) => {
                    Ok(listed(quickfix(&answer, folder, secrets), &mut warnings))
                }
                (ContextSource::Symbols, Found::Editor(answer)) => {
                    Ok(listed(symbols(&answer, folder, secrets), &mut warnings))
                }
                (_, Found::Editor(answer)) => {
                    Ok(listed(diagnostics(&answer, folder, secrets), &mut warnings))
                }
            };
            (source, text)
        });
        let texts = texts.collect();
        (texts, warnings)
    }
}

fn diff_text(
    diff: &GitDiff,
    folder: &Path,
    secrets: &Secrets,
    warnings: &mut Vec<String>,
) -> ContextText {
    let mut shown = without_secrets(diff, secrets);
    // The model's tools start from the folder of the chat.
    if canonicalize(folder).is_ok_and(|it| it != diff.folder) {
        let line = format!("Paths are relative to {}.\n", diff.folder.display());
        shown.text.insert_str(0, &line);
    }
    if !shown.left_out.is_empty() {
        warnings.push(format!(
            "The diff is sent without files that may be secret: {}.",
            // File names come from the repository, and a control character in one could hide the
            // rest.
            shown.left_out.join(", ").escape_debug()
        ));
    }
    ContextText {
        text: shown.text,
        language: "diff".to_owned(),
        file: None,
    }
}

fn listed(listing: Listing, warnings: &mut Vec<String>) -> ContextContent {
    if let Some(warning) = listing.warning {
        warnings.push(warning);
    }
    ContextContent::Text(ContextText {
        text: listing.text,
        language: String::new(),
        file: None,
    })
}

fn buffer(answer: ReferenceAnswer, secrets: &Secrets) -> Result<ContextText, String> {
    // Such as `fugitive:///home/ada/project/.git//0/.env`: it has no file that could be allowed.
    let inner = answer.name.split_once("://").map(|(_, path)| path);
    if let Some(secret) = inner.and_then(|path| secrets.find(&Path::new("/").join(path))) {
        return Err(format!("is not sent, because {secret}."));
    }
    Ok(ContextText {
        text: answer.text,
        language: answer.language,
        file: answer.path.map(|path| BufferFile {
            path: PathBuf::from(path),
            is_modified: answer.modified,
        }),
    })
}
