--- Images in chats: `:Flemma paste` saves the image of the clipboard beside the chat, and the
--- path of an image that a terminal pastes when a file is dropped on it becomes a reference.
---@class flemma.paste
local M = {}

local api = vim.api

--- Loaded when something is pasted, because most chats have no images.
local function image()
  return require("flemma.paste.image")
end

--- Longest time that a clipboard program may take.
local PATIENCE_MS = 10000
--- Largest image that is saved: what a message may hold.
local BYTES = 20 * 1024 * 1024

local function notify(level, message)
  require("flemma.notices").notify({ level = level, message = message })
end

--- Asks the host for a reference to a file.
---@param name "dropped_image"|"reference" The former answers only if the text is the path of an image.
---@return string?
local function ask(name, text, buffer)
  local path = api.nvim_buf_get_name(buffer)
  local arguments = {
    text = text,
    chat = path ~= "" and vim.fn.fnamemodify(path, ":p") or "",
    project = vim.fs.normalize(require("flemma.directory").here()),
  }
  return require("flemma.lookup").wait("query", { name = name, arguments = arguments })
end

--- Returns a text with blanks where it would touch other text on a line.
---@param before string The line up to it.
---@param after string The line behind it.
local function apart(text, before, after)
  local left = before ~= "" and not before:find("%s$") and " " or ""
  local right = after ~= "" and not after:find("^%s") and " " or ""
  return left .. text .. right
end

--- Returns the cursor's line and the column at which a pasted text begins.
---@return integer row From zero.
---@return integer column
local function place()
  local row, column = unpack(api.nvim_win_get_cursor(0))
  local line = api.nvim_get_current_line()
  if api.nvim_get_mode().mode:find("^i") or line == "" then
    return row - 1, column
  end
  -- Behind the character at the cursor, as |p| does.
  return row - 1, column + vim.str_utf_end(line, column + 1) + 1
end

--- Returns the reference that replaces a pasted text, if that is the path of one image.
---@param lines string[]
---@return string?
function M.replacement(lines)
  local mode = api.nvim_get_mode().mode
  local is_one = #lines == 1 or #lines == 2 and lines[2] == ""
  if vim.bo.filetype ~= "chat" or not is_one or not mode:find("^[in]") then
    return nil
  end
  -- Other text need not wait for the host.
  local may_be_path = lines[1]:find("^%s*[/'\"]") or lines[1]:find("^%s*file:") or lines[1]:find("^%s*%a:[/\\]")
  local reference = may_be_path and ask("dropped_image", lines[1], api.nvim_get_current_buf())
  if not reference then
    return nil
  end
  local row, column = place()
  local line = api.nvim_buf_get_lines(0, row, row + 1, false)[1]
  return apart(reference, line:sub(1, column), line:sub(column + 1))
end

--- Handles what terminals paste. The user's own |vim.paste()| gets everything.
function M.start()
  local paste = vim.paste
  ---@diagnostic disable-next-line: duplicate-set-field
  vim.paste = function(lines, phase)
    -- A path comes in one piece.
    local found = phase == -1 and M.replacement(lines)
    return paste(found and { found } or lines, phase)
  end
end

--- Writes an image to a new file beside a chat.
---@return string? path
---@return string? problem
local function save(buffer, bytes, extension)
  local stem = vim.fn.fnamemodify(api.nvim_buf_get_name(buffer), ":p:r")
  for count = 1, 10000 do
    local path = ("%s-%d.%s"):format(stem, count, extension)
    -- Fails if the file exists.
    local file, why, code = vim.uv.fs_open(path, "wx", tonumber("644", 8))
    if file then
      local written, problem = vim.uv.fs_write(file, bytes)
      vim.uv.fs_close(file)
      return written == #bytes and vim.fs.normalize(path) or nil, problem or "the file is not complete"
    elseif code ~= "EEXIST" then
      return nil, why
    end
  end
end

---@class flemma.paste.Place
---@field buffer integer
---@field mark integer An extmark, which moves with the text.

local PLACES = api.nvim_create_namespace("flemma.paste")

--- Inserts the reference to an image.
---@param path string The image's, for messages.
local function insert(at, reference, path)
  local row, column = require("flemma.marks").place(at.buffer, PLACES, at.mark)
  if not row or not column then
    return notify("warn", ("The chat was closed meanwhile. The image is in %s."):format(path))
  end
  if not vim.bo[at.buffer].modifiable then
    return notify("warn", ("The chat is locked while a tool runs. The image is in %s."):format(path))
  end
  local line = api.nvim_buf_get_lines(at.buffer, row, row + 1, false)[1]
  local text = apart(reference, line:sub(1, column), line:sub(column + 1))
  api.nvim_buf_set_text(at.buffer, row, column, row, column, { text })
  if api.nvim_get_current_buf() == at.buffer then
    api.nvim_win_set_cursor(0, { row + 1, column + #text })
  end
end

--- Saves an image and inserts its reference.
local function take(at, bytes)
  local extension = image().extension(bytes)
  if not extension then
    return notify("warn", "The clipboard has no PNG, JPEG, GIF, or WebP image.")
  elseif #bytes > BYTES then
    return notify("warn", "The image is larger than 20 MB, which no message can hold.")
  end
  local path, why = save(at.buffer, bytes, extension)
  if not path then
    return notify("error", ("The image cannot be saved beside the chat: %s."):format(why))
  end
  local reference = ask("reference", path, at.buffer)
  if reference then
    insert(at, reference, path)
  else
    notify("warn", ("The host does not answer. The image is in %s."):format(path))
  end
end

--- Runs a program that prints the image of the clipboard.
local function read(program, done)
  local function run(argv, next)
    local started = pcall(vim.system, argv, { timeout = PATIENCE_MS }, function(result)
      vim.schedule(function()
        next(result.code == 0 and result.stdout or nil)
      end)
    end)
    if not started then
      next(nil)
    end
  end
  if not program.types then
    return run(program.read("image/png"), function(output)
      done(output and program.decode and program.decode(output) or output)
    end)
  end
  run(program.types, function(types)
    local kind = image().kind(types or "")
    if not kind then
      return done(nil)
    end
    run(program.read(kind), done)
  end)
end

--- Puts the image of the clipboard into the current chat, at the cursor.
function M.paste()
  local buffer = api.nvim_get_current_buf()
  if api.nvim_buf_get_name(buffer) == "" then
    return notify(
      "error",
      "The image is saved beside the chat, which has no name yet. Write it first: `:write NAME.chat`."
    )
  end
  local row, column = place()
  local at = { buffer = buffer, mark = api.nvim_buf_set_extmark(buffer, PLACES, row, column, {}) }
  local function finish(action)
    if api.nvim_buf_is_loaded(buffer) then
      action()
      api.nvim_buf_del_extmark(buffer, PLACES, at.mark)
    end
  end
  local text = vim.fn.has("clipboard") == 1 and vim.fn.getreg("+") or ""
  local reference = text ~= "" and ask("dropped_image", text, buffer)
  if reference then
    return finish(function()
      insert(at, reference, text)
    end)
  end
  local program = image().program()
  if not program then
    finish(function()
      notify("error", image().MISSING)
    end)
    return
  end
  read(program, function(bytes)
    finish(function()
      if bytes and bytes ~= "" then
        take(at, bytes)
      else
        notify("warn", ("The clipboard has no image, as %s says."):format(program.name))
      end
    end)
  end)
end

return M
