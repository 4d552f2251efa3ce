--- Functions that need no buffer.
-- luacheck: globals test same

local callbacks = require("flemma.callbacks")
local commands = require("flemma.commands")
local config = require("flemma.config")
local files = require("flemma.files.text")
local mirror = require("flemma.mirror")
local notices = require("flemma.notices")
local pure = require("flemma.render.pure")
local spans = require("flemma.spans")

test("a function in the options is sent as a number and found by it", function()
  local policy = function() end
  local plain = config.wire({ tools = { auto_approve = policy, bash = { env = { A = "1" } } } })
  local id = plain.tools.auto_approve["function"]
  same(plain.tools.bash, { env = { A = "1" } })
  same(callbacks.get(id), policy)
  local again = config.wire({ tools = { auto_approve = policy } })
  same(callbacks.get(id), nil)
  same(callbacks.get(again.tools.auto_approve["function"]), policy)
end)

test("an empty list stays empty and lists stay lists", function()
  same(config.wire({ tools = { auto_approve = {} }, presets = { "a", "b" } }), {
    tools = { auto_approve = {} },
    presets = { "a", "b" },
  })
end)

test("an option that is false is sent as false", function()
  same(config.wire({ tools = { require_approval = false, autopilot = { enabled = false } } }), {
    tools = { require_approval = false, autopilot = { enabled = false } },
  })
end)

