# Runs one script as a tool. Only this program has the socket to the host, so output of the script
# and of its child processes is never read as a message.
import importlib.machinery as machinery
import _thread
import os
import sys
import types

lock = _thread.allocate_lock()
escapes = {code: "\\u%04x" % code for code in (*range(32), 34, 92)}


def say(message):
    rest = (message + "\n").encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(wire, rest):]


def json():
    """Imports Python's json on first use, because that takes longer than everything else here."""
    import json as module

    return module


def load_shadowed_modules():
    """Imports needed modules now if a file of the tool has the name of a standard module, because
    it would shadow that module later."""
    names = getattr(sys, "stdlib_module_names", ())
    try:
        folders = [os.listdir(folder) for folder in start["path"] if os.path.isdir(folder)]
        theirs = {file.partition(".")[0] for files in folders for file in files}
        is_plain = names and theirs.isdisjoint(names)
    except OSError:
        is_plain = False
    if not is_plain:
        import json, traceback


def end(word, text):
    """Sends the last message, without json: most scripts send no other."""
    quoted = "null" if text is None else '"' + text.translate(escapes) + '"'
    say('{"%s": %s}' % (word, quoted))


def ask(question):
    """Sends a request to the host and waits for the response. Returns a text and an error, one of
    which is None."""
    with lock:
        say(json().dumps({"ask": question}, ensure_ascii=False))
        line = reader.readline()
    if not line:
        raise RuntimeError("the tool was stopped")
    answer = json().loads(line)
    return answer.get("ok"), answer.get("error")


class Fresh(machinery.SourceFileLoader):
    """Compiles a module at each import: edits take effect, and no bytecode file is written."""

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
        made = module("llmr." + name, _ask=ask, _json=json, _arguments=start["arguments"], _result=result)
        exec(compile(start[name], "<llmr." + name + ">", "exec"), made.__dict__)
        setattr(package, name, made)
    return result


def traceback_of(error):
    import traceback

    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename == "<flemma>":
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def wait_for_threads():
    """Waits for threads, which may return a result. Python itself waits only after this program."""
    threading = sys.modules.get("threading")
    for thread in threading.enumerate() if threading else ():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()


def run(script):
    main = module("__main__", __file__=script, __builtins__=__builtins__)
    sys.argv = [script]
    sys.path_hooks.insert(0, find_fresh)
    load_shadowed_modules()
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
        problem = traceback_of(error)
    wait_for_threads()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        # The script closed or replaced the stream.
        except Exception:
            pass
    if problem:
        end("failed", problem)
    else:
        end("done", result[-1] if result else None)


serve()
