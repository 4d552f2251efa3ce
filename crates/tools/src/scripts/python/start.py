# Runs one script as a tool. The wire to the host is a socket that nothing else has: what
# the script prints, and what it starts, cannot be taken for a message.
import importlib.machinery as machinery
import _thread
import json
import os
import sys
import types

lock = _thread.allocate_lock()


def say(message):
    rest = (json.dumps(message, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(wire, rest):]


def ask(question):
    """Asks the host and waits for its answer; returns text, or raises what went wrong."""
    with lock:
        say({"ask": question})
        line = reader.readline()
    if not line:
        raise RuntimeError("the tool was stopped")
    answer = json.loads(line)
    return answer.get("ok"), answer.get("error")


class Fresh(machinery.SourceFileLoader):
    """Reads a module's text each time: an edit counts at once, and no file is left behind."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def find_fresh(folder):
    inside = os.path.realpath(folder)
    for own in start["path"]:
        own = os.path.realpath(own)
        if inside == own or inside.startswith(own + os.sep):
            return finder(folder)
    raise ImportError(folder)


finder = machinery.FileFinder.path_hook(
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (Fresh, machinery.SOURCE_SUFFIXES),
)


def module(name, **given):
    made = types.ModuleType(name)
    made.__dict__.update(given)
    sys.modules[name] = made
    return made


def modules():
    result = []
    package = module("llmr", __path__=[])
    for name in ("mcp", "ai"):
        made = module("llmr." + name, _ask=ask, _arguments=start["arguments"], _result=result)
        exec(compile(start[name], "<llmr." + name + ">", "exec"), made.__dict__)
        setattr(package, name, made)
    return result


def told(error):
    import traceback

    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename == "<flemma>":
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def run(script):
    main = module("__main__", __file__=script, __builtins__=__builtins__)
    sys.argv = [script]
    sys.path_hooks.insert(0, find_fresh)
    sys.path[0:0] = start["path"]
    with open(script, "rb") as file:
        text = file.read()
    exec(compile(text, script, "exec", dont_inherit=True), main.__dict__)


def serve():
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)
    result = modules()
    try:
        run(start["script"])
        problem = None
    except SystemExit as exit:
        problem = None if exit.code in (None, 0) else "The script ended itself: %s" % (exit.code,)
    except BaseException as error:
        problem = told(error)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    say({"failed": problem} if problem else {"done": result[-1] if result else None})


serve()
