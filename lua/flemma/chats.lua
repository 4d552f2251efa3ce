--- `:Flemma chats` and `:Flemma search`: finding earlier chats.
---@class flemma.chats
local M = {}

local known_chats = require("flemma.known_chats")

--- Longest time that a search works before it lets Neovim draw.
local SLICE_NS = 8 * 1000 * 1000
--- Most lines that a search finds.
local MOST_LINES = 1000
--- Most chats that a picker shows; a search finds older ones.
local MOST_SHOWN = 1000
--- Most bytes of a chat that are searched, because one file is searched in one piece.
local MOST_BYTES = 4 * 1024 * 1024

---@type integer Counts searches; a new one ends the one before.
local searches = 0

---@param message string
---@param level? "info"|"warn"|"error"
local function say(message, level)
  require("flemma.notices").notify({ level = level or "info", message = message })
end

---@class flemma.chats.Item
---@field path string
---@field text string Date, title, and path on one line.

--- Returns the chats of this project, or of all projects, as pickers show them: the last
--- changed first.
---@param all boolean
---@return flemma.chats.Item[]
function M.list(all)
  local project = vim.fs.normalize(require("flemma.directory").here())
  local chats = vim.list_slice(known_chats.chats(not all and project or nil), 1, MOST_SHOWN)
  known_chats.read_titles(chats)
  local escape = require("flemma.notices").escape
  return vim.tbl_map(function(chat)
    local folder = require("flemma.chat_folder")
    local path = require("flemma.path").below(chat.path, project)
      or folder.is_ours(chat.path) and vim.fs.joinpath(
        vim.fs.basename(folder.base(chat.path)),
        vim.fs.basename(chat.path)
      )
      or vim.fn.fnamemodify(chat.path, ":~")
    local text = escape(("%s  %s  (%s)"):format(os.date("%Y-%m-%d %H:%M", chat.time), chat.title, path))
    return { path = chat.path, text = text }
  end, chats)
end

--- Returns the chats for a picker. If there are none, says so.
---@param all boolean
---@return flemma.chats.Item[]?
function M.found(all)
  local items = M.list(all)
  if #items > 0 then
    return items
  end
  say(all and "No chat was saved yet." or "This project has no chats. `:Flemma chats all` lists all.")
end

--- Returns the title of a picker.
---@param all boolean
---@return string
function M.prompt(all)
  return all and "All chats" or "Chats of this project"
end

--- Opens a chat in this window, or in another if this one cannot show it. A chat that was not open
--- begins at its prompt, unless the user's autocommands put the cursor elsewhere.
---@param path string
function M.open(path)
  local buffer = vim.fn.bufnr(vim.fn.fnameescape(path))
  -- `:edit` would read it again, or fail because of unsaved changes.
  if vim.fn.bufnr() == buffer then
    return
  end
  local was_open = buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer)
  require("flemma.window").file(path)
  if not was_open and vim.api.nvim_win_get_cursor(0)[1] == 1 then
    vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })
  end
end

--- Lets the user pick a chat of this project, or of all projects.
---@param all boolean
function M.pick(all)
  local items = M.found(all)
  if not items then
    return
  end
  require("flemma.window").select(items, {
    prompt = M.prompt(all),
    kind = "flemma.chats",
    ---@param item flemma.chats.Item
    format_item = function(item)
      return item.text
    end,
  }, function(item)
    if item then
      M.open(item.path)
    end
  end)
end

--- Returns the lines of a text that contain all words.
---@param text string
---@param words string[] In lower case.
---@return { [1]: integer, [2]: string }[] lines Numbers and texts.
function M.matches(text, words)
  local lower = text:lower()
  -- Most files lack a word, and checking the whole text is faster than checking its lines.
  for _, word in ipairs(words) do
    if not lower:find(word, 1, true) then
      return {}
    end
  end
  local found, number = {}, 0
  for line in vim.gsplit(text, "\n", { plain = true }) do
    number = number + 1
    local small = line:lower()
    local has_all = vim.iter(words):all(function(word)
      return small:find(word, 1, true) ~= nil
    end)
    if has_all then
      found[#found + 1] = { number, line }
    end
  end
  return found
end

---@param items table[] For the quickfix list.
---@param words string[]
local function show(items, words)
  if #items == 0 then
    return say(('No line of a chat contains "%s".'):format(table.concat(words, " ")))
  end
  vim.fn.setqflist({}, " ", { title = "Flemma search " .. table.concat(words, " "), items = items })
  vim.cmd.copen()
end

--- Puts the lines of all chats that contain all words into the quickfix list.
---@param words string[]
function M.search(words)
  if #words == 0 then
    return say("There is nothing to search for. Write words after :Flemma search.", "error")
  end
  words = vim.tbl_map(string.lower, words)
  searches = searches + 1
  local this, chats, items, at = searches, known_chats.chats(), {}, 0
  local function continue()
    local deadline = vim.uv.hrtime() + SLICE_NS
    while this == searches and at < #chats and #items < MOST_LINES do
      if vim.uv.hrtime() > deadline then
        -- Neovim draws and reads keys before the search continues.
        return vim.defer_fn(continue, 1)
      end
      at = at + 1
      local file = io.open(chats[at].path, "r")
      for _, line in ipairs(M.matches(file and file:read(MOST_BYTES) or "", words)) do
        items[#items + 1] = { filename = chats[at].path, lnum = line[1], text = line[2] }
      end
      if file then
        file:close()
      end
    end
    if this == searches then
      show(items, words)
    end
  end
  continue()
end

return M
