--- What the host has the plugin draw in a chat and beside it: the part of |flemma.protocol|
--- that is in `protocol/drawn.rs` and `protocol/folds.rs` on the other side.
---@meta

---@class flemma.protocol.Mark
---@field id string The call's id.
---@field line integer Where the preview hangs: the opening fence.
---@field call_line integer? The header of the call, of one that waits.
---@field header_line integer? Where the state stands: the result's header.
---@field preview string?
---@field state "pending"|"running"|"asking"|"done"|"failed"|nil
---@field label string?
---@field detail string? Behind the label, less prominent.
---@field again integer? Counts the calls of the buffer that had to be shown again.
---@field elapsed_ms integer?
---@field output string[]? The last lines of live output.

---@class flemma.protocol.Marks
---@field buffer integer
---@field items flemma.protocol.Mark[] All marks of the buffer.

---@class flemma.protocol.Request
---@field buffer integer
---@field state "idle"|"waiting"|"thinking"|"streaming"|"stalled"
---@field label string?
---@field anchor_line integer? Below the last line of the buffer when absent.
---@field elapsed_ms integer?

---@class flemma.protocol.Queued The model's tasks, and all that the user said and that is not in the chat yet.
---@field buffer integer
---@field line integer The last, below which it is shown.
---@field items flemma.protocol.QueuedItem[] In the order in which it is said.
---@field tasks flemma.protocol.TaskItem[] The model's list of tasks, above that.

---@class flemma.protocol.TaskItem
---@field text string
---@field status "pending"|"in_progress"|"completed"

---@class flemma.protocol.QueuedItem
---@field text string As it was typed.
---@field when "next"|"later" As soon as possible, or when the model is done.

---@class flemma.protocol.Spans
---@field buffer integer
---@field seq integer
---@field first integer
---@field last integer
---@field lines table[] For each line from `first`: a list of { start, end, group }; end -1 is the whole line.

---@class flemma.protocol.Folds What can be folded, where that differs from what was sent before.
---@field buffer integer
---@field seq integer The text that the lines are of.
---@field enabled boolean Whether there are folds at all; otherwise all are deleted.
---@field opening boolean Whether all folds of the text are being sent, to be made anew.
---@field parts flemma.protocol.FoldPart[]

---@class flemma.protocol.FoldPart Lines, and all folds that begin in them.
---@field first integer
---@field last integer
---@field items table[] { first, last, inner, closed, group, label, text }, the outer one first.

---@class flemma.protocol.Unfold Every fold around these lines is to be open.
---@field buffer integer
---@field lines integer[]

---@class flemma.protocol.Diagnostics
---@field buffer integer
---@field items { line: integer, end_line: integer?, message: string, severity: string, fix: string? }[]

---@class flemma.protocol.Statusline
---@field buffer integer
---@field text string
