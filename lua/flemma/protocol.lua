--- The words that plugin and host exchange, version 1, and which module reads
--- each of the host's; and how their values become Lua's.
---
--- All are notifications. Lines are zero-based and end-exclusive, columns are
--- bytes. `seq` counts the text changes of one buffer; it is the only clock
--- that both sides share.
---@class flemma.protocol
local M = {}

--- Compared by `hello` and `welcome` before anything else is said.
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
  spans = "flemma.spans",
  folds = "flemma.folds",
  unfold = "flemma.folds",
  diagnostics = "flemma.diagnostics",
  ask = "flemma.functions",
  tool_call = "flemma.tools.calls",
  tool_stop = "flemma.tools.calls",
  command_ended = "flemma.tools.calls",
  open_text = "flemma.files",
  replace_text = "flemma.files",
  check_files = "flemma.files",
  open = "flemma.report",
  open_tutor = "flemma.report",
  report = "flemma.report",
  notify = "flemma.notices",
  event = "flemma.notices",
  statusline = "flemma.notices",
  known_tools = "flemma.complete",
  usage = "flemma.usage",
  choices = "flemma.switch",
  taken = "flemma.lease",
  prompt = "flemma.prompts",
}

--- Those that change a chat, or speak of lines in it. They keep their order in
--- each buffer, also while one of them has to wait.
M.IN_ORDER = {
  apply = true,
  append = true,
  release_anchor = true,
  lock = true,
  cursor = true,
  marks = true,
  request = true,
  queued = true,
  spans = true,
  folds = true,
  unfold = true,
  diagnostics = true,
}

-- Lua to host ----------------------------------------------------------------

---@class flemma.protocol.Hello
---@field protocol integer
---@field version string Neovim's version.
---@field log string Where the host writes its log.

---@class flemma.protocol.Configure
---@field options any As given to `setup()`; a function is `{ ["function"] = id }`, see |flemma.config|.
---@field reported boolean Whether an earlier host has reported what is wrong with them.
---@field caller string? The line that called `setup()`, as `file:line`.
---@field resolvers flemma.protocol.Resolvers

---@class flemma.protocol.Resolvers Comes anew whenever one is registered or taken away.
---@field items flemma.protocol.Resolver[]
---@field without string[] Names of our own that the user took away or replaced.

---@class flemma.protocol.Resolver
---@field name string
---@field priority integer
---@field function integer
---@field closed boolean Whether it denies when it fails; else it passes.
---@field from_options boolean Whether `tools.auto_approve` names it.

---@class flemma.protocol.Attach
---@field buffer integer
---@field path string Absolute, or empty.
---@field cwd string
---@field process integer Neovim's.
---@field width integer Columns of text in a window that shows the buffer.
---@field reason "open"|"reload"|"restart"
---@field interrupted string[] Ids of calls that ran when the former host died.
---@field streaming boolean Whether an answer was being written when it died.
---@field queued string[] What the user had said then that was not in the chat yet.
---@field modified boolean Whether it has changes that its file has not.
---@field came "empty"|"read"|"changed" Whether there was no text when it was read, it is that text, or it was changed.

---@class flemma.protocol.Snapshot
---@field buffer integer
---@field seq integer
---@field text string? Lines joined by LF; at most 48 KB, unless one line is longer.
---@field lines string[]? At most 500 of them, where one has an LF inside.
---@field done boolean Whether it is the last chunk.

---@class flemma.protocol.Changed
---@field buffer integer
---@field seq integer The same for all chunks of one change.
---@field first integer
---@field last integer
---@field lines string[]
---@field more boolean Whether another chunk of the same change follows.
---@field typed integer? Bytes of text typed in Insert or Replace mode since the change before; absent when no key was pressed.
---@field undone boolean? Whether it is an undo or a redo; only said of changes that write "approved".

---@class flemma.protocol.Renamed The buffer has another name; its text is the same.
---@field buffer integer
---@field path string Absolute, or empty.
---@field modified boolean Whether it has changes that its file does not have.

---@class flemma.protocol.Saved The file holds all that the buffer holds.
---@field buffer integer
---@field seq integer The text that it is said of.

---@class flemma.protocol.Detached
---@field buffer integer

---@class flemma.protocol.Command
---@field buffer integer
---@field seq integer
---@field name string `advance`, `resolve`, `cancel`, or what stands after `:Flemma`.
---@field line integer The cursor's line.
---@field window integer
---@field arguments table
---@field shown flemma.protocol.ShownAgain?
---@field hidden string[] The marks of calls that wait and are folded away in the window.
---@field drawn_ms table<string, integer> For how long each call that waits has been on the screen, by the id of its mark.

---@class flemma.protocol.ShownAgain What is on the screen of calls that had to be shown again.
---@field again integer The highest |flemma.protocol.Mark| had.
---@field for_ms integer For how long, in milliseconds.

---@class flemma.protocol.Viewport
---@field buffer integer
---@field first integer
---@field last integer
---@field width integer

---@class flemma.protocol.Applied
---@field buffer integer
---@field edit integer
---@field outcome "applied"|"stale"|"lost"|"moved"|"failed"
---@field seq integer After the edit.
---@field message string? Why it failed.
---@field at_row integer? Where an `append` began.
---@field at_column integer?
---@field row integer? Where it ended.
---@field column integer?

---@class flemma.protocol.Answered
---@field ask integer
---@field values flemma.protocol.Answer[][] For each call: of those that were asked.

