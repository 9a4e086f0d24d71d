import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '#drivers/run.ts'
import { CHASSIS } from './machine-files.ts'

let machine: string
const owned: AsyncDisposable[] = []

beforeEach(async () => {
  machine = await mkdtemp(join(tmpdir(), 'weir-chassis-'))
})
afterEach(async () => {
  for (const each of owned.splice(0)) await each[Symbol.asyncDispose]()
  await rm(machine, { recursive: true, force: true })
})

/** A program that prints the id of a process, until the test ends. */
async function pidFrom(script: string): Promise<string> {
  const program = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  owned.push({
    async [Symbol.asyncDispose]() {
      const ended = once(program, 'exit')
      if (program.kill('SIGKILL')) await ended
    },
  })
  const [line] = (await once(createInterface(program.stdout), 'line')) as [string]
  return line
}

async function power(pid: string): Promise<string> {
  await writeFile(join(machine, 'qemu.pid'), pid)
  const env = { MACHINE: machine, PATH: '/usr/bin:/bin' }
  const { stdout } = await run(CHASSIS, ['get', 'power'], { env, timeoutMs: 20_000 })
  return stdout.trim()
}

test('a machine whose process runs is on', async () => {
  expect(await power(await pidFrom('echo $$; exec sleep 60'))).toBe('power:1')
})

test('a machine whose process has ended is off, also while nothing takes note of its end', async () => {
  // It ends after the shell has become a program that waits for no child.
  const pid = await pidFrom('sleep 0.1 & echo $!; exec sleep 60')

  await expect.poll(() => power(pid)).toBe('power:0')
})
