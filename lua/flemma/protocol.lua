--- The messages that the plugin and the host exchange: the module that handles each of
--- the host's, and the types that Lua reads.
---
--- `protocol.rs` in the host documents every field. All messages are notifications. Lines
--- are zero-based and end-exclusive, columns are bytes. `seq` counts the text changes of
--- one buffer.
---@class flemma.protocol
local M = {}

--- Version of the messages, compared by `hello` and `welcome`.
M.VERSION = 2

--- Host to Lua: the module with a function of the message's name.
M.RECEIVERS = {
  apply = "flemma.apply",
  append = "flemma.apply",
  release_anchor = "flemma.apply",
  lock = "flemma.lock",
  cursor = "flemma.follow",
  marks = "flemma.render",
  request = "flemma.render",
  queued = "flemma.queued",
  sent = "flemma.sent",
  spans = "flemma.spans",
  folds = "flemma.folds",
  unfold = "flemma.folds",
  fold_above = "flemma.folds",
  diagnostics = "flemma.diagnostics",
  ask = "flemma.functions",
  tool_call = "flemma.tools.calls",
  tool_stop = "flemma.tools.calls",
  command_ended = "flemma.tools.calls",
  open_text = "flemma.files",
  replace_text = "flemma.files",
  check_files = "flemma.files",
  find_problems = "flemma.problems",
  open = "flemma.report",
  rename = "flemma.rename",
  report = "flemma.report",
  notify = "flemma.notices",
  event = "flemma.notices",
  visit = "flemma.notices",
  statusline = "flemma.status",
  looked_up = "flemma.lookup",
  usage = "flemma.usage",
  choices = "flemma.switch",
  taken = "flemma.lease",
  prompt = "flemma.prompts",
  reference = "flemma.references",
  review = "flemma.review",
  review_closed = "flemma.review",
  decision = "flemma.decision",
  save = "flemma.autosave",
}

--- Messages that change a chat or refer to its lines. They keep their order in each
--- buffer, also while one of them has to wait.
M.IN_ORDER = vim.split(
  "apply append release_anchor lock cursor marks request queued sent spans folds unfold fold_above diagnostics",
  " "
)

--- Messages that replace what is shown, so that handling one twice does no harm.
M.SHOWN = {
  lock = true,
  marks = true,
  request = true,
  queued = true,
  spans = true,
  folds = true,
  diagnostics = true,
  statusline = true,
}

-- Messages from Lua to the host, and parts of them.

---@alias flemma.protocol.Resolvers { items: flemma.protocol.Resolver[], without: string[] }
---@alias flemma.protocol.Resolver { name: string, priority: integer, closed: boolean, from_options: boolean }
---@alias flemma.protocol.ShownAgain { again: integer, for_ms: integer }
---@alias flemma.protocol.Answer { ok: boolean, value: any, kind: string, message: string? }
---@alias flemma.protocol.Tools { items: flemma.protocol.Tool[], loading: boolean }

---@class flemma.protocol.Applied
---@field buffer integer
---@field edit integer
---@field outcome "applied"|"stale"|"lost"|"moved"|"failed"
---@field seq integer After the edit.
---@field message string? Why it failed.
---@field at_row integer? Where an `append` began.
---@field at_column integer?

---@class flemma.protocol.BuffersAnswered
---@field open boolean? For `open_text`: whether a buffer holds the file.
---@field text string? The buffer's text; for `replace_text` only with a `difference`.
---@field modified boolean?
---@field ok boolean? For `replace_text`.
---@field saved boolean?
---@field bytes integer? The size of the text, or of the file once it is saved.
---@field difference string? What the user's autocommands changed while it was saved.
---@field conflict boolean? Whether an unsaved buffer's file changed on disk.
---@field message string?

---@class flemma.protocol.FoundProblem
---@field kind "syntax"|"error"|"warning"
---@field line integer
---@field text string The text of the line.
---@field message string

---@alias flemma.protocol.ProblemsFound { ask: integer, before: flemma.protocol.FoundProblem[], after: flemma.protocol.FoundProblem[] }

---@class flemma.protocol.ReferenceAnswer
---@field problem string? Why there is nothing: the rest of a sentence that begins with the reference.
---@field items flemma.protocol.ReferenceItem[]? Diagnostics, entries of the quickfix list, symbols, or buffers.
---@field total integer? How many items there are, if not all were sent.
---@field title string? That of the quickfix list.
---@field text string? That of a buffer.
---@field path string? The file of a buffer.
---@field name string? The name of a buffer.
---@field language string? The file type of a buffer.
---@field modified boolean? Whether a buffer's text is not in its file.

---@alias flemma.protocol.ReferenceItem { path: string?, name: string, line: integer, column: integer, kind: string, text: string }

