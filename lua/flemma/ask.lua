--- `:Flemma ask`: puts a selection and a question into a chat.
---@class flemma.ask
local M = {}

local api = vim.api

--- Enters a window that shows a chat at its end, which is opened if there is none.
---@param buffer integer
function M.enter(buffer)
  local window = vim.fn.bufwinid(buffer)
  if window > 0 then
    api.nvim_set_current_win(window)
  else
    require("flemma.window").buffer(buffer, true)
  end
  -- Text that is added below moves the cursor along.
  api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(buffer), 0 })
end

--- Returns what is put into the chat.
---@return string? text
---@return string? problem
local function compose(question, range)
  local selection = require("flemma.selection")
  local parts = {}
  if range then
    parts[1] = selection.text(range)
    if not parts[1] then
      return nil, "The selection is empty, so nothing was added to a chat."
    end
  elseif vim.bo.filetype ~= "chat" then
    local path = selection.path()
    parts[1] = path ~= "" and ("File: %s"):format(path) or nil
  end
  if question ~= "" then
    parts[#parts + 1] = selection.clean({ question })[1]
  end
  if #parts == 0 then
    return nil, "There is nothing to ask. Select text first, or write a question after the command."
  end
  return table.concat(parts, "\n\n")
end

--- Puts a selection and a question into the last chat, and sends a question.
---@param question string
---@param range? flemma.selection.Range
---@param new boolean Whether a new chat is made in any case.
function M.ask(question, range, new)
  -- Before another buffer becomes the current one.
  local text, problem = compose(question, range)
  local chat = require("flemma.recent").get()
  if not text then
    return require("flemma.notices").notify({
      level = "error",
      message = problem --[[@as string]],
    })
  end
  if chat and not new then
    M.enter(chat)
  elseif not require("flemma.new").open(nil, true) then
    return
  end
  require("flemma.buffer").command("ask", { text = text, send = question ~= "" })
end

return M
