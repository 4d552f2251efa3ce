--- Reads and replaces open files for the host's tools through their buffers, so that unsaved
--- changes are neither missed nor overwritten.
---
--- An unmodified buffer is first reloaded if its file changed. A modified buffer counts
--- instead of its file, and is not saved.
---@class flemma.files
local M = {}

local api = vim.api
local disk = require("flemma.files.disk")
local host = require("flemma.host")
local notices = require("flemma.notices")
local queue = require("flemma.queue")
local text = require("flemma.files.text")
local undo = require("flemma.undo")

--- Neovim 0.12 renamed it.
local compare = vim.text.diff or vim.diff

--- Returns the loaded buffers that are files.
local function open_files()
  return vim.tbl_filter(function(buffer)
    local is_file = api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == ""
    return is_file and api.nvim_buf_get_name(buffer) ~= ""
  end, api.nvim_list_bufs())
end

--- Returns the loaded buffer of a file.
---@param path string Absolute.
---@return integer?
function M.buffer_of(path)
  local real = vim.uv.fs_realpath(path) or path
  return vim.iter(open_files()):find(function(buffer)
    local name = api.nvim_buf_get_name(buffer)
    -- Several names may lead to one file.
    return name == path or (vim.uv.fs_realpath(name) or name) == real
  end)
end

--- Replaces the lines of a buffer that differ, so that marks and cursors elsewhere stay.
local function replace_lines(buffer, lines)
  -- A buffer always has a line, so a diff cannot express these cases.
  if #lines == 0 or text.is_empty(buffer) then
    api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
    return
  end
  local old = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local function joined(of)
    -- The comparison would take a carriage return for a line end.
    return (table.concat(of, "\n"):gsub("\r", "\0")) .. "\n"
  end
  local hunks = compare(joined(old), joined(lines), { result_type = "indices" })
  ---@cast hunks integer[][]
  -- From the end, so that the numbers of the lines above stay valid.
  for index = #hunks, 1, -1 do
    local from, count, to, added = unpack(hunks[index])
    -- Where nothing is replaced, `from` is the line before the insertion.
    local first = count == 0 and from or from - 1
    local new = added == 0 and {} or vim.list_slice(lines, to, to + added - 1)
    api.nvim_buf_set_lines(buffer, first, first + count, true, new)
  end
end

---@type string[]? The paths that the host knows.
local sent

--- Sends the host the list of open files, so that it asks about no others. Called before
--- anything that may start work on files.
function M.send_list()
  local paths = vim.tbl_map(api.nvim_buf_get_name, open_files())
  if not vim.deep_equal(paths, sent) then
    sent = paths
    host.send("open_files", { paths = paths })
  end
end

--- Sends the list to a new host, and from then on whenever it changes.
function M.watch()
  sent = nil
  M.send_list()
  local group = api.nvim_create_augroup("flemma.files", { clear = true })
  api.nvim_create_autocmd("BufWritePost", {
    group = group,
    desc = "flemma: a file that the user saves while a command runs is not the command's",
    callback = function(event)
      local path = api.nvim_buf_get_name(event.buf)
      if not disk.is_writing() and require("flemma.path").is_absolute(path) then
        host.send("file_saved", { path = path })
      end
    end,
  })
  api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "BufUnload" }, {
    group = group,
    desc = "flemma: which files are open",
    -- Scheduled, because a buffer is still loaded while `BufUnload` runs.
    callback = vim.schedule_wrap(M.send_list),
  })
end

--- Longest time that a call waits for Neovim. The host gives it up at its time limit, and then
--- it must not do its work any more.
local LONGEST_MS = 20000

--- Returns a function that answers a question, if the host that asked still runs.
local function answerer(ask)
  local asker = host.channel()
  return function(answered)
    host.answer(asker, "buffers_answered", vim.tbl_extend("error", answered, { ask = ask }))
  end
end

--- Runs `work` on a buffer as soon as Neovim can take it. `failed` gets its error.
local function when_free(buffer, work, failed)
  local begun = vim.uv.now()
  queue.push(buffer, function()
    if vim.uv.now() - begun > LONGEST_MS then
      return failed("Neovim was busy with a prompt. Nothing was changed.")
    end
    local ok, why = pcall(work)
    if not ok then
      why = tostring(why)
      -- E565: the text is locked for now, for example by a completion, so the work waits.
      if why:find("E565", 1, true) then
        return queue.HOLD
      end
      failed(why)
    end
  end)
end

--- Answers with the text of a file's buffer. An unmodified buffer that cannot be reloaded
--- counts as no open file, so that the file on disk counts.
---@param message flemma.protocol.OpenText
function M.open_text(message)
  local answer, buffer = answerer(message.ask), M.buffer_of(message.path)
  local function closed()
    answer({ open = false })
  end
  local function opened()
    answer({ open = true, text = text.of(buffer), modified = vim.bo[buffer].modified })
  end
  if not buffer then
    return closed()
  elseif vim.bo[buffer].modified or disk.agrees(buffer) then
    return opened()
  end
  when_free(buffer, function()
    -- While it waited, it may have been closed or changed.
    if api.nvim_buf_is_loaded(buffer) and (vim.bo[buffer].modified or disk.sync(buffer)) then
      opened()
    else
      closed()
    end
  end, closed)
end

--- A buffer before it was changed; `step` is its undo step.
---@alias flemma.files.Old { lines: string[], form: flemma.files.Form, step: integer, modified: boolean }

