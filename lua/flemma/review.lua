--- Reviews: the diff of a pending call, or of a turn, or a summary of the chat, as a buffer that the user
--- edits. `:w`, typed in its window, applies what is left; every other write keeps a draft.
---@class flemma.review
local M = {}

local api = vim.api
local colors = require("flemma.review.colors")
local host = require("flemma.host")
local notices = require("flemma.notices")
local problems = require("flemma.review.problems")
local typing = require("flemma.review.typing")
local windows = require("flemma.window")

---@class flemma.review.Words
---@field keys string The line above the text, cut in the middle where it does not fit.
---@field copied string
---@field draft string
---@field answered string
---@field stopped string
---@field late string What the user wrote since the answer is not used.
---@field applies string

--- What is said in reviews, by subject.
---@type table<"call"|"turn"|"summary", flemma.review.Words>
local WORDS = {
  call = {
    keys = " :w approves what is left%< · dih drops a hunk · ]c next hunk · :q decides later",
    copied = "Nothing was approved; the diff is in %s.",
    draft = "Kept as a draft; type :w in its window to approve it.",
    answered = "This review was answered already. Run :Flemma review in the chat to decide again.",
    stopped = "The host stopped, so nothing was approved. Your text is kept; run :Flemma review in the chat again.",
    late = "This call was already decided. Your later edits to the review were discarded.",
    applies = "approve what is left",
  },
  turn = {
    keys = " :w reverts what you removed%< · dih drops a hunk · dif a file · ]c next hunk",
    copied = "Nothing was reverted; the diff is in %s.",
    draft = "Kept as a draft; type :w in its window to revert what you removed.",
    answered = "This review was applied already. Run :Flemma review turn in the chat for another.",
    stopped = "The host stopped, so nothing was reverted. Your text is kept; run :Flemma review turn in the chat again.",
    late = "The review was applied, so what you wrote in it since then is not used.",
    applies = "revert what was removed",
  },
  summary = {
    keys = " :w replaces the messages above by this summary%< · :q drops it",
    copied = "Nothing was replaced; the summary is in %s.",
    draft = "Kept as a draft; type :w in its window to put it into the chat.",
    answered = "This summary was put into the chat already. Edit it there.",
    stopped = "The host stopped, so the chat is as it was. Your text is kept; run :Flemma compact in the chat again.",
    late = "The summary was put into the chat, so what you wrote here since then is not used.",
    applies = "put the summary into the chat",
  },
}
--- Options of its window; the chat's are copied otherwise.
local WINDOW = {
  diff = false,
  scrollbind = false,
  cursorbind = false,
  foldenable = false,
  wrap = false,
  spell = false,
  conceallevel = 0,
}

---@class flemma.review.Review
---@field chat integer The chat's buffer.
---@field call string The call's id, or that of the review of a turn.
---@field words flemma.review.Words
---@field ask integer Number of the host's question, which the answer repeats.
---@field asker integer? The channel of the host that asked.
---@field answered boolean Whether it was answered.
---@field drafted boolean Whether a draft was written since.

---@type table<integer, flemma.review.Review> By buffer.
local reviews = {}

---@type table<integer, integer> Windows that reviews are opened from, by chat, if not from the chat's.
local origins = require("flemma.state").by_buffer()

local function notify(level, message)
  notices.notify({ level = level, message = message })
end

---@return integer? buffer
local function find(chat, call)
  for buffer, review in pairs(reviews) do
    if review.chat == chat and review.call == call then
      return buffer
    end
  end
end

--- Returns the text of a buffer, in which Neovim holds NUL as a line break.
local function text_of(buffer)
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  for at, line in ipairs(lines) do
    lines[at] = line:gsub("\n", "\0")
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Sends what the user decided.
---@param text string? nil if nothing was decided.
---@return boolean sent
local function answer(review, text)
  review.answered = true
  return host.answer(review.asker, "reviewed", { ask = review.ask, text = text })
end

