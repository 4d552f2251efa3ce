--- Reviews: the diff of a pending call as a buffer that the user edits. `:w`, typed in its
--- window, approves what is left; every other write keeps a draft.
---@class flemma.review
local M = {}

local api = vim.api
local colors = require("flemma.review.colors")
local host = require("flemma.host")
local notices = require("flemma.notices")
local problems = require("flemma.review.problems")
local typing = require("flemma.review.typing")

--- The line above the diff.
local KEYS = " :w approves what is left · dih drops a hunk · ]c next hunk · :q decides later"
--- Options of its window; the chat's are copied otherwise.
local WINDOW = {
  diff = false,
  scrollbind = false,
  cursorbind = false,
  foldenable = false,
  wrap = false,
  spell = false,
  conceallevel = 0,
  winbar = KEYS,
}

---@class flemma.review.Review
---@field chat integer The chat's buffer.
---@field call string
---@field ask integer Number of the host's question, which the answer repeats.
---@field asker integer? The channel of the host that asked.
---@field answered boolean Whether it was answered.
---@field drafted boolean Whether a draft was written since.

---@type table<integer, flemma.review.Review> By buffer.
local reviews = {}

---@type table<integer, integer> Windows that reviews are opened from, by chat, if not from the chat's.
local origins = require("flemma.state").by_buffer()

---@param level "info"|"warn"|"error"
---@param message string
local function notify(level, message)
  notices.notify({ level = level, message = message })
end

---@param chat integer
---@param call string
---@return integer? buffer
local function find(chat, call)
  for buffer, review in pairs(reviews) do
    if review.chat == chat and review.call == call then
      return buffer
    end
  end
end

--- Returns the text of a buffer, in which Neovim holds NUL as a line break.
---@param buffer integer
---@return string
local function text_of(buffer)
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  for at, line in ipairs(lines) do
    lines[at] = line:gsub("\n", "\0")
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Sends what the user decided.
---@param review flemma.review.Review
---@param text string? nil if nothing was decided.
---@return boolean sent
local function answer(review, text)
  review.answered = true
  return host.answer(review.asker, "reviewed", { ask = review.ask, text = text })
end

--- Writes a review to another file, as `:w NAME` does. Neovim checks that there is none.
---@param buffer integer
---@param path string
local function write_copy(buffer, path)
  local written, why = pcall(vim.fn.writefile, api.nvim_buf_get_lines(buffer, 0, -1, false), path)
  notify(
    written and "info" or "error",
    written and ("Nothing was approved; the diff is in %s."):format(vim.fn.fnamemodify(path, ":~:."))
      or ("The diff was not written: %s"):format(tostring(why):gsub("^Vim:", ""))
  )
end

--- Takes a write: approves what is left if the user typed the command in this window.
---@param buffer integer
---@param event vim.api.keyset.create_autocmd.callback_args
local function on_write(buffer, event)
  if event.match ~= api.nvim_buf_get_name(buffer) then
    return write_copy(buffer, event.match)
  end
  local review = reviews[buffer]
  vim.bo[buffer].modified = false
  if not typing.take(buffer) then
    review.drafted = true
    return notify("info", "Kept as a draft; type :w in its window to approve it.")
  end
  if review.answered then
    return notify("info", "This review was answered already. Run :Flemma review in the chat to decide again.")
  end
  problems.set(buffer, {})
  review.drafted = false
  if not answer(review, text_of(buffer)) then
    -- The next review of the call keeps this text.
    vim.bo[buffer].modified = true
    notify(
      "warn",
      "The host stopped, so nothing was approved. Your text is kept; run :Flemma review in the chat again."
    )
  end
end

--- Selects the hunk at the cursor.
local function select_hunk()
  local first = vim.fn.search("^\\(@@\\|diff \\)", "bcnW")
  if first == 0 or not vim.startswith(vim.fn.getline(first), "@@") then
    notify("warn", "The cursor is in no hunk. ]c goes to the next one.")
    return api.nvim_feedkeys(vim.keycode("<Esc>"), "n", false)
  end
  local below = vim.fn.search("^\\(@@\\|diff \\)", "nW")
  local last = below == 0 and vim.fn.line("$") or below - 1
  vim.cmd.normal({ ("%dGV%dG"):format(first, last), bang = true })
end

---@param flags string As for |search()|.
---@return fun()
local function to_hunk(flags)
  return function()
    for _ = 1, vim.v.count1 do
      vim.fn.search("^@@", flags)
    end
  end
end

