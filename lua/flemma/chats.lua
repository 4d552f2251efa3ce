--- `:Flemma chats` and `:Flemma search`: earlier chats, which the host finds.
---@class flemma.chats
local M = {}

---@type integer Counts searches; a new one ends the one before.
local searches = 0

local function say(message, level)
  require("flemma.notices").notify({ level = level or "info", message = message })
end

---@class flemma.chats.Item
---@field path string
---@field text string Date, title, and path on one line.

--- Returns the chats of this project, or of all projects, as pickers show them: the last
--- changed first.
---@param all boolean
---@return flemma.chats.Item[]? chats Nil if the host does not answer.
local function listed(all)
  local chats = require("flemma.new").query("chats", { all = all })
  return chats
    and vim.tbl_map(function(chat)
      local text = ("%s  %s  (%s)"):format(os.date("%Y-%m-%d %H:%M", chat.time), chat.title, chat.name)
      return { path = chat.path, text = require("flemma.notices").escape(text) }
    end, chats)
end

--- Returns the chats for a picker. If there are none, says so.
---@param all boolean
---@return flemma.chats.Item[]?
function M.found(all)
  local items = listed(all)
  if not items then
    return say("The host does not answer, so the chats are not listed. Try again.")
  elseif #items > 0 then
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

--- Puts the lines of all chats that contain all words into the quickfix list.
---@param words string[]
function M.search(words)
  if #words == 0 then
    return say("There is nothing to search for. Write words after :Flemma search.", "error")
  end
  searches = searches + 1
  local this, shown = searches, table.concat(words, " "):lower()
  local question = { name = "search", arguments = require("flemma.new").arguments({ words = words }) }
  require("flemma.buffer").start()
  require("flemma.host").when_ready(function()
    require("flemma.lookup").ask("query", question, function(items)
      if this ~= searches or not items then
        return
      elseif #items == 0 then
        return say(('No line of a chat contains "%s".'):format(shown))
      end
      vim.fn.setqflist({}, " ", { title = "Flemma search " .. shown, items = items })
      vim.cmd.copen()
    end)
  end)
end

return M
