"""Runs a command on a pseudo-terminal: pseudo_terminal.py ROWS COLUMNS COMMAND...

Copies the output of the command to stdout. Lines on stdin: `key HEX` types bytes, `size ROWS COLUMNS`
resizes the terminal.
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios


def resize(descriptor, rows, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


pid, master = pty.fork()
if pid == 0:
    resize(0, int(sys.argv[1]), int(sys.argv[2]))
    os.execv(sys.argv[3], sys.argv[3:])
sources, pending = [master, 0], b""
while master in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:
            data = b""
        if not data:
            sources.remove(source)
        elif source == master:
            os.write(1, data)
        else:
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                words = line.decode().split()
                if words[0] == "key":
                    os.write(master, bytes.fromhex(words[1]))
                else:
                    resize(master, int(words[1]), int(words[2]))
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
