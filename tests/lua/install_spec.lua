--- Installing the host program from an archive on a server on the loopback.
-- luacheck: globals test same

local host = require("flemma.host")
local install = require("flemma.install")
local notices = require("flemma.notices")

if vim.fn.executable("curl") + vim.fn.executable("wget") == 0 then
  io.stdout:write("install_spec: skipped, because neither curl nor wget is in $PATH\n")
  return
end

local TARGET = "x86_64-unknown-linux-musl"
local NAME = "flemma-0.1.0-" .. TARGET .. ".tar.gz"

---@type string[]
local reported = {}

---@param path string
---@return string
local function read(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

---@param command string[]
---@param folder? string
---@return string
local function run(command, folder)
  local result = vim.system(command, { text = true, cwd = folder }):wait()
  assert(result.code == 0, result.stderr)
  return result.stdout
end

--- Packs a program that is this script, and returns the archive and its digest.
---@param script string
---@return string bytes
---@return string digest
local function pack(script)
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder)
  for _, name in ipairs({ "flemma", "flemma-leash" }) do
    local path = vim.fs.joinpath(folder, name)
    local file = assert(io.open(path, "wb"))
    file:write(script)
    file:close()
    vim.uv.fs_chmod(path, 493)
  end
  run({ "tar", "--mtime=@0", "-czf", "archive", "flemma", "flemma-leash" }, folder)
  local path = vim.fs.joinpath(folder, "archive")
  return read(path), run({ "sha256sum", path }):match("^%x+")
end

local GOOD = "#!/bin/sh\necho flemma 0.1.0\n"

