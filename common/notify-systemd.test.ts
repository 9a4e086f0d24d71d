import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createLogger } from './log.ts'
import { notifySystemd } from './notify-systemd.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-notify-'))
const NOTIFY_SOCKET = join(directory, 'socket')
const hasPrograms = ['systemd-notify', 'python3'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
)

afterAll(() => rmSync(directory, { recursive: true }))

/** What systemd would hear. */
const LISTENER = `
import socket
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(${JSON.stringify(NOTIFY_SOCKET)})
while True:
    print(listener.recv(4096).decode().split("\\n")[0], flush=True)
`

test.skipIf(!hasPrograms)('systemd hears that a program serves, and that it is well', async () => {
  const listener = spawn('python3', ['-c', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] })
  let received = ''
  listener.stdout.on('data', (bytes) => (received += String(bytes)))
  await expect.poll(() => existsSync(NOTIFY_SOCKET)).toBe(true)
  const { PATH } = process.env

  notifySystemd({ PATH, NOTIFY_SOCKET, WATCHDOG_USEC: '400000' }, createLogger('test', 'silent'))

  await expect.poll(() => received).toMatch(/^READY=1$/m)
  await expect.poll(() => received).toMatch(/WATCHDOG=1\n(?:.*\n)*WATCHDOG=1/)
  listener.kill()
  await once(listener, 'exit')
})

test('a program that systemd has not started tells nothing', () => {
  expect(() => notifySystemd({}, createLogger('test', 'silent'))[Symbol.dispose]()).not.toThrow()
})