---@class flemma.protocol.Tool: flemma.tools.Definition
---@field execute integer? Number of the function, see |flemma.callbacks|.
---@field preview integer?
---@field rejected integer?

-- Messages from the host to Lua, and parts of them.

---@alias flemma.protocol.Visit { url: string }
---@alias flemma.protocol.Welcome { protocol: integer, version: string }
---@alias flemma.protocol.Change { first: integer, last: integer, lines: string[] }
---@alias flemma.protocol.Anchor { anchor: integer, line: integer, column: integer }
---@alias flemma.protocol.ReleaseAnchor { buffer: integer, anchor: integer }
---@alias flemma.protocol.Lock { buffer: integer, locked: boolean }
---@alias flemma.protocol.Taken { buffer: integer, elsewhere: boolean }
---@alias flemma.protocol.Notify { buffer: integer?, level: "info"|"warn"|"error", message: string }
---@alias flemma.protocol.Event { name: string, data: table } A `User` autocommand.
---@alias flemma.protocol.FoldAbove { buffer: integer, line: integer }
---@alias flemma.protocol.Unfold { buffer: integer, lines: integer[] }
---@alias flemma.protocol.Report { title: string, lines: string[], files: {[1]: integer, [2]: string}[]?, buffer: integer?, places: {[1]: integer, [2]: integer}[]?, jobs: {[1]: integer, [2]: string}[]?, is_update: boolean? }
---@alias flemma.protocol.Review { ask: integer, buffer: integer, call: string, subject: "call"|"turn"|"summary", text: string, note: string?, problems: { line: integer, message: string }[] }
---@alias flemma.protocol.Save { buffer: integer }
---@alias flemma.protocol.Decision { buffer: integer, id: string, number: integer, least_ms: integer, refresh: boolean?, lines: { [1]: string, [2]: string }[] }
---@alias flemma.protocol.ReviewClosed { buffer: integer, call: string }
---@alias flemma.protocol.Open { name: string, lines: string[], advance: boolean }
---@alias flemma.protocol.Ask { ask: integer, calls: flemma.protocol.FunctionCall[] }
---@alias flemma.protocol.FunctionCall { functions: integer[], arguments: any[] }
---@alias flemma.protocol.LookedUp { lookup: integer, result: any } As the result of a language server.
---@alias flemma.protocol.OpenText { ask: integer, path: string }
---@alias flemma.protocol.Reference { ask: integer, buffer: integer, kind: string, name: string, folder: string }
---@alias flemma.protocol.Prompt { ask: integer, title: string, items: string[]?, initial: string? }
---@alias flemma.protocol.Marks { buffer: integer, items: flemma.protocol.Mark[] }
---@alias flemma.protocol.TaskItem { text: string, status: "pending"|"in_progress"|"completed" }
---@alias flemma.protocol.QueuedItem { text: string, when: "next"|"later" }
---@alias flemma.protocol.ToolStop { call: integer }
---@alias flemma.protocol.Held { writable: string[], prefix: string[], problem: string? } The sandbox of a call.

---@class flemma.protocol.Apply
---@field buffer integer
---@field edit integer
---@field seq integer The text that the changes were computed for.
---@field changes flemma.protocol.Change[] Sorted and disjoint.
---@field anchor flemma.protocol.Anchor? Where an answer will grow, in the changed text.
---@field join boolean Whether it continues the undo step of our last change.
---@field keep boolean Whether it must be in the swap file at once.
---@field unlock boolean Whether it also ends the lock.

---@class flemma.protocol.Append
---@field buffer integer
---@field edit integer
---@field anchor integer
---@field expect { column: integer, tail: string }? The text before the anchor.
---@field lines string[] The first continues the anchor's line.
---@field join boolean

---@class flemma.protocol.Cursor
---@field buffer integer
---@field line integer
---@field column integer
---@field window integer?
---@field insert boolean?
---@field asked boolean? Whether it is the direct answer to a key, see |flemma.follow|.
---@field from integer? A window on this line or below counts as one at the end.
---@field to integer? A line below that must be seen as well.

---@alias flemma.protocol.Choices { ask: boolean, all: boolean, items: flemma.protocol.Choice[], commands: string[] }
---@alias flemma.protocol.Choice { name: string, note: string, models: flemma.protocol.Model[], parameters: string[] }
---@alias flemma.protocol.Model { name: string, note: string }

---@class flemma.protocol.Usage
---@field buffer integer
---@field lines string[] What is shown for a moment.
---@field seconds integer For how long; 0 is not at all.
---@field request flemma.session.Request
---@field session flemma.session.Totals

---@alias flemma.protocol.Phase "idle"|"loading"|"sending"|"retrying"|"thinking"|"calling"|"streaming"|"stalled"|"running"|"approval"

