--- Compares buffers with their files, reloads and saves them, all without a question to the
--- user.
---@class flemma.files.disk
local M = {}

local api = vim.api
local text = require("flemma.files.text")

--- Largest file that is compared, in bytes: the largest that tools change.
local MOST_BYTES = 64 * 1024 * 1024

---@alias flemma.files.Stamp string Identifies a state of a file; empty if there is no file.

---@type table<integer, flemma.files.Stamp> The file of each buffer when both were last the same.
local agreed = {}
---@type table<integer, flemma.files.Stamp> The last conflict that was reported, by buffer.
local reported = {}

local function stamp_of(buffer)
  local stat = vim.uv.fs_stat(api.nvim_buf_get_name(buffer))
  if not stat then
    return ""
  end
  return ("%d:%d:%d:%d.%d"):format(stat.dev, stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec)
end

--- Reads a file.
---@param path string
---@return string? bytes Nil if it cannot be read or is too large.
function M.bytes_of(path)
  local file = vim.uv.fs_open(path, "r", 0)
  if not file then
    return nil
  end
  local stat = vim.uv.fs_fstat(file)
  local bytes = stat and stat.type == "file" and stat.size <= MOST_BYTES and vim.uv.fs_read(file, stat.size, 0)
  vim.uv.fs_close(file)
  return bytes or nil
end

--- Returns true if the file has the bytes that saving the buffer would store.
---@param buffer integer
---@return boolean
function M.agrees(buffer)
  local bytes = M.bytes_of(api.nvim_buf_get_name(buffer))
  return bytes ~= nil and text.encode(text.of(buffer), text.form_of(buffer).encoding) == bytes
end

--- Reloads an unmodified buffer if the times of its file changed.
local function check_time(buffer)
  -- Without this, Neovim may ask the user.
  local guard = api.nvim_create_autocmd("FileChangedShell", {
    pattern = ("<buffer=%d>"):format(buffer),
    desc = "flemma: reload without a question",
    callback = function()
      vim.v.fcs_choice = vim.bo[buffer].modified and "" or "reload"
    end,
  })
  local ok, why = pcall(vim.cmd, ("silent checktime %d"):format(buffer))
  api.nvim_del_autocmd(guard)
  if not ok then
    error(why, 0)
  end
end

local function reload(buffer)
  api.nvim_buf_call(buffer, function()
    vim.cmd("silent keepalt edit!")
  end)
end

--- Reloads an unmodified buffer if another program changed its file.
---@param buffer integer
function M.check(buffer)
  local now = stamp_of(buffer)
  -- All open files are checked after each call, so an unchanged one costs one fs_stat().
  if vim.bo[buffer].modified or now == "" or now == agreed[buffer] then
    return
  elseif agreed[buffer] == "" or text.is_empty(buffer) then
    -- `:checktime` always asks about a file that was created after its buffer.
    if not M.agrees(buffer) then
      reload(buffer)
    end
  else
    check_time(buffer)
  end
  if M.agrees(buffer) then
    agreed[buffer] = now
  end
end

--- Makes an unmodified buffer the same as its file.
---@param buffer integer
---@return boolean ok Whether it is; false if there is no file.
function M.sync(buffer)
  if M.agrees(buffer) then
    return true
  end
  M.check(buffer)
  if not M.agrees(buffer) and stamp_of(buffer) ~= "" then
    -- The file changed, but its times did not.
    reload(buffer)
  end
  return M.agrees(buffer)
end

--- Returns true if the file of a buffer with unsaved changes changed on disk, so that saving
--- would lose one of the two.
---@param buffer integer
---@return boolean conflicts
---@return boolean first Whether this change was not asked about before.
function M.conflicts(buffer)
  local now = stamp_of(buffer)
  if not vim.bo[buffer].modified or agreed[buffer] == nil or agreed[buffer] == now then
    return false, false
  end
  local first = reported[buffer] ~= now
  reported[buffer] = now
  return true, first
end

