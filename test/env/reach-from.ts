import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import type { RunOptions, RunResult } from '#drivers/run.ts'

/** Programs that listen on loopback. */
export interface Listeners {
  /** For sockets. */
  readonly directory: string
  readonly ports: readonly number[]
}

/** Whatever has a network of its own. */
interface Inside {
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>
}

const STEP_MS = 30_000
/** Runs inside: listens at the ports on its loopback, and forwards bytes to sockets in a folder that both sides see. */
const INNER_RELAY = `const { connect, createServer } = require('node:net')
const [folder, ...ports] = process.argv.slice(1)
let left = ports.length
for (const port of ports)
  createServer({ noDelay: true }, (here) => {
    const there = connect(folder + '/' + port)
    here.on('error', () => there.destroy()).on('close', () => there.destroy()).pipe(there)
    there.on('error', () => here.destroy()).on('close', () => here.destroy()).pipe(here)
  }).listen(Number(port), '127.0.0.1', () => {
    left -= 1
    if (left === 0) require('node:fs').writeFileSync(folder + '/ready', '')
  })`
const IN_BACKGROUND = 'setsid "$@" >/dev/null 2>&1 </dev/null &'

/**
 * Afterwards the programs are reached from the network of a host, at the addresses that they have outside. The part inside
 * ends with the host's namespaces.
 */
export async function reachFrom(
  inside: Inside,
  { directory, ports }: Listeners,
): Promise<AsyncDisposable> {
  const folder = mkdtempSync(join(directory, 'r-'))
  const open = new Set<Socket>()
  const servers = ports.map((port) => {
    const server = createServer((here) => {
      const there = connect({ port, host: '127.0.0.1', noDelay: true })
      for (const [one, other] of [
        [here, there],
        [there, here],
      ] as const) {
        open.add(one)
        one.on('error', () => other.destroy())
        one.on('close', () => open.delete(one) && other.destroy())
        one.pipe(other)
      }
    })
    return server.listen(join(folder, String(port)))
  })
  for (const server of servers) if (!server.listening) await once(server, 'listening')
  const relay = [process.execPath, '-e', INNER_RELAY, folder, ...ports.map(String)]
  await inside.run('sh', ['-c', IN_BACKGROUND, 'sh', ...relay], { timeoutMs: STEP_MS })
  await waitFor('the relay', () => existsSync(join(folder, 'ready')), STEP_MS)
  return {
    async [Symbol.asyncDispose]() {
      const closed = servers.map((server) => once(server, 'close'))
      for (const server of servers) server.close()
      for (const socket of open) socket.destroy()
      await Promise.all(closed)
    },
  }
}
