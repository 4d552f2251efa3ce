//! Opens the chat: locks and reads its file, and sends the options and the text to the host.

use std::path::{Path, PathBuf};

use chat::approval::Policy;
use chat::document::Document;
use serde_bytes::ByteBuf;
use serde_json::Value;
use session::frontend::buffer::TextBuffer;
use session::protocol::*;

use super::file::ChatFile;
use super::reported::ReportedBlocks;
use super::{BUFFER, HeadlessRun};

impl HeadlessRun {
    /// Sends the options to the host.
    pub(super) fn configure(
        &mut self,
        options: Value,
        file: Option<PathBuf>,
        fixed: Vec<&'static str>,
        approve: Policy,
    ) {
        self.host.receive(FromEditor::Configure(Configure {
            options,
            file,
            fixed,
            // `config::load` has reported problems.
            reported: true,
            caller: None,
            resolvers: Resolvers {
                command_line: CommandLineApproval {
                    policy: approve,
                    yes: self.asked.are_approved(),
                },
                ..Resolvers::default()
            },
        }));
    }

    /// Opens an existing chat, or creates one for `message`, which is added to it.
    pub(super) fn open_file(&mut self, path: &Path, message: Option<&str>) -> Result<(), String> {
        let shown = path.display();
        self.stored.lock(path)?;
        let (file, text) =
            ChatFile::open(path).map_err(|error| format!("{shown} cannot be read: {error}."))?;
        if text.is_none() && message.is_none() {
            return Err(format!(
                "There is no file {shown}, so nothing was sent. Begin a chat with -m \"your message\"."
            ));
        }
        self.stored.read_from(file);
        self.buffer = TextBuffer::new(BUFFER, text.unwrap_or_default());
        // Earlier calls and results of the chat are not printed again.
        self.reported = ReportedBlocks::all(&Document::parse(self.buffer.text()));
        self.attach();
        if let Some(message) = message {
            let document = Document::parse(self.buffer.text());
            let edit = chat::say::say_with_references(&document, message);
            self.type_lines(edit.lines, &edit.replacement);
        }
        Ok(())
    }

    /// Sets the file of a new chat, which must not exist.
    pub(super) fn keep_in(&mut self, path: &Path) -> Result<(), String> {
        let shown = path.display();
        self.stored.lock(path)?;
        match ChatFile::open(path) {
            Ok((file, None)) => {
                self.stored.keep_in(file);
                Ok(())
            }
            Ok(_) => Err(format!(
                "{shown} exists, so nothing was run. Name another file."
            )),
            Err(error) => Err(format!("{shown} cannot be written: {error}.")),
        }
    }

    /// Sends the chat to the host, as a buffer.
    pub(super) fn attach(&mut self) {
        let path = self.stored.path().map(Path::to_string_lossy);
        let folder = self.stored.folder();
        let cwd = std::env::current_dir().unwrap_or_else(|_| folder.to_owned());
        self.host.receive(FromEditor::Attach(Attach {
            buffer: BUFFER,
            path: path.unwrap_or_default().into_owned(),
            cwd: cwd.to_string_lossy().into_owned(),
            reason: "open".to_owned(),
            // There is no window, and previews are printed in lines of this width.
            width: 80,
            interrupted: Vec::new(),
            streaming: false,
            queued: Vec::new(),
            process: std::process::id(),
            came: if self.buffer.text().bytes().is_empty() {
                Came::Empty
            } else {
                Came::Read
            },
            modified: false,
        }));
        self.host.receive(FromEditor::Snapshot(Snapshot {
            buffer: BUFFER,
            seq: self.buffer.seq(),
            text: Some(ByteBuf::from(self.buffer.text().bytes().to_vec())),
            lines: Vec::new(),
            done: true,
        }));
    }
}
