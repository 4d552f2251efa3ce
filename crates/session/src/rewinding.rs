//! `:Flemma rewind`: back to a turn of the chat, with its files, its text, or both.

use chat::cycle::{Level, Notice};
use tools::checkpoints::{Request, Restore};

use crate::form::Prompts;
use crate::restoring::{Restoring, files};

/// A message of the user, and where it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatTurn {
    /// Its number; the first is 1.
    pub(crate) number: usize,
    /// Its first words.
    pub(crate) title: String,
    /// Its first line.
    pub(crate) start: usize,
    /// The line below it.
    pub(crate) end: usize,
    /// Number of lines of the chat.
    pub(crate) lines: usize,
    /// Ids of the calls below it, with the numbers of their turns.
    pub(crate) calls: Vec<(String, usize)>,
}

/// A chat that is rewound.
pub(crate) struct Rewinding {
    pub(crate) turns: Vec<ChatTurn>,
    pub(crate) restoring: Restoring,
    /// Cuts the chat below a message, and shows what was restored.
    pub(crate) cut: Box<dyn Fn(ChatTurn, Option<String>) + Send + Sync>,
}

/// The user's choice.
#[derive(Debug, Clone, Copy)]
enum Choice {
    Rewind {
        /// True if files are restored.
        files: bool,
        /// True if files that have changed since are restored too.
        overwrite: bool,
        /// True if the chat is cut.
        cut: bool,
    },
    /// Show the diff of the file at this index.
    Diff(usize),
    Leave,
}

impl Rewinding {
    /// Asks for a turn and what to rewind, and does it.
    pub(crate) async fn run(self) {
        let (level, text) = match self.rewind().await {
            Ok(None) => return,
            Ok(Some(text)) => (Level::Info, text),
            Err(text) => (Level::Error, text),
        };
        self.restoring.editor.notify(&Notice { level, text });
    }

    async fn rewind(&self) -> Result<Option<String>, String> {
        let Some(turn) = self.pick().await else {
            return Ok(None);
        };
        let request = Request::Turns {
            from: turn.number,
            calls: turn.calls.clone(),
        };
        let restore = self.plan(&request).await;
        let Choice::Rewind {
            files,
            overwrite,
            cut,
        } = self.ask(turn, restore.as_ref()).await
        else {
            return Ok(None);
        };
        let report = match restore.filter(|_| files) {
            Some(restore) => Some(self.restoring.apply(&request, restore, overwrite).await?),
            None => None,
        };
        // Only after the files: if these cannot be restored, the chat still shows their calls.
        if cut {
            (self.cut)(turn.clone(), report);
            return Ok(None);
        }
        Ok(report)
    }

    /// Plans the restore. Without checkpoints, the chat can still be cut.
    async fn plan(&self, request: &Request) -> Option<Restore> {
        let planned = self.restoring.plan(request).await;
        planned.unwrap_or_else(|text| {
            let level = Level::Warning;
            self.restoring.editor.notify(&Notice { level, text });
            None
        })
    }

    /// Lets the user pick a turn, the latest first.
    async fn pick(&self) -> Option<&ChatTurn> {
        let prompts = self.restoring.editor.prompts(self.restoring.buffer);
        // Nothing follows the last message, so there is nothing to rewind to it.
        let turns: Vec<&ChatTurn> = self.turns.iter().filter(|it| it.end < it.lines).collect();
        if turns.is_empty() {
            let (level, text) = (Level::Info, "There is no earlier message.".to_owned());
            self.restoring.editor.notify(&Notice { level, text });
            return None;
        }
        let title = |it: &&ChatTurn| format!("{}  (message {})", it.title, it.number);
        let items: Vec<String> = turns.iter().rev().map(title).collect();
        let at = prompts.choose("Rewind to which message?", &items).await?;
        turns.into_iter().rev().nth(at)
    }

    /// Lists what would change until the user decides.
    async fn ask(&self, turn: &ChatTurn, restore: Option<&Restore>) -> Choice {
        let prompts = self.restoring.editor.prompts(self.restoring.buffer);
        let (items, choices) = items(restore);
        let title = format!("Rewind to: {}", turn.title);
        loop {
            let chosen = prompts.choose(&title, &items).await;
            // A user who leaves the list chooses nothing.
            let choice = chosen.and_then(|at| choices.get(at).copied());
            match (choice.unwrap_or(Choice::Leave), restore) {
                (Choice::Diff(at), Some(restore)) => self.restoring.show_diff(restore, at),
                (choice, _) => return choice,
            }
        }
    }
}

/// Returns the items of the list: the actions, then each file, which shows its diff.
fn items(restore: Option<&Restore>) -> (Vec<String>, Vec<Choice>) {
    let (mut items, mut choices) = (Vec::new(), Vec::new());
    let mut offer = |text: String, choice| {
        items.push(text);
        choices.push(choice);
    };
    if let Some(restore) = restore {
        offer_files(restore, &mut offer);
    }
    let cut = Choice::Rewind {
        files: false,
        overwrite: false,
        cut: true,
    };
    offer("Cut the chat; u brings it back".to_owned(), cut);
    offer("Leave everything as it is".to_owned(), Choice::Leave);
    let lines = restore.map(Restore::lines).unwrap_or_default();
    for (at, line) in lines.into_iter().enumerate() {
        offer(line, Choice::Diff(at));
    }
    (items, choices)
}

/// Offers to change files, each time with and without cutting the chat.
fn offer_files(restore: &Restore, offer: &mut impl FnMut(String, Choice)) {
    let rewind = |overwrite, cut| Choice::Rewind {
        files: true,
        overwrite,
        cut,
    };
    let changes = restore.changes().count();
    if changes > 0 {
        let text = format!("Restore {}", files(changes));
        offer(format!("{text} and cut the chat"), rewind(false, true));
        offer(text, rewind(false, false));
    }
    let conflicts = restore.conflicts().count();
    if conflicts > 0 {
        let text = format!("Also overwrite {} that changed since", files(conflicts));
        offer(format!("{text}, and cut the chat"), rewind(true, true));
        offer(
            format!("{text}; :Flemma redo brings that back"),
            rewind(true, false),
        );
    }
}
