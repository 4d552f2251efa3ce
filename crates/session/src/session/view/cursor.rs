//! Where the cursor moves.

use chat::document::Document;

use super::View;
use crate::protocol::{Cursor, Display};
use crate::session::ctx::Ctx;

impl View {
    /// Moves the cursor to a prompt or a block, where the user follows the chat. A direct
    /// answer to a key (`asked`) also moves a cursor that is still where the key was.
    pub(in crate::session) fn move_cursor(
        &self,
        ctx: &Ctx,
        line: usize,
        insert: bool,
        asked: bool,
    ) {
        // Above the prompt are its marker, a blank line, and the answer's last line.
        let from = insert.then(|| line.saturating_sub(3));
        show_cursor(
            ctx,
            Cursor {
                insert: insert && self.last_key().is_insert,
                asked,
                from,
                to: block_end(&ctx.buffer.document(), line),
                ..self.cursor_at(ctx, line)
            },
        );
    }

    /// Moves the cursor to the end if it is in the last message, so that the window follows
    /// the answer.
    pub(in crate::session) fn follow_answer(&self, ctx: &Ctx, document: &Document<'_>) {
        let from = document.messages.last().map(|last| last.lines.start);
        show_cursor(
            ctx,
            Cursor {
                from,
                ..self.cursor_at(ctx, document.text().line_count() - 1)
            },
        );
    }

    fn cursor_at(&self, ctx: &Ctx, line: usize) -> Cursor {
        Cursor {
            buffer: ctx.buffer.id(),
            line,
            column: 0,
            window: self.last_key().window,
            insert: false,
            asked: false,
            from: None,
            to: None,
        }
    }
}

fn show_cursor(ctx: &Ctx, cursor: Cursor) {
    ctx.editor.show(Display::Cursor(cursor));
}

/// Returns the last line of the result block that starts on `line`.
fn block_end(document: &Document<'_>, line: usize) -> Option<usize> {
    document.turn_at(line).and_then(|turn| {
        let mut results = turn.calls.iter().filter_map(|call| call.result);
        results
            .find(|result| result.lines.start == line)
            .map(|result| result.lines.end - 1)
    })
}