---@class flemma.protocol.Answer
---@field ok boolean Whether the function returned.
---@field value any A boolean, a string, a number, or nil as `vim.NIL`.
---@field kind string The type of what it returned; "gone" when there is no such function.
---@field message string? The error it raised.

---@class flemma.protocol.OpenFiles
---@field paths string[] Absolute names of loaded buffers that are files.

---@class flemma.protocol.Directory The working directory of a chat, which is another one now.
---@field buffer integer
---@field cwd string

---@class flemma.protocol.BuffersAnswered
---@field ask integer
---@field open boolean? For `open_text`: whether a buffer holds the file.
---@field text string? What the buffer holds; for `replace_text` with a `difference` only.
---@field modified boolean?
---@field ok boolean? For `replace_text`.
---@field saved boolean?
---@field bytes integer? The size of the text, or of the file once it is saved.
---@field difference string? What the user's autocommands changed while it was saved.
---@field conflict boolean? Whether an unsaved buffer's file changed on disk.
---@field message string?

---@class flemma.protocol.Prompted What the user said; neither when they left.
---@field ask integer
---@field text string?
---@field item integer? Counted from zero.

-- Host to Lua ----------------------------------------------------------------

---@class flemma.protocol.Welcome
---@field protocol integer
---@field version string

---@class flemma.protocol.Change
---@field first integer
---@field last integer
---@field lines string[]

---@class flemma.protocol.Apply
---@field buffer integer
---@field edit integer
---@field seq integer The text that the changes were computed for.
---@field changes flemma.protocol.Change[] Sorted and disjoint.
---@field anchor flemma.protocol.Anchor? Where an answer will grow, in the text that they make.
---@field join boolean Whether it continues the undo step of our last change.
---@field keep boolean Whether it must be in the swap file at once.
---@field unlock boolean Whether the text is the user's again with it.

---@class flemma.protocol.Append
---@field buffer integer
---@field edit integer
---@field anchor integer
---@field expect { column: integer, tail: string }? The text before the anchor.
---@field lines string[] The first continues the anchor's line.
---@field join boolean

---@class flemma.protocol.Anchor
---@field anchor integer
---@field line integer
---@field column integer

---@class flemma.protocol.ReleaseAnchor
---@field buffer integer
---@field anchor integer

---@class flemma.protocol.Lock
---@field buffer integer
---@field locked boolean

---@class flemma.protocol.Taken
---@field buffer integer
---@field elsewhere boolean Whether another program works on the chat's file.

---@class flemma.protocol.Cursor
---@field buffer integer
---@field line integer
---@field column integer
---@field window integer?
---@field insert boolean?
---@field asked boolean? Whether it is the direct answer to a key, see |flemma.follow|.
---@field from integer? A window on this line or below counts as one at the end.
---@field to integer? A line below that must be seen as well.

---@class flemma.protocol.Notify
---@field buffer integer? The chat that it concerns; nil when it concerns none.
---@field level "info"|"warn"|"error"
---@field message string

---@class flemma.protocol.Event
---@field name string Of a `User` autocommand.
---@field data table

---@class flemma.protocol.Choices
---@field ask boolean Whether the user is asked what to switch to.
---@field all boolean Whether the choice is for every chat.
---@field items flemma.protocol.Choice[]
---@field commands string[] Folders of commands.

---@class flemma.protocol.Choice
---@field name string
---@field models string[]
---@field parameters string[] Such as "thinking=low" and "max_tokens=".

---@class flemma.protocol.Usage
---@field buffer integer
---@field lines string[] What is shown for a moment.
---@field seconds integer For how long; 0 is not at all.
---@field request flemma.session.Request
---@field session flemma.session.Totals

---@class flemma.protocol.Ask
---@field ask integer
---@field calls flemma.protocol.FunctionCall[]

---@class flemma.protocol.FunctionCall
---@field functions integer[] Whom to ask, in this order, until one returns something.
---@field arguments any[] What each gets.

---@class flemma.protocol.KnownTools Comes anew whenever that changes.
---@field items flemma.protocol.KnownTool[] Sorted by name.

---@class flemma.protocol.KnownTool
---@field name string
---@field source string
---@field about string The beginning of its description.

---@class flemma.protocol.OpenText
---@field ask integer
---@field path string

---@class flemma.protocol.ReplaceText
---@field ask integer
---@field path string
---@field file {device: integer, inode: integer}? The file that was found there, if there is one.
---@field expected string? The text it must have.
---@field text string
---@field encoding string? As 'fileencoding'; the buffer's own without it.

---@class flemma.protocol.Prompt One thing asked of the user.
---@field buffer integer
---@field ask integer
---@field title string
---@field items string[]? A list to choose from; else a line is typed.
---@field initial string? What stands there already.

---@class flemma.protocol.Report
---@field title string
---@field lines string[]
---@field filetype string?

---@class flemma.protocol.Open
---@field path string?
---@field name string?
---@field lines string[]?
---@field advance boolean? Whether Ctrl-] is pressed in it at once.

--- Turns the wire's nil, which is a value in a table, into no value.
---@param value any
---@return any
function M.without_nil(value)
  if value == vim.NIL then
    return nil
  end
  if type(value) == "table" then
    for key, item in pairs(value) do
      value[key] = M.without_nil(item)
    end
  end
  return value
end

return M
