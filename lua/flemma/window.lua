--- Opens every window and every prompt of the plugin, also where Neovim refuses the usual way: in
--- a floating window, without room for a split, and in a window with 'winfixbuf'.
---@class flemma.window
local M = {}

local api = vim.api

--- Part of the screen, or of a floating window, that a new window takes at most.
local MOST = 0.65

---@class flemma.window.Place
---@field enter boolean
---@field from? integer The window that it is put below or above; by default the whole screen.
---@field height? integer By default as the split gives.
---@field split? "below"|"above" "below" by default.
---@field style? "minimal"

local function is_floating(window)
  return api.nvim_win_get_config(window).relative ~= ""
end

--- Returns a window of this tab page that does not float: the last one, or else the first.
local function not_floating()
  local last = vim.fn.win_getid(vim.fn.winnr("#"))
  if last ~= 0 and not is_floating(last) then
    return last
  end
  -- There is always one.
  return vim.iter(api.nvim_tabpage_list_wins(0)):find(function(window)
    return not is_floating(window)
  end)
end

--- Opens a floating window over the lower part of another, or of the screen.
---@return integer window
local function float(buffer, place, over)
  local top, left, width, height, above = 0, 0, vim.o.columns, vim.o.lines - vim.o.cmdheight - 1, 50
  if over then
    top, left = unpack(api.nvim_win_get_position(over))
    width, height = api.nvim_win_get_width(over), api.nvim_win_get_height(over)
    above = api.nvim_win_get_config(over).zindex or above
  end
  -- Its border takes two columns and rows.
  local rows = math.max(1, math.min(place.height or math.floor(height * MOST), height - 2))
  return api.nvim_open_win(buffer, place.enter, {
    relative = "editor",
    row = place.split == "above" and top or top + math.max(0, height - rows - 2),
    col = left,
    width = math.max(1, width - 2),
    height = rows,
    zindex = above + 1,
    border = "single",
    style = place.style,
  })
end

--- Opens a window for a buffer. It floats if the window that it belongs to does, or if there is no
--- room for a split.
---@param buffer integer
---@param place flemma.window.Place
---@return integer window
function M.open(buffer, place)
  local from = place.from and api.nvim_win_is_valid(place.from) and place.from or nil
  local over = from or api.nvim_get_current_win()
  if is_floating(over) then
    return float(buffer, place, over)
  end
  local shown = api.nvim_win_get_buf(over)
  local is_at_end = vim.bo[shown].filetype == "chat"
    and api.nvim_win_get_cursor(over)[1] == api.nvim_buf_line_count(shown)
  local opened, window = pcall(api.nvim_open_win, buffer, place.enter, {
    split = place.split or "below",
    win = from or -1,
    height = place.height,
    style = place.style,
  })
  if opened and is_at_end then
    -- Neovim would scroll a window that became lower past the virtual lines above its end.
    api.nvim_win_call(over, function()
      vim.cmd("normal! zb")
    end)
  end
  return opened and window or float(buffer, place, nil)
end

--- Returns the window of this tab page that shows a buffer, if possible the current one.
---@param buffer integer
---@return integer? window
function M.showing(buffer)
  if api.nvim_get_current_buf() == buffer then
    return api.nvim_get_current_win()
  end
  local window = vim.fn.bufwinid(buffer)
  return window ~= -1 and window or nil
end

--- Gives a window the height of its text, wrapped lines included, as long as enough of the window
--- that it belongs to stays in sight.
---@param window integer
function M.fit(window)
  local wanted = api.nvim_win_text_height(window, {}).all + (vim.wo[window].winbar ~= "" and 1 or 0)
  local height = math.min(wanted, math.floor(vim.o.lines * MOST))
  if height > api.nvim_win_get_height(window) and not is_floating(window) then
    api.nvim_win_set_height(window, height)
  end
end

--- Returns to another window when a window is closed in which the user is.
---@param window integer
---@param to integer The window to return to.
---@param closed? fun() Called afterwards.
function M.return_from(window, to, closed)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(window),
    once = true,
    desc = "flemma: back to the chat",
    callback = function()
      if api.nvim_get_current_win() ~= window then
        return
      end
      -- The window is closed after this event.
      vim.schedule(function()
        if api.nvim_win_is_valid(to) then
          api.nvim_set_current_win(to)
        end
        if closed then
          closed()
        end
      end)
    end,
  })
end

--- Returns true if the current window may show another buffer.
local function is_free()
  -- A buffer with changes is hidden only if the user's 'hidden' allows that.
  return not vim.wo.winfixbuf and (vim.o.hidden or vim.bo.bufhidden ~= "" or not vim.bo.modified)
end

--- Makes a window current in which a buffer may be shown: this one, or a new one.
---@param apart boolean? Whether it is a new one in any case.
local function enter(apart)
  if not apart and is_free() then
    return
  end
  local current = api.nvim_get_current_win()
  local from = is_floating(current) and not_floating() or current
  local height = api.nvim_win_get_height(from)
  local buffer = api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  api.nvim_set_current_win(from)
  -- Half of the window, as `:split` takes.
  M.open(buffer, { enter = true, from = from, height = math.max(1, math.floor(height / 2)) })
  vim.wo.winfixbuf = false
end

--- Shows a file.
---@param path string
---@param apart? boolean Whether it gets a window of its own.
function M.file(path, apart)
  local loaded = vim.fn.bufnr("^" .. vim.fn.fnameescape(path) .. "$")
  if loaded ~= -1 and api.nvim_buf_is_loaded(loaded) then
    -- `:edit` would read the file again.
    return M.buffer(loaded, apart)
  end
  enter(apart)
  vim.cmd.edit(vim.fn.fnameescape(vim.fn.fnamemodify(path, ":.")))
end

--- Shows a buffer.
---@param buffer integer
---@param apart? boolean Whether it gets a window of its own.
function M.buffer(buffer, apart)
  if not apart and api.nvim_get_current_buf() == buffer then
    return
  end
  enter(apart)
  api.nvim_set_current_buf(buffer)
end

--- Asks the user for a line of text.
---@param options { prompt: string, default: string? }
---@param callback fun(text: string?)
function M.input(options, callback)
  vim.ui.input(options, function(text)
    require("flemma.notices").prompt_closed()
    callback(text)
  end)
end

--- Asks the user for one of several items.
---@param items any[]
---@param options { prompt: string, kind: string?, format_item: (fun(item: any): string)? }
---@param callback fun(item: any?, index: integer?)
function M.select(items, options, callback)
  vim.ui.select(items, options, function(item, index)
    require("flemma.notices").prompt_closed()
    callback(item, index)
  end)
end

return M
