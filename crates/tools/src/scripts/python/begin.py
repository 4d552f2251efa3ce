# The first program of a script's interpreter: moves the socket away from standard input and runs
# the program that it receives. Modules are not imported from the working directory.
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import marshal, os
wire = os.dup(0)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
os.close(nothing)
reader = os.fdopen(wire, "rb")
# Not JSON: importing that module takes longer than all of this.
start = marshal.loads(reader.read(int(reader.readline())))
exec(compile(start["program"], "<flemma>", "exec"), {"wire": wire, "reader": reader, "start": start})