--- Returns true if the file of a buffer is as it was when the buffer read or wrote it.
---@param buffer integer
---@return boolean
function M.is_as_known(buffer)
  return agreed[buffer] == stamp_of(buffer)
end

--- Notes that a buffer and its file are the same now.
---@param buffer integer
function M.agree(buffer)
  agreed[buffer] = stamp_of(buffer)
end

--- Identifies the file at a path.
---@param path string
---@return {device: integer, inode: integer}?
function M.identity(path)
  local stat = vim.uv.fs_stat(path)
  return stat and { device = stat.dev, inode = stat.ino }
end

--- Whether the file that is being written is written for a tool.
local writing = false

--- Writes the buffer to its file, unless the file changed.
---@param before string? The bytes that the file must have; nil if there must be no file.
local function write(buffer, before)
  local options = vim.bo[buffer]
  local copy, fix = options.backupcopy, options.fixendofline
  -- Written in place, so that owner, access control list, and links stay.
  options.backupcopy, options.fixendofline = "yes", false
  local problem ---@type string?
  -- Created last, so that it runs after the user's own, which may change the text.
  local guard = api.nvim_create_autocmd("BufWritePre", {
    pattern = ("<buffer=%d>"):format(buffer),
    desc = "flemma: save over nothing but what was read",
    callback = function()
      local form = text.form_of(buffer)
      if M.bytes_of(api.nvim_buf_get_name(buffer)) ~= before then
        problem = "Another program changed the file meanwhile."
      elseif not text.encode(text.of(buffer), form.encoding) then
        problem = ("Your autocommands inserted text that %s cannot store."):format(form.encoding)
      end
      if problem then
        error(problem, 0)
      end
    end,
  })
  writing = true
  local ok, why = pcall(api.nvim_buf_call, buffer, function()
    -- With `!` Neovim does not ask about what was compared above.
    vim.cmd("silent keepalt write!")
  end)
  writing = false
  pcall(api.nvim_del_autocmd, guard)
  if api.nvim_buf_is_valid(buffer) then
    options.fixendofline, options.backupcopy = fix, copy
  end
  if not ok then
    error(problem or why, 0)
  end
end

--- Returns true while a file is written for a tool, not by the user.
---@return boolean
function M.is_writing()
  return writing
end

--- Saves a buffer, and checks that the buffer is unmodified and the same as its file.
---@param buffer integer
---@param before string? The bytes that the file must have; nil if there must be no file.
---@return boolean saved
---@return string? why
function M.save(buffer, before)
  local path = api.nvim_buf_get_name(buffer)
  local identity = M.identity(path)
  local ok, why = pcall(write, buffer, before)
  if not ok then
    -- The other lines are a stack trace.
    return false, vim.split(tostring(why), "\n")[1]
  end
  if identity and not vim.deep_equal(identity, M.identity(path)) then
    return false, "Its path leads to another file now."
  end
  if vim.bo[buffer].modified or not M.agrees(buffer) then
    return false, "The file differs from the buffer."
  end
  return true
end

--- Remembers each file as it was when its buffer read or wrote it.
function M.watch()
  local group = api.nvim_create_augroup("flemma.files.disk", { clear = true })
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and not vim.bo[buffer].modified then
      agreed[buffer] = agreed[buffer] or stamp_of(buffer)
    end
  end
  api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufWritePost", "FileChangedShellPost" }, {
    group = group,
    desc = "flemma: the file as its buffer knows it",
    callback = function(event)
      agreed[event.buf] = stamp_of(event.buf)
    end,
  })
  api.nvim_create_autocmd("BufFilePost", {
    group = group,
    desc = "flemma: a buffer whose new name no file has",
    callback = function(event)
      if stamp_of(event.buf) == "" then
        agreed[event.buf] = ""
      end
    end,
  })
  api.nvim_create_autocmd("BufUnload", {
    group = group,
    desc = "flemma: forget the file of a buffer",
    callback = function(event)
      agreed[event.buf], reported[event.buf] = nil, nil
    end,
  })
end

return M