test("a snapshot is cut at 48 KB, and where a line has a NUL at 500 lines as well", function()
  local lines = {}
  for index = 1, 1200 do
    lines[index] = ("x"):rep(index % 200)
  end
  lines[1201], lines[2000] = ("y"):rep(100 * 1024), "nul\nhere"
  for index = 1202, 3000 do
    lines[index] = lines[index] or ""
  end
  local first = 1
  while first <= #lines do
    local last, joined = mirror.piece(lines, first, true)
    assert(last >= first and last <= #lines, "no progress")
    local text = table.concat(lines, "\n", first, last)
    assert(last == first or #text < 48 * 1024, "too many bytes")
    same(joined, not (first <= 2000 and 2000 <= last))
    assert(joined or last - first < 500, "too many lines")
    first = last + 1
  end
end)

test("a change is cut at 500 lines and at 48 KB, and loses nothing", function()
  local lines = {}
  for index = 1, 1200 do
    lines[index] = ("x"):rep(index % 200)
  end
  lines[1201] = ("y"):rep(100 * 1024)
  local joined = {}
  for _, chunk in ipairs(mirror.chunks(lines)) do
    assert(#chunk <= 500, "too many lines")
    assert(#chunk == 1 or #table.concat(chunk, "\n") <= 48 * 1024, "too many bytes")
    vim.list_extend(joined, chunk)
  end
  same(joined, lines)
end)

test("no lines are one message", function()
  same(mirror.chunks({}), { {} })
end)

test("only marks that changed are drawn again", function()
  local placed = { a = { item = { id = "a", line = 3 } }, b = { item = { id = "b", line = 9 } } }
  local set, remove = pure.diff(placed, { { id = "a", line = 3 }, { id = "c", line = 1 } })
  same(set, { { id = "c", line = 1 } })
  same(remove, { "b" })
end)

test("elapsed time is shown in seconds, then minutes", function()
  same(pure.elapsed(999), "0s")
  same(pure.elapsed(61 * 1000), "1m01s")
end)

test("spans move with the lines above them", function()
  local table_ = { first = 10, lines = { { 1 }, { 2 } } }
  spans.shift(table_, 0, 1, 4)
  same(table_, { first = 13, lines = { { 1 }, { 2 } } })
end)

test("an inserted line has no spans, and a deleted line removes its own", function()
  local table_ = { first = 10, lines = { { 1 }, { 2 }, { 3 } } }
  spans.shift(table_, 11, 11, 12)
  same(table_, { first = 10, lines = { { 1 }, false, { 2 }, { 3 } } })
  spans.shift(table_, 11, 13, 11)
  same(table_, { first = 10, lines = { { 1 }, { 3 } } })
end)

test("control characters in a message are made visible", function()
  same(notices.escape("a\27[2Jb\r\n\127"), "a^[[2Jb^M^J^?")
end)

test("a text is split at every line end of the format that fits it", function()
  local function parse(text, format)
    local lines, form = files.parse(text, { format = format, encoding = "utf-8" })
    return { lines, form.format, form.endofline }
  end
  same(parse("a\r\nb\r\n", "dos"), { { "a", "b" }, "dos", true })
  same(parse("a\nb\n", "dos"), { { "a", "b" }, "unix", true })
  same(parse("a\r\nb\n", "dos"), { { "a\r", "b" }, "unix", true })
  same(parse("a\rb", "mac"), { { "a", "b" }, "mac", false })
  same(parse("a\nb", "mac"), { { "a", "b" }, "unix", false })
  same(parse("a\nb", "unix"), { { "a", "b" }, "unix", false })
  same(parse("a", "dos"), { { "a" }, "dos", false })
  same(parse("", "unix"), { {}, "unix", true })
end)

test("a number that JSON cannot hold is sent as text", function()
  local itself = {}
  itself.itself = itself
  same(config.wire({ a = { math.huge, false }, b = { c = -math.huge } }), {
    a = { { not_finite = "inf" }, false },
    b = { c = { not_finite = "-inf" } },
  })
  assert(config.wire(itself))
end)

test("setup() accepts any value and loads nothing", function()
  local loaded = vim.tbl_count(package.loaded)
  for _, options in ipairs({ 3, "x", { keymaps = 3 }, { modle = "m", tools = { auto_aprove = {} } } }) do
    require("flemma").setup(options)
    same(require("flemma").given, options)
  end
  require("flemma").setup()
  same(vim.tbl_count(package.loaded), loaded)
end)

test("the plugin uses the default of an invalid option", function()
  local wrong = {
    keymaps = { enabled = "yes", normal = { send = "<C-s>", cancel = false, reject = 3 }, insert = 7 },
    highlights = "red",
    ui = { bell = true, highlight = 1, winbar = 1 },
    host = { path = {}, log = "/tmp/x.log" },
    tools = { default_timeout = math.huge },
  }
  config.load(wrong)
  same(config.get(), {
    keymaps = {
      enabled = true,
      normal = {
        send = "<C-s>",
        tool_execute = "<M-CR>",
        try = "<M-t>",
        review = "<CR>",
        approve_all = "<M-a>",
        reject = "<M-r>",
        cancel = false,
        next_message = "]m",
        previous_message = "[m",
        next_call = "]t",
        previous_call = "[t",
        definition = "gd",
        outline = "gO",
      },
      insert = { send = "<C-]>" },
      leader = {
        tool_execute = "<LocalLeader>a",
        try = "<LocalLeader>t",
        approve_all = "<LocalLeader>A",
        reject = "<LocalLeader>r",
        allow = "<LocalLeader>l",
      },
      operator = { inner_message = "im", a_message = "am" },
    },
    highlights = {},
    highlight = true,
    winbar = true,
    chats = { autosave = "new" },
    host = { log = "/tmp/x.log" },
    default_timeout = 120,
  })
  config.load({})
end)

test("a review is approved by commands that write it, and by no others", function()
  local approves = require("flemma.review.typing").approves
  for _, line in ipairs({ "w", "write", "wri", "w!", "wq", "x", "xit", "exit", " :w ", "exi" }) do
    same({ line, approves(line) }, { line, true })
  end
  for _, line in ipairs({ "wa", "wall", "wqa", "xa", "w other", "update", "q", "", "w|q", "%w", "argdo w" }) do
    same({ line, approves(line) }, { line, false })
  end
end)

test("two letters that are swapped are one mistake", function()
  local nearest = require("flemma.edit_distance").nearest
  same(nearest("sedn", { "redo", "send" }), "send")
  same(nearest("chast", { "chats" }), "chats")
end)

test("words of a command are named or numbered", function()
  same(commands.arguments({ "verbose", "model=x=y" }), { ["1"] = "verbose", model = "x=y" })
end)

test("a path on Windows has a drive, and slashes or backslashes", function()
  local path = require("flemma.path")
  path.as_on(true, function()
    same(path.slashed([[C:\p\chat.chat]]), "C:/p/chat.chat")
    for text, absolute in pairs({ [ [[C:\p]] ] = true, ["C:/p"] = true, ["/p"] = true, ["C:p"] = false, p = false }) do
      same({ text, path.is_absolute(text) }, { text, absolute })
    end
    same(path.below([[C:\p\a\b]], "C:/p"), "a/b")
    same(path.below([[C:\p]], [[C:\]]), "p")
    same(path.below([[C:\p2\a]], "C:/p"), nil)
    same(path.root([[D:\p]]), "D:/")
  end)
  path.as_on(false, function()
    same(path.slashed([[a\b]]), [[a\b]])
    same(path.is_absolute("C:/p"), false)
    same(path.below("/p/a", "/"), "p/a")
    same(path.below("/p", "/p"), nil)
  end)
end)
