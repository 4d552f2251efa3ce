//! What the user said and the chat does not hold yet, beyond the end of Neovim: written
//! as soon as it is said, and put into the prompt when the chat is opened again.

use std::path::PathBuf;

use chat::Problem;
use chat::cycle::Event;

use super::Session;
use crate::state_dir;
use crate::unsaid;

/// What is known of the file with these words.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The chat for which it was looked at.
    path: Option<PathBuf>,
    /// What stands in it.
    texts: Vec<String>,
    /// Whether the user knows that it cannot be written.
    told: bool,
}

impl Session {
    /// Brings the file up to what waits now. Only where the chat is ours: the words of
    /// another program are its own.
    pub(super) fn keep_words(&mut self) {
        if self.editor.is_headless() || self.buffer.loading.is_some() || !self.has_chat() {
            return;
        }
        if self.disk.kept.path != self.disk.path {
            self.change_file();
        }
        let texts = self.unsaid();
        if texts != self.disk.kept.texts {
            self.write_words(texts);
        }
    }

    fn change_file(&mut self) {
        if !self.disk.kept.texts.is_empty() {
            // They go where the chat went.
            self.write_words(Vec::new());
        }
        self.disk.kept.path.clone_from(&self.disk.path);
        let Some(path) = &self.disk.path else { return };
        match unsaid::find(&state_dir::path(), path) {
            Ok(texts) => self.find_words(texts),
            Err(place) => self.editor.report_problem(&Problem::new(
                format!("Words that were kept for this chat cannot be read; they are in {place}."),
                "",
            )),
        }
    }

    /// They are from a Neovim that ended, or from a host of this one that did.
    fn find_words(&mut self, texts: Vec<String>) {
        let mut here = self.unsaid();
        self.disk.kept.texts.clone_from(&texts);
        let lost = texts.into_iter().filter(|text| {
            let at = here.iter().position(|it| it == text);
            at.map(|at| here.swap_remove(at)).is_none()
        });
        let lost: Vec<String> = lost.collect();
        let what = match lost.len() {
            0 => return,
            1 => "A message that was not sent stands".to_owned(),
            count => format!("{count} messages that were not sent stand"),
        };
        self.inform(&format!(
            "{what} in the prompt again. Ctrl-] sends, u takes away."
        ));
        self.queue.push(Event::TakeBack(lost));
    }

    fn write_words(&mut self, texts: Vec<String>) {
        let Some(path) = &self.disk.kept.path else {
            return;
        };
        let written = unsaid::keep(&state_dir::path(), path, &texts);
        self.disk.kept.texts = texts;
        if let Err(error) = written
            && !std::mem::replace(&mut self.disk.kept.told, true)
        {
            self.editor.report_problem(&Problem::new(
                format!(
                    "What you said cannot be kept in {} ({error}), so it is lost if Neovim ends before it is sent.",
                    state_dir::path().display()
                ),
                "Make room or mend its permissions.",
            ));
        }
    }

    /// What was said and does not stand in the chat, in order.
    fn unsaid(&self) -> Vec<String> {
        let known = self.cycle.steering().iter().cloned();
        let known = known.chain(self.cycle.follow_ups().map(str::to_owned));
        let coming = self.queue.iter().flat_map(|event| match event {
            Event::Steer(text) | Event::FollowUp(text) => std::slice::from_ref(text),
            Event::TakeBack(texts) => texts,
            _ => &[],
        });
        known.chain(coming.cloned()).collect()
    }
}