---@param buffer integer
local function set_keys(buffer)
  ---@param modes string[]
  ---@param key string
  ---@param action fun()
  ---@param description string
  local function map(modes, key, action, description)
    vim.keymap.set(modes, key, action, { buffer = buffer, desc = "Flemma: " .. description })
  end
  map({ "n", "x", "o" }, "]c", to_hunk("W"), "next hunk")
  map({ "n", "x", "o" }, "[c", to_hunk("bW"), "previous hunk")
  map({ "x", "o" }, "ih", function()
    -- Visual mode would extend its own selection.
    if api.nvim_get_mode().mode:find("^[vV\22]") then
      vim.cmd.normal({ vim.keycode("<Esc>"), bang = true })
    end
    select_hunk()
  end, "a hunk")
  map({ "n" }, "ZZ", function()
    typing.note_keys(buffer, "ZZ")
    vim.bo[buffer].modified = true
    vim.cmd.xit()
  end, "approve what is left")
end

--- Answers for the user when the buffer is gone: nothing was decided.
---@param buffer integer
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

---@param buffer integer
local function follow(buffer)
  local group = api.nvim_create_augroup("flemma.review." .. buffer, {})
  ---@param event string
  ---@param description string
  ---@param action fun(buffer: integer, event: vim.api.keyset.create_autocmd.callback_args)
  local function on(event, description, action)
    api.nvim_create_autocmd(event, {
      group = group,
      buffer = buffer,
      desc = "flemma: " .. description,
      callback = function(args)
        action(buffer, args)
      end,
    })
  end
  on("BufWriteCmd", "approve a review, or keep a draft", on_write)
  on("BufWipeout", "a review is closed", on_wipeout)
end

--- Creates the buffer of a review.
---@param review flemma.review.Review
---@return integer buffer
local function create(review)
  local buffer = api.nvim_create_buf(false, false)
  reviews[buffer] = review
  api.nvim_buf_set_name(buffer, ("flemma-review://%d/%s"):format(review.chat, (review.call:gsub("[^%w_.-]", "_"))))
  vim.bo[buffer].buftype = "acwrite"
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modeline = false
  vim.bo[buffer].filetype = "diff"
  colors.start(buffer, function(shown)
    return reviews[shown] ~= nil
  end)
  set_keys(buffer)
  typing.watch(buffer)
  follow(buffer)
  return buffer
end

--- Replaces the text of a review, as one undo step unless it is new.
---@param buffer integer
---@param text string
---@param is_new boolean
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
---@param buffer integer
local function on_closed(buffer)
  local review = reviews[buffer]
  if review and not review.answered and origins[review.chat] and vim.fn.bufwinid(buffer) == -1 then
    vim.bo[buffer].modified = false
    require("flemma.inline_edit").drop(review.chat)
  end
end

--- Returns to the chat, or to where a review was opened from, when its window is closed.
---@param window integer
---@param chat integer The window to return to.
---@param buffer integer The review.
local function return_from(window, chat, buffer)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(window),
    once = true,
    desc = "flemma: back to the chat",
    callback = function()
      if api.nvim_get_current_win() ~= window then
        return
      end
      -- The window is closed after this event.
      vim.schedule(function()
        if api.nvim_win_is_valid(chat) then
          api.nvim_set_current_win(chat)
        end
        on_closed(buffer)
      end)
    end,
  })
end

--- Returns the window below which a review is opened; -1 if there is none.
---@param chat integer
---@return integer
local function origin(chat)
  local window = origins[chat]
  return window and api.nvim_win_is_valid(window) and window or vim.fn.bufwinid(chat)
end

--- Opens a window for a review below the chat, and enters it if the user is there.
---@param buffer integer
---@param review flemma.review.Review
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
  local opened, window = pcall(api.nvim_open_win, buffer, enters, { split = "below", win = from ~= -1 and from or 0 })
  if not opened then
    return notify("warn", "No window could be opened for the review. Try :Flemma review again.")
  end
  for name, value in pairs(WINDOW) do
    api.nvim_set_option_value(name, value, { scope = "local", win = window })
  end
  require("flemma.review.window").arrange(window)
  return_from(window, from, buffer)
end

--- Shows what cannot be applied, and moves the cursor to the first such line.
---@param buffer integer
---@param found { line: integer, message: string }[]
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

--- Opens the review of a call, or shows it again. What the user wrote is never replaced.
---@param message flemma.protocol.Review
function M.review(message)
  local buffer = find(message.buffer, message.call)
  local asked = {
    chat = message.buffer,
    call = message.call,
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
    return notify("warn", "The call was decided about, so what you wrote in its review since then is not used.")
  end
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    -- Fails for the last window, which then shows the chat.
    if not pcall(api.nvim_win_close, window, true) and api.nvim_buf_is_valid(message.buffer) then
      api.nvim_win_set_buf(window, message.buffer)
    end
  end
  api.nvim_buf_delete(buffer, { force = true })
end

return M