--- Serves one answer per connection until `stop` is called.
---@param answer fun(path: string): string The whole answer, with its head.
---@return string url
---@return fun() stop
---@return string[] requests The paths that were requested.
local function serve(answer)
  local server, requests = assert(vim.uv.new_tcp()), {}
  assert(server:bind("127.0.0.1", 0))
  server:listen(8, function()
    local client, head = assert(vim.uv.new_tcp()), ""
    server:accept(client)
    client:read_start(function(_, bytes)
      head = head .. (bytes or "")
      local path = head:match("^GET (%S+).*\r\n\r\n")
      if path then
        client:read_stop()
        requests[#requests + 1] = path
        client:write(answer(path), function()
          client:close()
        end)
      elseif not bytes then
        client:close()
      end
    end)
  end)
  local function stop()
    server:close()
  end
  return ("http://127.0.0.1:%d/files"):format(server:getsockname().port), stop, requests
end

---@param status string
---@param body string
---@param length? integer
---@return string
local function answer(status, body, length)
  local head = "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
  return head:format(status, length or #body) .. body
end

--- Installs into a new folder, and returns it with the problem.
---@param setting { url?: string, digest?: string, root?: string, channel?: integer }
---@return string root
---@return string? problem
local function installed(setting)
  local root, ended, problem = setting.root or vim.fn.tempname(), false, nil
  reported = {}
  local notify, state = notices.notify, host.state
  notices.notify = function(notice)
    reported[#reported + 1] = notice.message
  end
  host.state = function()
    return { restarts = 0, channel = setting.channel }
  end
  install.start({
    root = root,
    target = TARGET,
    url = setting.url,
    release = { version = "0.1.0", sha256 = { [TARGET] = setting.digest } },
  }, function(why)
    ended, problem = true, why
  end)
  assert(vim.wait(20000, function()
    return ended
  end, 5))
  notices.notify, host.state = notify, state
  return root, problem
end

--- The names in the folder `bin`.
---@param root string
---@return string[]
local function bin(root)
  local names = {}
  for name in vim.fs.dir(vim.fs.joinpath(root, "bin")) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- Installs what a server answers over a program that works, which must stay.
---@param response string
---@param digest string
---@return string problem
local function refused(response, digest)
  local url, stop = serve(function()
    return response
  end)
  local root = vim.fn.tempname()
  vim.fn.mkdir(vim.fs.joinpath(root, "bin"), "p")
  vim.fn.writefile({ "the old program" }, vim.fs.joinpath(root, "bin", "flemma"))
  local _, problem = installed({ url = url, digest = digest, root = root })
  stop()
  same(read(vim.fs.joinpath(root, "bin", "flemma")), "the old program\n")
  assert(problem and reported[#reported] == problem)
  assert(problem:find("Put the archive into", 1, true), problem)
  for _, name in ipairs(bin(root)) do
    assert(not name:find(".part", 1, true) and not name:find(".install", 1, true), name)
  end
  return problem
end

test("a good archive is downloaded once, verified, and installed", function()
  local bytes, digest = pack(GOOD)
  local before = os.time()
  local url, stop, requests = serve(function()
    return answer("200 OK", bytes)
  end)
  local root, problem = installed({ url = url .. "/", digest = digest })
  stop()
  same(problem, nil)
  same(requests, { "/files/" .. NAME })
  same(bin(root), { "flemma", "flemma-leash" })
  same(run({ vim.fs.joinpath(root, "bin", "flemma") }), "flemma 0.1.0\n")
  -- Newer than any build in the plugin's folder, so that it is the one that starts.
  assert(vim.fn.getftime(vim.fs.joinpath(root, "bin", "flemma")) >= before)
  assert(reported[1]:find("Installed flemma 0.1.0", 1, true), reported[1])
end)

test("a host that runs is the old one until it is restarted", function()
  local bytes, digest = pack(GOOD)
  local url, stop = serve(function()
    return answer("200 OK", bytes)
  end)
  installed({ url = url, digest = digest })
  assert(not reported[1]:find(":Flemma restart", 1, true), reported[1])
  installed({ url = url, digest = digest, channel = 1 })
  assert(reported[1]:find(":Flemma restart", 1, true), reported[1])
  stop()
end)

test("an update replaces a program while it runs", function()
  local bytes, digest = pack(GOOD)
  local root = vim.fn.tempname()
  vim.fn.mkdir(vim.fs.joinpath(root, "bin"), "p")
  local path = vim.fs.joinpath(root, "bin", "flemma")
  assert(vim.uv.fs_copyfile(vim.fn.exepath("sleep"), path))
  local old = vim.system({ path, "60" })
  local url, stop = serve(function()
    return answer("200 OK", bytes)
  end)
  local _, problem = installed({ url = url, digest = digest, root = root })
  stop()
  same(problem, nil)
  same(read(path), GOOD)
  old:kill("sigkill")
  same(old:wait().signal, 9)
end)

test("a tampered archive is never run", function()
  local canary = vim.fn.tempname()
  local _, digest = pack(GOOD)
  local bytes = pack(("#!/bin/sh\ntouch %s\necho flemma 0.1.0\n"):format(canary))
  local problem = refused(answer("200 OK", bytes), digest)
  assert(problem:find("Its SHA-256 is", 1, true), problem)
  same(vim.uv.fs_stat(canary), nil)
end)

test("a truncated, missing, or empty archive leaves the old program", function()
  local bytes, digest = pack(GOOD)
  local half = bytes:sub(1, #bytes / 2)
  for _, response in ipairs({
    answer("200 OK", half, #bytes),
    answer("200 OK", half),
    answer("404 Not Found", "no such file"),
    answer("200 OK", ""),
    "",
  }) do
    refused(response, digest)
  end
end)

test("a program for another platform or of another version is not installed", function()
  local cases = {
    { "\127ELF not a program", "does not run on this machine" },
    { "#!/bin/sh\nexit 1\n", "does not run on this machine" },
    { "#!/bin/sh\necho flemma 9.9.9\n", "has version 9.9.9 instead of 0.1.0" },
    { "#!/bin/sh\necho hello\n", "has version unknown instead of 0.1.0" },
  }
  for _, case in ipairs(cases) do
    local bytes, digest = pack(case[1])
    local problem = refused(answer("200 OK", bytes), digest)
    assert(problem:find(case[2], 1, true), problem)
  end
end)

test("an archive that the user put into the folder needs no network", function()
  local bytes, digest = pack(GOOD)
  local root = vim.fn.tempname()
  vim.fn.mkdir(vim.fs.joinpath(root, "bin"), "p")
  local file = assert(io.open(vim.fs.joinpath(root, "bin", NAME), "wb"))
  file:write(bytes)
  file:close()
  local _, problem = installed({ digest = digest, root = root })
  same(problem, nil)
  same(bin(root), { "flemma", "flemma-leash" })
end)

test("without an address the message names the option", function()
  local _, digest = pack(GOOD)
  local _, problem = installed({ digest = digest })
  assert(problem and problem:find("install.url", 1, true), problem)
end)

test("a second installation waits for the first", function()
  local bytes, digest = pack(GOOD)
  local url, stop, requests = serve(function()
    return answer("200 OK", bytes)
  end)
  local plan = {
    root = vim.fn.tempname(),
    target = TARGET,
    url = url,
    release = { version = "0.1.0", sha256 = { [TARGET] = digest } },
  }
  local ended
  local restart = host.restart
  host.restart = function() end
  install.start(plan, function()
    ended = true
  end)
  same(install.is_running(), true)
  install.start(plan)
  assert(vim.wait(20000, function()
    return ended
  end, 5))
  stop()
  host.restart = restart
  same(#requests, 1)
end)

test("a commit without archives builds with cargo, and names the remedy without it", function()
  local path = vim.env.PATH
  vim.env.PATH = "/nonexistent"
  local _, problem = installed({})
  vim.env.PATH = path
  assert(problem and problem:find("cargo is not in $PATH", 1, true), problem)
end)
