--- What references in a message name in Neovim: diagnostics, the quickfix list, and the symbols
--- and text of open buffers. The host asks for it when it sends the chat.
---@class flemma.references
local M = {}

local api = vim.api
local host = require("flemma.host")
local is_absolute, slashed = require("flemma.path").is_absolute, require("flemma.path").slashed

--- Maximum number of diagnostics, quickfix entries, or symbols that are sent.
local ITEMS = 1000
--- Largest text of a buffer, as for files.
local BYTES = 20 * 1024 * 1024

local SEVERITIES = { "error", "warning", "info", "hint" }

local function clean(text)
  return require("flemma.selection").clean({ text })[1]
end

--- Returns text of several lines.
local function clean_lines(text)
  return table.concat(require("flemma.selection").clean(vim.split(text, "\n", { plain = true })), "\n")
end

--- Returns the path of a buffer that is a file.
local function path_of(buffer)
  if buffer <= 0 or not api.nvim_buf_is_valid(buffer) or vim.bo[buffer].buftype ~= "" then
    return nil
  end
  local name = api.nvim_buf_get_name(buffer)
  return is_absolute(name) and clean(name) or nil
end

--- Returns how a buffer is named in a chat: its path from the working directory, or its number.
local function name_of(buffer)
  local name = api.nvim_buf_get_name(buffer)
  if name == "" then
    return tostring(buffer)
  end
  return path_of(buffer) and clean(vim.fn.fnamemodify(name, ":.")) or clean(name)
end

--- Returns the buffers that can be named.
local function open_buffers()
  return vim.tbl_filter(function(buffer)
    return api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buflisted
  end, api.nvim_list_bufs())
end

--- Returns the diagnostics of the open files.
local function diagnostics()
  local items, total = {}, 0
  for _, buffer in ipairs(open_buffers()) do
    if vim.bo[buffer].filetype ~= "chat" then
      local found = vim.diagnostic.get(buffer)
      table.sort(found, function(a, b)
        return a.lnum < b.lnum or a.lnum == b.lnum and a.col < b.col
      end)
      total = total + #found
      for at = 1, math.min(#found, ITEMS - #items) do
        local it = found[at]
        local from = vim.trim(("%s %s"):format(it.source or "", it.code or ""))
        items[#items + 1] = {
          path = path_of(buffer),
          name = name_of(buffer),
          line = it.lnum + 1,
          column = it.col + 1,
          kind = SEVERITIES[it.severity] or "error",
          text = clean_lines(it.message) .. (from ~= "" and (" [%s]"):format(clean(from)) or ""),
        }
      end
    end
  end
  return { items = items, total = total }
end

--- Returns the entries of the quickfix list.
local function quickfix()
  local list = vim.fn.getqflist({ title = 0, size = 0 })
  local items = {}
  -- A slice in Vim script, because a list of 100,000 entries takes long to become Lua tables.
  for _, entry in ipairs(api.nvim_eval(("getqflist()[:%d]"):format(ITEMS - 1))) do
    local is_place = entry.valid == 1 and entry.bufnr > 0
    local name = is_place and api.nvim_buf_get_name(entry.bufnr) or ""
    local is_file = is_place and is_absolute(name)
    items[#items + 1] = {
      path = is_file and clean(name) or nil,
      name = is_place and name_of(entry.bufnr) or "",
      line = entry.lnum,
      column = entry.col,
      kind = ({ E = "error", W = "warning", I = "info", N = "note" })[entry.type:upper()] or "",
      text = clean_lines(entry.text),
    }
  end
  return { items = items, total = list.size, title = clean(list.title) }
end

--- Answers with the symbols of the open files.
local function symbols(reply)
  local files = vim.tbl_filter(function(buffer)
    return vim.bo[buffer].filetype ~= "chat" and vim.bo[buffer].buftype == ""
  end, open_buffers())
  require("flemma.symbols").find(files, function(found)
    local items, total = {}, 0
    for at, buffer in ipairs(files) do
      total = total + #found[at]
      for _, it in ipairs(vim.list_slice(found[at], 1, ITEMS - #items)) do
        local item = { path = path_of(buffer), name = name_of(buffer), line = it.line, column = 0 }
        items[#items + 1] = vim.tbl_extend("error", item, { kind = it.kind, text = clean(it.name) })
      end
    end
    reply({ items = items, total = total })
  end)
end

--- Returns the open buffers by the names that completion offers.
local function buffers()
  local items = vim.tbl_map(function(buffer)
    local kind = vim.bo[buffer].modified and "not saved" or ""
    return { path = path_of(buffer), name = name_of(buffer), line = 0, column = 0, kind = kind, text = "" }
  end, open_buffers())
  return { items = items, total = #items }
end

--- Returns the buffers that a name fits best: those that have exactly it, or those whose path
--- ends in it.
---@param folder string That of the chat.
local function named(name, folder)
  local from_chat = vim.fs.normalize(vim.fs.joinpath(folder, name))
  local exact, ending = {}, {}
  for _, buffer in ipairs(open_buffers()) do
    local full = slashed(api.nvim_buf_get_name(buffer))
    if full == name or name_of(buffer) == name or full ~= "" and full == from_chat then
      exact[#exact + 1] = buffer
    elseif full ~= "" and vim.endswith(full, "/" .. name) then
      ending[#ending + 1] = buffer
    end
  end
  if #exact == 0 and name:find("^%d+$") then
    -- Also of a buffer with a name.
    exact = vim.tbl_filter(function(buffer)
      return buffer == tonumber(name)
    end, open_buffers())
  end
  return #exact > 0 and exact or ending
end

--- Returns the text of an open buffer.
local function buffer_text(message)
  local found = named(message.name, message.folder)
  if #found == 0 then
    return { problem = "is not an open buffer. Open it, or refer to the file with @./ and its path." }
  elseif #found > 1 then
    local names = table.concat(vim.tbl_map(name_of, vim.list_slice(found, 1, 5)), ", ")
    return { problem = ("fits several open buffers: %s. Write more of the path."):format(names) }
  end
  local buffer = found[1]
  if api.nvim_buf_get_offset(buffer, api.nvim_buf_line_count(buffer)) > BYTES then
    return { problem = "is larger than 20 MB." }
  end
  local lines = require("flemma.selection").clean(api.nvim_buf_get_lines(buffer, 0, -1, false))
  return {
    text = table.concat(lines, "\n") .. "\n",
    path = path_of(buffer),
    name = clean(api.nvim_buf_get_name(buffer)),
    language = (vim.bo[buffer].filetype:gsub("[^%w_+#.-]", "")),
    modified = vim.bo[buffer].modified and vim.bo[buffer].buftype == "",
  }
end

---@type table<string, fun(message: flemma.protocol.Reference): flemma.protocol.ReferenceAnswer>
local KINDS = { diagnostics = diagnostics, quickfix = quickfix, buffers = buffers, buffer = buffer_text }

--- Answers what a reference names.
---@param message flemma.protocol.Reference
function M.reference(message)
  local channel = host.channel()
  local function reply(answer)
    answer.ask = message.ask
    host.answer(channel, "reference_answered", answer)
  end
  if message.kind == "symbols" then
    -- A language server answers later.
    return symbols(reply)
  end
  reply(KINDS[message.kind](message))
end

return M
