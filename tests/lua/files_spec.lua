--- Open files: what tools read and replace, in the buffer and on disk.
-- luacheck: globals test same

local disk = require("flemma.files.disk")
local files = require("flemma.files")
local host = require("flemma.host")
local text = require("flemma.files.text")

local api = vim.api

--- The bytes of a file with the lines one, two, three, by the name of its form.
local FORMS = {
  ["LF"] = "one\ntwo\nthree\n",
  ["CRLF"] = "one\r\ntwo\r\nthree\r\n",
  ["CRLF without a final line end"] = "one\r\ntwo\r\nthree",
  ["CR"] = "one\rtwo\rthree\r",
  ["mixed"] = "one\r\ntwo\nthree\r\n",
  ["no final line end"] = "one\ntwo\nthree",
  ["byte order mark"] = "\239\187\191one\ntwo\nthree\n",
  ["Latin-1"] = "one\ntwo \233\nthree\n",
  ["UTF-16"] = "\255\254" .. ("one\ntwo\nthree\n"):gsub(".", "%0\0"),
  ["a NUL"] = "one\ntwo\0\nthree\n",
  ["empty lines"] = "\n\none\ntwo\nthree\n\n",
}

---@param path string
---@return string
local function on_disk(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

---@param path string
---@param bytes string
local function write(path, bytes)
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
end

--- Passes a message of the host to the plugin and returns the reply.
local function ask(receiver, message)
  local answered
  local send = host.send
  host.send = function(name, payload)
    if name == "buffers_answered" then
      answered = payload
    end
  end
  message.ask = 1
  local ok, why = pcall(receiver, message)
  host.send = send
  assert(ok, why)
  return answered
end

local function identity(path)
  local stat = vim.uv.fs_stat(path)
  return stat and { device = stat.dev, inode = stat.ino }
end

local function replace(path, new, expected, encoding)
  local message = { path = path, file = identity(path), text = new, expected = expected, encoding = encoding }
  return ask(files.replace_text, message)
end

--- Opens a file with these bytes, and calls `body` with its path and buffer.
local function with_open(bytes, body)
  local path = vim.fn.tempname() .. ".txt"
  write(path, bytes)
  vim.cmd("edit " .. path)
  local buffer = api.nvim_get_current_buf()
  local ok, why = xpcall(body, debug.traceback, path, buffer)
  if api.nvim_buf_is_valid(buffer) then
    vim.cmd("silent bwipeout! " .. buffer)
  end
  os.remove(path)
  if not ok then
    error(why, 0)
  end
end

local group = api.nvim_create_augroup("files_spec", {})

test("an open file of any form is read and replaced, byte for byte", function()
  for name, bytes in pairs(FORMS) do
    for _, case in ipairs({ "open", "changed on disk", "changed with the same times" }) do
      with_open(bytes, function(path, buffer)
        local label = name .. ", " .. case
        if case ~= "open" then
          local stat = assert(vim.uv.fs_stat(path))
          bytes = bytes:gsub("three", "third")
          write(path, bytes)
          if case == "changed with the same times" then
            vim.uv.fs_utime(path, stat.atime.sec, stat.mtime.sec + stat.mtime.nsec / 1e9)
          end
        end
        local read = ask(files.open_text, { path = path })
        same({ label, read.open, read.modified }, { label, true, false })
        local encoding = text.form_of(buffer).encoding
        same({ label, text.encode(read.text, encoding) }, { label, bytes })
        -- The new text gets the line endings of the replaced one.
        local new = read.text:gsub("two", "2")
        local answered = replace(path, new, read.text)
        same({ label, answered.message, answered.saved }, { label, nil, true })
        local expected = text.encode(new, encoding)
        same({ label, on_disk(path) }, { label, expected })
        same({ label, answered.bytes }, { label, #expected })
        same({ label, vim.bo[buffer].modified, vim.bo[buffer].fixendofline }, { label, false, true })
      end)
    end
  end
end)

test("a new text is stored unchanged, whatever the form of the file", function()
  for name, bytes in pairs(FORMS) do
    for _, new in ipairs({ "a\nB\nc\nd\n", "a\r\nb\r\n", "a\rb\n", "a", "", "\n", "\239\187\191x\n", "€\n", "a\0b\n" }) do
      with_open(bytes, function(path, buffer)
        local answered = replace(path, new, nil, "utf-8")
        same({ name, new, answered.message }, { name, new, nil })
        same({ name, new, on_disk(path) }, { name, new, new })
        same({ name, new, text.of(buffer) }, { name, new, new })
        same({ name, vim.bo[buffer].modified, answered.bytes }, { name, false, #new })
      end)
    end
  end
end)

test("unsaved changes are read and replaced, and are not saved", function()
  for name, bytes in pairs(FORMS) do
    for _, case in ipairs({ "open", "changed on disk" }) do
      with_open(bytes, function(path, buffer)
        api.nvim_buf_set_lines(buffer, -1, -1, true, { "mine" })
        local held = case == "open" and bytes or bytes .. "theirs"
        write(path, held)
        local read = ask(files.open_text, { path = path })
        same({ name, read.open, read.modified }, { name, true, true })
        assert(read.text:find("mine", 1, true), name)
        local new = read.text:gsub("two", "2")
        local answered = replace(path, new, read.text)
        same({ name, answered.message, answered.ok, answered.saved }, { name, nil, true, false })
        same({ name, on_disk(path) }, { name, held })
        same({ name, text.of(buffer) }, { name, new })
        same({ name, vim.bo[buffer].modified }, { name, true })
      end)
    end
  end
end)

test("a text that the encoding cannot hold changes nothing", function()
  with_open(FORMS["Latin-1"], function(path, buffer)
    local read = ask(files.open_text, { path = path })
    local answered = replace(path, read.text .. "5 €\n", read.text)
    same(answered.ok, false)
    assert(answered.message:find("latin1, which cannot hold €", 1, true), answered.message)
    same({ on_disk(path), vim.bo[buffer].modified }, { FORMS["Latin-1"], false })
  end)
end)

test("a read-only file is refused without a warning that blocks", function()
  with_open("one\n", function(path, buffer)
    vim.bo[buffer].readonly = true
    vim.v.warningmsg = ""
    local answered = replace(path, "two\n", "one\n")
    assert(answered.message:find("is read-only", 1, true), answered.message)
    same({ on_disk(path), text.of(buffer), vim.v.warningmsg }, { "one\n", "one\n", "" })
  end)
end)

test("a change of a read-only buffer shows no warning and leaves it read-only", function()
  with_open("one\n", function(_, buffer)
    vim.bo[buffer].readonly = true
    vim.v.warningmsg = ""
    require("flemma.undo").write(buffer, false, function()
      api.nvim_buf_set_lines(buffer, 0, 1, true, { "two" })
    end)
    same({ text.of(buffer), vim.bo[buffer].readonly, vim.v.warningmsg }, { "two\n", true, "" })
  end)
end)

test("changes by the user's autocommands are reported", function()
  with_open("one\n", function(path, buffer)
    api.nvim_create_autocmd("BufWritePre", { group = group, buffer = buffer, command = [[%s/\s\+$//e]] })
    local answered = replace(path, "two  \nthree\n", "one\n")
    same({ answered.saved, on_disk(path), answered.bytes }, { true, "two\nthree\n", 10 })
    assert(answered.difference:find("-two  \n+two\n", 1, true), answered.difference)
  end)
end)

test("a save that fails reverts the change", function()
  with_open("one\n", function(path, buffer)
    api.nvim_create_autocmd("BufWritePre", {
      group = group,
      buffer = buffer,
      callback = function()
        api.nvim_buf_set_lines(buffer, 0, 0, true, { "formatted" })
        error("no formatter")
      end,
    })
    local answered = replace(path, "two\n", "one\n")
    same(answered.ok, false)
    assert(answered.message:find("no formatter", 1, true), answered.message)
    assert(not answered.message:find("stack traceback", 1, true), answered.message)
    same({ on_disk(path), text.of(buffer), vim.bo[buffer].modified }, { "one\n", "one\n", false })
  end)
end)

test("a file that changes while the user's autocommands run is not overwritten", function()
  with_open("one\n", function(path, buffer)
    api.nvim_create_autocmd("BufWritePre", {
      group = group,
      buffer = buffer,
      callback = function()
        write(path, "theirs\n")
      end,
    })
    local answered = replace(path, "two\n", "one\n")
    same(answered.ok, false)
    assert(answered.message:find("Another program changed the file", 1, true), answered.message)
    same(on_disk(path), "theirs\n")
  end)
end)

test("a path that leads to a file other than the host's is not written", function()
  with_open("one\n", function(path)
    local message = { path = path, file = { device = 1, inode = 1 }, text = "two\n", expected = "one\n" }
    local answered = ask(files.replace_text, message)
    assert(answered.message:find("leads to another file", 1, true), answered.message)
    same(on_disk(path), "one\n")
  end)
end)

test("a save keeps the file itself, its mode and the link to it", function()
  with_open("one\n", function(path)
    local link = path .. ".link"
    assert(vim.uv.fs_symlink(path, link))
    vim.uv.fs_chmod(path, tonumber("640", 8))
    local before = assert(vim.uv.fs_stat(path))
    vim.cmd("bwipeout")
    vim.cmd("edit " .. link)
    same(replace(path, "two\n", "one\n").saved, true)
    local after = assert(vim.uv.fs_stat(path))
    same({ after.ino, after.mode }, { before.ino, before.mode })
    same({ vim.uv.fs_readlink(link), on_disk(path) }, { path, "two\n" })
    vim.cmd("bwipeout")
    os.remove(link)
  end)
end)

test("a new file that is open is written, also if it was created meanwhile", function()
  for _, made in ipairs({ false, true }) do
    local path = vim.fn.tempname()
    vim.cmd("edit " .. path)
    if made then
      write(path, "made\n")
    end
    local answered = replace(path, "new\n", nil, "utf-8")
    same({ made, answered.message, answered.saved }, { made, nil, true })
    same({ on_disk(path), vim.bo.modified }, { "new\n", false })
    vim.cmd("bwipeout")
    os.remove(path)
  end
end)

test("a deleted file does not count as open", function()
  with_open("one\n", function(path)
    os.remove(path)
    same(ask(files.open_text, { path = path }).open, false)
  end)
end)

test("after a command, open files are reloaded and conflicts are reported once", function()
  vim.o.autoread = false
  local reported = {}
  local notify = vim.notify
  vim.notify = function(message)
    reported[#reported + 1] = message
  end
  with_open("one\n", function(path, buffer)
    disk.watch()
    write(path, "one\ntwo\n")
    files.check_files()
    same({ text.of(buffer), vim.bo[buffer].modified }, { "one\ntwo\n", false })
    api.nvim_buf_set_lines(buffer, 0, 0, true, { "mine" })
    write(path, "theirs\n")
    files.check_files()
    files.check_files()
    same({ text.of(buffer), on_disk(path) }, { "mine\none\ntwo\n", "theirs\n" })
  end)
  vim.notify = notify
  vim.o.autoread = true
  same(#reported, 1)
  assert(reported[1]:find("has unsaved changes", 1, true), reported[1])
end)

test("a file that was created after its buffer is reloaded without a question", function()
  local path = vim.fn.tempname()
  disk.watch()
  vim.cmd("edit " .. path)
  local new = api.nvim_get_current_buf()
  write(path, "made\n")
  files.check_files()
  same(text.of(new), "made\n")
  vim.cmd("bwipeout!")
  os.remove(path)
end)

test("a file that the user saves is reported, and one that is saved for a tool is not", function()
  local saved = {}
  local send = host.send
  host.send = function(name, payload)
    if name == "file_saved" then
      saved[#saved + 1] = payload.path
    end
  end
  files.watch()
  with_open("one\n", function(path, buffer)
    api.nvim_buf_set_lines(buffer, 0, -1, true, { "two" })
    local before = disk.bytes_of(path)
    assert(disk.save(buffer, before))
    same(saved, {})
    api.nvim_buf_call(buffer, function()
      vim.cmd("silent write!")
    end)
    same(saved, { api.nvim_buf_get_name(buffer) })
  end)
  api.nvim_clear_autocmds({ group = "flemma.files" })
  host.send = send
end)
