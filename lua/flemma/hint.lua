--- Hints about keys: for a pending call, and to stop a request.
---@class flemma.hint
local M = {}

local config = require("flemma.config")

--- Returns a key in words: `<M-CR>` is Alt-Enter, `<C-]>` is Ctrl-].
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

--- Keys and their actions, the most likely first.
local ACTIONS = {
  { "tool_execute", "runs" },
  { "review", "reviews" },
  { "approve_all", "runs all" },
  { "reject", "rejects" },
  { "send", "runs all approved" },
}

--- Returns the keys for a pending call in one line, or the commands if there are no keymaps.
---@param has_diff boolean Whether it can be reviewed.
---@return string
function M.text(has_diff)
  local words, keymaps = {}, config.get().keymaps
  for _, action in ipairs(keymaps.enabled and ACTIONS or {}) do
    local key = keymaps.normal[action[1]]
    -- A line of 80 columns has no room for all.
    local fits = has_diff and action[1] ~= "send" or not has_diff and action[1] ~= "review"
    if key and key ~= "" and fits then
      words[#words + 1] = M.name(key) .. " " .. action[2]
    end
  end
  return #words > 0 and table.concat(words, " · ") or ":Flemma approve [all] runs · :Flemma reject rejects"
end

--- Returns how to stop a request, to append to a label.
---@return string
function M.cancels()
  local keymaps = config.get().keymaps
  local key = keymaps.enabled and keymaps.normal.cancel or ""
  return key and key ~= "" and (" (%s stops it)"):format(M.name(key)) or ""
end

return M
