--- Reads and replaces files through the buffers that hold them, so that what the
--- user has not saved is neither missed nor overwritten. Files that no buffer
--- holds are the host's business.
---
--- One rule for every tool: an unmodified buffer is first made to hold what its file
--- does; a modified buffer is the truth, and is not saved.
---@class flemma.files
local M = {}

local api = vim.api
local disk = require("flemma.files.disk")
local host = require("flemma.host")
local notices = require("flemma.notices")
local queue = require("flemma.queue")
local text = require("flemma.files.text")
local undo = require("flemma.undo")

--- The loaded buffers that are files.
---@return fun(): integer?, string? buffers Each with its name.
local function open_files()
  return coroutine.wrap(function()
    for _, buffer in ipairs(api.nvim_list_bufs()) do
      if api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "" then
        local name = api.nvim_buf_get_name(buffer)
        if name ~= "" then
          coroutine.yield(buffer, name)
        end
      end
    end
  end)
end

--- The loaded buffer of a file.
---@param path string Absolute.
---@return integer?
local function buffer_of(path)
  local real = vim.uv.fs_realpath(path) or path
  for buffer, name in open_files() do
    if name == path or (vim.uv.fs_realpath(name) or name) == real then
      return buffer
    end
  end
end

--- Makes the buffer's lines `lines`, touching only those that differ, so that
--- marks and cursors elsewhere stay.
---@param buffer integer
---@param lines string[]
local function replace_lines(buffer, lines)
  if #lines == 0 or text.is_empty(buffer) then
    api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
    return
  end
  local old = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local function joined(of)
    -- A line may hold what the comparison takes for a line end.
    return (table.concat(of, "\n"):gsub("\r", "\0")) .. "\n"
  end
  local hunks = vim.diff(joined(old), joined(lines), { result_type = "indices" })
  ---@cast hunks integer[][]
  for index = #hunks, 1, -1 do
    local from, count, to, added = unpack(hunks[index])
    -- Where nothing is replaced, `from` is the line before the insertion.
    local first = count == 0 and from or from - 1
    local new = added == 0 and {} or vim.list_slice(lines, to, to + added - 1)
    api.nvim_buf_set_lines(buffer, first, first + count, true, new)
  end
end

---@type string? What the host was told last, in one string.
local told

--- Tells the host which files are open, so that it asks about no others. To be
--- called before whatever may start work on files: what was opened a moment ago
--- counts.
function M.tell()
  local paths = {}
  for _, name in open_files() do
    paths[#paths + 1] = name
  end
  local all = table.concat(paths, "\n")
  if all ~= told then
    told = all
    host.send("open_files", { paths = paths })
  end
end

--- Tells a host that knows nothing yet, and from then on whenever it changes.
function M.watch()
  told = nil
  M.tell()
  local scheduled = false
  api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "BufUnload" }, {
    group = api.nvim_create_augroup("flemma.files", { clear = true }),
    desc = "flemma: which files are open",
    callback = function()
      if not scheduled then
        scheduled = true
        -- A buffer that is unloaded still counts while its event runs.
        vim.schedule(function()
          scheduled = false
          M.tell()
        end)
      end
    end,
  })
end

--- Longest that a call waits for Neovim, in milliseconds: less than the 30 s after
--- which it is given up, as it must not do its work later.
local LONGEST_MS = 20000

--- Runs `work` on a buffer as soon as Neovim can take it; `failed` gets its error.
---@param buffer integer
---@param work fun()
---@param failed fun(why: string)
local function when_free(buffer, work, failed)
  local begun = vim.uv.now()
  queue.push(buffer, function()
    if vim.uv.now() - begun > LONGEST_MS then
      return failed("Neovim was busy with a prompt. Nothing was changed.")
    end
    local ok, why = pcall(work)
    if not ok then
      why = tostring(why)
      if why:find("E565", 1, true) then
        return queue.HOLD
      end
      failed(why)
    end
  end)
end

--- Answers what a file's buffer holds. A buffer that is unmodified and cannot be made
--- to hold what the file does is no open file: what is on disk counts.
---@param message flemma.protocol.OpenText
function M.open_text(message)
  local asker = host.channel()
  local function answer(answered)
    answered.ask = message.ask
    host.answer(asker, "buffers_answered", answered)
  end
  local buffer = buffer_of(message.path)
  if not buffer then
    return answer({ open = false })
  end
  local function answer_text()
    answer({ open = true, text = text.of(buffer), modified = vim.bo[buffer].modified })
  end
  if vim.bo[buffer].modified or disk.agrees(buffer) then
    return answer_text()
  end
  when_free(buffer, function()
    if api.nvim_buf_is_loaded(buffer) and (vim.bo[buffer].modified or disk.sync(buffer)) then
      answer_text()
    else
      answer({ open = false })
    end
  end, function()
    answer({ open = false })
  end)
end

---@class flemma.files.Old A buffer before it was changed.
---@field lines string[]
---@field form flemma.files.Form
---@field step integer Its undo step.
---@field modified boolean

