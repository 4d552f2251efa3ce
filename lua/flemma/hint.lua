--- The keys for a call that waits, as a line below its preview.
---@class flemma.hint
local M = {}

local config = require("flemma.config")

--- A key as people call it: `<M-CR>` is Alt-Enter, `<C-]>` is Ctrl-].
---@param key string As in a mapping.
---@return string
function M.name(key)
  local inner = key:match("^<(.+)>$")
  if not inner then
    return key
  end
  local name = inner
    :gsub("^[Cc]%-(%l)$", function(letter)
      return "Ctrl-" .. letter:upper()
    end)
    :gsub("^[Cc]%-", "Ctrl-")
    :gsub("^[MmAa]%-", "Alt-")
    :gsub("^[Ss]%-", "Shift-")
    :gsub("[Cc][Rr]$", "Enter")
    :gsub("[Ll]eader>", "Leader ")
  return name
end

--- What each key does, in the order in which it is most likely wanted.
---@return { [1]: string, [2]: string }[] pairs Key and action.
local function actions()
  local keys = config.get().keymaps.normal
  return {
    { keys.tool_execute, "runs" },
    { keys.approve_all, "runs all" },
    { keys.reject, "rejects" },
    { keys.send, "runs all approved" },
  }
end

---@type string? For the keymaps as they are.
local text

--- The options were read anew.
function M.reset()
  text = nil
end

--- The keys in one line; without keymaps, the commands.
---@return string
function M.text()
  if not text then
    local words = {}
    for _, action in ipairs(config.get().keymaps.enabled and actions() or {}) do
      if action[1] and action[1] ~= "" then
        words[#words + 1] = M.name(action[1]) .. " " .. action[2]
      end
    end
    text = #words > 0 and table.concat(words, " · ") or ":Flemma approve [all] runs · :Flemma reject refuses"
  end
  return text
end

--- How to stop a request, behind what it is doing.
---@return string
function M.cancels()
  local keymaps = config.get().keymaps
  local key = keymaps.enabled and keymaps.normal.cancel or ""
  return key and key ~= "" and (" (%s stops it)"):format(M.name(key)) or ""
end

--- The line as chunks of virtual text.
---@return string[][]
function M.line()
  return { { M.text(), "FlemmaHint" } }
end

return M
