--- Reads and replaces files through the buffers that hold them, so that what the
--- user has not saved is neither missed nor overwritten. Files that no buffer
--- holds are the host's business.
---@class flemma.files
local M = {}

local api = vim.api
local host = require("flemma.host")
local queue = require("flemma.queue")
local undo = require("flemma.undo")

local BOM = "\239\187\191"

--- The loaded buffer of a file.
---@param path string Absolute.
---@return integer?
local function buffer_of(path)
  local real = vim.uv.fs_realpath(path) or path
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "" then
      local name = api.nvim_buf_get_name(buffer)
      if name ~= "" and (name == path or (vim.uv.fs_realpath(name) or name) == real) then
        return buffer
      end
    end
  end
end

--- What would be written for the buffer.
---@param buffer integer
---@return string
local function text_of(buffer)
  local options = vim.bo[buffer]
  local newline = options.fileformat == "dos" and "\r\n" or options.fileformat == "mac" and "\r" or "\n"
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local text = table.concat(lines, newline)
  local empty = #lines == 1 and lines[1] == ""
  if options.endofline and not empty then
    text = text .. newline
  end
  return (options.bomb and BOM or "") .. text
end

--- The lines that a text is in a buffer of this file format.
---@param text string
---@param format "unix"|"dos"|"mac"
---@return string[] lines
---@return boolean endofline Whether the last line is complete.
function M.lines_of(text, format)
  if text:sub(1, 3) == BOM then
    text = text:sub(4)
  end
  local newline = format == "dos" and "\r\n" or format == "mac" and "\r" or "\n"
  local lines = vim.split(text, newline, { plain = true })
  local endofline = #lines > 1 and lines[#lines] == ""
  if endofline then
    lines[#lines] = nil
  end
  return lines, endofline
end

--- Makes the buffer's lines `lines`, touching only those that differ, so that
--- marks and cursors elsewhere stay.
---@param buffer integer
---@param lines string[]
local function replace_lines(buffer, lines)
  local old = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local hunks =
    vim.diff(table.concat(old, "\n") .. "\n", table.concat(lines, "\n") .. "\n", { result_type = "indices" })
  ---@cast hunks integer[][]
  for index = #hunks, 1, -1 do
    local from, count, to, added = unpack(hunks[index])
    -- Where nothing is replaced, `from` is the line before the insertion.
    local first = count == 0 and from or from - 1
    local new = added == 0 and {} or vim.list_slice(lines, to, to + added - 1)
    api.nvim_buf_set_lines(buffer, first, first + count, true, new)
  end
end

---@param buffer integer
---@return boolean ok
---@return string? why
local function save(buffer)
  return pcall(api.nvim_buf_call, buffer, function()
    vim.cmd("silent keepalt write")
  end)
end

---@type string? What the host was told last, in one string.
local told

--- Tells the host which files are open, so that it asks about no others. To be
--- called before whatever may start work on files: what was opened a moment ago
--- counts.
function M.tell()
  local paths = {}
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "" then
      local name = api.nvim_buf_get_name(buffer)
      paths[#paths + 1] = name ~= "" and name or nil
    end
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

--- Answers what a file's buffer holds, saved or not.
---@param message flemma.protocol.OpenText
function M.open_text(message)
  local buffer = buffer_of(message.path)
  if not buffer then
    host.send("buffers_answered", { ask = message.ask, open = false })
    return
  end
  host.send("buffers_answered", {
    ask = message.ask,
    open = true,
    text = text_of(buffer),
    modified = vim.bo[buffer].modified,
  })
end

---@param message flemma.protocol.ReplaceText
---@param buffer integer
---@return "hold"|nil
local function replace(message, buffer)
  local function answer(ok, saved, why)
    host.send("buffers_answered", { ask = message.ask, ok = ok, saved = saved, message = why })
  end
  if not api.nvim_buf_is_loaded(buffer) then
    return answer(false, false, "The buffer was closed.")
  end
  if text_of(buffer) ~= message.expected then
    return answer(false, false, "The buffer changed in the meantime.")
  end
  if not vim.bo[buffer].modifiable then
    return answer(false, false, "The buffer is not modifiable.")
  end
  local modified = vim.bo[buffer].modified
  local lines, endofline = M.lines_of(message.text, vim.bo[buffer].fileformat)
  local ok, why = undo.write(buffer, false, function()
    replace_lines(buffer, lines)
  end)
  if not ok then
    if why and why:find("E565", 1, true) then
      return queue.HOLD
    end
    return answer(false, false, why)
  end
  vim.bo[buffer].endofline = endofline
  if modified then
    return answer(true, false)
  end
  local saved, problem = save(buffer)
  answer(true, saved, not saved and tostring(problem) or nil)
end

--- Replaces the text of a file's buffer, if it is still the expected one, and
--- writes it unless the user had unsaved changes there.
---@param message flemma.protocol.ReplaceText
function M.replace_text(message)
  local buffer = buffer_of(message.path)
  if not buffer then
    host.send(
      "buffers_answered",
      { ask = message.ask, ok = false, saved = false, message = "No buffer holds the file." }
    )
    return
  end
  queue.push(buffer, function()
    return replace(message, buffer)
  end)
end

return M