---@param buffer integer
---@return flemma.files.Old
local function snapshot(buffer)
  return {
    lines = text.is_empty(buffer) and {} or api.nvim_buf_get_lines(buffer, 0, -1, false),
    form = text.form_of(buffer),
    step = vim.fn.undotree(buffer).seq_cur,
    modified = vim.bo[buffer].modified,
  }
end

--- Takes everything back that was done since.
---@param buffer integer
---@param old flemma.files.Old
local function restore(buffer, old)
  undo.write(buffer, false, function()
    pcall(vim.cmd, ("silent undo %d"):format(old.step))
    local now = api.nvim_buf_get_lines(buffer, 0, -1, false)
    if not vim.deep_equal(now, #old.lines == 0 and { "" } or old.lines) then
      replace_lines(buffer, old.lines)
    end
    text.set_form(buffer, old.form)
  end)
  if not old.modified and disk.agrees(buffer) then
    vim.bo[buffer].modified = false
  end
end

--- Why the text of a message cannot be put into a buffer, before anything changes.
---@param message flemma.protocol.ReplaceText
---@param buffer integer
---@param form flemma.files.Form The form that it would have.
---@return string? why
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
---@param message flemma.protocol.ReplaceText
---@param buffer integer
---@param lines string[]
---@param form flemma.files.Form
---@return string? why It was not done.
local function put(message, buffer, lines, form)
  local old = snapshot(buffer)
  local ok, why = undo.write(buffer, false, function()
    text.set_form(buffer, form)
    replace_lines(buffer, lines)
  end)
  if ok and text.of(buffer) ~= message.text then
    ok, why = false, "The editor did not take the text as it is. Nothing was changed."
  end
  if not ok then
    restore(buffer, old)
    return why or "The editor did not take the text. Nothing was changed."
  end
end

--- Saves the buffer, or takes the change back.
---@param message flemma.protocol.ReplaceText
---@param buffer integer
---@param old flemma.files.Old
---@param before string? What the file held.
---@return flemma.protocol.BuffersAnswered
local function save(message, buffer, old, before)
  local saved, why = disk.save(buffer, before)
  if not saved then
    restore(buffer, old)
    local name = api.nvim_buf_get_name(buffer)
    return { ok = false, message = ("%s was not saved: %s The change was taken back."):format(name, why) }
  end
  local now = text.of(buffer)
  local difference = now ~= message.text and vim.diff(message.text, now, { ctxlen = 1 }) or nil
  ---@cast difference string?
  return {
    ok = true,
    saved = true,
    bytes = #(disk.bytes_of(api.nvim_buf_get_name(buffer)) or ""),
    difference = difference,
    text = difference and now or nil,
  }
end

---@param message flemma.protocol.ReplaceText
---@param buffer integer
---@return flemma.protocol.BuffersAnswered
local function replace(message, buffer)
  local function refused(why)
    return { ok = false, message = why }
  end
  if not api.nvim_buf_is_loaded(buffer) then
    return refused("The buffer was closed.")
  end
  local modified = vim.bo[buffer].modified
  local name = api.nvim_buf_get_name(buffer)
  local before = disk.bytes_of(name)
  if not modified and not disk.sync(buffer) and before then
    return refused(name .. " is not shown in the editor as it is on disk. Nothing was changed.")
  end
  local lines, form = text.parse(message.text, text.form_of(buffer))
  form.encoding = message.encoding or form.encoding
  local why = refusal(message, buffer, form)
  if why then
    return refused(why)
  end
  local old = snapshot(buffer)
  why = put(message, buffer, lines, form)
  if why then
    return refused(why)
  elseif modified then
    return { ok = true, saved = false, bytes = #message.text, conflict = disk.conflicts(buffer) }
  end
  return save(message, buffer, old, before)
end

--- Replaces the text of a file's buffer, if it is still the expected one, and
--- writes it unless the user had unsaved changes there.
---@param message flemma.protocol.ReplaceText
function M.replace_text(message)
  local asker = host.channel()
  local function answer(answered)
    answered.ask = message.ask
    host.answer(asker, "buffers_answered", answered)
  end
  local buffer = buffer_of(message.path)
  if not buffer then
    return answer({ ok = false, message = "No buffer holds the file." })
  end
  when_free(buffer, function()
    answer(replace(message, buffer))
  end, function(why)
    answer({ ok = false, message = why })
  end)
end

--- Reads files again that a command may have changed. Chats are left alone: their
--- text is what the host works on.
function M.check_files()
  for buffer, name in open_files() do
    if vim.bo[buffer].filetype ~= "chat" then
      when_free(buffer, function()
        if not api.nvim_buf_is_loaded(buffer) then
          return
        end
        disk.check(buffer)
        local _, first = disk.conflicts(buffer)
        if first then
          local short = vim.fn.fnamemodify(name, ":~:.")
          local message = short .. " changed on disk and has unsaved changes. :e! loads it, :w! keeps yours."
          notices.notify({ level = "warn", message = message })
        end
      end, function() end)
    end
  end
end

return M