--- Writes a review to another file, as `:w NAME` does. Neovim checks that there is none.
local function write_copy(buffer, path)
  local copied = reviews[buffer].words.copied
  local written, why = pcall(vim.fn.writefile, api.nvim_buf_get_lines(buffer, 0, -1, false), path)
  notify(
    written and "info" or "error",
    written and copied:format(vim.fn.fnamemodify(path, ":~:."))
      or ("The diff was not written: %s"):format(tostring(why):gsub("^Vim:", ""))
  )
end

--- Takes a write: approves what is left if the user typed the command in this window.
local function on_write(buffer, event)
  if event.match ~= api.nvim_buf_get_name(buffer) then
    return write_copy(buffer, event.match)
  end
  local review = reviews[buffer]
  vim.bo[buffer].modified = false
  if not typing.take(buffer) then
    review.drafted = true
    return notify("info", review.words.draft)
  end
  if review.answered then
    return notify("info", review.words.answered)
  end
  problems.set(buffer, {})
  review.drafted = false
  if not answer(review, text_of(buffer)) then
    -- The next review of the call keeps this text.
    vim.bo[buffer].modified = true
    notify("warn", review.words.stopped)
  end
end

local function set_keys(buffer)
  vim.keymap.set("n", "ZZ", function()
    typing.note_keys(buffer, "ZZ")
    vim.bo[buffer].modified = true
    vim.cmd.xit()
  end, { buffer = buffer, desc = "Flemma: " .. reviews[buffer].words.applies })
end

--- Answers for the user when the buffer is gone: nothing was decided.
local function on_wipeout(buffer)
  local gone = reviews[buffer]
  reviews[buffer] = nil
  typing.forget(buffer)
  colors.forget(buffer)
  problems.forget(buffer)
  api.nvim_del_augroup_by_name("flemma.review." .. buffer)
  if gone and not gone.answered then
    answer(gone, nil)
  end
end

local function follow(buffer)
  local group = api.nvim_create_augroup("flemma.review." .. buffer, {})
  local function on(event, description, action)
    api.nvim_create_autocmd(event, {
      group = group,
      pattern = ("<buffer=%d>"):format(buffer),
      desc = "flemma: " .. description,
      callback = function(args)
        action(buffer, args)
      end,
    })
  end
  on("BufWriteCmd", "apply a review, or keep a draft", on_write)
  on("BufWipeout", "a review is closed", on_wipeout)
end

--- Creates the buffer of a review.
---@return integer buffer
local function create(review)
  local buffer = api.nvim_create_buf(false, false)
  reviews[buffer] = review
  api.nvim_buf_set_name(buffer, ("flemma-review://%d/%s"):format(review.chat, (review.call:gsub("[^%w_.-]", "_"))))
  vim.bo[buffer].buftype = "acwrite"
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modeline = false
  if review.words == WORDS.summary then
    vim.bo[buffer].filetype = "markdown"
    -- Neovim asks before a draft that was changed is dropped.
    vim.bo[buffer].bufhidden = "wipe"
  else
    colors.start(buffer)
    require("flemma.review.hunks").set_keys(buffer)
  end
  set_keys(buffer)
  typing.watch(buffer)
  follow(buffer)
  return buffer
end

--- Replaces the text of a review, as one undo step unless it is new.
local function set_text(buffer, text, is_new)
  local lines = vim.split(text, "\n", { plain = true })
  if #lines > 1 and lines[#lines] == "" then
    lines[#lines] = nil
  end
  local levels = vim.bo[buffer].undolevels
  if is_new then
    vim.bo[buffer].undolevels = -1
  end
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].undolevels = levels
  vim.bo[buffer].modified = false
end

--- Opens the reviews of a chat below another window than the chat's, to which they return.
--- Closing a review there drops the call.
---@param chat integer
---@param window integer
function M.open_from(chat, window)
  origins[chat] = window
end