---@class flemma.protocol.Statusline: flemma.status.Info
---@field buffer integer
---@field text string All of it as one text.
---@field elapsed_ms integer? Since the key that began what is happening now.

---@class flemma.protocol.ReplaceText
---@field ask integer
---@field path string
---@field file {device: integer, inode: integer}? The file that was found there, if there is one.
---@field expected string? The text it must have.
---@field text string
---@field encoding string? As 'fileencoding'; the buffer's own without it.

---@class flemma.protocol.FindProblems What a call did to a file.
---@field ask integer
---@field path string
---@field before string? The text before the change, unless the file is new.
---@field after string The text after it.

---@class flemma.protocol.Mark
---@field id string The call's id.
---@field line integer The opening fence, under which the preview is drawn.
---@field call [integer, integer]? The lines of a pending call: the first, and the line after the last.
---@field asks string? Why it is pending.
---@field header_line integer The result's header, after which the state is drawn.
---@field preview string?
---@field fields flemma.protocol.Field[]? The arguments of a call that has its result, above the diff.
---@field json [integer, integer]? The lines of their JSON with its fence: the first, and the line after the last.
---@field diff flemma.protocol.Diff[]? What the call changes, by file.
---@field state "pending"|"running"|"asking"|"done"|"failed"|nil
---@field label string?
---@field detail string? Behind the label, less prominent.
---@field tries boolean? Whether the call can be tried.
---@field again integer? Counts the calls of the buffer that had to be shown again.
---@field elapsed_ms integer?
---@field output string[]? The last lines of live output.

---@alias flemma.protocol.Rename { buffer: integer, path: string }

---@class flemma.protocol.Field A row of an argument.
---@field [1] string The name, or as many blanks.
---@field [2] string A part of the value.
---@field [3] boolean Whether that is a remark about the value.

---@class flemma.protocol.Diff What a call changes in a file.
---@field name string As in the call; empty if `labels` is an error.
---@field counts string As in `+12 −3`.
---@field labels string Remarks, or empty.
---@field width integer The columns that it was made for.
---@field digits integer Columns of the line numbers.
---@field rows flemma.protocol.DiffRow[]
---@field more integer Lines that are left out.

---@class flemma.protocol.DiffRow
---@field kind "context"|"add"|"delete"|"remark"
---@field number integer 0 if it continues the row above.
---@field text string
---@field changed integer[] First byte and byte after the last of each changed range.

--- `state` is "idle", "waiting", "thinking", "streaming", or "stalled".
---@alias flemma.protocol.Request { buffer: integer, state: string, label: string?, elapsed_ms: integer? }

---@class flemma.protocol.Queued The model's tasks, and the user's messages that are not in the chat yet.
---@field buffer integer
---@field line integer The last line of the chat.
---@field items flemma.protocol.QueuedItem[] In the order in which they are sent.
---@field tasks flemma.protocol.TaskItem[]

--- What was sent of the references on each line: `bytes`, `at` seconds since 1970.
---@alias flemma.protocol.Sent { buffer: integer, items: { line: integer, bytes: integer, at: integer? }[] }

--- `lines` has for each line from `first` a list of { start, end, group }. The end -1 means the whole line.
--- `regions` are whole, even if only some of their lines are visible.
---@alias flemma.protocol.Spans { buffer: integer, seq: integer, first: integer, last: integer, lines: table[], regions: flemma.markup.Region[] }

---@class flemma.protocol.Folds The folds of all messages that changed.
---@field buffer integer
---@field seq integer The text that the lines belong to.
---@field enabled boolean Whether there are folds at all; otherwise all are deleted.
---@field opening boolean Whether the chat is being opened, so that all folds are created again.
---@field parts flemma.protocol.FoldPart[]

--- Each of `items` is { first, last, inner, closed, group, label, text }, the outer fold first.
---@alias flemma.protocol.FoldPart { first: integer, last: integer, items: table[] }

---@alias flemma.protocol.Diagnostics { buffer: integer, items: flemma.protocol.Diagnostic[] }

---@class flemma.protocol.Diagnostic
---@field line integer
---@field end_line integer
---@field message string
---@field severity "error"|"warning"|"info"
---@field fix string?

---@class flemma.protocol.ToolCall
---@field buffer integer The chat's.
---@field call integer
---@field function integer
---@field async boolean?
---@field tool string
---@field input table
---@field cwd string
---@field path string The chat's file, or empty.
---@field folder string The folder that relative paths start from.
---@field timeout number Seconds that a call may take by default.
---@field sandbox flemma.protocol.Held? Absent without a sandbox.

---@class flemma.protocol.CommandEnded
---@field buffer integer
---@field call integer
---@field command integer
---@field code integer? Its exit code; nil when a signal ended it.
---@field stdout string[] Its lines.
---@field stderr string[]
---@field problem string? Why it could not run.

return M
