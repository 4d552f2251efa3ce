--- `:Flemma rename`: renames the file of a chat and its buffer, which keeps its undo history.
---@class flemma.rename
local M = {}

local api = vim.api

local function say(message, level)
  require("flemma.notices").notify({ level = level or "error", message = message })
end

--- Renames a file unless another has the new name.
---@return string? problem
local function move(from, to)
  -- Fails if there is such a file, also one that another program has just made.
  local linked, _, code = vim.uv.fs_link(from, to)
  if linked then
    local removed, why = vim.uv.fs_unlink(from)
    return not removed and why or nil
  elseif code == "EEXIST" or vim.uv.fs_lstat(to) then
    return "another file has that name"
  end
  -- Not every file system has links.
  local renamed, why = vim.uv.fs_rename(from, to)
  return not renamed and why or nil
end

--- Gives a buffer another name and no file besides.
---@param saved boolean Whether a file has the new name already.
local function name(buffer, path, saved)
  local before = api.nvim_buf_get_name(buffer)
  api.nvim_buf_call(buffer, function()
    vim.cmd("silent keepalt file " .. vim.fn.fnameescape(vim.fn.fnamemodify(path, ":.")))
    if saved then
      -- Otherwise the next `:w` would refuse to replace the file. The text is the same.
      vim.cmd("silent keepalt write!")
    end
  end)
  -- Neovim keeps a buffer with the name before.
  local left = before ~= "" and vim.fn.bufnr("^" .. vim.fn.fnameescape(before) .. "$") or -1
  if left ~= -1 and left ~= buffer and not api.nvim_buf_is_loaded(left) then
    api.nvim_buf_delete(left, { force = true })
  end
end

--- Renames a chat for the host.
---@param message flemma.protocol.Rename
function M.rename(message)
  local buffer, path = message.buffer, message.path
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  local before = vim.fn.fnamemodify(api.nvim_buf_get_name(buffer), ":p")
  local saved = api.nvim_buf_get_name(buffer) ~= "" and vim.uv.fs_lstat(before) ~= nil
  local ok, why = pcall(function()
    if saved then
      -- Asks if another program changed the file.
      api.nvim_buf_call(buffer, function()
        vim.cmd("silent update")
      end)
      local problem = move(before, path)
      if problem then
        error(problem, 0)
      end
    end
    name(buffer, path, saved)
  end)
  if not ok then
    -- Without the position in Neovim's own Lua.
    return say(("The chat was not renamed: %s."):format(tostring(why):match("E%d+: .*") or why))
  end
  say(("The chat is now %s."):format(vim.fn.fnamemodify(path, ":~:.")), "info")
end

return M
