"""
Runs Debian's `openstack` for tests: every command in a process of its own, forked from this one, which has read the
client's modules and entry points once, as takes longer than most commands. Argument: the abstract socket to listen on.
"""
import json
import os
import signal
import socketserver
import sys
import tempfile
import time

from openstackclient import shell

PARENT = os.getppid()
PARALLEL_MAX = 40
"""What the client waits for is there sooner than in five seconds."""
HASTE = 10

sleep = time.sleep
time.sleep = lambda seconds: sleep(seconds / HASTE)


def run(args):
    try:
        return shell.main(args)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1


def caught(work):
    """What the work returns, with all it prints."""
    files = [tempfile.TemporaryFile('w+', encoding='utf-8') for _ in range(2)]
    for number, file in enumerate(files, 1):
        os.dup2(file.fileno(), number)
    code = work()
    sys.stdout.flush()
    sys.stderr.flush()
    for file in files:
        file.seek(0)
    out, err = [file.read() for file in files]
    return {'code': code, 'out': out, 'err': err}


class Command(socketserver.StreamRequestHandler):
    def handle(self):
        asked = json.loads(self.rfile.readline())
        signal.alarm(asked['limitSeconds'])
        os.environ.clear()
        os.environ.update(asked['env'])
        self.wfile.write(json.dumps(caught(lambda: run(asked['args']))).encode())


class Shells(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    max_children = PARALLEL_MAX
    request_queue_size = PARALLEL_MAX

    def service_actions(self):
        super().service_actions()
        if os.getppid() != PARENT:
            sys.exit()


def warm():
    """Afterwards the entry points of all commands are in memory."""
    told = os.dup(1), os.dup(2)
    caught(lambda: run(['command', 'list']))
    for number, file in enumerate(told, 1):
        os.dup2(file, number)


warm()
with Shells('\0' + sys.argv[1], Command) as shells:
    print('ready', flush=True)
    shells.serve_forever()
