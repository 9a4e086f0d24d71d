import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { projectRoot } from '../paths.ts'

const SCRIPT = join(projectRoot, 'deploy/mariadb/end-outside-cluster')
const directory = mkdtempSync(join(tmpdir(), 'weir-notify-'))
const node = spawn('sleep', ['60'])

afterEach(() => {
  node.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

test('a node is ended in good order once it is outside its cluster, and not before', async () => {
  const pidFile = join(directory, 'mariadbd.pid')
  writeFileSync(pidFile, `${node.pid}\n`)
  const notify = (...args: string[]) => spawnSync(SCRIPT, [pidFile, ...args]).status
  const ended = once(node, 'exit')

  const view = ['--view', '1', '--index', '0', '--members', 'id/a/127.0.0.1:3306']
  for (const args of [['--status', 'joiner'], ['--status', 'synced', ...view], view])
    expect(notify(...args)).toBe(0)
  expect([node.exitCode, node.signalCode]).toEqual([null, null])

  expect(notify('--status', 'disconnected', ...view)).toBe(0)
  expect(await ended).toEqual([null, 'SIGTERM'])
})