--- Drops a call whose review the user closed without a decision.
local function on_closed(buffer)
  local review = reviews[buffer]
  if review and not review.answered and origins[review.chat] and vim.fn.bufwinid(buffer) == -1 then
    vim.bo[buffer].modified = false
    require("flemma.inline_edit").drop(review.chat)
  end
end

--- Returns the window below which a review is opened; -1 if there is none.
local function origin(chat)
  local window = origins[chat]
  return window and api.nvim_win_is_valid(window) and window or windows.showing(chat) or -1
end

--- Opens a window for a review below the chat, and enters it if the user is there.
local function show(buffer, review)
  local from = origin(review.chat)
  local is_there = api.nvim_get_current_buf() == review.chat or api.nvim_get_current_win() == from
  local enters = is_there and api.nvim_get_mode().mode == "n"
  local shown = vim.fn.bufwinid(buffer)
  if shown ~= -1 then
    if enters then
      api.nvim_set_current_win(shown)
    end
    return
  end
  local window = windows.open(buffer, { enter = enters, from = from ~= -1 and from or api.nvim_get_current_win() })
  for name, value in pairs(WINDOW) do
    api.nvim_set_option_value(name, value, { scope = "local", win = window })
  end
  if review.words == WORDS.summary then
    vim.wo[window][0].wrap, vim.wo[window][0].linebreak = true, true
  end
  vim.wo[window][0].winbar = review.words.keys
  require("flemma.review.window").arrange(window)
  windows.return_from(window, from, function()
    on_closed(buffer)
  end)
end

--- Shows what cannot be applied, and moves the cursor to the first such line.
local function show_problems(buffer, found)
  local line, window = problems.set(buffer, found), vim.fn.bufwinid(buffer)
  if line then
    notify("error", ("Nothing was applied. Line %d of the review: %s"):format(line + 1, found[1].message))
    if window ~= -1 then
      api.nvim_win_set_cursor(window, { line + 1, 0 })
      -- The message is below the line, where the window may end.
      api.nvim_win_call(window, function()
        vim.cmd.normal({ "zz", bang = true })
      end)
    end
  end
end

--- Opens a review, or shows it again. What the user wrote is never replaced.
---@param message flemma.protocol.Review
function M.review(message)
  local buffer = find(message.buffer, message.call)
  local asked = {
    chat = message.buffer,
    call = message.call,
    words = WORDS[message.subject],
    ask = message.ask,
    asker = host.channel(),
    answered = false,
    drafted = false,
  }
  local old, is_new = buffer and reviews[buffer], buffer == nil
  buffer = buffer or create(asked)
  -- A text that follows from an answer contains what the user wrote.
  local follows = message.note ~= nil or #message.problems > 0
  local changed = old and (old.drafted or vim.bo[buffer].modified or (old.answered and not follows))
  if old and changed and not old.answered and old.asker == asked.asker then
    -- The draft belongs to the change that it was made from.
    answer(asked, nil)
    return show(buffer, old)
  end
  if old and not old.answered then
    answer(old, nil)
  end
  asked.drafted = changed or false
  reviews[buffer] = asked
  if not changed and (is_new or text_of(buffer) ~= message.text) then
    set_text(buffer, message.text, is_new)
  end
  show(buffer, asked)
  show_problems(buffer, message.problems)
  if message.note then
    notify("warn", message.note)
  end
end

--- Closes the windows of a review and returns to the chat.
---@param message flemma.protocol.ReviewClosed
function M.review_closed(message)
  local buffer = find(message.buffer, message.call)
  if not buffer then
    return
  end
  reviews[buffer].answered = true
  if vim.bo[buffer].modified then
    return notify("warn", reviews[buffer].words.late)
  end
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    -- Fails for the last window, which then shows the chat.
    if not pcall(api.nvim_win_close, window, true) and api.nvim_buf_is_valid(message.buffer) then
      api.nvim_win_set_buf(window, message.buffer)
    end
  end
  -- It may be gone with its last window.
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_delete(buffer, { force = true })
  end
end

return M