local function snapshot(buffer)
  return {
    lines = text.is_empty(buffer) and {} or api.nvim_buf_get_lines(buffer, 0, -1, false),
    form = text.form_of(buffer),
    step = vim.fn.undotree(buffer).seq_cur,
    modified = vim.bo[buffer].modified,
  }
end

--- Reverts a buffer.
local function restore(buffer, old)
  undo.write(buffer, false, function()
    pcall(vim.cmd, ("silent undo %d"):format(old.step))
    local now = api.nvim_buf_get_lines(buffer, 0, -1, false)
    -- Whatever undo could not restore is replaced.
    if not vim.deep_equal(now, #old.lines == 0 and { "" } or old.lines) then
      replace_lines(buffer, old.lines)
    end
    text.set_form(buffer, old.form)
  end)
  -- It has no unsaved changes after all.
  if not old.modified and disk.agrees(buffer) then
    vim.bo[buffer].modified = false
  end
end

--- Checks that the text of a message can be put into a buffer.
---@param form flemma.files.Form The form that the buffer would have.
---@return string? why Why it cannot.
local function refusal(message, buffer, form)
  local name = api.nvim_buf_get_name(buffer)
  if not vim.bo[buffer].modifiable then
    return "The buffer is not modifiable."
  elseif not vim.bo[buffer].modified and vim.bo[buffer].readonly then
    return name .. " is read-only in the editor. Nothing was changed."
  elseif message.expected and text.of(buffer) ~= message.expected then
    return "The buffer changed in the meantime."
  elseif not vim.deep_equal(message.file, disk.identity(name)) then
    return name .. " leads to another file now. Nothing was changed."
  elseif not text.encode(message.text, form.encoding) then
    local character = text.foreign(message.text, form.encoding) or "a character"
    return ("%s is stored as %s, which cannot hold %s. Nothing was changed."):format(name, form.encoding, character)
  end
end

--- Puts the text into the buffer, all of it or nothing.
---@return string? why Why it was not done.
local function put(message, buffer, lines, form, old)
  local ok, why = undo.write(buffer, false, function()
    text.set_form(buffer, form)
    replace_lines(buffer, lines)
  end)
  if ok and text.of(buffer) ~= message.text then
    ok, why = false, "The editor cannot hold this text unchanged. Nothing was changed."
  end
  if not ok then
    restore(buffer, old)
    return why or "The editor refused the text. Nothing was changed."
  end
end

local function refused(why)
  return { ok = false, message = why }
end

--- Saves the buffer, or reverts it.
---@param before string? The bytes that the file had.
local function save(message, buffer, old, before)
  local saved, why = disk.save(buffer, before)
  if not saved then
    restore(buffer, old)
    local name = api.nvim_buf_get_name(buffer)
    return refused(("%s was not saved: %s The change was reverted."):format(name, why))
  end
  local now = text.of(buffer)
  -- Autocommands, such as those of formatters, may have changed the text while it was saved.
  local difference = now ~= message.text and compare(message.text, now, { ctxlen = 1 }) or nil
  ---@cast difference string?
  return {
    ok = true,
    saved = true,
    bytes = #(disk.bytes_of(api.nvim_buf_get_name(buffer)) or ""),
    difference = difference,
    text = difference and now or nil,
  }
end

local function replace(message, buffer)
  if not api.nvim_buf_is_loaded(buffer) then
    return refused("The buffer was closed.")
  end
  local modified = vim.bo[buffer].modified
  local name = api.nvim_buf_get_name(buffer)
  local before = disk.bytes_of(name)
  if not modified and not disk.sync(buffer) and before then
    return refused(name .. " differs between the editor and the disk. Nothing was changed.")
  end
  local lines, form = text.parse(message.text, text.form_of(buffer))
  form.encoding = message.encoding or form.encoding
  local why = refusal(message, buffer, form)
  if why then
    return refused(why)
  end
  require("flemma.problems").before_change(buffer)
  local old = snapshot(buffer)
  why = put(message, buffer, lines, form, old)
  if why then
    return refused(why)
  elseif modified then
    return { ok = true, saved = false, bytes = #message.text, conflict = disk.conflicts(buffer) }
  end
  return save(message, buffer, old, before)
end

--- Replaces the text of a file's buffer, if it is still the expected one, and saves it
--- unless there were unsaved changes.
---@param message flemma.protocol.ReplaceText
function M.replace_text(message)
  local answer, buffer = answerer(message.ask), M.buffer_of(message.path)
  if not buffer then
    return answer(refused("No buffer holds the file."))
  end
  when_free(buffer, function()
    answer(replace(message, buffer))
  end, function(why)
    answer(refused(why))
  end)
end

--- Reloads files that a command may have changed, but no chats: the host works on their
--- text.
function M.check_files()
  for _, buffer in ipairs(open_files()) do
    if vim.bo[buffer].filetype ~= "chat" then
      when_free(buffer, function()
        if not api.nvim_buf_is_loaded(buffer) then
          return
        end
        disk.check(buffer)
        local _, first = disk.conflicts(buffer)
        if first then
          local short = vim.fn.fnamemodify(api.nvim_buf_get_name(buffer), ":~:.")
          local message = short .. " changed on disk and has unsaved changes. :e! loads it, :w! keeps yours."
          notices.notify({ level = "warn", message = message })
        end
      end, function() end)
    end
  end
end

return M
