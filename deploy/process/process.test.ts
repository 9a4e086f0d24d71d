import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { projectRoot } from '../paths.ts'
import { ephemeralFrom, freePort } from './free-port.ts'
import { isRunning, processIdentity } from './process-identity.ts'
import { startProcess } from './start-process.ts'
import { stopProcess } from './stop-process.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-process-'))
const logFile = join(directory, 'log')

afterAll(() => rmSync(directory, { recursive: true }))

/** A Node process that runs `code` and then waits. */
function start(code: string) {
  return startProcess({
    command: process.execPath,
    args: ['-e', `${code}; setInterval(() => {}, 1e6)`],
    env: {},
    directory,
    logFile,
    lifetime: 'with-parent',
  })
}

test('processIdentity() distinguishes a process from a later one with the same pid', () => {
  const own = processIdentity(process.pid)

  expect(own).toBeDefined()
  expect(own && isRunning(own)).toBe(true)
  expect(own && isRunning({ ...own, startTicks: own.startTicks + 1 })).toBe(false)
})

test('a process that was killed runs until the last of its threads has ended, and with it all that it held', async () => {
  const memory = 'globalThis.held = Buffer.alloc(200 << 20, 1)'
  const threads =
    "for (let n = 0; n < 8; n += 1) new (require('worker_threads').Worker)('for (;;);', { eval: true })"
  for (let round = 0; round < 3; round += 1) {
    const port = await freePort()
    const ready = join(directory, `listens-${round}`)
    const listen = `require('net').createServer().listen(${port}, '127.0.0.1', () => require('fs').writeFileSync('${ready}', ''))`
    const victim = await start(`${memory}; ${threads}; ${listen}`)
    await waitFor('the victim to listen', () => existsSync(ready), 20_000)

    process.kill(victim.pid, 'SIGKILL')
    // Without a pause: what must not happen happens within milliseconds.
    while (isRunning(victim));

    expect(await freePort(port)).toBe(port)
  }
})

test('a detached program begins as the process that was recorded, and never where its starter died before', async () => {
  const said = join(directory, 'said')
  const program = (then: string) => `
    import { startProcess } from '#deploy/process/start-process.ts'
    await startProcess({
      command: '/bin/sh', args: ['-c', 'echo $$ >> ${said}; exec sleep 60'], env: {}, lifetime: 'detached',
      directory: '${directory}', logFile: '${logFile}',
      record: ({ pid }) => { process.stdout.write(String(pid)); ${then} },
    })`
  const starter = async (then: string) => {
    const args = ['--input-type=module-typescript', '-e', program(then)]
    const child = spawn(process.execPath, args, {
      cwd: projectRoot,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return Number(await text(child.stdout))
  }

  const never = await starter("process.kill(process.pid, 'SIGKILL')")
  await waitFor('the waiting process to end', () => processIdentity(never) === undefined, 5_000)
  const recorded = await starter('')

  const pidSaid = () => existsSync(said) && readFileSync(said, 'utf8').endsWith('\n')
  await waitFor('the program to begin', pidSaid, 5_000)
  expect(readFileSync(said, 'utf8')).toBe(`${recorded}\n`)
  await stopProcess(processIdentity(recorded)!)
})

test('stopProcess() ends a process that heeds SIGTERM', async () => {
  const identity = await start('')

  await stopProcess(identity)

  expect(isRunning(identity)).toBe(false)
})

test('stopProcess() kills a process that does not', async () => {
  const identity = await start("process.on('SIGTERM', () => {}); process.stdout.write('deaf')")
  await waitFor('the handler', () => readFileSync(logFile, 'utf8').includes('deaf'), 5_000)

  await stopProcess(identity, 50)

  expect(isRunning(identity)).toBe(false)
})

test('stopProcess() spares a process that only has the pid', async () => {
  const identity = await start('')

  await stopProcess({ ...identity, startTicks: identity.startTicks - 1 })

  expect(isRunning(identity)).toBe(true)
  await stopProcess(identity)
})

test('startProcess() appends the output of the process to its log', async () => {
  const identity = await start("process.stdout.write('said'); process.stderr.write('complained')")
  const log = () => readFileSync(logFile, 'utf8')

  await waitFor('both lines', () => /said[^]*complained|complained[^]*said/.test(log()), 5_000)
  await stopProcess(identity)
})

test('freePort() gives no port that the kernel gives to outgoing connections', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()))

  expect(ports.filter((port) => port >= ephemeralFrom() || port < 1_024)).toEqual([])
})

test('freePort() gives the wanted port, or another when that is taken', async () => {
  const wanted = await freePort()

  expect(await freePort(wanted)).toBe(wanted)
  const identity = await start(`require('net').createServer().listen(${wanted}, '127.0.0.1')`)
  const other = await waitFor(
    'the port to be taken',
    async () => {
      const port = await freePort(wanted)
      return port === wanted ? null : port
    },
    5_000,
  )
  await stopProcess(identity)
  expect(other).not.toBe(wanted)
})

test('freePort() looks at the address that is asked for, which this machine has to have', async () => {
  const address = '127.0.0.42'
  const wanted = await freePort(undefined, address)
  const server = createServer().listen({ port: wanted, host: address })
  await once(server, 'listening')

  expect(await freePort(wanted)).toBe(wanted)
  expect(await freePort(wanted, address)).not.toBe(wanted)
  server.close()
  await expect(freePort(undefined, '192.0.2.10')).rejects.toThrow(
    'This machine has no address 192.0.2.10.',
  )
})
