--- Images in chats: `:Flemma paste` saves the image of the clipboard beside the chat, and the
--- path of an image that a terminal pastes when a file is dropped on it becomes a reference.
---@class flemma.paste
local M = {}

local api = vim.api

--- Loaded when something is pasted, because most chats have no images.
---@return flemma.paste.image
local function image()
  return require("flemma.paste.image")
end

--- Longest time that a clipboard program may take.
local PATIENCE_MS = 10000
--- Largest image that is saved: what a message may hold.
local BYTES = 20 * 1024 * 1024

---@param level "info"|"warn"|"error"
---@param message string
local function notify(level, message)
  require("flemma.notices").notify({ level = level, message = message })
end

--- Returns the folder of a chat; the working directory for a chat without a name.
---@param buffer integer
---@return string
local function folder_of(buffer)
  local name = api.nvim_buf_get_name(buffer)
  return name ~= "" and require("flemma.chat_folder").base(vim.fn.fnamemodify(name, ":p"))
    or vim.fs.normalize(require("flemma.directory").here())
end

--- Returns the reference to a file: from the chat's folder if the file is in the project.
---@param path string
---@param buffer integer
---@return string
local function reference(path, buffer)
  local rules, paths = require("flemma.project_rules"), require("flemma.path")
  local folder, project, home =
    folder_of(buffer), vim.fs.normalize(require("flemma.directory").here()), vim.fs.normalize("~")
  for _, root in ipairs({ folder, project }) do
    if paths.below(path, root) then
      return rules.reference(path, folder)
    end
  end
  local in_home = paths.below(path, home)
  if in_home then
    return "@~/" .. rules.encoded(in_home)
  end
  -- An absolute path begins with two slashes, also before the drive of Windows.
  return "@//" .. rules.encoded((path:gsub("^/", "")))
end

--- Returns a text with blanks where it would touch other text on a line.
---@param text string
---@param before string The line up to it.
---@param after string The line behind it.
---@return string
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
  local path = image().path(lines[1])
  if not path then
    return nil
  end
  local row, column = place()
  local line = api.nvim_buf_get_lines(0, row, row + 1, false)[1]
  return apart(reference(path, api.nvim_get_current_buf()), line:sub(1, column), line:sub(column + 1))
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
---@param buffer integer
---@param bytes string
---@param extension string
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
---@param at flemma.paste.Place
---@param path string
local function insert(at, path)
  local row, column = require("flemma.marks").place(at.buffer, PLACES, at.mark)
  if not row or not column then
    return notify("warn", ("The chat was closed meanwhile. The image is in %s."):format(path))
  end
  if not vim.bo[at.buffer].modifiable then
    return notify("warn", ("The chat is locked while a tool runs. The image is in %s."):format(path))
  end
  local line = api.nvim_buf_get_lines(at.buffer, row, row + 1, false)[1]
  local text = apart(reference(path, at.buffer), line:sub(1, column), line:sub(column + 1))
  api.nvim_buf_set_text(at.buffer, row, column, row, column, { text })
  if api.nvim_get_current_buf() == at.buffer then
    api.nvim_win_set_cursor(0, { row + 1, column + #text })
  end
end

--- Saves an image and inserts its reference.
---@param at flemma.paste.Place
---@param bytes string
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
  insert(at, path)
end

--- Runs a program that prints the image of the clipboard.
---@param program flemma.paste.Program
---@param done fun(bytes: string?)
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
  local path = vim.fn.has("clipboard") == 1 and image().path(vim.fn.getreg("+"))
  if path then
    return finish(function()
      insert(at, path)
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
